package dialect

import (
	"github.com/jackline-ai/jackline/args"
)

// pythonAhead reports whether a list of calls in Python's syntax begins at i.
func (s *scanner) pythonAhead(i int) bool {
	if s.in.At(i) != '[' {
		return false
	}
	i = s.in.Skip(i + 1)
	end := s.name(i)
	return end > i && s.in.At(end) == '('
}

// pythonList reads [name(…), name(…)]. Known says that only tools may be called in it.
func (s *scanner) pythonList(i int, region args.Region, known bool) (calls []written, end int, closed bool) {
	end = i + 1
	for {
		i = s.in.Skip(end)
		switch s.in.At(i) {
		case ',':
			end = i + 1
			continue
		case ']':
			return calls, i + 1, true
		}
		if known && !s.known(s.in.Slice(i, s.name(i))) {
			return calls, end, false
		}
		w, next, ok := s.python(i, region)
		if !ok {
			return calls, max(end, next), false
		}
		calls = append(calls, w)
		end = next
	}
}

// python reads name(…) at i. Where it fails, end is how far it got.
func (s *scanner) python(i int, region args.Region) (w written, end int, ok bool) {
	end = s.name(i)
	if end == i || s.in.At(end) != '(' {
		return w, i, false
	}
	w = written{name: s.in.Slice(i, end), given: true}
	s.announce(w.name, end)
	region.Call, region.Items = true, args.Anything
	named, listed := &args.Object{}, []any{}
	for end++; ; {
		end = s.in.Skip(end)
		c := s.in.At(end)
		switch {
		case c == ',':
			end++
			continue
		case c == ')':
			w.args = s.arguments(w.name, named, listed)
			return w, end + 1, true
		case c == args.End, len(region.First) > 0 && region.Stop(s.in, end):
			w.args = s.arguments(w.name, named, listed)
			w.cut = true
			return w, end, true
		}
		key, start := s.keyword(end)
		f, found := s.value(start, region)
		if !found {
			return w, max(end, f.Seen), false
		}
		w.cut = w.cut || f.Cut || f.AtEnd
		if key != "" {
			named.Set(key, f.Value)
		} else {
			listed = append(listed, f.Value)
		}
		end = f.End
	}
}

// keyword reads the name of an argument at i, if there is one, and returns where its value begins.
func (s *scanner) keyword(i int) (string, int) {
	end := i
	for letter(s.in.At(end)) && end-i < longestName {
		end++
	}
	if end == i {
		return "", i
	}
	next := s.in.Skip(end)
	switch s.in.At(next) {
	case '=':
		return s.in.Slice(i, end), s.in.Skip(next + 1)
	case ':':
		if c := s.in.At(next + 1); c == ' ' || c == '"' || c == '\'' {
			return s.in.Slice(i, end), s.in.Skip(next + 1)
		}
	}
	return "", i
}

// arguments joins arguments with and without names. Without any name they are a value of
// their own; beside names, a single one goes to the parameter that must be given.
func (s *scanner) arguments(tool string, named *args.Object, listed []any) any {
	switch {
	case len(listed) == 0:
		return named
	case named.Len() == 0 && len(listed) == 1:
		return listed[0]
	case named.Len() == 0:
		return listed
	}
	schema := s.schemaOf(tool)
	if schema == nil || len(listed) != 1 {
		return named
	}
	for _, name := range schema.Names() {
		if _, given := named.Get(name); !given && schema.Required(name) {
			named.Set(name, listed[0])
			break
		}
	}
	return named
}

// statement reads one line of Python that calls tools.
func (s *scanner) statement(i int, region args.Region) ([]written, int, bool) {
	if s.in.At(i) == '#' { // a comment
		for c := s.in.At(i); c != '\n' && c != args.End; c = s.in.At(i) {
			i++
		}
		return nil, i, s.in.At(i) != args.End
	}
	if s.in.At(i) == '[' && s.pythonAhead(i) {
		calls, end, _ := s.pythonList(i, region, false)
		return calls, end, len(calls) > 0
	}
	if key, start := s.keyword(i); key != "" {
		i = start
	}
	for _, word := range []string{"await ", "return "} {
		if s.in.Has(i, word) {
			i = s.in.Skip(i + len(word))
		}
	}
	if s.in.Has(i, "print(") && !s.known("print") {
		calls, end, ok := s.statement(s.in.Skip(i+len("print(")), region)
		if !ok { // it prints something else
			_, end, ok = s.python(i, region)
			return nil, end, ok
		}
		end = s.in.Skip(end)
		for s.in.At(end) == ')' {
			end++
		}
		return calls, end, true
	}
	w, end, ok := s.python(i, region)
	if !ok {
		return nil, 0, false
	}
	return []written{w}, end, true
}
