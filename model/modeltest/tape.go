package modeltest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Tape gives a transport that replays the HTTP exchanges in the file at path, or, when record is set, sends
// requests through live and writes the file when the test ends.
//
// A request is matched by method, path and body, where bodies of JSON are the same whatever the order of their
// keys and their blanks. Equal requests get the recorded answers in turn. A request that is not on the tape fails, and
// so does the test if exchanges are left over. No host, no query and no headers are recorded but those in a short
// list: keys and cookies cannot get onto a tape.
//
// # The file
//
// A file is text. Each line begins with a mark and a blank:
//
//	#  a comment
//	>  the request: method and path, then headers, then, behind a lone mark, the body
//	<  the response: status, then headers
//	|  a line of the response's body, line end included
//	\  the same without a line end
//	"  the same as a Go string, for lines that hold what does not print
//	-- the end of a chunk: what is replayed by one read
//	!  the body ends here with an error, and what it was
//
// Exchanges are kept apart by a blank line.
func Tape(t testing.TB, path string, record bool, live http.RoundTripper) http.RoundTripper {
	t.Helper()
	if record {
		tape := &recorder{live: live}
		t.Cleanup(func() {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, tape.bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		})
		return tape
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (record it with -record)", err)
	}
	all, err := readTape(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	p := &player{path: path, left: all}
	t.Cleanup(func() {
		if n := len(p.left); n > 0 && !t.Failed() {
			t.Errorf("%s: %d exchanges were not asked for, the first is %s", path, n, p.left[0].line())
		}
	})
	return p
}

// An exchange is a request and the response to it.
type exchange struct {
	method, path string
	asked        http.Header
	body         string

	status   int
	answered http.Header
	chunks   []string
	broken   string // the error that ended the body, or ""
}

func (x *exchange) line() string { return x.method + " " + x.path }

// kept are the headers that get onto a tape.
func kept(h http.Header) http.Header {
	k := http.Header{}
	for _, name := range []string{"Accept", "Content-Type", "Content-Encoding", "Retry-After"} {
		if v := h.Get(name); v != "" {
			k.Set(name, v)
		}
	}
	return k
}

// sameAs reports whether x is a recording of this request.
func (x *exchange) sameAs(method, path, body string) bool {
	return x.method == method && x.path == path && canonical(x.body) == canonical(body)
}

func canonical(body string) string {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return body
	}
	if _, err := d.Token(); err != io.EOF {
		return body
	}
	return string(encode(v))
}

func bodyOf(r *http.Request) (string, error) {
	if r.Body == nil {
		return "", nil
	}
	b, err := io.ReadAll(r.Body)
	return string(b), errors.Join(err, r.Body.Close())
}

// A player answers from a tape.
type player struct {
	path string
	mu   sync.Mutex
	left []*exchange
}

// RoundTrip gives the first recorded answer to such a request.
func (p *player) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.left, func(x *exchange) bool { return x.sameAs(r.Method, r.URL.Path, body) })
	if i < 0 {
		return nil, fmt.Errorf("%s holds no (further) answer to %s %s with body %s", p.path, r.Method, r.URL.Path, canonical(body))
	}
	x := p.left[i]
	p.left = slices.Delete(p.left, i, i+1)
	return &http.Response{
		Status: strconv.Itoa(x.status) + " " + http.StatusText(x.status), StatusCode: x.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Header: x.answered.Clone(), Body: &replayed{chunks: slices.Clone(x.chunks), broken: x.broken}, Request: r,
	}, nil
}

// replayed is a body that gives one recorded chunk a read.
type replayed struct {
	chunks []string
	broken string
}

// Read gives what is left of the chunk that is next.
func (b *replayed) Read(p []byte) (int, error) {
	for len(b.chunks) > 0 && b.chunks[0] == "" {
		b.chunks = b.chunks[1:]
	}
	if len(b.chunks) == 0 {
		if b.broken != "" {
			return 0, fmt.Errorf("%w: as recorded: %s", io.ErrUnexpectedEOF, b.broken)
		}
		return 0, io.EOF
	}
	n := copy(p, b.chunks[0])
	b.chunks[0] = b.chunks[0][n:]
	return n, nil
}

// Close does nothing.
func (b *replayed) Close() error { return nil }

// A recorder notes down what goes through it.
type recorder struct {
	live http.RoundTripper
	mu   sync.Mutex
	all  []*exchange
}

// RoundTrip sends r and notes it down, with what is read of the answer.
func (c *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	sent := r.Clone(r.Context())
	if body != "" {
		sent.Body = io.NopCloser(strings.NewReader(body))
	}
	resp, err := c.live.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	x := &exchange{
		method: r.Method, path: r.URL.Path, asked: kept(r.Header), body: body,
		status: resp.StatusCode, answered: kept(resp.Header),
	}
	c.mu.Lock()
	c.all = append(c.all, x)
	c.mu.Unlock()
	resp.Body = &noted{body: resp.Body, note: func(chunk, broken string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if chunk != "" {
			x.chunks = append(x.chunks, chunk)
		}
		if broken != "" {
			x.broken = broken
		}
	}}
	return resp, nil
}

