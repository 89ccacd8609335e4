package engine

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Lines reads a body line by line. A line may be long, but not longer than MaxLine.
type Lines struct {
	r    *bufio.Reader
	long []byte // a line that is longer than the reader's buffer
}

const readerSize = 32 << 10

// NewLines reads from r.
func NewLines(r io.Reader) *Lines { return &Lines{r: bufio.NewReaderSize(r, readerSize)} }

// Next gives the next line that is not blank, without the blanks around it; it is valid until Next is called again. A last
// line without an end counts. At the end of the body it gives io.EOF, for a line that is too long ErrTooMuch.
func (l *Lines) Next() ([]byte, error) {
	for {
		line, err := l.next()
		if line = bytes.TrimSpace(line); err != nil || len(line) > 0 {
			return line, err
		}
	}
}

func (l *Lines) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if err == nil && len(l.long) == 0 {
			return part, nil
		}
		l.long = append(l.long, part...)
		switch {
		case len(l.long) > MaxLine:
			return nil, fmt.Errorf("%w: a line of over %d bytes", ErrTooMuch, MaxLine)
		case err == nil, err == io.EOF && len(l.long) > 0:
			return l.long, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
