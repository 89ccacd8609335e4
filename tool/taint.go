package tool

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
)

// The session's facts by which the taint gate knows where words came from.
const (
	// SaidKey holds the addresses that stand in the owner's own messages: a JSON list of strings, the newest last.
	SaidKey = "addresses.said"
	// FoundKey holds those that searches of the session brought.
	FoundKey = "addresses.found"
	// ReadKey holds what the session read first that somebody else could have written, and first of the owner's own: a
	// [Provenance].
	ReadKey = "taint"
)

const (
	// MostAddresses is how many addresses of a kind a session keeps: more than a person types or a task looks up. The oldest go.
	MostAddresses = 200
	// LongestAddress is the longest that is kept, in bytes: no longer one is fetched.
	LongestAddress = 8192
)

// Provenance says where a session's labels came from.
type Provenance struct {
	Tainted *Source `json:"tainted,omitempty"`
	Private *Source `json:"private,omitempty"`
}

// A Source is one thing that was read.
type Source struct {
	Turn jackline.TurnID `json:"turn,omitempty"`
	Step int             `json:"step"` // 0 is before the first
	What string          `json:"what"` // "web page https://example.org", "file notes.md"
}

// reaches is all that a call of the tool may touch: what a process does lies within running it.
func (f Facts) reaches() jackline.Effect {
	e := f.Effect
	if e.Has(jackline.Exec) {
		e |= jackline.Read | jackline.Write | jackline.Delete | jackline.Network
	}
	return e
}

// vouch tells the judge which of the addresses that a call names the model did not make up. Only a session that has read
// text by others is judged by it.
func (g *Gate) vouch(ctx context.Context, p *passage) error {
	var named []string
	for _, t := range p.i.Touches {
		if t.Address != "" {
			named = append(named, t.Address)
		}
	}
	if !p.i.Labels.Tainted || len(named) == 0 {
		return nil
	}
	for key, into := range map[string]*[]string{SaidKey: &p.i.Said, FoundKey: &p.i.Found} {
		raw, err := g.Log.State(ctx, p.r.Who.Owner, p.c.Session, key)
		if err != nil {
			return err
		}
		for _, a := range addresses(raw) {
			if slices.Contains(named, a) {
				*into = append(*into, a)
			}
		}
	}
	return nil
}

// addresses reads a list of addresses. One that cannot be read vouches for nothing.
func addresses(raw json.RawMessage) []string {
	var list []string
	if len(raw) == 0 || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// Remember adds addresses to a list that is kept under [SaidKey] or [FoundKey].
func Remember(raw json.RawMessage, more []string) json.RawMessage {
	list := addresses(raw)
	for _, a := range more {
		if a == "" || len(a) > LongestAddress {
			continue
		}
		list = append(slices.DeleteFunc(list, func(have string) bool { return have == a }), a)
	}
	out, err := json.Marshal(list[max(0, len(list)-MostAddresses):])
	if err != nil { // strings always encode
		return raw
	}
	return out
}

// because says on a card what a tainted session has read, for whoever is asked: the latest of this turn, or what was first.
func (g *Gate) because(ctx context.Context, p *passage) (string, error) {
	if !p.i.Labels.Tainted || p.t.facts.Asks {
		return "", nil
	}
	var from *Source
	for k := len(p.r.Prior) - 1; k >= 0 && from == nil; k-- {
		if q := p.r.Prior[k]; q.State == jackline.CallEnded && q.Text != "" && q.Source < jackline.Trusted {
			s := sourceOf(q)
			from = &s
		}
	}
	if from == nil {
		raw, err := g.Log.State(ctx, p.r.Who.Owner, p.c.Session, ReadKey)
		if err != nil {
			return "", err
		}
		var all Provenance
		if len(raw) == 0 || json.Unmarshal(raw, &all) != nil || all.Tainted == nil {
			return "", nil
		}
		from = all.Tainted
	}
	where := "step " + strconv.Itoa(from.Step)
	switch {
	case from.Step == 0:
		where = "a prompt"
	case from.Turn != p.c.Turn:
		where = "an earlier turn"
	}
	verb := " read "
	if from.Step == 0 {
		verb = " brought "
	}
	if strings.HasPrefix(p.decision.Rule, "taint") {
		return " It is asked because " + where + verb + from.What + ".", nil
	}
	return " Before it, " + where + verb + from.What + ", which others could have written.", nil
}

// longestSource bounds what is said of one source, in characters: it stands on a card.
const longestSource = 160

// sourceOf says what a call has read, on one line.
func sourceOf(c jackline.Call) Source {
	what := c.Origin
	if what == "" {
		what = c.Title
	}
	return Source{Turn: c.Turn, Step: c.Step, What: Line(what)}
}

// Line is text on one line, short, without what could change how it is shown.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == 0xfeff || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x2069,
			r >= 0xe0000 && r <= 0xe0fff:
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > longestSource {
		s = string(r[:longestSource]) + "…"
	}
	return s
}

