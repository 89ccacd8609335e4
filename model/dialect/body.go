package dialect

import (
	"github.com/jackline-ai/jackline/args"
)

// body is what stands behind a marker.
type body struct {
	calls []written
	end   int
	value bool // a value stands there, whether it is a call or not
	cut   bool // it ran into the end of the output
}

// sentinel stands in front of MiniMax M3's tags.
const sentinel = "]<]minimax[>["

// gap skips blanks and sentinels.
func (s *scanner) gap(i int) int {
	for {
		i = s.in.Skip(i)
		if !s.in.Has(i, sentinel) {
			return i
		}
		i += len(sentinel)
	}
}

// between skips what may stand between two calls: blanks, separators, brackets too many.
func (s *scanner) between(i int) int {
	for {
		i = s.gap(i)
		switch s.in.At(i) {
		case ',', ';', '}', ']':
			i++
		default:
			return i
		}
	}
}

// region is where a value behind a marker ends if it does not end by itself: at its closing
// marker, but also where a turn or a thought ends, or another call begins.
func (s *scanner) region(closers []string, f fence) args.Region {
	f.word, f.body = "", 0 // where a fence ends does not hang on them
	if f == s.hedge && s.around.Stop != nil && len(closers) == len(s.within) && (len(closers) == 0 || &closers[0] == &s.within[0]) {
		return s.around // as most are
	}
	r := args.Region{First: "<[", Known: s.tellName, Member: s.tellArgs}
	r.Stop = func(in *args.Input, i int) bool {
		switch in.At(i) {
		case '<':
			if s.closing(i, closers) > 0 || s.in.Word(i, turnsAndCalls) > 0 {
				return true
			}
			_, thought := s.closer(i)
			return thought
		case '[':
			_, thought := s.closer(i)
			return thought || s.oneOf(i, closers) > 0 || s.in.Has(i, toolCalls)
		}
		return f.n > 0 && s.stopsAt(i, f)
	}
	if f.n > 0 {
		r.First += string(rune(f.mark))
	}
	s.around, s.within, s.hedge = r, closers, f
	return r
}

// value reads a value and keeps account of what was read in vain.
func (s *scanner) value(i int, r args.Region) (args.Found, bool) {
	r.Narrow = !s.affordable(i)
	f, ok := args.Read(s.in, i, r)
	if !ok {
		s.spent += f.Seen - i
		return f, false
	}
	if wasted := f.Seen - f.End; wasted > 1<<10 {
		s.spent += wasted
	}
	return f, true
}

// body reads any number of calls in any of the shapes that come behind a marker.
func (s *scanner) body(i int, closers []string, f fence) body {
	b := body{end: i}
	j := s.gap(i)
	for {
		if !s.item(&b, j, closers, f) {
			return b
		}
		j = s.between(b.end)
	}
}

// item reads one shape of body at i.
func (s *scanner) item(b *body, i int, closers []string, f fence) bool {
	switch c := s.in.At(i); {
	case c == '[' && s.pythonAhead(i):
		calls, end, _ := s.pythonList(i, s.region(closers, f), false)
		if len(calls) == 0 {
			return false
		}
		b.add(calls, end)
	case c == '{' || c == '[':
		found, ok := s.value(i, s.region(closers, f))
		if !ok {
			return false
		}
		b.value = true
		b.cut = b.cut || found.AtEnd
		b.add(callsOf(found, false), found.End)
	case (c == '`' || c == '~') && f.n == 0:
		inner, ok := s.opens(i)
		if !ok {
			return false
		}
		start := s.gap(inner.body)
		if !s.item(b, start, closers, inner) {
			return false
		}
		b.end = s.afterFence(s.between(b.end), inner)
	case c == '<':
		w, end, ok := s.function(i)
		if !ok {
			return false
		}
		b.add([]written{w}, end)
	default:
		w, end, ok := s.namedItem(i, closers, f)
		if !ok {
			return false
		}
		b.add([]written{w}, end)
	}
	return true
}

func (b *body) add(calls []written, end int) {
	b.calls = append(b.calls, calls...)
	b.end = end
}

// afterFence returns the end of the closing marks of a fence that stand at i, or i.
func (s *scanner) afterFence(i int, f fence) int {
	if s.in.At(i) == f.mark {
		if n := s.runLength(i, f.mark); n >= f.n {
			return i + n
		}
	}
	return i
}

