package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// A draft is a call that is being written.
type draft struct {
	index int // as the server numbers it
	id    string
	name  string
	args  strings.Builder
	nest  nesting         // of args
	shown bool            // its name was announced
	told  int             // and so much of args
	extra json.RawMessage // what the server wants back with it
}

// whole reports whether d could end here.
func (d *draft) whole() bool { return d.name != "" && d.nest.closed }

// Nesting follows JSON as it comes and knows when its one value is closed. It looks at each byte once, so that
// no server can make it look at long arguments again and again.
type nesting struct {
	depth           int
	quoted, escaped bool
	closed, spoiled bool // the value has ended; something stands behind its end
}

func (n *nesting) write(s string) {
	for i := range len(s) {
		c := s[i]
		switch {
		case n.escaped:
			n.escaped = false
		case n.quoted:
			n.escaped, n.quoted = c == '\\', c != '"'
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
		case n.closed || n.spoiled:
			n.closed, n.spoiled = false, true
		case c == '"':
			n.quoted = true
		case c == '{' || c == '[':
			n.depth++
		case c == '}' || c == ']':
			n.depth--
			n.closed = n.depth == 0
		}
	}
}

// A desk puts calls together from fragments, in the order in which they began.
type desk struct {
	drafts []*draft
	began  int            // calls so far
	given  int            // calls handed out
	called engine.Calls   // handed out
	last   map[int]string // index to the ID of the call handed out last under it
	known  [][]model.Tool

	preview func(model.Preview) bool
	yield   func(*model.Call) bool
	extras  []json.RawMessage // of the calls that were handed out
	garbled bool              // arguments that could not be read
}

// add takes the i-th fragment of a delta. It fails with [engine.ErrGone] when the reader has gone, and with errEnough instead of
// beginning a call more than the limit.
func (k *desk) add(i int, f fragment) error {
	index := i
	if f.Index != nil {
		index = *f.Index
	}
	d := k.draft(index, f)
	if d == nil && k.echo(index, f) {
		return nil
	}
	if d == nil {
		if k.began == engine.MaxCalls {
			return errEnough
		}
		k.began++
		d = &draft{index: index, id: f.ID}
		k.drafts = append(k.drafts, d)
		if !k.flush(false) {
			return engine.ErrGone
		}
	}
	k.write(d, f)
	if !k.show(d) {
		return engine.ErrGone
	}
	return nil
}

// draft finds the call that f belongs to, or nil if f begins one.
//
// Servers differ: some reuse index 0 for every call and change the ID, some change nothing but the name, some
// repeat ID and name in each fragment, and some give each fragment of one call a new ID.
func (k *desk) draft(index int, f fragment) *draft {
	var d *draft
	for _, each := range k.drafts {
		if each.index == index {
			d = each
		}
	}
	if d == nil {
		return nil
	}
	begun := d.args.Len() > 0
	switch {
	case f.ID != "" && f.ID == d.id:
		return d
	case f.ID != "" && d.id != "":
		// A new ID. Only a fragment without a name, in the midst of arguments, still belongs to the old call.
		if begun && !d.whole() && (f.Function.Name == "" || f.Function.Name == d.name) || !begun && f.Function.Name == "" {
			return d
		}
		return nil
	case f.Function.Name != "" && begun:
		if f.Function.Name == d.name && !d.whole() {
			return d
		}
		return nil
	case f.Function.Arguments.whole && begun:
		return nil
	}
	return d
}

// echo reports whether f only repeats a call that was handed out: the last fragment of some servers does.
func (k *desk) echo(index int, f fragment) bool {
	id, given := k.last[index]
	return given && (f.Function.Name == "" || f.ID != "" && f.ID == id)
}

func (k *desk) write(d *draft, f fragment) {
	if d.id == "" {
		d.id = f.ID
	}
	switch name := f.Function.Name; {
	case d.args.Len() > 0:
	case strings.HasPrefix(name, d.name): // the first piece, or all of it so far
		d.name = name
	default:
		d.name += name
	}
	if isSet(f.Extra) {
		d.extra = f.Extra
	}
	if f.Function.Arguments.whole {
		d.args.Reset()
		d.nest, d.told = nesting{}, 0
	}
	d.args.WriteString(f.Function.Arguments.text)
	d.nest.write(f.Function.Arguments.text)
}

// knows reports whether a name is a tool's, aliases included. It is asked for the few names of an answer: to make a list of all
// names for it would take longer than to look through them.
func (k *desk) knows(name string) bool {
	is := func(t model.Tool) bool { return t.Name == name || slices.Contains(t.Aliases, name) }
	return slices.ContainsFunc(k.known, func(tools []model.Tool) bool { return slices.ContainsFunc(tools, is) })
}

// show announces d's name once it is known, as it is when it is a tool's or its arguments have begun, and then what is new of those.
func (k *desk) show(d *draft) bool {
	name := engine.CalledName(d.name)
	if name == "" || !d.shown && d.args.Len() == 0 && !k.knows(name) {
		return true
	}
	if !d.shown && !k.preview(model.Preview{Name: name}) {
		return false
	}
	d.shown = true
	more := d.args.String()[d.told:]
	d.told += len(more)
	return more == "" || k.preview(model.Preview{Name: name, Args: more})
}

// flush hands out calls from the front: all of them at the end, else those that are whole and have another behind them.
func (k *desk) flush(end bool) bool {
	for len(k.drafts) > 0 {
		d := k.drafts[0]
		if !end && (len(k.drafts) == 1 || !d.whole()) {
			return true
		}
		k.drafts = k.drafts[1:]
		if !k.give(d) {
			return false
		}
	}
	return true
}

func (k *desk) give(d *draft) bool {
	name := engine.CalledName(d.name)
	text := strings.TrimSpace(d.args.String())
	if name == "" && text == "" {
		return true // an empty frame, as some servers send with the reason for the end
	}
	taken, ok := k.called.Take(d.id, name, text)
	if !ok {
		k.garbled = true
		return true
	}
	c := model.Call{ID: taken.ID, Name: name, Args: taken.Args, Cut: taken.Cut, Mended: taken.Mended}
	k.last[d.index] = d.id
	if !d.shown && !k.preview(model.Preview{Name: name}) {
		return false
	}
	k.given++
	k.extras = append(k.extras, d.extra)
	return k.yield(&c)
}
