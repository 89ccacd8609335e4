package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrNoStream says that a body is no stream of events.
var ErrNoStream = errors.New("not a stream of events")

// maxBlank is how many bytes of nothing may stand before the first event: a server that sends more is not going to answer.
const maxBlank = 64 << 10

// An Event is one JSON value of an answer.
type Event struct {
	Kind string // the name that the stream gives it, usually repeated in Data
	Data []byte // valid until the next event is read
}

// Events reads the JSON values of a body one by one: server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), whether or not a blank line stands behind each, an
// answer in one piece, and JSON values one after the other. It bounds each event; whoever made the body bounds the whole.
type Events struct {
	r    *bufio.Reader
	d    *json.Decoder // for a body that is bare JSON
	kind string
	held []byte // lines of one value that is written over several, so far
	line []byte // a line that is longer than the reader's buffer
	over bool   // the marker [DONE] was read
	open bool   // something was read
}

// NewEvents reads from body.
func NewEvents(body io.Reader) *Events {
	return &Events{r: bufio.NewReaderSize(body, readerSize)}
}

// Next gives the next event; io.EOF at the end of the body. A web page is ErrNoStream.
func (e *Events) Next() (Event, error) {
	if !e.open {
		if err := e.begin(); err != nil {
			return Event{}, err
		}
		e.open = true
	}
	if e.d != nil {
		return e.value()
	}
	for {
		line, err := e.readLine()
		if err != nil {
			return Event{}, err
		}
		ev, ok, err := e.take(line)
		if ok || err != nil {
			return ev, err
		}
		if e.over {
			return Event{}, io.EOF
		}
	}
}

// Marked reports whether the marker [DONE] was read, with which most servers end a stream.
func (e *Events) Marked() bool { return e.over }

// begin looks at the first byte that is not blank: it tells streams, JSON and pages apart.
func (e *Events) begin() error {
	if bom, err := e.r.Peek(3); err == nil && string(bom) == "\ufeff" {
		if _, err := e.r.Discard(len(bom)); err != nil {
			return err
		}
	}
	for range maxBlank {
		c, err := e.r.ReadByte()
		if err != nil {
			return err
		}
		if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
			continue
		}
		if err := e.r.UnreadByte(); err != nil {
			return err
		}
		switch c {
		case '{', '[':
			e.d = json.NewDecoder(&short{r: e.r})
		case '<':
			return ErrNoStream
		}
		return nil
	}
	return ErrNoStream
}

// Ahead is what has arrived and was not read, at most n bytes of it.
func (e *Events) Ahead(n int) []byte {
	b, err := e.r.Peek(min(n, e.r.Buffered()))
	if err != nil {
		return nil
	}
	return slices.Clone(b)
}

// value reads one value of a body that is bare JSON.
func (e *Events) value() (Event, error) {
	var raw json.RawMessage
	if err := e.d.Decode(&raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return Event{}, fmt.Errorf("%w: %w", ErrNoStream, err)
		}
		return Event{}, err
	}
	return Event{Data: raw}, nil
}

// readLine gives the next line without its end. A last line without an end counts. A body that ends while lines are
// held, without the blank line behind them, was broken off.
func (e *Events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		part, err := e.r.ReadSlice('\n')
		if err == nil && len(e.line) == 0 {
			return bytes.TrimRight(part, "\r\n"), nil
		}
		e.line = append(e.line, part...)
		switch {
		case len(e.line) > MaxLine:
			return nil, fmt.Errorf("%w: a line of over %d bytes", ErrTooMuch, MaxLine)
		case err == nil, err == io.EOF && len(e.line) > 0:
			return bytes.TrimRight(e.line, "\r\n"), nil
		case err == io.EOF && len(e.held) > 0:
			if json.Valid(e.held) {
				return nil, nil // as if the blank line were there
			}
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// take reads one line of a stream and reports whether it completes an event.
func (e *Events) take(line []byte) (Event, bool, error) {
	if len(line) == 0 {
		kind := e.kind
		e.kind = ""
		if len(e.held) > 0 {
			held := e.held
			e.held = e.held[:0]
			return Event{kind, held}, true, nil
		}
		return Event{}, false, nil
	}
	if line[0] == '{' { // an error that was written straight into the stream
		return Event{e.kind, line}, true, nil
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	switch string(field) {
	case "event":
		e.kind = string(bytes.TrimSpace(value))
	case "data":
		return e.data(bytes.TrimSpace(value))
	}
	return Event{}, false, nil // a comment, an ID, something unknown
}

// data takes the value of a data line. Most are a whole JSON value; a value over several lines is put together, and looked at
// only where it ends.
func (e *Events) data(value []byte) (Event, bool, error) {
	if len(e.held) == 0 {
		if string(value) == "[DONE]" {
			e.over = true
			return Event{}, false, nil
		}
		if len(value) == 0 {
			return Event{}, false, nil
		}
		if value[len(value)-1] == '}' && json.Valid(value) {
			return Event{e.kind, value}, true, nil
		}
	}
	if len(e.held)+len(value) > MaxLine {
		return Event{}, false, fmt.Errorf("%w: over %d bytes", ErrTooMuch, MaxLine)
	}
	e.held = append(append(e.held, value...), '\n')
	return Event{}, false, nil
}

// short ends with an error when one JSON body is longer than an event may be.
type short struct {
	r    io.Reader
	read int
}

// Read reads as long as the limit is not passed.
func (s *short) Read(p []byte) (int, error) {
	if s.read > MaxLine {
		return 0, fmt.Errorf("%w: over %d bytes", ErrTooMuch, MaxLine)
	}
	n, err := s.r.Read(p)
	s.read += n
	return n, err
}
