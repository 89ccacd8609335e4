package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model/engine"
)

func client(t *testing.T, o engine.Options, handle http.HandlerFunc) *engine.Client {
	t.Helper()
	srv := httptest.NewServer(handle)
	t.Cleanup(srv.Close)
	o.BaseURL, o.API = srv.URL, "Anchor"
	c, err := engine.New("test.New", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestKeyHeader(t *testing.T) {
	for header, want := range map[string]string{"": "Authorization: Bearer k", "x-api-key": "X-Api-Key: k"} {
		c := client(t, engine.Options{Key: "k", KeyHeader: header}, func(w http.ResponseWriter, r *http.Request) {
			name, _, _ := strings.Cut(want, ":")
			_, _ = io.WriteString(w, name+": "+r.Header.Get(name))
		})
		if got, err := c.Fetch(t.Context(), "test", http.MethodGet, "x", nil, 100); string(got) != want || err != nil {
			t.Errorf("%s %v", got, err)
		}
	}
	if s := fmt.Sprintf("%v %+v %#v %s %q %x %d", engine.Key("s3"), engine.Key("s3"), engine.Key("s3"), engine.Key("s3"), engine.Key("s3"), engine.Key("s3"), engine.Key("s3")); strings.Contains(s, "3") {
		t.Error(s)
	}
}

func TestFetch(t *testing.T) {
	c := client(t, engine.Options{Model: "m"}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":"model not found"}`)
	})
	if _, err := c.For("other").Fetch(t.Context(), "test", http.MethodDelete, "x", []byte("{}"), 100); jackline.KindOf(err) != jackline.NoModel ||
		jackline.Say(err) != "The engine at "+c.Address()+` has no model "other".` {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Fetch(ctx, "test", http.MethodGet, "x", nil, 100); err != context.Canceled { //nolint:errorlint // as it is
		t.Error(err)
	}
	if got := jackline.Say(c.Strange("test", []byte("x"))); got != "What "+c.Address()+" answers is not what an Anchor server says. Check --base-url." {
		t.Error(got)
	}
}

// What is of the API's own words comes first.
func TestOurs(t *testing.T) {
	ours := func(c *engine.Client, op string, _ engine.Refusal, p engine.Problem) *engine.Trouble {
		if p.Says("aye*captain") {
			return &engine.Trouble{Err: jackline.E(op, jackline.Gone, nil, "%s has left.", c.Model())}
		}
		return nil
	}
	c := client(t, engine.Options{Model: "m", Ours: ours}, nil)
	if err := c.Refused("test", engine.Refusal{Status: 401, Body: []byte("Aye, aye, CAPTAIN")}).Err; jackline.KindOf(err) != jackline.Gone {
		t.Error(err)
	}
	if err := c.Refused("test", engine.Refusal{Status: 401}).Err; jackline.KindOf(err) != jackline.Forbidden {
		t.Error(err)
	}
}

// An error may be wrapped in a string, as Ollama hands llama.cpp's on, and not for ever.
func TestReadProblem(t *testing.T) {
	p := engine.ReadProblem([]byte(`{"error":"{\"error\":{\"code\":413,\"message\":\"Too Big\"}}"}`))
	if !p.Says("too big") || p.Status(engine.Refusal{}) != 413 || p.Status(engine.Refusal{Status: 500}) != 500 {
		t.Errorf("%+v", p)
	}
	deep := "x"
	for range 100 {
		b, err := json.Marshal(map[string]string{"error": deep})
		if err != nil {
			t.Fatal(err)
		}
		if deep = string(b); len(deep) > 1<<16 {
			break
		}
	}
	_ = engine.ReadProblem([]byte(deep))
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{"a\x1b[1m\nb\xff": "a[1mb", "äöü": "äöü", "ääääää": "äää", "\u202eabc": "abc"} {
		if got := engine.Printable(text, 7); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\n\n b \r\nc")
	f.Add(strings.Repeat("x", 70_000) + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		var want []string
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				want = append(want, line)
			}
		}
		l := engine.NewLines(strings.NewReader(text))
		for _, w := range want {
			if got, err := l.Next(); string(got) != w || err != nil {
				t.Fatalf("%q %v, want %q", got, err, w)
			}
		}
		if got, err := l.Next(); !errors.Is(err, io.EOF) || len(got) > 0 {
			t.Fatalf("%q %v", got, err)
		}
	})
}

