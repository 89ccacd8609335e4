package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/egress"
	"github.com/jackline-ai/jackline/tool/tooltest"
)

// page is an article of so many paragraphs.
func page(paragraphs int) string {
	var b strings.Builder
	b.WriteString("<html><head><title>The harbour</title><meta name=date content=2026-10-01></head><body><nav>Menu</nav><article>")
	for k := range paragraphs {
		fmt.Fprintf(&b, "<p>Paragraph %d tells of the harbour, of the boats that lie there, and of the water, which is high.</p>", k)
	}
	return b.String() + "</article></body></html>"
}

func bench(t *testing.T, urls ...string) *tooltest.Bench {
	t.Helper()
	return tooltest.New(t, All(Deps{Guard: guard(t, urls...)})...)
}

func TestFetch(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/koi8":
			w.Header().Set("Content-Type", "text/html; charset=koi8-r")
			fmt.Fprint(w, "<html><p>\xf3\xc5\xc7\xcf\xc4\xce\xd1 \xc8\xcf\xd2\xcf\xdb\xc1\xd1 \xd0\xcf\xc7\xcf\xc4\xc1")
		case "/lie":
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, `{"ok": true}`)
		case "/pdf":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "%PDF-1.4\n1 0 obj<</Pages 2 0 R>>endobj 2 0 obj<</Kids[3 0 R]/Resources<</Font<</F 5 0 R>>>>>>endobj 3 0 obj<</Type/Page/Contents 4 0 R>>endobj "+
				"4 0 obj<</Length 39>>stream\nBT /F 12 Tf (Words of the paper) Tj ET     \nendstream endobj 5 0 obj<</Subtype/Type1>>endobj trailer<</Root 1 0 R>>")
		case "/moved":
			http.Redirect(w, r, "/", http.StatusMovedPermanently)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, page(3))
		}
	})
	b := bench(t, at)
	for path, want := range map[string][]string{
		"/":      {"Title: The harbour", "Fetched: ", "UTC; the page says it is of 2026-10-01", "\n\nParagraph 0 tells"},
		"/koi8":  {"Сегодня хорошая погода"},
		"/lie":   {`{"ok": true}`},
		"/pdf":   {"Words of the paper"},
		"/moved": {"Address: " + at + "/\n", "Paragraph 2"},
	} {
		r := b.Run(t, "web_fetch", map[string]any{"url": at + path})
		if r.Outcome != jackline.OK || r.Source != jackline.Outside || !r.Labels.Tainted || !strings.HasPrefix(r.Origin, "web page "+at) || strings.Contains(r.Text, "Menu") {
			t.Errorf("%s: %s %q %s", path, r.Outcome, r.Origin, r.Text)
		}
		for _, w := range want {
			if !strings.Contains(r.Text, w) {
				t.Errorf("%s: %q is missing in\n%s", path, w, r.Text)
			}
		}
	}
	if i := b.Judge.Last(); len(i.Touches) != 1 || i.Touches[0].Kind != "host" || i.Touches[0].Name != strings.TrimPrefix(at, "http://") {
		t.Errorf("%v", i.Touches)
	}
}

// A long page is read in pieces that join without a gap.
func TestFetchPages(t *testing.T) {
	at := serve(t, says(200, "text/html", page(100)))
	b := bench(t, at)
	b.Limit = 1500
	var all strings.Builder
	for from := 1; ; {
		r := b.Run(t, "web_fetch", map[string]any{"url": at, "from": from})
		if r.Outcome != jackline.OK || len([]rune(r.Text)) > b.Limit || r.Dropped > 0 {
			t.Fatalf("%d: %d characters, %d dropped: %s", from, len([]rune(r.Text)), r.Dropped, r.Text)
		}
		_, text, _ := strings.Cut(r.Text, "\n\n")
		k := strings.LastIndex(text, "\n[characters ")
		all.WriteString(text[:k] + "\n")
		var last, total, next int
		if n, _ := fmt.Sscanf(text[k:], "\n[characters "+fmt.Sprint(from)+"-%d of %d: read on with from=%d]", &last, &total, &next); n < 3 {
			break
		}
		if next != last+1 {
			t.Fatalf("%s", text[k:])
		}
		from = next
	}
	for k := range 100 {
		if !strings.Contains(all.String(), fmt.Sprintf("Paragraph %d tells", k)) {
			t.Fatalf("paragraph %d is missing", k)
		}
	}
	if r := b.Run(t, "web_fetch", map[string]any{"url": at, "from": 99999}); r.Outcome != jackline.Errored || !strings.Contains(r.Text, "has only") {
		t.Errorf("%s", r.Text)
	}
}

