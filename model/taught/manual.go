// Package taught puts into words what engines with tool calls of their own have an interface for: which tools there are and
// how one is called, and a conversation with calls and results for a model that knows nothing but text.
//
// What it writes for a message depends on that message alone and is only ever appended to, so that a longer request begins
// with all the text of a shorter one.
package taught

import (
	"strings"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
)

// A Manual is what a model is told about tools.
type Manual struct {
	// Teaching says how a tool is called, and Brief the same in few words. Each ends in a line end.
	Teaching, Brief string

	// Short takes few words, for a window of 4k tokens.
	Short bool

	// Room bounds the whole, in characters; 0 means 1,300 when it is short and 2,300 when it is not. Names of tools that
	// are not offered stand there as long as there is room. If the tools themselves do not fit, they are described in
	// fewer words, but none is left out.
	Room int
}

const byName = "Also by name: "

// The room for the description of tools, in characters.
const (
	roomBrief = 1300
	roomFull  = 2300
)

// Describe writes what a model is told about tools: how to call one, what each does, and which
// others there are.
func (m Manual) Describe(tools, known []model.Tool) string {
	room := m.Room
	if room == 0 {
		room = roomFull
		if m.Short {
			room = roomBrief
		}
	}
	text := ""
	for _, d := range m.details() {
		if text = d.describe(tools); utf8.RuneCountInString(text) <= room {
			break
		}
	}
	text = strings.TrimRight(text, "\n")
	return text + also(tools, known, room-utf8.RuneCountInString(text))
}

// detail is how much is said about a tool.
type detail struct {
	teaching string
	use      bool // when to use it
	types    bool // that an argument is text
	nested   bool // what is in an argument that is an object
	summary  int  // characters of the summary, 0 for all
}

// details are the ways to describe tools, the longest first.
func (m Manual) details() []detail {
	all := []detail{
		{teaching: m.Teaching, use: true, types: true, nested: true},
		{teaching: m.Teaching, use: true, nested: true},
		{teaching: m.Teaching, nested: true},
		{teaching: m.Brief, nested: true, summary: 90},
		{teaching: m.Brief, summary: 60},
		{teaching: m.Brief, summary: 30},
	}
	if m.Short {
		return all[3:]
	}
	return all
}

func (d detail) describe(tools []model.Tool) string {
	var b strings.Builder
	b.WriteString(d.teaching)
	for _, t := range tools {
		b.WriteString("- " + d.signature(t))
		if s := d.shorten(t.Summary); s != "" {
			b.WriteString(" " + s)
		}
		if d.use && t.Use != "" {
			b.WriteString(" " + t.Use)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// shorten cuts a summary at the end of a sentence or a word.
func (d detail) shorten(summary string) string {
	if d.summary == 0 || utf8.RuneCountInString(summary) <= d.summary {
		return summary
	}
	if first, _, ok := strings.Cut(summary, ". "); ok && utf8.RuneCountInString(first) < d.summary {
		return first + "."
	}
	runes := []rune(summary)
	cut := string(runes[:d.summary-1])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,.;:") + "…"
}

// signature writes a tool as a function.
func (d detail) signature(t model.Tool) string {
	schema, err := args.Parse(t.Schema)
	if err != nil {
		return t.Name + "(…)"
	}
	return t.Name + "(" + d.fields(schema) + ")"
}

func (d detail) fields(s *args.Schema) string {
	var parts []string
	for _, name := range s.Names() {
		part := name
		if !s.Required(name) {
			part += "?"
		}
		if kind := d.kind(s.Field(name)); kind != "" && (kind != "string" || d.types) {
			part += ": " + kind
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// mostOptions is how many allowed values are listed.
const mostOptions = 8

// kind writes the type of an argument.
func (d detail) kind(s *args.Schema) string {
	if options := s.Enum(); len(options) > 0 && len(options) <= mostOptions {
		var parts []string
		for _, v := range options {
			parts = append(parts, args.Compact(v))
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
		if inner := d.fields(s); inner != "" && d.nested {
			return "{" + inner + "}"
		}
	}
	return s.Type()
}

// also lists tools that are not offered, as many as there is room for.
func also(tools, known []model.Tool, room int) string {
	offered := make(map[string]bool, len(tools))
	for _, t := range tools {
		offered[t.Name] = true
	}
	var b strings.Builder
	for _, t := range known {
		if offered[t.Name] {
			continue
		}
		next := ", " + t.Name
		if b.Len() == 0 {
			next = "\n" + byName + t.Name
		}
		if utf8.RuneCountInString(b.String())+utf8.RuneCountInString(next) > room {
			break
		}
		b.WriteString(next)
	}
	return b.String()
}
