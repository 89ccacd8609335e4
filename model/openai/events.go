package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jackline-ai/jackline/model/engine"
)

var errNoStream = errors.New("not a stream of events")

// An event is one JSON value of an answer.
type event struct {
	kind string // of an SSE event, usually ""
	data []byte // valid until the next event is read
}

// events reads the JSON values of a body one by one. It takes server-sent events in every shape that servers write them,
// an answer in one piece, and JSON values one after the other.
type events struct {
	r    *bufio.Reader
	d    *json.Decoder // for a body that is bare JSON
	kind string
	held []byte // lines of one value that is written over several, so far
	line []byte // a line that is longer than the reader's buffer
	done bool   // the end marker was read
}

const readerSize = 32 << 10

func newEvents(body io.Reader) *events {
	return &events{r: bufio.NewReaderSize(body, readerSize)}
}

// next gives the next event; io.EOF at the end of the body or at the marker [DONE].
func (e *events) next() (event, error) {
	if e.d != nil {
		return e.value()
	}
	for {
		line, err := e.readLine()
		if err != nil {
			return event{}, err
		}
		ev, ok, err := e.take(line)
		if ok || err != nil {
			return ev, err
		}
		if e.done {
			return event{}, io.EOF
		}
	}
}

// begin looks at the first byte that is not blank: it tells streams, JSON and pages apart.
func (e *events) begin() error {
	if bom, err := e.r.Peek(3); err == nil && string(bom) == "\ufeff" {
		if _, err := e.r.Discard(len(bom)); err != nil {
			return err
		}
	}
	for {
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
			e.d = json.NewDecoder(e.r)
		case '<':
			return errNoStream
		}
		return nil
	}
}

// ahead is what has arrived and was not read, at most n bytes of it.
func (e *events) ahead(n int) []byte {
	bytes, err := e.r.Peek(min(n, e.r.Buffered()))
	if err != nil {
		return nil
	}
	return slices.Clone(bytes)
}

// value reads one value of a body that is bare JSON.
func (e *events) value() (event, error) {
	var raw json.RawMessage
	if err := e.d.Decode(&raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return event{}, fmt.Errorf("%w: %w", errNoStream, err)
		}
		return event{}, err
	}
	return event{data: raw}, nil
}

// readLine gives the next line without its end. A last line without an end counts. A body that ends while lines are
// held, without the blank line behind them, was broken off.
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		part, err := e.r.ReadSlice('\n')
		if err == nil && len(e.line) == 0 {
			return trimEnd(part), nil
		}
		e.line = append(e.line, part...)
		switch {
		case len(e.line) > engine.MaxLine:
			return nil, fmt.Errorf("%w: a line of over %d bytes", engine.ErrTooMuch, engine.MaxLine)
		case err == nil, err == io.EOF && len(e.line) > 0:
			return trimEnd(e.line), nil
		case err == io.EOF && len(e.held) > 0:
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func trimEnd(line []byte) []byte { return bytes.TrimRight(line, "\r\n") }

// take reads one line of a stream and reports whether it completes an event.
func (e *events) take(line []byte) (event, bool, error) {
	if len(line) == 0 {
		kind := e.kind
		e.kind = ""
		if len(e.held) > 0 {
			held := e.held
			e.held = e.held[:0]
			return event{kind, held}, true, nil
		}
		return event{}, false, nil
	}
	if line[0] == '{' { // an error that was written straight into the stream
		return event{e.kind, line}, true, nil
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch string(field) {
	case "event":
		e.kind = string(value)
	case "data":
		return e.data(value)
	}
	return event{}, false, nil // a comment, an ID, something unknown
}

// data takes the value of a data line. Most are a whole JSON value; a value over several lines is put together.
func (e *events) data(value []byte) (event, bool, error) {
	if len(e.held) == 0 {
		if string(value) == "[DONE]" {
			e.done = true
			return event{}, false, nil
		}
		if len(value) == 0 {
			return event{}, false, nil
		}
		if value[len(value)-1] == '}' && json.Valid(value) {
			return event{e.kind, value}, true, nil
		}
	}
	if len(e.held)+len(value) > engine.MaxLine {
		return event{}, false, fmt.Errorf("%w: an event of over %d bytes", engine.ErrTooMuch, engine.MaxLine)
	}
	e.held = append(append(e.held, value...), '\n')
	if value = bytes.TrimSpace(e.held); json.Valid(value) {
		held := slices.Clone(value)
		e.held = e.held[:0]
		return event{e.kind, held}, true, nil
	}
	return event{}, false, nil
}
