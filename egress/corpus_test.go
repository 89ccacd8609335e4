package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// A urlCase is one line of urls.jsonl.
type urlCase struct {
	ID         string                `json:"id"`
	URL        string                `json:"url"`
	DNS        map[string][][]string `json:"dns"` // the answers of successive look-ups; the last one repeats
	Redirects  []string              `json:"redirects"`
	Want       string                `json:"want"`
	ConnectsTo []string              `json:"connects_to"`
	Why        string                `json:"why"`
}

func TestCorpusURLs(t *testing.T) {
	dir := os.Getenv("JACKLINE_CASES")
	if dir == "" {
		dir = filepath.Join("..", "testdata", "cases")
	}
	f, err := os.Open(filepath.Join(dir, "urls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	n := 0
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var c urlCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		n++
		t.Run(c.ID, func(t *testing.T) { judge(t, c) })
	}
	if err := s.Err(); err != nil || n == 0 {
		t.Fatalf("%d cases, %v", n, err)
	}
}

// judge runs one case: a real client over a resolver and a network that are played.
func judge(t *testing.T, c urlCase) {
	w := newWorld(t, c.DNS, func(w http.ResponseWriter, r *http.Request, n int) {
		if n < len(c.Redirects) {
			w.Header().Set("Location", c.Redirects[n])
			w.WriteHeader(http.StatusFound)
		}
	})
	resp, err := w.client.Get(t.Context(), Request{URL: c.URL})
	switch {
	case c.Want == "deny" && err == nil:
		t.Errorf("%s: fetched from %v with status %d, and must be denied: %s", c.URL, w.dialled, resp.Status, c.Why)
	case c.Want == "allow" && (err != nil || resp.Status != http.StatusOK):
		t.Errorf("%s: %v %d, and must be allowed: %s", c.URL, err, resp.Status, c.Why)
	case c.Want != "deny" && c.Want != "allow":
		t.Errorf("what to want is %q", c.Want)
	}
	for _, to := range w.dialled {
		if a := netip.MustParseAddrPort(to).Addr(); !public(a) || c.ConnectsTo != nil && !slices.Contains(c.ConnectsTo, a.String()) {
			t.Errorf("dialled %s: %s", to, c.Why)
		}
	}
	if len(c.ConnectsTo) > 0 && len(w.dialled) == 0 {
		t.Errorf("nothing was dialled: %s", c.Why)
	}
}

// A world is a client with names, and one server that stands behind every address.
type world struct {
	client  *Client
	dialled []string
	asked   []string
}

// newWorld makes a world in which serve answers the nth request.
func newWorld(t *testing.T, names map[string][][]string, serve func(http.ResponseWriter, *http.Request, int), allow ...string) *world {
	t.Helper()
	var mu sync.Mutex
	requests := 0
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n := requests
		requests++
		mu.Unlock()
		serve(rw, r, n)
	})
	secure, plain := httptest.NewTLSServer(handler), httptest.NewServer(handler)
	t.Cleanup(func() { plain.Close(); secure.Close() })
	server := front(t, secure.Listener.Addr().String(), plain.Listener.Addr().String())
	w := &world{}
	lookups := map[string]int{}
	g, err := New(Options{
		Allow: allow,
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			mu.Lock()
			defer mu.Unlock()
			w.asked = append(w.asked, host)
			answers := names[host]
			if len(answers) == 0 {
				return nil, nil
			}
			answer := answers[min(lookups[host], len(answers)-1)]
			lookups[host]++
			var found []netip.Addr
			for _, a := range answer {
				found = append(found, netip.MustParseAddr(a))
			}
			return found, nil
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			mu.Lock()
			w.dialled = append(w.dialled, address)
			mu.Unlock()
			var d net.Dialer
			return d.DialContext(ctx, network, server)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.client = g.Client("test")
	w.client.tls = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the server behind all names has one certificate
	return w
}

// front passes connections to the secure server if they begin with a handshake, whatever the port was, else to the plain
// one. It returns where it listens.
func front(t *testing.T, secure, plain string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	pass := func(in net.Conn) {
		defer func() { _ = in.Close() }()
		first := make([]byte, 1)
		if _, err := io.ReadFull(in, first); err != nil {
			return
		}
		to := plain
		if first[0] == 0x16 {
			to = secure
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer func() { _ = out.Close() }()
		wg.Go(func() {
			_, _ = io.Copy(out, io.MultiReader(bytes.NewReader(first), in))
			_ = out.(*net.TCPConn).CloseWrite()
		})
		_, _ = io.Copy(in, out)
	}
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { pass(in) })
		}
	})
	return l.Addr().String()
}
