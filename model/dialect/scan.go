package dialect

import (
	"bytes"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
)

// scanner is the one forward scan over an output. What lies before i has been dealt with.
type scanner struct {
	in      *args.Input
	catalog *Catalog
	limit   int
	table   *table
	plain   bool // there are no tools

	i int
	// waits, where the scan is between two things of which the next may be mere text, passes over the text if all that is known
	// is that. It spares a guard waking the scan for each word.
	waits func(known []byte) bool

	first  bool // nothing but blanks stands before i on its line
	fresh  bool // or nothing but blanks since a thought, a framing token or another call
	indent int  // spaces since then
	fence  fence

	calls []model.Call
	err   model.Garbled
	wrong string // the name that no tool has
	ended bool   // by an invented result: no call counts any more

	shown   answer
	writing writing
	mind    mind
	orphan  bool

	asked    string // the name that was looked up last
	found    *entry
	tellName func(key, text string)     // named, made once
	tellArgs func(key string, i, j int) // argumentsAt, made once
	around   args.Region                // the last region
	within   []string                   // its closers
	hedge    fence                      // and its fence, as far as that matters
	finders  map[string]*finder
	runs     runs
	spent    int  // bytes that were looked at in vain
	decoded  bool // the rest of the output was escaped
}

func newScanner(c *Catalog, in *args.Input, o Options) *scanner {
	s := &scanner{in: in, catalog: c, limit: o.Calls, first: true, fresh: true}
	if s.limit == 0 {
		s.limit = 3
	}
	if s.plain = o.Plain; !s.plain {
		s.table = all()
	}
	s.finders = make(map[string]*finder)
	s.tellName, s.tellArgs = s.named, s.argumentsAt
	s.mind.inside, s.mind.seen = o.Thinking, o.Thinking
	return s
}

// run scans to the end of the output.
func (s *scanner) run() {
	if s.mind.inside {
		s.ponder(plainThought)
	}
	pass := s.passText
	for {
		s.waits = pass
		c := s.in.At(s.i)
		s.waits = nil
		if c == args.End {
			return
		}
		s.step()
	}
}

func (s *scanner) reading() Reading {
	r := Reading{
		Calls:   s.calls,
		Visible: s.shown.text.Text(s.in),
		Thought: s.mind.whole(s.in),
		Orphan:  s.orphan,
	}
	if len(s.calls) == 0 {
		r.Error, r.Asked = s.err, s.wrong
	}
	return r
}

// step deals with what stands at i: a run of ordinary text, or something that may be more.
func (s *scanner) step() {
	s.writing.end(s.i)
	known := s.in.Bytes()
	j := s.ordinary(known)
	if j > s.i {
		s.text(j)
		return
	}
	if known[j] == '<' && !s.tagLike(j) {
		s.text(j + 1)
		return
	}
	switch {
	case s.thought(), s.framing(), s.result(), s.code(), s.call():
	default:
		s.text(s.i + 1)
	}
}

// ordinary returns how far what is known is ordinary text.
func (s *scanner) ordinary(known []byte) int {
	j := s.i
	for j < len(known) && (special[known[j]] == nothing || !s.begins(known, j)) {
		j++
	}
	return j
}

// passText is step for a piece that is nothing but ordinary text. It reports whether that is so. At its end no character may be
// in the midst: what that is might have to be waited for.
func (s *scanner) passText(known []byte) bool {
	if known[len(known)-1] >= utf8.RuneSelf || s.ordinary(known) < len(known) {
		return false
	}
	s.writing.end(s.i)
	s.text(len(known))
	return true
}

// tagLike reports whether the angle bracket at i may begin a tag or a token. In most texts
// this saves asking everyone who is waiting for one.
func (s *scanner) tagLike(i int) bool {
	c := s.in.At(i + 1)
	if c == '|' {
		c = s.in.At(i + 2)
	}
	return letter(c) || c == '/' || c == '|' || c >= 0x80
}

// begins reports whether something may begin at i, where a byte stands that something begins with. It asks for no bytes: as far
// as they have not arrived, something may.
func (s *scanner) begins(known []byte, i int) bool {
	switch c := special[known[i]]; c {
	case always:
		return true
	case tag: // most angle brackets are for comparing
		if i+1 >= len(known) {
			return true
		}
		c := int(known[i+1])
		return letter(c) || c == '/' || c == '|' || c >= 0x80
	case fresh:
		return s.freshAt(known, i)
	case either:
		return begun(known[i:], markers[either]) || s.freshAt(known, i)
	default:
		if !begun(known[i:], markers[c]) {
			return false
		}
		return c == literal || i == 0 || !letter(int(known[i-1]))
	}
}

// begun reports whether text begins with one of the words, or is the beginning of one.
func begun(text []byte, words []string) bool {
	for _, w := range words {
		n := min(len(w), len(text))
		if n > 1 && text[1] != w[1] {
			continue
		}
		if string(text[:n]) == w[:n] {
			return true
		}
	}
	return false
}

// freshAt reports whether i may be a place for a value without a marker: nothing but blanks stands before it.
func (s *scanner) freshAt(known []byte, i int) bool {
	for i--; i >= s.i; i-- {
		switch c := known[i]; {
		case c == '\n', c >= 0x80: // which may be a blank too
			return true
		case c != ' ' && c != '\t' && c != '\r':
			return false
		}
	}
	return s.fresh
}

// What a byte can begin, and where.
const (
	nothing = iota
	always
	tag
	fresh   // something where a value may stand
	either  // that, or one of its markers anywhere
	literal // one of its markers
	wordA   // one of its markers, where a word begins
	wordO
	wordC
	wordF
	wordT
	last
)

