package dialect

import (
	"strings"

	"github.com/jackline-ai/jackline/args"
)

// flow is text on its way out. It lets whole characters through only, and none of the blanks
// in front.
type flow struct {
	exact  bool // nor those at the end
	joined bool // there is a text before this one: a line end comes between
	begun  bool
	rest   []byte // an incomplete character
	blank  []byte // blanks that may be the end
	out    []byte // what may be taken
}

func (f *flow) add(piece []byte) {
	if len(f.rest) > 0 {
		f.rest = append(f.rest, piece...)
		n := args.Characters(f.rest)
		f.pass(f.rest[:n])
		f.rest = append(f.rest[:0], f.rest[n:]...)
		return
	}
	n := args.Characters(piece)
	f.pass(piece[:n])
	f.rest = append(f.rest, piece[n:]...)
}

func (f *flow) pass(text []byte) {
	if !f.begun {
		text = args.TrimLeft(text)
		if len(text) == 0 {
			return
		}
		f.begun = true
		if f.joined {
			f.out = append(f.out, '\n')
		}
	}
	if f.exact {
		n := len(args.TrimRight(text))
		if n > 0 {
			f.out = append(f.out, f.blank...)
			f.blank = f.blank[:0]
		}
		f.blank = append(f.blank, text[n:]...)
		text = text[:n]
	}
	f.out = append(f.out, text...)
}

// end lets out what is left of a character that never became whole, and begins a new text.
func (f *flow) end() {
	f.pass(f.rest)
	f.joined = f.joined || f.begun
	f.rest, f.blank, f.begun = f.rest[:0], f.blank[:0], false
}

// take hands over what has come through.
func (f *flow) take() string {
	text := string(f.out)
	f.out = f.out[:0]
	return text
}

// answer is the visible text.
type answer struct {
	text args.Spans
	some bool       // there is more in it than blanks
	held args.Spans // the closing tag of a wrapper, and blanks after it
	flow flow
	live bool

	wrapper string // the tag around the answer that was taken off
}

// add adds text; blank says that it is nothing but blanks.
func (a *answer) add(in *args.Input, from, to int, blank bool) {
	if len(a.held) > 0 {
		if blank {
			a.held.Add(from, to)
			return
		}
		for _, p := range a.held {
			a.show(in, int(p.From), int(p.To))
		}
		a.held = nil
	}
	a.show(in, from, to)
}

func (a *answer) show(in *args.Input, from, to int) {
	a.text.Add(from, to)
	piece := in.Bytes()[from:to]
	if !a.some {
		a.some = len(args.TrimLeft(piece)) > 0
	}
	if a.live {
		a.flow.add(piece)
	}
}

// hold keeps a closing tag back until it is known whether it ends the text.
func (a *answer) hold(from, to int) { a.held.Add(from, to) }

func (a *answer) reset() {
	a.text, a.some, a.held, a.wrapper = nil, false, nil, ""
	a.flow.rest = nil
}

// mind collects thoughts, and everything else as well: until the end any text may
// turn out to have been one.
type mind struct {
	all    args.Spans
	parts  []part
	inside bool // in a thought
	seen   bool // there was a thought, though it may have been empty
	loose  int  // parts before this one are thoughts for certain

	live bool
	flow flow
}

// part is a stretch of output between two boundaries of thoughts.
type part struct {
	end  uint32 // of its spans among all
	kind kind
}

// kind says what a part is.
type kind int8

const (
	outside kind = iota // text and calls
	thought             // a thought
	idle                // a thought after an invented result, which nobody wants
)

// draft remembers text outside of thoughts as it was written.
func (m *mind) draft(from, to int) {
	if len(m.all) > m.begin() {
		m.all.Add(from, to)
	} else if from < to { // a part of its own
		m.all = append(m.all, args.Span{From: uint32(from), To: uint32(to)})
	}
}

// begin is where the spans of the part begin that is being read.
func (m *mind) begin() int {
	if len(m.parts) == 0 {
		return 0
	}
	return int(m.parts[len(m.parts)-1].end)
}

// enter begins a thought.
func (m *mind) enter() {
	m.close(outside)
	m.inside, m.seen = true, true
}

// think adds to the thought that is being read.
func (m *mind) think(in *args.Input, from, to int, k kind) {
	m.draft(from, to)
	if m.live && k == thought {
		m.flow.add(in.Bytes()[from:to])
	}
}

// leave ends the thought.
func (m *mind) leave(k kind) {
	m.close(k)
	m.inside = false
}

// close ends a part.
func (m *mind) close(k kind) {
	if len(m.all) > m.begin() {
		m.parts = append(m.parts, part{uint32(len(m.all)), k})
	}
	if k != outside {
		m.flow.end()
	}
}

// claim makes thoughts of all that came before. Told says that it must not go out as a
// thought, since it went out as text.
func (m *mind) claim(in *args.Input, told bool) {
	if m.live && !told {
		for _, p := range m.all[m.begin():] {
			m.flow.add(p.Bytes(in))
		}
		m.flow.end()
	}
	m.close(outside)
	for ; m.loose < len(m.parts); m.loose++ {
		m.parts[m.loose].kind = thought
	}
	m.seen = true
}

func (m *mind) whole(in *args.Input) string {
	if m.inside {
		m.close(thought)
	}
	var b strings.Builder
	from := uint32(0)
	for _, p := range m.parts {
		text := ""
		if p.kind == thought {
			text = m.all[from:p.end].Text(in)
		}
		from = p.end
		if text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
	}
	return b.String()
}
