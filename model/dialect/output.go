package dialect

import (
	"unicode/utf8"

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
	f.rest = append(f.rest, piece...)
	n := characters(f.rest)
	f.pass(f.rest[:n])
	f.rest = append(f.rest[:0], f.rest[n:]...)
}

// characters is the length of text without a character at its end that is not whole.
func characters(text []byte) int {
	n := len(text)
	for back := 1; back <= utf8.UTFMax && back <= n; back++ {
		if utf8.RuneStart(text[n-back]) {
			if !utf8.FullRune(text[n-back:]) {
				n -= back
			}
			break
		}
	}
	return n
}

func (f *flow) pass(text []byte) {
	if !f.begun {
		text = trimLeft(text)
		if len(text) == 0 {
			return
		}
		f.begun = true
		if f.joined {
			f.out = append(f.out, '\n')
		}
	}
	if f.exact {
		n := len(args.TrimRight(string(text)))
		if n > 0 {
			f.out = append(f.out, f.blank...)
			f.blank = f.blank[:0]
		}
		f.blank = append(f.blank, text[n:]...)
		text = text[:n]
	}
	f.out = append(f.out, text...)
}

func trimLeft(text []byte) []byte {
	if len(text) == 0 || text[0] > ' ' && text[0] < utf8.RuneSelf {
		return text
	}
	return text[len(text)-len(args.TrimLeft(string(text))):]
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
	text []byte
	lead int    // blanks at its beginning
	held []byte // the closing tag of a wrapper, and blanks after it
	flow flow
	live bool

	wrapper string // the tag around the answer that was taken off
}

// add adds text; blank says that it is nothing but blanks.
func (a *answer) add(piece []byte, blank bool) {
	if len(a.held) > 0 {
		a.held = append(a.held, piece...)
		if blank {
			return
		}
		piece, a.held = a.held, nil
	}
	a.text = append(a.text, piece...)
	if a.live {
		a.flow.add(piece)
	}
}

// begun reports whether there is anything to see yet.
func (a *answer) begun() bool {
	rest := trimLeft(a.text[a.lead:])
	a.lead = len(a.text) - len(rest)
	return len(rest) > 0
}

// hold keeps a closing tag back until it is known whether it ends the text.
func (a *answer) hold(tag string) { a.held = append(a.held, tag...) }

func (a *answer) whole() string { return args.Trim(string(a.text)) }

func (a *answer) reset() {
	a.text, a.lead, a.held, a.wrapper = nil, 0, nil, ""
	a.flow.rest = nil
}

// mind collects thoughts, and everything else as well: until the end any text may
// turn out to have been one.
type mind struct {
	parts   []part
	current []byte // of the thought or the other text that is being read
	inside  bool   // in a thought
	seen    bool   // there was a thought, though it may have been empty
	loose   int    // parts before this one are thoughts for certain

	live bool
	flow flow
}

// part is a stretch of output between two boundaries of thoughts.
type part struct {
	text []byte
	kind kind
}

// kind says what a part is.
type kind int

const (
	outside kind = iota // text and calls
	thought             // a thought
	idle                // a thought after an invented result, which nobody wants
)

// draft remembers text outside of thoughts as it was written.
func (m *mind) draft(piece []byte) { m.current = append(m.current, piece...) }

// enter begins a thought.
func (m *mind) enter() {
	m.close(outside)
	m.inside, m.seen = true, true
}

// think adds to the thought that is being read.
func (m *mind) think(piece []byte, k kind) {
	m.current = append(m.current, piece...)
	if m.live && k == thought {
		m.flow.add(piece)
	}
}

// leave ends the thought.
func (m *mind) leave(k kind) {
	m.close(k)
	m.inside = false
}

// close ends a part.
func (m *mind) close(k kind) {
	if len(m.current) > 0 {
		m.parts = append(m.parts, part{m.current, k})
	}
	m.current = nil
	if k != outside {
		m.flow.end()
	}
}

// claim makes thoughts of all that came before. Told says that it must not go out as a
// thought, since it went out as text.
func (m *mind) claim(told bool) {
	if m.live && !told {
		m.flow.add(m.current)
		m.flow.end()
	}
	m.close(outside)
	for ; m.loose < len(m.parts); m.loose++ {
		m.parts[m.loose].kind = thought
	}
	m.seen = true
}

func (m *mind) whole() string {
	if m.inside {
		m.close(thought)
	}
	var b []byte
	for _, p := range m.parts {
		if p.kind != thought {
			continue
		}
		text := args.Trim(string(p.text))
		if text == "" {
			continue
		}
		if len(b) > 0 {
			b = append(b, '\n')
		}
		b = append(b, text...)
	}
	return string(b)
}