// special are the bytes that can begin something.
var special = [256]int8{
	'<': tag, '`': always, '~': fresh, '{': fresh, '>': fresh, '[': either,
	']': literal, '&': literal, 'a': literal, 0xE2: literal,
	'A': wordA, 'O': wordO, 'c': wordC, 'f': wordF, 't': wordT,
}

// markers are what those begin that begin something only with certain bytes behind them.
var markers = [last][]string{
	either:  {"[THINK]", "[/THINK]", "[TOOL_", "[tool result:"},
	literal: {sentinel, "&lt;", stripped, "◁"},
	wordA:   {action},
	wordO:   {"Observation:"},
	wordC:   {"commentary to=functions."},
	wordF:   {functools},
	wordT:   {"to=functions."},
}

// text lets the text up to j stand as an ordinary answer.
func (s *scanner) text(j int) {
	s.mind.draft(s.i, j)
	if s.open() {
		s.shown.add(s.in, s.i, j, len(s.shown.held) > 0 && s.blank(s.i, j))
	}
	s.place(j)
	s.i = j
}

// place keeps track of where on its line the scan stands once it has passed the text up to j.
func (s *scanner) place(j int) {
	k := s.i
	if n := bytes.LastIndexByte(s.in.Bytes()[k:j], '\n'); n >= 0 {
		s.first, s.fresh, s.indent = true, true, 0
		k += n + 1
	}
	if !s.fresh {
		return
	}
	for _, c := range s.in.Bytes()[k:j] {
		switch {
		case c == ' ':
			s.indent++
		case c == '\t':
			s.indent += 4
		case c != '\r' && c < 0x80:
			s.first, s.fresh = false, false
			return
		}
	}
	if !s.blank(k, j) {
		s.first, s.fresh = false, false
	}
}

// blank reports whether nothing but blanks stands between i and j.
func (s *scanner) blank(i, j int) bool {
	for i < j {
		n := s.in.Blank(i)
		if n == 0 && s.blankAround(i) {
			n = 1
		}
		if n == 0 {
			return false
		}
		i += n
	}
	return true
}

// blankAround reports whether offset i lies within a blank of several bytes.
func (s *scanner) blankAround(i int) bool {
	if i == 0 || s.in.At(i) < 0x80 {
		return false
	}
	for k := max(0, i-2); k < i; k++ {
		if k+s.in.Blank(k) > i {
			return true
		}
	}
	return false
}

// open reports whether text is still visible: nothing is after the first call, read or not.
func (s *scanner) open() bool { return len(s.calls) == 0 && s.err == "" }

// drop passes over what is neither text nor thought, up to j.
func (s *scanner) drop(j int) {
	s.i = j
	s.fresh, s.indent = true, 0
}

// call tries the families that can begin at i.
func (s *scanner) call() bool {
	if s.plain {
		return false
	}
	for _, f := range s.at(s.i) {
		r, ok := f.read(s, s.i)
		if !ok {
			continue
		}
		if r.plain {
			s.text(r.end)
		} else {
			s.take(r)
		}
		return true
	}
	return false
}

// take accepts what a family read.
func (s *scanner) take(r result) {
	if r.end > s.in.Known() {
		r.end = s.in.Known()
	}
	s.mind.draft(s.i, r.end)
	if r.bad {
		s.fail(model.Unreadable, "")
	}
	for _, w := range r.calls {
		s.accept(w)
	}
	s.drop(max(r.end, s.i))
	s.first = true
}

func (s *scanner) accept(w written) {
	t, ok := s.lookup(w.name)
	switch {
	case !ok:
		s.fail(model.UnknownTool, w.name)
	case !s.ended && len(s.calls) < s.limit:
		s.calls = append(s.calls, t.call(w))
	}
}

func (s *scanner) fail(why model.Garbled, name string) {
	if s.err == "" && len(s.calls) == 0 {
		s.err, s.wrong = why, name
	}
}

// reset forgets all that came before an orphan closer.
func (s *scanner) reset() {
	s.orphan = true
	s.calls, s.err, s.wrong, s.ended = nil, "", "", false
	s.fence = fence{}
	s.shown.reset()
}

// grace is how much may be read in vain whatever else was read: more than an answer has that is not made to waste time.
const grace = 64 << 10

// affordable reports whether a value at i may be read at length. Readings that come to
// nothing are paid for out of what has been read so far, so that no text can make
// them cost more than about twice its length.
func (s *scanner) affordable(i int) bool { return s.spent <= i+grace }

// finder is a search that goes forward only. It remembers where it found its delimiter, or
// that there is none.
type finder struct {
	from, at, end int
	valid, gone   bool
}

// find returns where the next delimiter at or after from begins and ends. Key names the search;
// first is the byte that every delimiter begins with, and match returns the end of the
// delimiter at an offset, or 0.
func (s *scanner) find(key string, first byte, from int, match func(i int) int) (at, end int, ok bool) {
	f := s.finders[key]
	if f == nil {
		f = &finder{}
		s.finders[key] = f
	}
	until := args.End // where the search of before begins
	if f.valid && from >= f.from {
		if f.gone {
			return 0, 0, false
		}
		if from <= f.at {
			return f.at, f.end, true
		}
	} else if f.valid {
		until = f.from
	}
	for i := from; i != until; i++ {
		c := s.in.At(i)
		if c == args.End {
			*f = finder{from: from, valid: true, gone: true}
			return 0, 0, false
		}
		if c != int(first) {
			continue
		}
		if e := match(i); e > 0 {
			*f = finder{from: from, at: i, end: e, valid: true}
			return i, e, true
		}
	}
	f.from = from
	return f.at, f.end, !f.gone
}
