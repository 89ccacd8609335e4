package args

import (
	"encoding/json"
	"strings"
)

// Detail is how much a [Signature] says. The zero value says the least.
type Detail struct {
	Text   bool // that an argument is text, which is what most are
	Nested bool // what is in an argument that is an object
}

// Signature writes a tool as a function: its name, and its arguments with their types; those that may be left out have a
// question mark. It takes a quarter of what the schema takes, and small models read it better. A schema that cannot be read
// gives the name with "(…)".
func Signature(name string, schema json.RawMessage, d Detail) string {
	s, err := Parse(schema)
	if err != nil {
		return name + "(…)"
	}
	return name + "(" + d.fields(s) + ")"
}

func (d Detail) fields(s *Schema) string {
	var parts []string
	for _, name := range s.Names() {
		part := name
		if !s.Required(name) {
			part += "?"
		}
		if kind := d.kind(s.Field(name)); kind != "" && (kind != "string" || d.Text) {
			part += ": " + kind
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// mostOptions is how many allowed values are listed.
const mostOptions = 8

// kind writes the type of an argument.
func (d Detail) kind(s *Schema) string {
	if options := s.Enum(); len(options) > 0 && len(options) <= mostOptions {
		var parts []string
		for _, v := range options {
			parts = append(parts, Compact(v))
		}
		return strings.Join(parts, "|")
	}
	switch s.Type() {
	case "integer":
		return "int"
	case "boolean":
		return "bool"
	case "array":
		if s.Items() == nil {
			return "list"
		}
		item := d.kind(s.Items())
		if item == "" || strings.ContainsAny(item, "| ") {
			return "list of " + item
		}
		return item + "[]"
	case "object":
		if inner := d.fields(s); inner != "" && d.Nested {
			return "{" + inner + "}"
		}
	}
	return s.Type()
}
