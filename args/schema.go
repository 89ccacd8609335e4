package args

import (
	"encoding/json"
	"fmt"
	"slices"
)

// A Schema is what is known about a value: the part of JSON Schema that tool servers really
// use. Keywords outside of it are ignored, so that a strange schema makes us check less
// and never refuses a call that might be right.
type Schema struct {
	types    []string
	fields   []field
	required []string
	items    *Schema
	enum     []any

	min, max             *json.Number
	minLength, maxLength *int
	open                 bool // additionalProperties is given and allows some
	closed               bool // additionalProperties is false
}

// field is one property of an object.
type field struct {
	name   string
	schema *Schema
}

// Parse reads a JSON Schema. Its properties keep their order. No schema at all allows
// everything.
func Parse(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		return &Schema{open: true}, nil
	}
	v, err := Strict(raw)
	if err != nil {
		return nil, fmt.Errorf("args: schema: %w", err)
	}
	return parse(v, 0)
}

func parse(v any, level int) (*Schema, error) {
	s := &Schema{}
	o, ok := v.(*Object)
	if !ok {
		if _, ok := v.(bool); ok { // true and false are schemas too
			return s, nil
		}
		return nil, fmt.Errorf("args: schema: an object is needed, got %s", show(v))
	}
	if level > depth {
		return nil, fmt.Errorf("args: schema: nested deeper than %d levels", depth)
	}
	for key, value := range o.All() {
		if err := s.keyword(key, value, level); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Schema) keyword(key string, value any, level int) (err error) {
	switch key {
	case "type":
		s.types = texts(value)
	case "required":
		s.required = texts(value)
	case "enum":
		s.enum, _ = value.([]any)
	case "const":
		s.enum = []any{value}
	case "items":
		if _, tuple := value.([]any); !tuple {
			s.items, err = parse(value, level+1)
		}
	case "properties":
		properties, _ := value.(*Object)
		if properties == nil {
			return nil
		}
		for name, v := range properties.All() {
			sub, err := parse(v, level+1)
			if err != nil {
				return err
			}
			s.fields = append(s.fields, field{name, sub})
		}
	case "additionalProperties":
		s.closed = value == false
		s.open = !s.closed
	case "minimum":
		s.min = bound(value)
	case "maximum":
		s.max = bound(value)
	case "minLength":
		s.minLength = length(value)
	case "maxLength":
		s.maxLength = length(value)
	case "nullable": // the word of OpenAPI 3.0
		if value == true && len(s.types) > 0 {
			s.types = append(s.types, "null")
		}
	}
	return err
}

// texts reads one text or a list of them.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, e := range v {
			if t, ok := e.(string); ok {
				list = append(list, t)
			}
		}
		return list
	}
	return nil
}

func bound(v any) *json.Number {
	if n, ok := v.(json.Number); ok {
		return &n
	}
	return nil
}

func length(v any) *int {
	if n, ok := v.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return new(int(i))
		}
	}
	return nil
}

// Type is the type that is asked for: of a list the first that is not null, or "".
func (s *Schema) Type() string {
	for _, t := range s.types {
		if t != "null" {
			return t
		}
	}
	if len(s.types) > 0 {
		return "null"
	}
	return ""
}

// Nullable reports whether null is a value as good as any other.
func (s *Schema) Nullable() bool {
	return len(s.types) == 0 || slices.Contains(s.types, "null")
}

// Field returns the schema of a property, or nil. A nil schema has none.
func (s *Schema) Field(name string) *Schema {
	if s == nil {
		return nil
	}
	for _, f := range s.fields {
		if f.name == name {
			return f.schema
		}
	}
	return nil
}

// Names returns the names of the properties, in order.
func (s *Schema) Names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// Required reports whether the property must be given.
func (s *Schema) Required(name string) bool { return slices.Contains(s.required, name) }

// Items returns the schema of a list's elements, or nil.
func (s *Schema) Items() *Schema { return s.items }

// Enum returns the values that are allowed, or nil when all are.
func (s *Schema) Enum() []any { return s.enum }

// sole returns the one parameter that a value without a name can be meant for: the only
// required one, or the only one where none is required.
func (s *Schema) sole() (name string, ok bool) {
	switch {
	case len(s.required) == 1:
		return s.required[0], true
	case len(s.required) == 0 && len(s.fields) == 1:
		return s.fields[0].name, true
	}
	return "", false
}
