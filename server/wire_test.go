package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline/server"
)

// served lets a world's server listen as the program does, and gives its address.
func served(t *testing.T, w *world) string {
	t.Helper()
	l, _, err := server.Listen("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	w.conf.Hosts = server.HostsOf(l.Addr())
	s := w.another()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// TestWire sends what no proper client does, byte by byte. In every text ADDR stands for the server's address and AUTH for the
// line with the token, behind which its blank line follows: each of these requests would pass if its oddity were not seen.
func TestWire(t *testing.T) {
	w := newWorld(t)
	addr := served(t, w)
	const auth = "Authorization: Bearer " + token + "\r\n"
	send := func(text string) (status int, head http.Header, answer string) {
		t.Helper()
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		text = strings.NewReplacer("ADDR", addr, "AUTH", auth).Replace(text)
		go func() { _, _ = io.WriteString(c, text) }() // the server may hang up first; the connection ends it
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return 0, nil, err.Error() // it hung up: that is an answer too
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
		return res.StatusCode, res.Header, string(b)
	}
	for _, c := range []struct {
		name, text string
		want       []int // 0 is that it hung up
	}{
		{"proper", "GET /api/status HTTP/1.1\r\nHost: ADDR\r\nAUTH\r\n", []int{200}},
		{"no host", "GET /api/status HTTP/1.1\r\nAUTH\r\n", []int{400}},
		{"no host, old", "GET /api/status HTTP/1.0\r\nAUTH\r\n", []int{403}},
		{"an empty host", "GET /api/status HTTP/1.1\r\nHost:\r\nAUTH\r\n", []int{403}},
		{"two hosts", "GET /api/status HTTP/1.1\r\nHost: ADDR\r\nHost: evil.example\r\nAUTH\r\n", []int{400}},
		{"two hosts, the other first", "GET /api/status HTTP/1.1\r\nHost: evil.example\r\nHost: ADDR\r\nAUTH\r\n", []int{400}},
		{"the same host twice", "GET /api/status HTTP/1.1\r\nHost: ADDR\r\nHost: ADDR\r\nAUTH\r\n", []int{400}},
		{"a host with a list", "GET /api/status HTTP/1.1\r\nHost: ADDR, evil.example\r\nAUTH\r\n", []int{400, 403}},
		{"two origins", "GET /api/status HTTP/1.1\r\nHost: ADDR\r\nOrigin: http://ADDR\r\nOrigin: http://evil.example\r\nAUTH\r\n", []int{403}},
		{"a list of origins", "GET /api/status HTTP/1.1\r\nHost: ADDR\r\nOrigin: http://ADDR http://evil.example\r\nAUTH\r\n", []int{403}},
		{"a folded origin", "GET /api/status HTTP/1.1\r\nHost: ADDR\r\nOrigin: http://ADDR\r\n .evil.example\r\nAUTH\r\n", []int{400, 403}},
		{"a blank before the colon", "GET /api/status HTTP/1.1\r\nHost: ADDR\r\nOrigin : http://evil.example\r\nAUTH\r\n", []int{400}},
		{"two tokens", "GET /api/status HTTP/1.1\r\nHost: ADDR\r\nAUTH\r\nAUTH\r\n", []int{200}}, // the second one is behind the head
		{"a wrong token and the token", "GET /api/status HTTP/1.1\r\nHost: ADDR\r\nAuthorization: Bearer x\r\nAUTH\r\n", []int{401}},
		{"a whole address", "GET http://ADDR/api/status HTTP/1.1\r\nHost: ADDR\r\nAUTH\r\n", []int{400}},
		{"a whole address for another host", "GET http://ADDR/api/status HTTP/1.1\r\nHost: evil.example\r\nAUTH\r\n", []int{400}},
		{"another's whole address", "GET http://evil.example/api/status HTTP/1.1\r\nHost: ADDR\r\nAUTH\r\n", []int{400}},
		{"a whole address with a token", "GET http://x:" + token + "@ADDR/api/status HTTP/1.1\r\nHost: ADDR\r\n\r\n", []int{400}},
		{"a path with two slashes", "GET //ADDR/api/status HTTP/1.1\r\nHost: ADDR\r\nAUTH\r\n", []int{404}},
		{"CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\nAUTH\r\n", []int{400, 403}},
		{"CONNECT to itself", "CONNECT ADDR HTTP/1.1\r\nHost: ADDR\r\nAUTH\r\n", []int{400, 405}},
		{"OPTIONS for all", "OPTIONS * HTTP/1.1\r\nHost: ADDR\r\nAUTH\r\n", []int{405}},
		{"OPTIONS for all of another", "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n", []int{403}},
		{"before a request with CORS", "OPTIONS /api/status HTTP/1.1\r\nHost: ADDR\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: GET\r\nAccess-Control-Request-Private-Network: true\r\n\r\n", []int{403}},
		{"TRACE", "TRACE /api/status HTTP/1.1\r\nHost: ADDR\r\nAUTH\r\n", []int{405}},
		{"the next protocol", "GET /api/status HTTP/1.1\r\nHost: ADDR\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n", []int{401}},
		{"a socket", "GET /api/events HTTP/1.1\r\nHost: ADDR\r\nOrigin: http://evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n", []int{403}},
		{"a large head", "GET /api/status HTTP/1.1\r\nHost: ADDR\r\nX-Large: " + strings.Repeat("x", 80<<10) + "\r\nAUTH\r\n", []int{431, 0}},
		{"many lines", "GET /api/status HTTP/1.1\r\nHost: ADDR\r\n" + strings.Repeat("X-Many: x\r\n", 10<<10) + "AUTH\r\n", []int{431, 0}},
		{"a long path", "GET /api/" + strings.Repeat("x", 80<<10) + " HTTP/1.1\r\nHost: ADDR\r\nAUTH\r\n", []int{431, 414, 0}},
		{"two lengths", "POST /api/stop HTTP/1.1\r\nHost: ADDR\r\nContent-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3\r\nAUTH\r\n{}", []int{400}},
		{"a length and pieces", "POST /api/stop HTTP/1.1\r\nHost: ADDR\r\nContent-Type: application/json\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\nAUTH\r\n0\r\n\r\n", []int{400, 422, 200}},
		{"odd pieces", "POST /api/stop HTTP/1.1\r\nHost: ADDR\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\nAUTH\r\n0\r\n\r\n", []int{400, 501}},
		{"a long body", "POST /api/stop HTTP/1.1\r\nHost: ADDR\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\nAUTH\r\n{}", []int{413}},
		{"long pieces", "POST /api/stop HTTP/1.1\r\nHost: ADDR\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nAUTH\r\n200000\r\n" + strings.Repeat("x", 0x200000) + "\r\n0\r\n\r\n", []int{413, 0}},
		{"a body without a token", "POST /api/stop HTTP/1.1\r\nHost: ADDR\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{}", []int{401}},
		{"an old protocol", "GET /api/status\r\n", []int{400, 0}},
	} {
		got, head, answer := send(c.text)
		ok := false
		for _, want := range c.want {
			ok = ok || got == want
		}
		if !ok {
			t.Errorf("%s: %d, want %v: %.200s", c.name, got, c.want, answer)
		}
		if strings.Contains(answer, token) {
			t.Errorf("%s: the token comes back", c.name)
		}
		for k := range head {
			if strings.HasPrefix(k, "Access-Control-") || k == "Upgrade" {
				t.Errorf("%s: header %s", c.name, k)
			}
		}
		// What net/http refuses before it asks anybody has no headers of ours, and no content either.
		if early := got == 0 || head.Get("X-Content-Type-Options") == "" && got >= 400 && len(answer) < 100; !early && head.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: no policy: %d %v %.100s", c.name, got, head, answer)
		}
	}
	if strings.Contains(w.Log.String(), token) {
		t.Error("the token stands in the log")
	}
}

// TestSpellings asks for every route by other spellings of its address: none may pass without the token, and none that is no
// route may answer as one.
func TestSpellings(t *testing.T) {
	w := newWorld(t)
	addr := served(t, w)
	tried := 0
	for _, r := range allRoutes(w) {
		if r.public {
			continue
		}
		path := strings.NewReplacer("{", "", "}", "").Replace(r.path)
		rest := strings.TrimPrefix(path, "/")
		first, tail, _ := strings.Cut(rest, "/")
		for _, spelling := range []string{
			"//" + rest, "/./" + rest, "/x/../" + rest, "/assets/../" + rest, "/" + strings.ReplaceAll(rest, "/", "//"), path + "/", path + "/.",
			"/" + strings.ReplaceAll(rest, "/", "%2f"), "/" + strings.ReplaceAll(rest, "/", "%5c"), fmt.Sprintf("/%%%02x%s", rest[0], rest[1:]),
			"/" + strings.ToUpper(first) + "/" + tail, path + ";x=y", path + "%00", path + "%20", path + ".json", path + "?", path + "%3f", "/%2e/" + rest, "/..;/" + rest, "/api/../" + rest,
			path + "%0d%0aX-Odd:%20x", "/index.html/../" + rest,
		} {
			tried++
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", r.method, spelling, addr)
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(spelling, err)
			}
			b, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			_ = c.Close()
			// 429: twenty wrong ones have been; what is public by its spelling is a file that there is not.
			if s := res.StatusCode; s != 401 && s != 429 && s != 404 && s != 405 && s != 400 {
				t.Errorf("%s %s: %s %.200s", r.method, spelling, res.Status, b)
			}
			if res.Header.Get("Location") != "" || res.Header.Get("X-Odd") != "" {
				t.Errorf("%s %s: %v", r.method, spelling, res.Header)
			}
		}
	}
	t.Logf("%d spellings", tried)
}