// noted is a body whose reads are noted down.
type noted struct {
	body io.ReadCloser
	note func(chunk, broken string) // broken is the error that ended the body, or ""
}

// Read notes down what it reads.
func (n *noted) Read(p []byte) (int, error) {
	k, err := n.body.Read(p)
	broken := ""
	if err != nil && err != io.EOF {
		broken = err.Error()
	}
	n.note(string(p[:k]), broken)
	return k, err
}

// Close closes the real body.
func (n *noted) Close() error { return n.body.Close() }

func (c *recorder) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return writeTape(c.all)
}

func writeTape(all []*exchange) []byte {
	var b bytes.Buffer
	for i, x := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "> %s\n", x.line())
		writeHeader(&b, ">", x.asked)
		if x.body != "" {
			b.WriteString(">\n")
			for line := range strings.SplitSeq(x.body, "\n") {
				fmt.Fprintf(&b, "> %s\n", line)
			}
		}
		fmt.Fprintf(&b, "< %d\n", x.status)
		writeHeader(&b, "<", x.answered)
		for _, chunk := range x.chunks {
			writeChunk(&b, chunk)
		}
		if x.broken != "" {
			fmt.Fprintf(&b, "! %s\n", strings.ReplaceAll(x.broken, "\n", " "))
		}
	}
	return b.Bytes()
}

func writeHeader(b *bytes.Buffer, mark string, h http.Header) {
	names := []string{}
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(b, "%s %s: %s\n", mark, name, h.Get(name))
	}
}

func writeChunk(b *bytes.Buffer, chunk string) {
	for line := range strings.Lines(chunk) {
		text, ended := strings.CutSuffix(line, "\n")
		switch {
		case !prints(text):
			fmt.Fprintf(b, "\" %s\n", strconv.Quote(line))
		case line == "\n":
			b.WriteString("|\n")
		case ended:
			fmt.Fprintf(b, "| %s\n", text)
		default:
			fmt.Fprintf(b, "\\ %s\n", text)
		}
	}
	b.WriteString("--\n")
}

// prints reports whether text can stand on a tape as it is.
func prints(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// readTape reads a tape; errors name the line.
func readTape(text []byte) ([]*exchange, error) {
	r := tapeReader{}
	s := bufio.NewScanner(bytes.NewReader(text))
	s.Buffer(nil, len(text)+1)
	for n := 1; s.Scan(); n++ {
		if err := r.line(s.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	for _, x := range r.all {
		if x.status == 0 {
			return nil, fmt.Errorf("%s has no response", x.line())
		}
	}
	return r.all, nil
}

type tapeReader struct {
	all    []*exchange
	x      *exchange // being read
	inBody bool      // the request's body has begun
	chunk  strings.Builder
}

func (r *tapeReader) line(line string) error {
	mark, rest, _ := strings.Cut(line, " ")
	if mark == "" || mark == "#" {
		if mark == "" {
			r.x = nil
		}
		return nil
	}
	if r.x == nil {
		return r.open(mark, rest)
	}
	switch mark {
	case ">":
		return r.asked(rest, line == ">")
	case "<":
		return r.answered(rest)
	}
	if r.x.status == 0 {
		return errors.New("a body before the response's status")
	}
	return r.body(mark, rest)
}

func (r *tapeReader) open(mark, rest string) error {
	method, path, ok := strings.Cut(rest, " ")
	if mark != ">" || !ok {
		return errors.New("an exchange begins with \"> METHOD PATH\"")
	}
	r.x = &exchange{method: method, path: path, asked: http.Header{}, answered: http.Header{}}
	r.all, r.inBody = append(r.all, r.x), false
	return nil
}

func (r *tapeReader) asked(rest string, lone bool) error {
	switch {
	case r.x.status != 0:
		return errors.New("a request within a response: a blank line is missing")
	case r.inBody:
		if r.x.body != "" {
			r.x.body += "\n"
		}
		r.x.body += rest
	case lone:
		r.inBody = true
	default:
		return header(r.x.asked, rest)
	}
	return nil
}

func (r *tapeReader) answered(rest string) error {
	if r.x.status != 0 {
		return header(r.x.answered, rest)
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 100 || n > 599 {
		return errors.New("a response begins with \"< STATUS\"")
	}
	r.x.status = n
	return nil
}

func header(h http.Header, line string) error {
	name, value, ok := strings.Cut(line, ": ")
	if !ok {
		return errors.New("no header")
	}
	h.Set(name, value)
	return nil
}

func (r *tapeReader) body(mark, rest string) error {
	switch mark {
	case "|":
		r.chunk.WriteString(rest + "\n")
	case `\`:
		r.chunk.WriteString(rest)
	case `"`:
		s, err := strconv.Unquote(rest)
		if err != nil {
			return errors.New("not a Go string")
		}
		r.chunk.WriteString(s)
	case "--":
		r.x.chunks = append(r.x.chunks, r.chunk.String())
		r.chunk.Reset()
	case "!":
		r.x.broken = rest
	default:
		return fmt.Errorf("the mark %q is not known", mark)
	}
	return nil
}
