package args

import "slices"

// depth is how deep values may be nested.
const depth = 100

// A Region says where a value may stand: what ends it besides its own closer.
type Region struct {
	// Stop reports that a closing marker begins at offset i. It is asked only at bytes
	// that are in First.
	Stop  func(in *Input, i int) bool
	First string

	// Quotes are further quotation marks: whatever stands between two of them is text.
	Quotes []string

	// Call says that the value is an argument of a call in round brackets.
	Call bool

	// Known, if not nil, is told the name of every member and its text as soon as both are
	// read, so that a call can be announced while its arguments are still being written.
	Known func(key, text string)

	// Member, if not nil, is told the name of every member and where its value begins, before that is read and, with its
	// end instead of [End], behind it.
	Member func(key string, from, to int)

	// Items says what an outermost list may hold. A list that holds anything else is no value,
	// which is known at once and not only at its end.
	Items Items

	// Narrow forbids to look past the first closing marker.
	Narrow bool
}

// Items is what a list may hold.
type Items int

// The kinds of items. Quoted is everything but bare words; Nested is objects and lists only.
const (
	Anything Items = iota
	Quoted
	Nested
)

// Found is a value that was read out of a text.
type Found struct {
	Value any
	End   int // offset behind the value

	Cut   bool // a string never closed: the reader ended it
	Open  int  // brackets that never closed
	AtEnd bool // the reader closed them because the text was at its end
	Seen  int  // no byte from this offset on was needed
}

// Whole reports that the value closed by itself.
func (f Found) Whole() bool { return !f.Cut && f.Open == 0 }

// mostValues bounds the values in a value: no model has written as many, and each takes many times the memory of its text.
const mostValues = 1 << 19

// Read reads the value at offset at, after blanks. It is strict JSON or close to it: other
// quotation marks, Python's words, bare keys and words, commas and brackets that are missing
// or too many, comments, raw line ends, unescaped quotes inside strings.
//
// A closing marker inside a string is ambiguous, since a string that lost its quote
// runs on into it. Read keeps what the value would be if it ended there, reads on, and takes
// the longer reading only when that one is whole.
//
// The time is linear in the bytes it looks at. A value that is nested deeper than a
// hundred levels, or that holds more than half a million others, is none.
func Read(in *Input, at int, region Region) (Found, bool) {
	r := in.idle
	if in.idle = nil; r == nil {
		r = &reader{}
	}
	defer func() { in.idle = r }()
	r.reset(in, at, region)
	r.blanks()
	value, ok := r.value()
	seen := max(r.seen, r.i)
	if n := &r.narrow; n.is && (!ok || r.cut || r.left > 0) {
		return Found{Value: n.value(), End: n.end, Cut: n.cut, Open: len(n.open), Seen: seen}, true
	}
	if !ok {
		return Found{Seen: seen}, false
	}
	return Found{Value: value, End: r.i, Cut: r.cut, Open: r.left, AtEnd: r.atEnd, Seen: seen}, true
}

// reset makes the reader ready for a value. Its tables stay as they are if they are those of the region.
func (r *reader) reset(in *Input, at int, region Region) {
	same := r.in == in && r.region.First == region.First && slices.Equal(r.region.Quotes, region.Quotes)
	r.in, r.i, r.region = in, at, region
	r.frames, r.curly, r.square = r.frames[:0], 0, 0
	r.values, r.seen, r.cut, r.left, r.atEnd = 0, 0, false, 0, false
	r.narrow.is = false
	if same {
		return
	}
	r.first, r.halts = [256]bool{}, [256]bool{}
	for k := range len(region.First) {
		r.first[region.First[k]], r.halts[region.First[k]] = true, true
	}
	for _, c := range [...]byte{'"', '\'', '\\', 0xE2} { // 0xE2 of smart quotation marks
		r.halts[c] = true
	}
	for _, q := range region.Quotes {
		r.halts[q[0]] = true
	}
}

