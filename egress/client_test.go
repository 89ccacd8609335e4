package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackline-ai/jackline"
)

var site = map[string][][]string{"a.test": {{"93.184.216.34"}}, "b.test": {{"93.184.216.35"}}}

// zipped is n zeros, compressed.
func zipped(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(make([]byte, n))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBodies(t *testing.T) {
	bomb, page := zipped(t, 64<<20), zipped(t, 500_000)
	for name, c := range map[string]struct {
		serve func(http.ResponseWriter)
		size  int
		cut   bool
		say   string
	}{
		"plain":   {serve: func(w http.ResponseWriter) { fmt.Fprint(w, "hello") }, size: 5},
		"empty":   {serve: func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "gzip") }},
		"gzip":    {serve: func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "gzip"); _, _ = w.Write(page) }, size: 500_000},
		"bomb":    {serve: func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "gzip"); _, _ = w.Write(bomb) }, say: "fill memory"},
		"no gzip": {serve: func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "gzip"); fmt.Fprint(w, "hello") }, say: "damaged"},
		"unasked": {serve: func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "br"); fmt.Fprint(w, "hello") }, say: "not asked"},
		"twice":   {serve: func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "gzip, gzip"); _, _ = w.Write(bomb) }, say: "not asked"},
		"a gigabyte": {serve: func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1073741824")
			block := []byte(strings.Repeat("x", 1<<20))
			for range 1024 {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, size: MaxBody, cut: true},
		"short":     {serve: func(w http.ResponseWriter) { w.Header().Set("Content-Length", "10"); fmt.Fprint(w, "hello") }, say: "broke off"},
		"long head": {serve: func(w http.ResponseWriter) { w.Header().Set("X", strings.Repeat("x", maxHead+4096)) }, say: "broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, site, func(rw http.ResponseWriter, _ *http.Request, _ int) { c.serve(rw) })
			r, err := w.client.Get(t.Context(), Request{URL: "http://a.test/"})
			if c.say != "" {
				if err == nil || !strings.Contains(jackline.Say(err), c.say) {
					t.Fatalf("%v, want %q", err, c.say)
				}
				return
			}
			if err != nil || len(r.Body) != c.size || r.Cut != c.cut || r.Status != http.StatusOK {
				t.Errorf("%d bytes, cut %v, %v", len(r.Body), r.Cut, err)
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request, n int) {
		w.Header().Set("Location", fmt.Sprintf("/%d", n))
		w.WriteHeader(http.StatusMovedPermanently)
	}
	w := newWorld(t, site, endless)
	if _, err := w.client.Get(t.Context(), Request{URL: "http://a.test/"}); err == nil || !strings.Contains(jackline.Say(err), "in circles") {
		t.Errorf("endless: %v", err)
	}
	if len(w.dialled) != maxHops+1 || len(w.asked) != maxHops+1 {
		t.Errorf("dialled %v, asked %v", w.dialled, w.asked)
	}
	to := func(where string) func(http.ResponseWriter, *http.Request, int) {
		return func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 0 {
				w.Header().Set("Location", where)
				w.WriteHeader(http.StatusFound)
			}
		}
	}
	for where, want := range map[string]string{
		"https://b.test/x": "https://b.test/x", "//b.test/y": "http://b.test/y", "?q=ä": "http://a.test/?q=%C3%A4", "": "http://a.test/",
		"http://127.0.0.1/": "", "//localhost/": "", "javascript:alert(1)": "", "http:b.test": "", "/a b": "", "/\\b.test": "", "http://b.test:22/": "",
		"\u200b/x": "", "http://u@b.test/": "", "/" + strings.Repeat("x", maxURL): "", "http://%31/": "",
	} {
		r, err := newWorld(t, site, to(where)).client.Get(t.Context(), Request{URL: "http://a.test/"})
		if got := ""; err != nil {
			if want != "" {
				t.Errorf("%q: %v", where, err)
			}
		} else if got = r.URL.String(); got != want {
			t.Errorf("%q: %s, want %q", where, got, want)
		}
	}
	// A name that turns inward between two requests is refused at the second.
	turning := map[string][][]string{"a.test": {{"93.184.216.34"}, {"10.0.0.1"}}}
	w = newWorld(t, turning, to("/again"))
	if _, err := w.client.Get(t.Context(), Request{URL: "http://a.test/"}); jackline.KindOf(err) != jackline.Forbidden || len(w.dialled) != 1 {
		t.Errorf("turned inward: %v %v", err, w.dialled)
	}
	// From https to http is never followed; what the caller does not follow is named.
	if _, err := newWorld(t, site, to("http://b.test/")).client.Get(t.Context(), Request{URL: "https://a.test/"}); jackline.KindOf(err) != jackline.Forbidden {
		t.Errorf("to http: %v", err)
	}
	stay := func(from, to *url.URL) bool { return from.Host == to.Host }
	r, err := newWorld(t, site, to("https://b.test/new")).client.Get(t.Context(), Request{URL: "http://a.test/", Follow: stay})
	if err != nil || r.Moved == nil || r.Moved.String() != "https://b.test/new" {
		t.Errorf("%+v %v", r.Moved, err)
	}
	if _, err := newWorld(t, site, to("http://127.0.0.1/")).client.Get(t.Context(), Request{URL: "http://a.test/", Follow: stay}); jackline.KindOf(err) != jackline.Forbidden {
		t.Errorf("a refused address is not named: %v", err)
	}
}