// namedItem reads a call that begins with its name: name(…), name{…}, GLM's keys and
// values, or the name alone.
func (s *scanner) namedItem(i int, closers []string, f fence) (written, int, bool) {
	end := s.name(i)
	if end == i {
		return written{}, 0, false
	}
	name := s.in.Slice(i, end)
	next := s.gap(end)
	switch {
	case s.in.At(end) == '(':
		return s.python(i, s.region(closers, f))
	case s.in.At(next) == '{' && (next == end || s.known(name)):
		s.announce(name, next)
		found, ok := s.value(next, s.region(closers, f))
		if !ok {
			return written{}, 0, false
		}
		return written{name: name, args: found.Value, given: true, cut: cut(found, found.Value)}, found.End, true
	case s.in.Has(next, "<arg_key>"):
		return s.glm(name, next)
	case s.in.Has(end, "</arg_key>"):
		if tool, key, ok := s.catalog.splitName(name); ok {
			return s.glm(tool, end-len(key))
		}
	case s.known(name) && s.alone(next, closers):
		return written{name: name, cut: s.in.At(next) == args.End}, next, true
	}
	return written{}, 0, false
}

// alone reports whether a body ends at i.
func (s *scanner) alone(i int, closers []string) bool {
	return s.in.At(i) == args.End || s.closing(i, closers) > 0 || s.closing(i, strays) > 0 || s.in.Word(i, ends) > 0
}

// strays are closing tags that models leave where nothing was opened.
var strays = []string{"</arg_value>", "</arg_key>", "</parameter>", "</function>", "</invoke>", "</tool_call>"}

// name returns the end of the name at i.
func (s *scanner) name(i int) int {
	end := i
	for end-i < longestName {
		c := s.in.At(end)
		if !letter(c) && c != '-' && c != '.' && c != ':' && c != '/' {
			break
		}
		end++
	}
	for end > i && (s.in.At(end-1) == ':' || s.in.At(end-1) == '.') {
		end--
	}
	return end
}

// swallow skips closing markers behind a body.
func (s *scanner) swallow(i int, closers []string) int {
	for {
		next := s.gap(i)
		end := max(s.closing(next, closers), s.closing(next, strays))
		if end == 0 {
			return i
		}
		i = end
	}
}

// The words for a tool's name in a call object. Those for its arguments are in package args.
var nameKeys = []string{"name", "tool", "tool_name", "function", "function_name", "action"}

// The keys under which calls stand in a value.
var nests = []string{"function", "function_call", "tool_calls", "function_calls"}

// callKey reports whether a key shows that the object may be a call, or hold some.
func callKey(key []byte) bool {
	for _, keys := range [...][]string{nameKeys, nests} {
		for _, k := range keys {
			if string(key) == k {
				return true
			}
		}
	}
	return false
}

// callsOf finds the calls in a value. Single says that a lone key may be the name.
func callsOf(f args.Found, single bool) []written {
	r := objects{found: f, single: single}
	r.value(f.Value, 0)
	return r.calls
}

// objects collects the calls in a value.
type objects struct {
	found  args.Found
	single bool
	calls  []written
	other  bool // there is something in it that is no call
}

func (r *objects) value(v any, level int) {
	if level > 4 {
		r.other = true
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			r.value(e, level+1)
		}
		r.other = r.other || len(v) == 0
	case *args.Object:
		r.object(v, level)
	default:
		r.other = true
	}
}

func (r *objects) object(o *args.Object, level int) {
	for _, key := range nests {
		v, _ := o.Get(key)
		switch v := v.(type) {
		case *args.Object:
			r.value(v, level+1)
			return
		case []any:
			r.value(v, level+1)
			return
		}
	}
	for _, key := range nameKeys {
		v, _ := o.Get(key)
		if name, ok := v.(string); ok && name != "" {
			r.named(o, name)
			return
		}
	}
	if r.single && o.Len() == 1 {
		for name, v := range o.All() {
			r.calls = append(r.calls, written{name: name, args: v, given: true, cut: cut(r.found, v)})
		}
		return
	}
	r.other = true
}

// named adds the call of an object that has a name.
func (r *objects) named(o *args.Object, name string) {
	w := written{name: name}
	for _, key := range args.ArgumentKeys() {
		if v, ok := o.Get(key); ok {
			w.args, w.given = v, true
			break
		}
	}
	if w.given {
		w.cut = cut(r.found, w.args)
	} else {
		w.cut = r.found.AtEnd && o.Open()
	}
	r.calls = append(r.calls, w)
}

// cut reports whether the output ended inside the arguments. A bracket too few behind
// them is no more than bad spelling.
func cut(f args.Found, v any) bool {
	if f.Cut {
		return true
	}
	o, ok := v.(*args.Object)
	return f.AtEnd && (!ok || o.Open())
}

// schema reports whether the arguments of a call are really the description of some: a tool's
// declaration looks like a call otherwise.
func (w written) schema() bool {
	o, ok := w.args.(*args.Object)
	if !ok {
		return false
	}
	kind, _ := o.Get("type")
	properties, _ := o.Get("properties")
	_, is := properties.(*args.Object)
	return kind == "object" && is
}