// ReadText reads text as one value. What follows the value may only be blanks and brackets
// or commas too many.
func ReadText(text string) (Found, bool) {
	in := Whole(text)
	f, ok := Read(in, 0, Region{})
	if !ok {
		return f, false
	}
	i := f.End
	for {
		i = in.Skip(i)
		switch in.At(i) {
		case ',', ';', '}', ']':
			i++
		case End:
			return f, true
		default:
			return f, false
		}
	}
}

// reader is one forward pass over a value.
type reader struct {
	in     *Input
	i      int
	region Region
	first  [256]bool
	halts  [256]bool // the bytes that may be more than text within a string

	frames []*frame // the brackets that are open, outermost first
	spare  []*frame // those that were closed, to be used again
	curly  int      // how many of them are objects
	square int      // and how many lists

	values int // so far
	seen   int // the furthest look ahead
	cut    bool
	left   int
	atEnd  bool

	narrow narrow
}

// frame is a container that is being read.
type frame struct {
	close  byte
	object *Object // or else
	list   []any
	key    string
	keyed  bool // key waits for its value
}

// stop reports whether the region ends at i.
func (r *reader) stop(i int) bool {
	c := r.in.At(i)
	if c == End {
		return true
	}
	return r.marker(c, i)
}

// marker reports whether a closing marker begins with byte c at i.
func (r *reader) marker(c, i int) bool {
	return r.first[c] && r.region.Stop(r.in, i)
}

// blanks skips blanks and comments.
func (r *reader) blanks() {
	for {
		r.i = r.in.Skip(r.i)
		switch r.in.At(r.i) {
		case '#':
			r.line()
		case '/':
			switch r.in.At(r.i + 1) {
			case '/':
				r.line()
			case '*':
				r.block()
			default:
				return
			}
		default:
			return
		}
	}
}

// line skips the rest of a line, but no closing marker.
func (r *reader) line() {
	for {
		c := r.in.At(r.i)
		if c == End || c == '\n' || r.marker(c, r.i) {
			return
		}
		r.i++
	}
}

func (r *reader) block() {
	r.i += 2
	for !r.stop(r.i) {
		if r.in.At(r.i) == '*' && r.in.At(r.i+1) == '/' {
			r.i += 2
			return
		}
		r.i++
	}
}

// value reads the value at r.i.
func (r *reader) value() (any, bool) {
	if r.values++; r.values > mostValues {
		return nil, false
	}
	switch c := r.in.At(r.i); {
	case c == '{':
		return r.object()
	case c == '[':
		return r.list(']')
	case c == '(' && r.region.Call:
		return r.list(')')
	default:
		if q, ok := r.quote(r.i); ok {
			return r.text(q, false), true
		}
		return r.bare()
	}
}

// push opens a container; it fails when the value becomes too deep.
func (r *reader) push(closer byte, o *Object) (*frame, bool) {
	if len(r.frames) == depth {
		return nil, false
	}
	var f *frame
	if n := len(r.spare); n > 0 {
		f, r.spare = r.spare[n-1], r.spare[:n-1]
		*f = frame{close: closer, object: o}
	} else {
		f = &frame{close: closer, object: o}
	}
	r.frames = append(r.frames, f)
	if f.object != nil {
		r.curly++
	} else {
		r.square++
	}
	r.i++
	return f, true
}

func (r *reader) pop() {
	f := r.frames[len(r.frames)-1]
	r.frames = r.frames[:len(r.frames)-1]
	r.spare = append(r.spare, f)
	if f.object != nil {
		r.curly--
	} else {
		r.square--
	}
}