func TestLongLine(t *testing.T) {
	l := engine.NewLines(io.MultiReader(strings.NewReader("a\n"), endless{}))
	if got, err := l.Next(); string(got) != "a" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if _, err := l.Next(); !errors.Is(err, engine.ErrTooMuch) {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{"file_read": "file_read", "fly!\n": "fly__", "": "unknown", strings.Repeat("a", 70): strings.Repeat("a", 64)} {
		if got := engine.FunctionName(name); got != want {
			t.Errorf("%q became %q", name, got)
		}
	}
	if got := engine.CalledName(" time<|channel|>commentary"); got != "time" {
		t.Error(got)
	}
	for raw, want := range map[string]string{`{ "a": 1 }`: `{"a":1}`, "[": `{"type":"object","properties":{}}`, "true": `{"type":"object","properties":{}}`} {
		if got := string(engine.Schema(json.RawMessage(raw))); got != want {
			t.Errorf("%s became %s", raw, got)
		}
	}
}

func TestQuery(t *testing.T) {
	var got string
	c, err := engine.New("test.New", engine.Options{BaseURL: "http://engine.test/v1?key=a", Transport: carrier(func(r *http.Request) { got = r.URL.String() })})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"models": "http://engine.test/v1/models?key=a", "models?limit=2&after=x%2Fy": "http://engine.test/v1/models?key=a&limit=2&after=x%2Fy",
	} {
		if _, err := c.Fetch(t.Context(), "test", http.MethodGet, path, nil, 10); err == nil || got != want {
			t.Errorf("%s leads to %s, want %s", path, got, want)
		}
	}
}

// carrier is a transport that shows what it is asked to carry, and says that nobody listens.
type carrier func(*http.Request)

func (f carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, &net.OpError{Op: "dial", Err: errors.New("nobody listens")}
}

// Nobody is told to start a provider, or to fetch a model for it.
func TestProviders(t *testing.T) {
	ask := func(base string, names []string, name string) string {
		c, err := engine.New("test.New", engine.Options{BaseURL: base, Model: name, Retry: engine.Retry{Tries: 1}, Transport: carrier(func(*http.Request) {})})
		if err != nil {
			t.Fatal(err)
		}
		list := func(context.Context) ([]string, error) { return names, nil }
		err = c.Repeat(t.Context(), "test", list, func() bool { return false }, func() *engine.Trouble {
			if names == nil {
				return c.Ask(t.Context(), "test", "x", nil, nil)
			}
			return &engine.Trouble{Lost: true}
		})
		return jackline.Say(err)
	}
	for _, tt := range []struct {
		base, name string
		names      []string
		want       string
	}{
		{"https://api.test/v1", "m", nil, "Nothing answers at https://api.test/v1. Check that this machine is online, and the address that --base-url gives."},
		{"https://api.test/v1", "m", []string{"a", "b"}, `There is no model "m" at https://api.test/v1, or not for this key. Choose another with --model: it offers a, b.`},
		{"https://api.test/v1", "m", []string{}, `There is no model "m" at https://api.test/v1, or not for this key. Choose another with --model.`},
		{"https://api.test/v1", "", []string{}, "No model is named, and https://api.test/v1 offers none to this key."},
		{"http://api.test/v1", "m", []string{}, `The engine at http://api.test/v1 has no model "m". Choose another with --model, or fetch this one (with Ollama: "ollama pull m").`},
	} {
		if got := ask(tt.base, tt.names, tt.name); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
