// Package script is a model that says what a transcript tells it to. It is for tests, demos and
// trying out a page or a policy without an engine; it ships in the binary.
//
// # The transcript
//
// A transcript is UTF-8 text made of blocks. Each block is one answer:
//
//	# what this script is for
//	=== 1
//	I will look into the notes.
//	--- call file_read {"path": "notes.txt"}
//	=== 2
//	--- expect buy milk
//	There is one note: buy milk.
//
// Lines before the first block are blank or comments: "#" alone, or "#" and a blank at the start of the line. After the
// first block nothing is a comment, so that an answer may hold Markdown headings.
//
// A line that is "===", or that begins with "=== ", opens a block:
//
//	===          the answer to the next main request
//	=== 3        the same; the number is for the reader, and must be the right one
//	=== *        the answer to every further main request; the last of the main blocks
//	=== side     an answer to a side request; these are used in order, again and again
//
// A request is a side request (a summary, a title) when it has no [model.Request] Tools, no Known tools, no Constraint, and no
// block of its System teaches a way to write calls. A script without a side block treats all requests alike.
//
// Inside a block, lines are visible text. A line that begins with "--- " is a directive; "---" alone and "---x" are
// text:
//
//	--- thought                 the lines that follow are reasoning
//	--- text                    the lines that follow are visible text again
//	--- raw                     the lines that follow, up to a line "--- end", are visible text exactly as they
//	                            are written, whatever they look like
//	--- call NAME {"a": 1}      a call with these arguments: one JSON object, or nothing for {}
//	--- garbled NAME TEXT       a call whose arguments are TEXT, which is not a JSON object
//	--- pieces N                cut what follows into pieces of N bytes, each grown to whole characters
//	                            (by default a piece is a word and the blanks behind it)
//	--- usage PROMPT COMPLETION [CACHED]    token counts
//	--- finish stop|length|tool_calls       why the answer ends, if not as its content says
//	--- error STATUS TEXT       fail here, as an HTTP server that answers with this status would
//	--- cut                     break off here, as a lost connection does
//	--- wait                    say nothing more until the request is cancelled
//	--- expect TEXT             fail the request unless TEXT stands in its system blocks, messages (calls and
//	                            their arguments included) or names of offered tools
//	--- refuse TEXT             fail the request if it does
//
// Checks are made before the answer begins, wherever they stand in the block. A directive that takes no lines leaves the
// lines after it what they were before: text stays text.
//
// Blank lines at both ends of a stretch of text or thought are dropped, and so is the last line break. A
// stretch of visible text that follows another in the same answer starts on a new line. Raw text is not trimmed.
//
// # Native and text mode
//
// One transcript serves both. Where calls are native they come as [model.Chunk] values with an ID made from the block;
// in text mode a call is written into the visible text as the block that text models are taught:
//
//	```tool
//	{"name": "file_read", "args": {"path": "notes.txt"}}
//	```
//
// Where the request holds the answer to a form, a call is the object that the form is made of:
//
//	{"tool": "file_read", "args": {"path": "notes.txt"}}
//
// A block is one generation: an answer in words is one that says {"final": true}, and one behind it.
//
// Which block answers is decided by counting the requests that a [Script] has seen. Whoever sends a request again after
// an error gets the block after it.
package script

import (
	"encoding/json"
	"strings"
	"sync"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
)

// A Script is a parsed transcript and the count of the requests it has answered. It is safe for use by
// several goroutines at once, and may be shared by several models: they share the count then.
type Script struct {
	name string
	main []Answer
	rest *Answer // the block "=== *"
	side []Answer

	mu    sync.Mutex
	mains int // requests seen so far
	sides int
}

// Name is the name that was given to [Parse].
func (s *Script) Name() string { return s.name }

// Next counts r and gives the answer to it. It fails with kind invalid when the script has run out, or when a
// check of the answer says that r is not the request it was written for.
func (s *Script) Next(r model.Request) (Answer, error) {
	a, err := s.take(r)
	if err != nil {
		return Answer{}, err
	}
	if err := a.check(s.name, r); err != nil {
		return Answer{}, err
	}
	return a, nil
}

func (s *Script) take(r model.Request) (Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.side) > 0 && aside(r) {
		a := s.side[s.sides%len(s.side)]
		s.sides++
		a.number, a.aside = s.sides, true
		return a, nil
	}
	s.mains++
	switch {
	case s.mains <= len(s.main):
		a := s.main[s.mains-1]
		a.number = s.mains
		return a, nil
	case s.rest != nil:
		a := *s.rest
		a.number = s.mains
		return a, nil
	}
	return Answer{}, jackline.E("script.Next", jackline.Invalid, nil,
		"The script %s has no answer to request %d: it ends after %d. Add a block, or one that begins with \"=== *\".",
		s.name, s.mains, len(s.main))
}

// aside reports whether r is a side generation rather than a step of a turn. A wrapper that writes the tools into
// the system message takes them out of the request, so the message is looked at too.
func aside(r model.Request) bool {
	if len(r.Tools) > 0 || len(r.Known) > 0 || r.Constraint != nil {
		return false
	}
	for _, block := range r.System {
		if strings.Contains(block, "```tool") || strings.Contains(block, `{"tool": `) {
			return false
		}
	}
	return true
}

// holds reports whether text stands anywhere in what the model is shown.
func holds(r model.Request, text string) bool {
	for _, block := range r.System {
		if strings.Contains(block, text) {
			return true
		}
	}
	for _, m := range r.Messages {
		if strings.Contains(m.Text, text) || strings.Contains(m.Name, text) {
			return true
		}
		for _, c := range m.Calls {
			if strings.Contains(c.Name, text) || strings.Contains(string(c.Args), text) {
				return true
			}
		}
	}
	for _, t := range r.Tools {
		if strings.Contains(t.Name, text) {
			return true
		}
	}
	return false
}

// canonical reads one JSON object and writes it as every reader of calls does.
func canonical(text string) (json.RawMessage, bool) {
	v, err := args.Strict([]byte(text))
	if _, object := v.(*args.Object); err != nil || !object {
		return nil, false
	}
	raw, err := args.Canonical(v)
	return raw, err == nil
}

// plain writes v as JSON without the escapes that are only of use inside HTML.
func plain(v any) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil // v is made of what a decoder gave: it always encodes
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}