// object reads the object that begins at r.i.
func (r *reader) object() (any, bool) {
	f, ok := r.push('}', &Object{})
	if !ok {
		return nil, false
	}
	defer r.pop()
	for {
		r.separators()
		done, ok := r.closed(f)
		if !ok {
			return nil, false
		}
		if done {
			return f.object, true
		}
		key, ok := r.key()
		if !ok {
			return nil, false
		}
		r.blanks()
		if r.stop(r.i) { // a key without a value, cut off
			continue
		}
		if !r.colon() {
			return nil, false
		}
		f.key, f.keyed = key, true
		r.blanks()
		from := r.i
		if r.region.Member != nil {
			r.region.Member(key, from, End)
		}
		value, ok := r.member()
		if !ok {
			return nil, false
		}
		if r.region.Member != nil {
			r.region.Member(key, from, r.i)
		}
		f.keyed = false
		if r.narrow.is {
			r.narrow.mind(f.object, key)
		}
		f.object.Set(key, value)
		if text, ok := value.(string); ok && r.region.Known != nil {
			r.region.Known(key, text)
		}
	}
}

// member reads the value behind a colon and blanks. A missing one is null.
func (r *reader) member() (any, bool) {
	if r.stop(r.i) {
		return nil, true
	}
	if c := r.in.At(r.i); c == ',' || c == '}' {
		return nil, true
	}
	return r.value()
}

// list reads the list that begins at r.i.
func (r *reader) list(closer byte) (any, bool) {
	f, ok := r.push(closer, nil)
	if !ok {
		return nil, false
	}
	defer r.pop()
	f.list = []any{}
	for {
		r.separators()
		done, ok := r.closed(f)
		if !ok {
			return nil, false
		}
		if done {
			return f.list, true
		}
		if !r.admits() {
			return nil, false
		}
		value, ok := r.value()
		if !ok {
			return nil, false
		}
		f.list = append(f.list, value)
	}
}

// admits reports whether the item at r.i may stand in the list around it.
func (r *reader) admits() bool {
	if r.region.Items == Anything || r.curly > 0 {
		return true
	}
	switch c := r.in.At(r.i); {
	case c == '{' || c == '[':
		return true
	case r.region.Items == Nested:
		return false
	case c == '-' || '0' <= c && c <= '9':
		return true
	}
	if _, ok := r.quote(r.i); ok {
		return true
	}
	for _, word := range []string{"true", "false", "null", "True", "False", "None"} {
		if r.in.Has(r.i, word) {
			return true
		}
	}
	return false
}

// separators skips blanks, comments and any number of commas.
func (r *reader) separators() {
	for {
		r.blanks()
		if r.in.At(r.i) != ',' {
			return
		}
		r.i++
	}
}

// closed reports whether the innermost container ends at r.i: by its own closer, by the
// closer of one further out, or because the region ends.
func (r *reader) closed(f *frame) (done, ok bool) {
	for {
		c := r.in.At(r.i)
		switch {
		case c == int(f.close):
			r.i++
			return true, true
		case c == '}' && r.curly > 0, c == ']' && r.square > 0:
			if r.expects(byte(c)) {
				return true, true // its own closer is missing
			}
			r.i++
		case c == ')' && r.region.Call:
			return true, true
		case c == '}' || c == ']':
			r.i++ // one too many
		case c == End:
			r.left++
			r.atEnd = true
			f.mark()
			return true, true
		case r.marker(c, r.i):
			r.left++
			f.mark()
			return true, true
		default:
			return false, true
		}
		r.separators()
	}
}

// expects reports whether a container further out closes with c.
func (r *reader) expects(c byte) bool {
	for _, f := range r.frames {
		if f.close == c {
			return true
		}
	}
	return false
}

func (f *frame) mark() {
	if f.object != nil {
		f.object.open = true
	}
}

// colon skips what stands between a key and its value.
func (r *reader) colon() bool {
	switch r.in.At(r.i) {
	case ':':
		r.i++
		if r.in.At(r.i) == '=' {
			r.i++
		}
		return true
	case '=':
		r.i++
		if r.in.At(r.i) == '>' {
			r.i++
		}
		return true
	}
	return false
}

// key reads a quoted or bare key.
func (r *reader) key() (string, bool) {
	if q, ok := r.quote(r.i); ok {
		return r.text(q, true), true
	}
	end := r.word(r.i)
	if end == r.i {
		return "", false
	}
	key := r.in.Slice(r.i, end)
	r.i = end
	return key, true
}
