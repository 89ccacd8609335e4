package turn

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"strings"
	"sync"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
)

// trails are what was sent last in each session, block by block: a request that does not repeat the one before it has its engine read
// all of it again, which takes minutes on a small machine, and nothing else would tell why. The zero value is empty and ready.
type trails struct {
	mu   sync.Mutex
	seed maphash.Seed
	of   map[jackline.SessionID][]block
}

// A block is a part of a request, as a hash.
type block struct {
	name string
	sum  uint64
	size int // bytes
}

// mostTrails bounds the sessions that are followed: more than are in use at once. One that is forgotten costs a line of the log.
const mostTrails = 64

// follow compares a request with the last one of its session. It gives the name of the first block that is not as it was, "" if there
// is none, and how many bytes of the last request are repeated.
func (t *trails) follow(id jackline.SessionID, req model.Request) (differs string, same, of int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.seed, t.of = maphash.MakeSeed(), map[jackline.SessionID][]block{}
	}
	before, now := t.of[id], t.blocks(req)
	if len(t.of) >= mostTrails && before == nil {
		clear(t.of)
	}
	t.of[id] = now
	for k, b := range before {
		of += b.size
		switch {
		case differs != "":
		case k < len(now) && now[k] == b:
			same += b.size
		case k < len(now):
			differs = now[k].name
		default:
			differs = b.name
		}
	}
	return differs, same, of
}

// blocks takes a request apart, in the order in which engines read it.
func (t *trails) blocks(req model.Request) []block {
	all := make([]block, 0, len(req.System)+1+len(req.Messages))
	add := func(name string, text ...string) {
		var h maphash.Hash
		h.SetSeed(t.seed)
		n := 0
		for _, s := range text {
			_, _ = h.WriteString(s) // it never fails
			_ = h.WriteByte(0)
			n += len(s)
		}
		all = append(all, block{name, h.Sum64(), n})
	}
	for k, text := range req.System {
		add(systemName(k, text), text)
	}
	var tools []string
	for _, x := range req.Tools {
		tools = append(tools, x.Name, x.Summary, x.Use, string(x.Schema))
	}
	for _, x := range req.Known {
		tools = append(tools, x.Name)
	}
	add("tools", tools...)
	for k, m := range req.Messages {
		text := []string{string(m.Role), m.Text, m.Opaque, m.CallID, m.Name}
		for _, c := range m.Calls {
			text = append(text, c.ID, c.Name, string(c.Args))
		}
		for _, i := range m.Images {
			text = append(text, i.Type, string(i.Data[:min(len(i.Data), 64)]), fmt.Sprint(len(i.Data)))
		}
		add(fmt.Sprintf("message %d (%s)", k+1, m.Role), text...)
	}
	return all
}

// systemName says what a block of the system message is.
func systemName(k int, text string) string {
	switch {
	case k == 0:
		return "rules"
	case k == 1:
		return "workspace"
	case strings.HasPrefix(text, summaryHead):
		return "summary"
	}
	return "instructions"
}

// trace tells the log where a request stops repeating the one before it.
func (r *run) trace(ctx context.Context, req model.Request) {
	if r.e.Errors == nil || !r.e.Errors.Enabled(ctx, slog.LevelDebug) {
		return
	}
	differs, same, of := r.e.trails.follow(r.s.ID, req)
	if differs != "" {
		r.e.Errors.Debug("prefix", "session", r.s.ID, "turn", r.t.ID, "step", r.t.Progress.Step+1, "differs", differs, "repeated", same, "of", of)
	}
}