func TestFetchFailures(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 32<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		say   string
		ok    bool
	}{
		"missing":   {serve: says(404, "text/html", page(3)), say: "has no page at this address (status 404)"},
		"forbidden": {serve: says(403, "text/html", "<html>Just a moment..."), say: "does not show this page to programs"},
		"broken":    {serve: says(500, "text/html", page(3)), say: "status 500"},
		"picture":   {serve: says(200, "text/html", "\x89PNG\r\n\x1a\n"), say: "a picture"},
		"archive":   {serve: says(200, "text/html", "PK\x03\x04"), say: "an archive (zip)"},
		"empty":     {serve: says(200, "text/html", ""), say: "empty"},
		"script":    {serve: says(200, "text/html", "<html><div id=app></div><script>x()</script>"), say: "made by scripts"},
		"bad pdf":   {serve: says(200, "application/pdf", "%PDF-1.7 nothing"), say: "damaged"},
		"locked":    {serve: says(200, "application/pdf", "%PDF-1.7 1 0 obj<<>>endobj trailer<</Root 1 0 R/Encrypt 2 0 R>>"), say: "encrypted"},
		"circle":    {serve: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }, say: "in circles"},
		"elsewhere": {serve: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://other.example/x", http.StatusFound)
		}, say: "redirects to another site: https://other.example/x"},
		"inwards": {serve: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, say: "redirects to an address that is refused"},
		"bomb": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		}, say: "fill memory"},
		"a gigabyte": {serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1073741824")
			for range 1024 {
				if _, err := fmt.Fprint(w, strings.Repeat("all work and no play\n", 50_000)); err != nil {
					return
				}
			}
		}, say: "[Partial: Only the first 500000 of 5242880 characters were read. Only the first 5 MB of the document were read.]", ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			at := serve(t, c.serve)
			b := bench(t, at)
			b.Limit = 4000
			r := b.Run(t, "web_fetch", map[string]any{"url": at + "/"})
			if (r.Outcome == jackline.OK) != c.ok || !strings.Contains(r.Text, c.say) || strings.HasPrefix(r.Text, "FAILED:") == c.ok {
				t.Errorf("%s: %.600s", r.Outcome, r.Text)
			}
		})
	}
}

// What the guard refuses by its form becomes no card; what it refuses later is an error in words.
func TestFetchGuard(t *testing.T) {
	b := bench(t)
	for raw, say := range map[string]string{
		"http://127.0.0.1:8080/": "not a public address", "http://localhost/": "local network", "file:///etc/passwd": "must begin with http", "http://2130706433/": "four decimal parts",
		"https://user:pass@example.org/": "user name", "/etc/passwd": "must begin with http", "mailto:a@example.org": "must begin with http", "http://example.org:22/": "Port 22",
		"https://exa\u200bmple.org": "invisible", "": "no address",
	} {
		r := b.Run(t, "web_fetch", map[string]any{"url": raw})
		if r.Outcome != jackline.Denied || !strings.Contains(r.Text, say) || r.Card != nil || strings.Contains(r.Text, "pass@") {
			t.Errorf("%q: %s %s", raw, r.Outcome, r.Text)
		}
	}
	turning := []string{"93.184.216.34", "10.0.0.1"}
	n := 0
	g, err := egress.New(egress.Options{
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			if host == "gone.example" {
				return nil, nil
			}
			n++
			return []netip.Addr{netip.MustParseAddr(turning[min(n-1, 1)])}, nil
		},
		Dial: func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed },
	})
	if err != nil {
		t.Fatal(err)
	}
	b = tooltest.New(t, All(Deps{Guard: g})...)
	for _, c := range []struct{ url, say string }{
		{"turn.example", "does not answer on port 443"}, {"turn.example", "leads to an address that is refused"}, {"gone.example", "was not found"},
	} {
		if r := b.Run(t, "web_fetch", map[string]any{"url": c.url}); r.Outcome != jackline.Errored || !strings.Contains(r.Text, c.say) {
			t.Errorf("%s: %s %s", c.url, r.Outcome, r.Text)
		}
	}
	if i := b.Judge.Last(); i.Touches[0].Name != "gone.example:443" || i.Touches[0].Refused != "" {
		t.Errorf("%v", i.Touches)
	}
	if r := tooltest.New(t, All(Deps{})...).Run(t, "web_fetch", `{"url":"https://example.org"}`); r.Outcome != jackline.Denied {
		t.Errorf("without a guard: %s", r.Outcome)
	}
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		" https://a.org/x ": "https://a.org/x", "a.org/x": "https://a.org/x", "<http://a.org>": "http://a.org", "[a page](https://a.org/(b))": "https://a.org/(b)",
		"`a.org`": "https://a.org", "\"https://a.org\"": "https://a.org", "localhost:3000/x": "http://localhost:3000/x", "a.org:8080": "https://a.org:8080",
		"mailto:a@b.org": "mailto:a@b.org", "javascript:x": "javascript:x", "/etc": "/etc", "": "", "ftp://a.org": "ftp://a.org",
	} {
		if got := address(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
