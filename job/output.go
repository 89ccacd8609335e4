package job

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// Limits of output.
const (
	// keepHead and keepTail are how much of the beginning and end of a command's output is kept, in bytes. Whoever
	// shows it to a model cuts it further and keeps this for reading on.
	keepHead = 512 << 10
	keepTail = 512 << 10
	// maxShow bounds one piece of progress: somebody looks on, nobody reads all.
	maxShow = 4 << 10
)

// An output keeps the beginning and the end of what is written to it.
type output struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	total int64

	pending []byte // not shown yet
	missed  bool   // some of it was dropped
	waited  bool   // a line without an end was held back once
}

// fill reads until the pipe ends or is closed. It never stops reading, so that the command never waits for us.
func (o *output) fill(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			o.add(buf[:n])
		}
		if err != nil {
			return // the end, or the pipe was given up: there is nothing more to know
		}
	}
}

func (o *output) add(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += int64(len(b))
	o.pending = append(o.pending, b...)
	if over := len(o.pending) - maxShow; over > 0 {
		o.pending, o.missed = append(o.pending[:0], o.pending[over:]...), true
	}
	if room := keepHead - len(o.head); room > 0 {
		n := min(room, len(b))
		o.head = append(o.head, b[:n]...)
		b = b[n:]
	}
	if room := keepTail - len(o.tail); room > 0 && len(b) > 0 {
		n := min(room, len(b))
		o.tail = append(o.tail, b[:n]...)
		b = b[n:]
	}
	for len(b) > 0 {
		n := copy(o.tail[o.next:], b)
		b = b[n:]
		o.next = (o.next + n) % keepTail
	}
}

// text is all that was kept, decoded and cleaned, and how many bytes of the middle are gone.
func (o *output) text() (string, int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := append(append([]byte(nil), o.tail[o.next:]...), o.tail[:o.next]...)
	dropped := o.total - int64(len(o.head)) - int64(len(tail))
	if dropped == 0 {
		return Clean(decode(append(append([]byte(nil), o.head...), tail...))), 0
	}
	enc := sniff(o.head)
	odd := (o.total - int64(len(tail))) % 2
	head, tail := whole(o.head, tail, enc, odd != 0)
	return Clean(enc.decode(head)) + "\n[… " + size(dropped) + " left out …]\n" + Clean(enc.decode(tail)), dropped
}

// whole takes the broken characters off the cut.
func whole(head, tail []byte, e encoding, odd bool) ([]byte, []byte) {
	if e == utf16le || e == utf16be {
		if odd {
			tail = tail[1:]
		}
		return head[:len(head)&^1], tail
	}
	for k := 1; k < utf8.UTFMax && k <= len(head); k++ {
		if at := len(head) - k; utf8.RuneStart(head[at]) {
			if !utf8.FullRune(head[at:]) {
				head = head[:at]
			}
			break
		}
	}
	for k := 0; k < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); k++ {
		tail = tail[1:]
	}
	return head, tail
}

// fresh is what came since the last time, up to the last line end. A line that does not end is shown the second time.
func (o *output) fresh() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	end := bytes.LastIndexByte(o.pending, '\n') + 1
	if end == 0 {
		if len(o.pending) == 0 || !o.waited {
			o.waited = len(o.pending) > 0
			return ""
		}
		end = len(o.pending)
		for k := 1; k < utf8.UTFMax && k < end; k++ {
			if at := end - k; utf8.RuneStart(o.pending[at]) {
				if !utf8.FullRune(o.pending[at:]) {
					end = at
				}
				break
			}
		}
	}
	piece := Clean(sniff(o.head).decode(o.pending[:end]))
	o.pending = append(o.pending[:0], o.pending[end:]...)
	o.waited = false
	if o.missed {
		o.missed = false
		piece = "[…]\n" + strings.TrimPrefix(piece, "\n")
	}
	return piece
}
