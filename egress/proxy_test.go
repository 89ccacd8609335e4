package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestProxy: a client of the standard library reaches what was granted, and nothing else, whatever the name leads to.
func TestProxy(t *testing.T) {
	w := newWorld(t, map[string][][]string{
		"good.example": {{"93.184.215.14"}}, "other.example": {{"93.184.215.15"}}, "trap.example": {{"127.0.0.1"}}, "mixed.example": {{"93.184.215.14", "10.0.0.1"}},
	}, func(rw http.ResponseWriter, r *http.Request, _ int) {
		b, _ := io.ReadAll(r.Body)
		rw.Header().Set("Keep-Alive", "timeout=5")
		fmt.Fprintf(rw, "%s %s %s %q %q", r.Method, r.Host, r.URL.Path, b, r.Header.Get("Proxy-Authorization"))
	})
	p, err := w.client.guard.Proxy([]string{"good.example:443", "GOOD.example:80", "trap.example:443", "trap.example:80", "mixed.example:443"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx, l) }()
	client := &http.Client{Transport: &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String(), User: url.UserPassword("a", "b")}),
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the server behind all names has one certificate
	}}
	for _, c := range []struct{ address, want string }{
		{"https://good.example/x", `200 POST good.example /x "body" ""`},
		{"http://good.example/x", `200 POST good.example /x "body" ""`},
		{"https://other.example/x", "error"},
		{"http://other.example/x", "403 other.example:80 is not among"},
		{"https://trap.example/x", "error"},
		{"http://trap.example/x", "403 The host trap.example leads to an address that is refused"},
		{"https://mixed.example/x", "error"},
		{"http://127.0.0.1/x", "403 "}, {"http://good.example:8080/x", "403 "}, {"https://good.example:8443/x", "error"},
	} {
		got := "error"
		if resp, err := client.Post(c.address, "text/plain", strings.NewReader("body")); err == nil {
			b, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			got = fmt.Sprint(resp.StatusCode, " ", string(b))
			if strings.HasPrefix(c.address, "http:") && resp.Header.Get("Keep-Alive") != "" {
				t.Errorf("%s: the head of one connection was passed on", c.address)
			}
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.address, got, c.want)
		}
	}
	for _, to := range w.dialled {
		if !strings.HasPrefix(to, "93.184.215.14:") {
			t.Errorf("dialled %s", to)
		}
	}
	if r := p.Refused(); !slices.Contains(r, "other.example:443") || slices.Contains(r, "good.example:443") {
		t.Errorf("refused: %v", r)
	}
	// What is no request to a proxy gets an answer, and a tunnel that stands ends with the command.
	for _, raw := range []string{"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n", "CONNECT good.example HTTP/1.1\r\nHost: good.example\r\n\r\n", "GET https://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n"} {
		if c, status := say(t, l.Addr().String(), raw); status != http.StatusBadRequest {
			t.Errorf("%q: %d", raw, status)
		} else {
			_ = c.Close()
		}
	}
	c, status := say(t, l.Addr().String(), "CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n")
	if status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a tunnel outlived its proxy")
	}
	_ = c.Close()
	client.CloseIdleConnections()
}

func say(t *testing.T, address, raw string) (net.Conn, int) {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return c, resp.StatusCode
}

func TestProxyGrants(t *testing.T) {
	g := strict(t)
	for _, bad := range []string{"localhost:443", "127.0.0.1:80", "[::1]:443", "10.1.2.3:443", "example.org:22", "example.org:0", "a/b:443", "u@example.org:443", "169.254.169.254:80", ""} {
		if _, err := g.Proxy([]string{bad}); err == nil {
			t.Errorf("%q was granted", bad)
		}
	}
	if _, err := g.Proxy(make([]string, maxGranted+1)); err == nil {
		t.Error("any number of hosts was granted")
	}
	if o, err := g.Origin("EXAMPLE.org:443"); err != nil || o != "example.org:443" {
		t.Error(o, err)
	}
}
