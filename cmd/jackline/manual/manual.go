// Package manual writes manual pages from a tree of commands, in the man macros that man-db, mandoc and groff read
// (groff_man(7)). The same tree gives the same bytes: no date and no machine stands in a page.
//
// The generator that comes with the command library makes Markdown first and needs two modules more to read it back,
// and dates its pages.
package manual

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Page is one manual page of section 1.
type Page struct {
	Name string // jackline-tools-list
	Text []byte // roff, in UTF-8
}

// File is the name of the page's file: jackline-tools-list.1.
func (p Page) File() string { return p.Name + ".1" }

// A Section is a part of a page that no command knows of itself.
type Section struct {
	Title string
	Text  string // plain; an empty line begins a paragraph, lines that begin with a blank stay lines of their own
}

// Pages are the pages of root and of all commands below it that help shows, each before those below it. version stands
// at their foot, and more at the end of root's page.
func Pages(root *cobra.Command, version string, more ...Section) []Page {
	pages := []Page{page(root, version, more)}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" { // help help is no page
			pages = append(pages, Pages(c, version)...)
		}
	}
	return pages
}

func page(c *cobra.Command, version string, more []Section) Page {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	var w writer
	name := dashed(c)
	w.line(`.TH "%s" "1" "" "%s" "Jackline"`, quoted(strings.ToUpper(name)), quoted(strings.TrimSpace(c.Root().Name()+" "+version)))
	w.line(".nh\n.ad l") // neither hyphens nor gaps in names and commands
	w.line(".SH NAME")
	w.line(`%s \- %s`, text(name), text(c.Short))
	w.line(".SH SYNOPSIS")
	if c.Runnable() {
		w.line(`\fB%s\fR`, text(c.UseLine()))
	}
	if c.HasAvailableSubCommands() {
		if c.Runnable() {
			w.line(".br")
		}
		w.line(`\fB%s\fR \fICOMMAND\fR`, text(c.CommandPath()))
	}
	w.line(".SH DESCRIPTION")
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	w.prose(long)
	if c.Example != "" {
		w.line(".SH EXAMPLES")
		w.verbatim(strings.Split(c.Example, "\n"))
	}
	var below []*cobra.Command
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() && s.Name() != "help" {
			below = append(below, s)
		}
	}
	if len(below) > 0 {
		w.line(".SH COMMANDS")
	}
	for _, s := range below {
		w.line(".TP\n\\fB%s\\fR", text(strings.TrimPrefix(s.CommandPath()+strings.TrimPrefix(s.Use, s.Name()), c.CommandPath()+" ")))
		w.line("%s. See \\fB%s\\fR(1).", text(s.Short), text(dashed(s)))
	}
	w.flags("OPTIONS", c.LocalFlags())
	w.flags("OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	for _, s := range more {
		w.line(".SH %s", text(s.Title))
		w.prose(s.Text)
	}
	if c.HasParent() {
		w.line(".SH SEE ALSO")
		w.line(`\fB%s\fR(1)`, text(dashed(c.Parent())))
	}
	return Page{Name: name, Text: []byte(w.String())}
}

// dashed is a command's page by name.
func dashed(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

type writer struct{ strings.Builder }

func (w *writer) line(format string, a ...any) { fmt.Fprintf(w, format+"\n", a...) }

// prose writes paragraphs; lines that are indented stay lines of their own.
func (w *writer) prose(s string) {
	var kept []string
	for l := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		if strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t") {
			kept = append(kept, l)
			continue
		}
		w.verbatim(kept)
		kept = nil
		if strings.TrimSpace(l) == "" {
			w.line(".PP")
			continue
		}
		w.line("%s", text(l))
	}
	w.verbatim(kept)
}

// widest is the length of a line that still fits beside the margins of a terminal of 80 columns.
const widest = 70

// verbatim writes lines as they are. One that is too long is broken, and keeps what it is indented by.
func (w *writer) verbatim(lines []string) {
	if len(lines) == 0 {
		return
	}
	w.line(".PP\n.nf")
	for _, l := range lines {
		if utf8.RuneCountInString(l) <= widest {
			w.line("%s", text(l))
			continue
		}
		bare := strings.TrimLeft(l, " \t")
		w.line(".fi\n.in +%dn\n%s\n.in\n.nf", len(l)-len(bare), text(bare))
	}
	w.line(".fi\n.PP")
}

func (w *writer) flags(title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	w.line(".SH %s", title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		w.line(".TP")
		names := `\fB` + text("--"+f.Name) + `\fR`
		if f.Shorthand != "" && f.ShorthandDeprecated == "" {
			names = `\fB` + text("-"+f.Shorthand) + `\fR, ` + names
		}
		switch {
		case value == "":
		case f.NoOptDefVal != "":
			names += `[=\fI` + text(value) + `\fR]`
		default:
			names += ` \fI` + text(value) + `\fR`
		}
		w.line("%s", names)
		switch f.DefValue {
		case "", "false", "0", "0s", "[]":
		default:
			usage += " (default: " + f.DefValue + ")"
		}
		w.line("%s", text(usage))
	})
}

// text makes a line of plain text one of roff: what would be a request, an escape or another sign is none.
func text(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ", "\r", " ", "^", `\(ha`, "~", `\(ti`, "`", `\(ga`, "'", `\(aq`).Replace(s)
	if strings.HasPrefix(s, ".") {
		return `\&` + s
	}
	return s
}

// quoted is text inside the quotes of a request.
func quoted(s string) string { return strings.ReplaceAll(text(s), `"`, `\(dq`) }