// traced is what the session keeps with an outcome: what the tool itself wants kept, the addresses that a search brought, and
// where the labels came from once one of them is new.
func (g *Gate) traced(ctx context.Context, r Request, c jackline.Call, had, now jackline.Labels, out Out) (map[string]json.RawMessage, error) {
	state := out.State
	if len(out.Addresses) > 0 {
		raw, err := g.Log.State(ctx, r.Who.Owner, c.Session, FoundKey)
		if err != nil {
			return nil, err
		}
		state = with(state, FoundKey, Remember(raw, out.Addresses))
	}
	if had == now {
		return state, nil
	}
	raw, err := g.Log.State(ctx, r.Who.Owner, c.Session, ReadKey)
	if err != nil {
		return nil, err
	}
	return with(state, ReadKey, Trace(raw, had, now, sourceOf(c))), nil
}

// Trace adds to what is kept under [ReadKey] where labels came from that are new.
func Trace(raw json.RawMessage, had, now jackline.Labels, s Source) json.RawMessage {
	var from Provenance
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, &from) // what cannot be read is written anew
	}
	s.What = Line(s.What)
	if now.Tainted && !had.Tainted && from.Tainted == nil {
		from.Tainted = &s
	}
	if now.Private && !had.Private && from.Private == nil {
		from.Private = &s
	}
	out, err := json.Marshal(from)
	if err != nil { // it always encodes
		return raw
	}
	return out
}

// with is a session's facts with one more.
func with(state map[string]json.RawMessage, key string, value json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{key: value}
	for k, v := range state {
		out[k] = v
	}
	return out
}

// Marks knows whose word the files of a workspace are.
type Marks interface {
	// Own reports whether all that is read at the touches is the owner's own word: the folder is trusted, and no session that had
	// read text by others has written there.
	Own(context.Context, jackline.Actor, []jackline.Touch) (bool, error)

	// Wrote is told of touches that are written, before and after it.
	Wrote(context.Context, jackline.Actor, []jackline.Touch) error

	// Ran is told before a command runs, and by the function that it returns when the command has ended. The function is never nil.
	Ran(context.Context, jackline.Actor, time.Time) (ended func(context.Context) error, err error)
}

// marking tells the keeper of marks what a call is about to write. What it returns is called when the call has ended.
func (g *Gate) marking(ctx context.Context, p *passage) (ended func(context.Context) error, err error) {
	ended = func(context.Context) error { return nil }
	if g.Marks == nil {
		return ended, nil
	}
	var written []jackline.Touch
	runs := p.i.Effect.Has(jackline.Exec)
	for _, t := range p.i.Touches {
		if t.Kind == kindPath && !t.Effect.Has(jackline.Exec) && p.i.Effect.Has(jackline.Write) {
			written = append(written, t)
		}
	}
	if runs {
		return g.Marks.Ran(ctx, p.r.Who, time.Now())
	}
	if len(written) == 0 {
		return ended, nil
	}
	return func(ctx context.Context) error { return g.Marks.Wrote(ctx, p.r.Who, written) }, g.Marks.Wrote(ctx, p.r.Who, written)
}

// vouched is whose word a result is: what a tool read from files of the owner's own is theirs.
func (g *Gate) vouched(ctx context.Context, p *passage, e ending) jackline.Integrity {
	if g.Marks == nil || e.source != jackline.Workspace || !e.secret || p.i.Effect != jackline.Read {
		return e.source // names of files are what whoever made them called them
	}
	if own, err := g.Marks.Own(ctx, p.r.Who, p.i.Touches); err != nil || !own {
		return e.source
	}
	return jackline.Trusted
}
