package server

import (
	"net/http"
	"sync"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/guard"
)

const (
	// maxOwnStreams is how many event streams one owner may have open. Each is a connection, a goroutine and what it has
	// not been sent yet. A tab of the page has two, and a browser opens at most six connections to one server, so this is
	// ten browsers and some terminals: only a client that opens streams and forgets them comes so far.
	maxOwnStreams = 64

	// maxStreams is how many all owners together may have open, so that there are file descriptors left for requests and
	// for tools: many systems give a program a thousand and a little.
	maxStreams = 512
)

// A group is the streams that are open, and the way to end them all.
type group struct {
	mu     sync.Mutex
	closed bool
	done   chan struct{} // closed: they end
	open   sync.WaitGroup
	count  int
	own    map[jackline.Owner]int
}

func newGroup() *group { return &group{done: make(chan struct{}), own: map[jackline.Owner]int{}} }

// begin counts a stream of an owner in, or says why not.
func (g *group) begin(o jackline.Owner) *problem {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return closingProblem()
	case g.own[o] >= maxOwnStreams:
		return newProblem(http.StatusTooManyRequests, guard.TooMany, "You have too many event streams open: close some, in tabs, terminals or programs, and try again.")
	case g.count >= maxStreams:
		return newProblem(http.StatusTooManyRequests, guard.TooMany, "The server has too many event streams open; try again in a minute.")
	}
	g.count++
	g.own[o]++
	g.open.Add(1)
	return nil
}

func (g *group) end(o jackline.Owner) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count--
	if g.own[o]--; g.own[o] == 0 {
		delete(g.own, o)
	}
	g.open.Done()
}

// shut tells the streams to end.
func (g *group) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		close(g.done)
	}
}