// A proxy of the environment would make every check worthless. The sixth bad answer refuses the first good one.
func TestNoProxyAndAllAnswers(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	asked := ""
	w := newWorld(t, site, func(_ http.ResponseWriter, r *http.Request, _ int) { asked = r.RequestURI })
	if _, err := w.client.Get(t.Context(), Request{URL: "http://a.test/x"}); err != nil || w.dialled[0] != "93.184.216.34:80" || asked != "/x" {
		t.Errorf("%v %v, asked for %q, which a proxy would be asked for", err, w.dialled, asked)
	}
	mixed := map[string][][]string{"a.test": {{"8.8.8.8", "8.8.4.4", "::ffff:8.8.8.8"}}}
	w = newWorld(t, mixed, func(http.ResponseWriter, *http.Request, int) {})
	if _, err := w.client.Get(t.Context(), Request{URL: "http://a.test/"}); jackline.KindOf(err) != jackline.Forbidden || len(w.dialled) > 0 {
		t.Errorf("%v %v", err, w.dialled)
	}
}

// Nothing hangs past its limit: not a resolver, not a connection, not a server that drips.
func TestTimes(t *testing.T) {
	silent := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	public := func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
	}
	var servers sync.WaitGroup
	drip := func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		servers.Go(func() {
			defer func() { _ = theirs.Close() }()
			buf := make([]byte, 4096)
			if _, err := theirs.Read(buf); err != nil {
				return
			}
			if _, err := theirs.Write([]byte("HTTP/1.1 200 OK\r\n\r\n")); err != nil {
				return
			}
			for {
				time.Sleep(time.Second) //nolint:forbidigo // the server's own pace, in a bubble
				if _, err := theirs.Write([]byte("x")); err != nil {
					return
				}
			}
		})
		return ours, nil
	}
	for name, o := range map[string]Options{
		"resolver": {Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) { return nil, silent(ctx) }},
		"dialler":  {Lookup: public, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, silent(ctx) }},
		"drip":     {Lookup: public, Dial: drip},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, err := New(o)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				_, err = g.Client("test").Get(t.Context(), Request{URL: "http://a.test/"})
				if jackline.KindOf(err) != jackline.Timeout || time.Since(began) > wholeTime+time.Second {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				servers.Wait()
			})
		})
	}
}
