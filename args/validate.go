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
	c.object(s, "", o)
	if len(c.problems) > 0 {
		return &Invalid{c.problems}
	}
	return nil
}

type checker struct {
	problems []string
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
		c.report(path, "must be one of %s, got %s", options(s.enum), show(v))
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
			c.report(prefix+name, "is required")
		}
	}
	for name, v := range o.All() {
		f := s.Field(name)
		switch {
		case f != nil:
			c.value(f, prefix+name, v)
		case s.closed:
			c.report(prefix+name, "is not known here; use %s", known(s))
		}
	}
}

func known(s *Schema) string {
	if len(s.fields) == 0 {
		return "no arguments"
	}
	return strings.Join(s.Names(), ", ")
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
		case "integer", "array", "object":
			names = append(names, "an "+t)
		case "null":
			names = append(names, t)
		default:
			names = append(names, "a "+t)
		}
	}
	return strings.Join(names, " or ")
}

func options(enum []any) string {
	var b strings.Builder
	for i, e := range enum {
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
