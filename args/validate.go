package args

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An Invalid error lists what is wrong with arguments, one plain sentence for each problem. It is
// written to be given back to the model that made the call.
type Invalid struct {
	Problems []string
}

func (e *Invalid) Error() string { return strings.Join(e.Problems, "; ") }

// most is how many problems are reported. A small model mends a few things at a time.
const most = 5

// Check shapes what was written for the arguments of a call and validates it. It is Shape and Validate in one, but says of a
// parameter that is missing what was written in its place.
func (s *Schema) Check(written any) (*Object, error) {
	shaped := s.Shape(written)
	c := checker{}
	for name := range s.object(s.unwrap(written)).All() {
		if _, kept := shaped.Get(name); !kept && s.Field(name) == nil {
			c.dropped = append(c.dropped, name)
			if len(c.dropped) == mostDropped {
				break
			}
		}
	}
	return shaped, c.check(s, shaped)
}

// Validate checks the arguments of a call and returns nil or an [*Invalid]. Object is JSON, or
// a value of this package.
func (s *Schema) Validate(object any) error {
	var v any
	var err error
	switch o := object.(type) {
	case json.RawMessage:
		v, err = Strict(o)
	case []byte:
		v, err = Strict(o)
	default:
		v, err = plain(o)
	}
	if err != nil {
		return &Invalid{[]string{"the arguments are not valid JSON"}}
	}
	o, ok := v.(*Object)
	if !ok {
		return &Invalid{[]string{"the arguments must be an object, got " + show(v)}}
	}
	var c checker
	return c.check(s, o)
}

const (
	mostDropped = 20 // names that are not known, of which one may be meant for a parameter that is missing
	mostNames   = 12 // names or values that a sentence lists: more are not read
)

type checker struct {
	problems []string
	dropped  []string // what was written under names that are not known
}

func (c *checker) check(s *Schema, o *Object) error {
	c.object(s, "", o)
	if len(c.problems) > 0 {
		return &Invalid{c.problems}
	}
	return nil
}

func (c *checker) report(path, format string, a ...any) {
	if len(c.problems) < most {
		c.problems = append(c.problems, fmt.Sprintf("%q ", path)+fmt.Sprintf(format, a...))
	}
}

func (c *checker) value(s *Schema, path string, v any) {
	if !s.allows(v) {
		c.report(path, "must be %s, got %s", s.wanted(), show(v))
		return
	}
	if v == nil && s.Nullable() {
		return
	}
	if s.enum != nil && !s.listed(v) {
		c.report(path, "must be %s, got %s", s.choice(v), show(v))
		return
	}
	switch v := v.(type) {
	case json.Number:
		c.number(s, path, v)
	case string:
		c.text(s, path, v)
	case []any:
		if s.items == nil {
			return
		}
		for i, e := range v {
			c.value(s.items, path+"["+strconv.Itoa(i)+"]", e)
		}
	case *Object:
		c.object(s, path+".", v)
	}
}

func (c *checker) object(s *Schema, prefix string, o *Object) {
	for _, name := range s.required {
		if _, ok := o.Get(name); !ok {
			c.missing(s, prefix, name, o)
		}
	}
	for name, v := range o.All() {
		f := s.Field(name)
		switch {
		case f != nil:
			c.value(f, prefix+name, v)
		case s.closed:
			c.report(prefix+brief(name), "is not known here; use %s", known(s, name))
		}
	}
}

// missing reports a parameter that must be given, with what it is to be, and what was written in its place if that is plain.
func (c *checker) missing(s *Schema, prefix, name string, o *Object) {
	text := "is required"
	if f := s.Field(name); f != nil {
		if what := f.asked(); what != "" {
			text += ": " + what
		}
	}
	unknown := c.dropped
	if prefix != "" {
		unknown = nil
		for key := range o.All() {
			if s.Field(key) == nil && len(unknown) < mostDropped {
				unknown = append(unknown, key)
			}
		}
	}
	for _, written := range unknown {
		if Meant(written, s.Names()) == name {
			text += fmt.Sprintf("; you wrote %q", brief(written))
			break
		}
	}
	c.report(prefix+name, "%s", text)
}

