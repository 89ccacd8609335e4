package script

import (
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
)

// An Answer is one block of a script, taken for one request.
type Answer struct {
	line   int // of its header
	parts  []part
	checks []check
	finish model.Finish // as written, or ""

	number int // of the request it answers, from 1
	aside  bool
	held   bool // calls are written as the object that a form is made of
}

// Held is the answer for a request that holds it to a form.
func (a Answer) Held() Answer {
	a.held = true
	return a
}

// A part is what was written: a stretch of text, or a ready step.
type part struct {
	text    string
	thought bool
	pieces  int // bytes in a piece; 0 cuts by word

	step    Step
	written string // arguments of a call as they stand in the script
}

type check struct {
	line   int
	text   string
	refuse bool
}

// A Step is one thing to do while an answer is played. Exactly one field is set.
type Step struct {
	Text    string // a piece of visible text
	Thought string // a piece of reasoning
	Call    *model.Call
	Garbled *Garble
	Usage   *model.Usage
	Finish  model.Finish // always the last step of an answer that is not broken off
	Fail    *Failure     // fail as a server would; the last step
	Cut     bool         // lose the connection; the last step
	Wait    bool         // say nothing more until cancelled; the last step
}

// A Garble is a native call whose arguments cannot be read.
type Garble struct{ Name, Args string }

// A Failure is what a server answers instead of, or in the midst of, an answer.
type Failure struct {
	Status int // of HTTP, 400 to 599
	Text   string
}

// Says is an answer in these words.
func Says(text string) Answer { return Answer{parts: []part{{text: text}}} }

// Text is what the answer says where calls are no interface of their own, and whether it says all of it: an answer may fail or
// be cut.
func (a Answer) Text() (text string, whole bool) {
	var b strings.Builder
	for step := range a.Steps(false) {
		b.WriteString(step.Text)
		if step.Fail != nil || step.Cut || step.Wait {
			return b.String(), false
		}
		whole = step.Finish != "" && step.Finish != model.Length
	}
	return b.String(), whole
}

func (a Answer) check(script string, r model.Request) error {
	for _, c := range a.checks {
		if holds(r, c.text) != c.refuse {
			continue
		}
		verb := "does not hold"
		if c.refuse {
			verb = "holds"
		}
		return jackline.E("script.Next", jackline.Invalid, nil, "%s:%d: request %d %s %q.",
			script, c.line, a.number, verb, c.text)
	}
	return nil
}

// Steps plays the answer: text cut into pieces, and calls as they are, or written into the text when native is false.
func (a Answer) Steps(native bool) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		pl := player{yield: yield, native: native && !a.held, held: a.held, id: a.id()}
		for _, p := range a.parts {
			if !pl.part(p) {
				return
			}
		}
		finish := a.finish
		if finish == "" {
			finish = model.Stop
			if pl.calls > 0 {
				finish = model.Calls
			}
		}
		yield(Step{Finish: finish})
	}
}

// id is what the identifiers of the answer's calls begin with.
func (a Answer) id() string {
	if a.aside {
		return fmt.Sprintf("side%d", a.number)
	}
	return fmt.Sprintf("main%d", a.number)
}

type player struct {
	yield  func(Step) bool
	native bool
	held   bool
	id     string
	calls  int  // native ones so far
	spoken bool // there is visible text, and
	broken bool // its last character is a line break
}

// part plays p and reports whether the answer goes on.
func (pl *player) part(p part) bool {
	s := p.step
	switch {
	case p.text != "":
		return pl.say(p.text, p.thought, p.pieces)
	case s.Call != nil && pl.held:
		return pl.say(`{"tool": `+string(plain(s.Call.Name))+`, "args": `+p.written+`}`, false, p.pieces)
	case s.Call != nil && !pl.native:
		return pl.say(block(s.Call.Name, p.written), false, p.pieces)
	case s.Garbled != nil && !pl.native:
		return pl.say(block(s.Garbled.Name, s.Garbled.Args), false, p.pieces)
	case s.Call != nil:
		pl.calls++
		c := *s.Call
		c.ID = fmt.Sprintf("%scall%d", pl.id, pl.calls)
		return pl.yield(Step{Call: &c})
	case s.Garbled != nil:
		pl.calls++
	}
	return pl.yield(s) && s.Fail == nil && !s.Cut && !s.Wait
}

// block is a call as text models are taught to write it.
func block(name, args string) string {
	return "```tool\n{\"name\": " + string(plain(name)) + ", \"args\": " + args + "}\n```"
}

func (pl *player) say(text string, thought bool, size int) bool {
	if !thought {
		if pl.spoken && !pl.broken {
			text = "\n" + text
		}
		pl.spoken, pl.broken = true, strings.HasSuffix(text, "\n")
	}
	for text != "" {
		n := word(text)
		if size > 0 {
			n = whole(text, size)
		}
		s := Step{Text: text[:n]}
		if thought {
			s = Step{Thought: text[:n]}
		}
		if !pl.yield(s) {
			return false
		}
		text = text[n:]
	}
	return true
}

// word is the length of the first word of text with the blanks around it.
func word(text string) int {
	blank := func(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }
	i := 0
	for i < len(text) && blank(text[i]) {
		i++
	}
	for i < len(text) && !blank(text[i]) {
		i++
	}
	for i < len(text) && blank(text[i]) {
		i++
	}
	return i
}

// whole is size, or a little more so that no character is cut in two.
func whole(text string, size int) int {
	for size < len(text) && !utf8.RuneStart(text[size]) {
		size++
	}
	return min(size, len(text))
}
