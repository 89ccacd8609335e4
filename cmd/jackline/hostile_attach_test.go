package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
)

// raw makes a request with bytes as they are, and gives the answer with its head.
func (a *api) raw(method, path string, data []byte) (int, http.Header, []byte) {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.base+path, bytes.NewReader(data))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("Authorization", "Bearer "+a.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return res.StatusCode, res.Header, b
}

// sent gives a chat a file, and says what the server answered.
func (a *api) sent(s jackline.SessionID, name string, data []byte) (status int, file jackline.Attachment, answer string) {
	a.t.Helper()
	status, _, b := a.raw("POST", "/api/sessions/"+string(s)+"/attachments?name="+url.QueryEscape(name), data)
	if status == 201 {
		if err := json.Unmarshal(b, &file); err != nil {
			a.t.Fatalf("%v: %s", err, b)
		}
	}
	return status, file, string(b)
}

// manyZeros writes many zeros to a packer.
func manyZeros(w io.WriteCloser, megabytes int) {
	piece := make([]byte, 1<<20)
	for range megabytes {
		_, _ = w.Write(piece) // into memory
	}
	_ = w.Close()
}

// deflated are many zeros, packed.
func deflated(megabytes int) []byte {
	var b bytes.Buffer
	manyZeros(zlib.NewWriter(&b), megabytes)
	return b.Bytes()
}

// bombs are files that are small and become large, or cost much, where they are taken apart.
func bombs() map[string][]byte {
	var z, g bytes.Buffer
	archive := zip.NewWriter(&z)
	if f, err := archive.Create("../../escaped"); err == nil {
		manyZeros(nopCloser{f}, 100)
	}
	_ = archive.Close()
	manyZeros(gzip.NewWriter(&g), 100)
	pdf := func(filter string, stream []byte) []byte {
		return fmt.Appendf(nil, "%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"+
			"3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R>>endobj\n4 0 obj<</Length %d/Filter%s>>stream\n%s\nendstream endobj\ntrailer<</Root 1 0 R>>\n", len(stream), filter, stream)
	}
	twice := func(b []byte) []byte {
		var out bytes.Buffer
		w := zlib.NewWriter(&out)
		_, _ = w.Write(b)
		_ = w.Close()
		return out.Bytes()
	}
	laughs := `<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "ha">`
	for k := range 12 {
		one := string(rune('a' + k))
		laughs += fmt.Sprintf(`<!ENTITY %c "%s">`, 'b'+k, strings.Repeat("&"+one+";", 10))
	}
	return map[string][]byte{
		"archive.zip": z.Bytes(), "archive that calls itself a text.txt": z.Bytes(), "packed.gz": g.Bytes(),
		"bomb.pdf": pdf("/FlateDecode", deflated(300)), "nested bomb.pdf": pdf("[/FlateDecode/FlateDecode]", twice(deflated(300))),
		"itself.pdf": []byte("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 1 0 R/Kids[1 0 R 1 0 R 1 0 R]/Count 99999999>>endobj\ntrailer<</Root 1 0 R>>\n"),
		"huge.png":   []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\xff\xff\x00\x00\xff\xff\x08\x02\x00\x00\x00\x00\x00\x00\x00"),
		"deep.html":  []byte("<html>" + strings.Repeat("<div><table><td>", 100_000)), "deep.json": []byte(strings.Repeat("[", 1_000_000)),
		"laughs.xml": []byte(laughs + "]><rss><channel><title>&m;</title></channel></rss>"), "marks.txt": []byte("\xff\xfe" + strings.Repeat("\x00\xd8", 100_000)),
		"line.txt": bytes.Repeat([]byte("x"), 19<<20),
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// TestHostileAttachments sends files that lie about their type, are called as if they lay elsewhere, become large where they are taken
// apart, and come in numbers. Each is taken or refused with a sentence, soon, and the program goes on.
func TestHostileAttachments(t *testing.T) {
	h := newHome(t, "http://127.0.0.1:1/v1", "text")
	h.write("says.script", "=== *\nok\n")
	a := h.serve("--model", "script:"+filepath.Join(h.ws, "says.script"))
	s := a.session(map[string]any{}).ID
	const soon = 30 * time.Second // a slow machine, with the race detector
	for name, data := range bombs() {
		begun := time.Now()
		status, _, b := a.sent(s, name, data)
		if status != 201 && status != 422 || time.Since(begun) > soon {
			t.Errorf("%s: %d after %v: %.200s", name, status, time.Since(begun), b)
		}
		if status == 422 && !strings.Contains(b, "cannot be attached. ") {
			t.Errorf("%s: %.200s", name, b)
		}
		for _, kind := range []string{"zip", "gz", "png"} {
			if strings.HasSuffix(name, kind) && status != 422 {
				t.Errorf("%s was taken: %s", name, b)
			}
		}
		t.Logf("%-40s %d in %v", name, status, time.Since(begun).Round(time.Millisecond))
	}

	// What a file calls itself is no path, no header and no type.
	script := []byte("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
	for _, name := range []string{
		"../../../etc/passwd", `..\..\windows\system32\x`, "/absolute", "%2e%2e%2fx", "a\r\nSet-Cookie: x=1", "a\x00b", "\u202egnp.exe", "x.png", "x.html", `q"; filename="evil.html`,
		strings.Repeat("n", 900), "..", "con", "a;b=c", " ",
	} {
		status, file, b := a.sent(s, name, script)
		if status != 201 {
			t.Errorf("%q: %d %s", name, status, b)
			continue
		}
		if strings.ContainsAny(file.Name, "/\\\r\n\x00\u202e") || strings.HasPrefix(file.Name, ".") || len(file.Name) > 500 {
			t.Errorf("%q is called %q", name, file.Name)
		}
		_, head, got := a.raw("GET", "/api/sessions/"+string(s)+"/attachments/"+string(file.ID), nil)
		if !bytes.Equal(got, script) || head.Get("Content-Type") != "application/octet-stream" || head.Get("Set-Cookie") != "" ||
			!strings.HasPrefix(head.Get("Content-Disposition"), "attachment") || !strings.Contains(head.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%q came back with %v", name, head)
		}
	}
	if status, _, b := a.sent(s, strings.Repeat("n", 2000), script); status != 422 {
		t.Errorf("a name of 2000 letters: %d %s", status, b)
	}

	// A chat holds so many and no more, and a prompt names only what there is.
	many := a.session(map[string]any{}).ID
	var last jackline.Attachment
	for n := range 103 {
		status, file, b := a.sent(many, "f", []byte("text"))
		if want := map[bool]int{true: 201, false: 409}[n < 100]; status != want {
			t.Fatalf("file %d: %d %s", n+1, status, b)
		}
		if status == 201 {
			last = file
		}
	}
	for what, ids := range map[string][]string{
		"another chat's": {string(last.ID)}, "none": {"f_none"}, "a path": {"../../x"}, "very many": strings.Fields(strings.Repeat("f_x ", 5000)), "one twice": {string(last.ID), string(last.ID)},
	} {
		if status, b := a.send("POST", "/api/sessions/"+string(s)+"/turns", map[string]any{"prompt": "look", "attachments": ids}); status != 404 && status != 422 {
			t.Errorf("%s: %d %s", what, status, b)
		}
	}
	if entries, err := os.ReadDir(h.ws); err != nil || len(entries) != 1 {
		t.Errorf("the workspace holds %v, %v", entries, err)
	}
	if status, _ := a.send("GET", "/api/status", nil); status != 200 {
		t.Errorf("afterwards the server answers %d", status)
	}
}