// brief cuts a name that a model made up.
func brief(name string) string {
	if r := []rune(name[:min(len(name), 4*longestWord)]); len(r) > longestWord {
		return string(r[:longestWord]) + "…"
	}
	return name
}

// known lists the names of the parameters, those first that look like what was written.
func known(s *Schema, written string) string {
	names := s.Names()
	if len(names) == 0 {
		return "no arguments"
	}
	if meant := Meant(written, names); meant != "" {
		return meant
	}
	if len(names) > mostNames {
		return strings.Join(Near(written, names, mostNames), ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// asked says what a value is to be.
func (s *Schema) asked() string {
	if s.enum != nil {
		return "one of " + options(s.enum)
	}
	return s.wanted()
}

func (c *checker) number(s *Schema, path string, v json.Number) {
	if s.min != nil {
		if order, ok := compare(v, *s.min); ok && order < 0 {
			c.report(path, "must be at least %s, got %s", *s.min, v)
		}
	}
	if s.max != nil {
		if order, ok := compare(v, *s.max); ok && order > 0 {
			c.report(path, "must be at most %s, got %s", *s.max, v)
		}
	}
}

func (c *checker) text(s *Schema, path, v string) {
	n := utf8.RuneCountInString(v)
	switch {
	case s.minLength != nil && n < *s.minLength && n == 0:
		c.report(path, "must not be empty")
	case s.minLength != nil && n < *s.minLength:
		c.report(path, "must have at least %d characters, got %d", *s.minLength, n)
	case s.maxLength != nil && n > *s.maxLength:
		c.report(path, "must have at most %d characters, got %d", *s.maxLength, n)
	}
}

// allows reports whether v has one of the types of the schema.
func (s *Schema) allows(v any) bool {
	if len(s.types) == 0 {
		return true
	}
	for _, t := range s.types {
		if is(t, v) {
			return true
		}
	}
	return false
}

func is(t string, v any) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case []any:
		return t == "array"
	case *Object:
		return t == "object"
	case json.Number:
		if t == "integer" {
			d, ok := parseDecimal(v)
			return ok && d.integer()
		}
		return t == "number"
	}
	return false
}

// listed reports whether v is one of the allowed values.
func (s *Schema) listed(v any) bool {
	text := string(appendJSON(nil, v, true))
	for _, e := range s.enum {
		if text == string(appendJSON(nil, e, true)) {
			return true
		}
	}
	return false
}

func (s *Schema) wanted() string {
	var names []string
	for _, t := range s.types {
		switch t {
		case "array":
			if s.items != nil && len(s.items.types) == 1 && s.items.types[0] != "null" {
				names = append(names, "an array of "+s.items.types[0]+"s")
				break
			}
			names = append(names, "an array")
		case "integer", "object":
			names = append(names, "an "+t)
		case "null":
			names = append(names, t)
		default:
			names = append(names, "a "+t)
		}
	}
	return strings.Join(names, " or ")
}

// choice says which values are allowed; of many those that look like v.
func (s *Schema) choice(v any) string {
	text, ok := v.(string)
	if !ok {
		return "one of " + options(s.enum)
	}
	var words []string
	for _, e := range s.enum {
		if w, ok := e.(string); ok {
			words = append(words, w)
		}
	}
	if len(words) == len(s.enum) && len(words) > mostNames {
		var near []any
		for _, w := range Near(text, words, mostNames) {
			near = append(near, w)
		}
		return "one of " + options(near) + ", …"
	}
	return "one of " + options(s.enum)
}

func options(enum []any) string {
	var b strings.Builder
	for i, e := range enum {
		if i == mostNames {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Compact(e))
	}
	return b.String()
}

// show writes a value so short that it fits into a sentence.
func show(v any) string {
	const room = 40
	switch v := v.(type) {
	case []any:
		return "an array"
	case *Object:
		return "an object"
	case string:
		if utf8.RuneCountInString(v) > room {
			return Compact(string([]rune(v)[:room]) + "…")
		}
	}
	return Compact(v)
}
