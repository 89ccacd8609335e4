package modeltest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tape = `# a comment
> POST /v1/chat
> Content-Type: application/json
>
> {"b": 1,
>  "a": 2}
< 200
< Content-Type: text/event-stream
| data: 1
|
\ data: 
--
| 2
" "\x00\xff\r\n"
--
! unexpected EOF

> GET /v1/models
< 404
`

func TestReadTape(t *testing.T) {
	all, err := readTape([]byte(tape))
	if err != nil {
		t.Fatal(err)
	}
	x := all[0]
	if len(all) != 2 || x.line() != "POST /v1/chat" || x.body != "{\"b\": 1,\n \"a\": 2}" || x.status != 200 || x.broken != "unexpected EOF" ||
		x.asked.Get("Content-Type") != "application/json" || x.answered.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%+v", x)
	}
	if want := []string{"data: 1\n\ndata: ", "2\n\x00\xff\r\n"}; strings.Join(x.chunks, "|") != strings.Join(want, "|") {
		t.Errorf("%q", x.chunks)
	}
	again, err := readTape(writeTape(all))
	if err != nil || !bytes.Equal(writeTape(again), writeTape(all)) {
		t.Errorf("%v\n%s", err, writeTape(again))
	}
}

func TestReadTapeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"< 200":                      `line 1: an exchange begins with "> METHOD PATH"`,
		"> GET":                      `line 1: an exchange begins with "> METHOD PATH"`,
		"> GET /":                    "GET / has no response",
		"> GET /\n| x":               "line 2: a body before the response's status",
		"> GET /\n< OK":              `line 2: a response begins with "< STATUS"`,
		"> GET /\n< 200\n> GET /":    "line 3: a request within a response: a blank line is missing",
		"> GET /\n< 200\n< nonsense": "line 3: no header",
		"> GET /\n> nonsense\n< 200": "line 2: no header",
		"> GET /\n< 200\n\" x":       "line 3: not a Go string",
		"> GET /\n< 200\n? x":        `line 3: the mark "?" is not known`,
	} {
		if _, err := readTape([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.http")
	if err := os.WriteFile(path, []byte(tape), 0o600); err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: Tape(t, path, false, nil)}
	post := func(body string) (*http.Response, error) {
		return client.Post("http://engine.test/v1/chat?key=1", "application/json", strings.NewReader(body))
	}
	// refused is what post fails with, nil if it is answered.
	refused := func(body string) error {
		resp, err := post(body)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	if err := refused(`{"a": 3}`); err == nil || !strings.Contains(err.Error(), `holds no (further) answer to POST /v1/chat with body {"a":3}`) {
		t.Error(err)
	}
	resp, err := post(`{"a":2,"b":1}`)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	p := make([]byte, 100)
	n, err := resp.Body.Read(p)
	if string(p[:n]) != "data: 1\n\ndata: " || err != nil {
		t.Errorf("%q %v", p[:n], err)
	}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if err := refused(`{"a":2,"b":1}`); err == nil {
		t.Error("an exchange was replayed twice")
	}
	models, err := client.Get("http://engine.test/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer models.Body.Close()
	if models.StatusCode != 404 {
		t.Error(models.Status)
	}
}

// What is secret does not get onto a tape.
func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "a.http")
	t.Run("record", func(t *testing.T) {
		live := rounds(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil || r.Header.Get("Authorization") == "" {
				t.Error(err, r.Header)
			}
			h := http.Header{"Set-Cookie": {"secret=1"}, "Content-Type": {"text/plain"}, "X-Secret": {"secret"}}
			return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(bytes.NewReader(body))}, nil
		})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://host.test/p?token=secret", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Set("Cookie", "secret=2")
		r.Header.Set("Accept", "*/*")
		resp, err := Tape(t, path, true, live).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); string(b) != "hello" || err != nil {
			t.Error(string(b), err)
		}
	})
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "> POST /p\n> Accept: */*\n>\n> hello\n< 200\n< Content-Type: text/plain\n\\ hello\n--\n"; string(got) != want {
		t.Errorf("%s", got)
	}
}

type rounds func(*http.Request) (*http.Response, error)

func (f rounds) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func FuzzTape(f *testing.F) {
	f.Add(tape, "data: x\n\n")
	f.Fuzz(func(t *testing.T, text, chunk string) {
		all, err := readTape([]byte(text))
		if err != nil {
			return
		}
		for _, x := range all {
			x.chunks = append(x.chunks, chunk)
		}
		written := writeTape(all)
		again, err := readTape(written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		for i, x := range again {
			if strings.Join(x.chunks, "|") != strings.Join(all[i].chunks, "|") {
				t.Fatalf("%q became %q", all[i].chunks, x.chunks)
			}
		}
	})
}
