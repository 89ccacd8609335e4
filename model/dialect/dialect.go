// Package dialect reads the calls that models write into their text.
//
// Models are taught one form and write some forty, those of
// their training, mended or broken by the servers in between. All of them are always
// recognised, whatever the model's name. The reader is one forward scan: [Read] runs it over
// a whole text, and [Guard] over a stream, where the scan sleeps whenever it needs
// a byte that has not arrived. There is no second implementation that could
// differ, and the scan never asks for a byte that it can do without, so nothing is held back
// for longer than it takes to tell what it is.
//
// The scan knows thoughts, code, framing tokens and families of calls. A family is one
// way to write calls: a few bytes that can begin it and a function that reads it, in one
// row of the table in family.go.
package dialect

import (
	"encoding/json"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
)

// A Reading is what a model's output turned out to be.
type Reading struct {
	Calls   []model.Call // the accepted calls, in order, without IDs
	Visible string       // what a person may see
	Thought string       // the model's reasoning
	Error   model.Garbled
	Asked   string // with UnknownTool, the name that was called

	// Orphan reports that the closing tag of a thought came without its opening one: all
	// that stood before it was thought, though a stream may have shown it.
	Orphan bool
}

// Options say how to read. The zero value is right for most models.
type Options struct {
	// Calls is how many calls of one answer are accepted; 0 means 3.
	Calls int

	// Thinking says that the prompt has already opened a thought.
	Thinking bool

	// Plain says that no tools are on offer, so that no text is a call. Thoughts are told
	// from text all the same.
	Plain bool
}

// Read reads a whole output.
func Read(c *Catalog, text string) Reading { return Options{}.Read(c, text) }

// Read reads a whole output under these options.
func (o Options) Read(c *Catalog, text string) Reading {
	s := newScanner(c, args.Whole(text), o)
	s.run()
	return s.reading()
}

// written is a call as a model wrote it.
type written struct {
	name  string
	args  any
	given bool // there was a place for arguments
	cut   bool // the output ended inside of it
}

// call turns a written call into one of the tool.
func (t *entry) call(w written) model.Call {
	shaped, err := args.Canonical(t.schema().Shape(w.args))
	if err != nil { // cannot be: Shape returns JSON values
		shaped = json.RawMessage("{}")
	}
	return model.Call{Name: t.name, Args: shaped, Cut: w.cut}
}
