package dialect

import (
	"iter"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
)

// A Guard reads an output while it arrives, and lets through what a person may see of it.
//
// It holds back what may yet turn out to be markup or a call, and nothing else. What it has let
// through it never takes back. In the end its [Reading] is that of [Read]: both run the
// same scan, and this one waits inside of it for the next piece.
//
// A Guard must be closed. It may be used by one goroutine at a time.
type Guard struct {
	scanner *scanner
	piece   []byte // has arrived and is not yet read
	closed  bool
	next    func() (struct{}, bool)
	stop    func()
}

// A Delta is what has become certain.
type Delta struct {
	Visible string        // more of the visible text
	Thought string        // more of the thoughts
	Preview model.Preview // news of the call that is being written; its name first, more of its arguments later
}

// NewGuard returns a guard over one output.
func NewGuard(c *Catalog, o Options) *Guard {
	g := &Guard{}
	g.next, g.stop = iter.Pull(func(yield func(struct{}) bool) {
		in := args.Growing(func() []byte {
			for len(g.piece) == 0 {
				if g.closed || !yield(struct{}{}) {
					return nil
				}
			}
			piece := g.piece
			g.piece = nil
			return piece
		})
		g.scanner = newScanner(c, in, o)
		g.scanner.shown.live, g.scanner.mind.live = true, true
		g.scanner.mind.flow.exact = true
		g.scanner.run()
	})
	g.next() // up to the first byte
	return g
}

// Write takes the next piece of the output. Pieces may end anywhere, within a character too.
func (g *Guard) Write(piece []byte) Delta {
	if g.closed || len(piece) == 0 {
		return Delta{}
	}
	if s := g.scanner; s.waits == nil || !s.in.Offer(piece, s.waits) {
		g.piece = piece
		g.next()
	}
	return g.delta()
}

// Close ends the output and returns what was still held back, and what all of it was. Closing again
// returns the same reading.
func (g *Guard) Close() (Delta, Reading) {
	if g.closed {
		return Delta{}, g.scanner.reading()
	}
	g.closed = true
	for {
		if _, more := g.next(); !more {
			break
		}
	}
	g.stop()
	s := g.scanner
	s.mind.flow.end()
	s.shown.flow.end()
	return g.delta(), s.reading()
}

func (g *Guard) delta() Delta {
	s := g.scanner
	return Delta{Visible: s.shown.flow.take(), Thought: s.mind.flow.take(), Preview: s.writing.news(s.in)}
}
