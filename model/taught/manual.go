// Package taught puts into words what engines with tool calls of their own have an interface for: which tools there are and
// how one is called, and a conversation with calls and results for a model that knows nothing but text.
//
// What it writes for a message depends on that message alone and is only ever appended to, so that a longer request begins
// with all the text of a shorter one.
package taught

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
)

// A Manual is what a model is told about tools.
type Manual struct {
	// Teaching says how a tool is called, and Brief the same in few words. Each ends in a line end.
	Teaching, Brief string

	// Short takes few words, for a window of 4k tokens.
	Short bool

	// Room bounds the whole, in characters; 0 is what the contract has for a window of 4k when it is short, and of 8k when it
	// is not. If the tools themselves do not fit, they are described in fewer words, but none is left out.
	Room int

	// Names bounds the names of tools that are not offered, which stand there as long as there is room; 0 is no further bound.
	Names int
}

const byName = "Also by name: "

// Describe writes what a model is told about tools: how to call one, what each does, and which
// others there are.
func (m Manual) Describe(tools, known []model.Tool) string {
	c := contract.Of(contract.Middle)
	if m.Short {
		c = contract.Of(contract.Small)
	}
	room, names := c.Tools, c.Tools
	if m.Room > 0 {
		room, names = m.Room, m.Room
	}
	if m.Names > 0 {
		names = m.Names
	}
	text := ""
	for _, d := range m.details() {
		if text = d.describe(tools); utf8.RuneCountInString(text) <= room {
			break
		}
	}
	text = strings.TrimRight(text, "\n")
	return text + also(tools, known, min(names, room-utf8.RuneCountInString(text)))
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
		b.WriteString("- " + args.Signature(t.Name, t.Schema, args.Detail{Text: d.types, Nested: d.nested}))
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

// also lists tools that are not offered, as many as there is room for, and how many more there are.
func also(tools, known []model.Tool, room int) string {
	offered := make(map[string]bool, len(tools))
	for _, t := range tools {
		offered[t.Name] = true
	}
	const rest = ", and 1000 more"
	var b strings.Builder
	left, chars := 0, 0
	for _, t := range known {
		if offered[t.Name] {
			continue
		}
		next := ", " + t.Name
		if b.Len() == 0 {
			next = "\n" + byName + t.Name
		}
		n := utf8.RuneCountInString(next)
		if left > 0 || chars+n > room-len(rest) {
			left++
			continue
		}
		chars += n
		b.WriteString(next)
	}
	if left > 0 && b.Len() > 0 {
		fmt.Fprintf(&b, ", and %d more", left)
	}
	return b.String()
}
