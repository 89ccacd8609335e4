package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
)

// said is what the events of one run say.
type said struct {
	answer string
	status string   // as the result says; "" if the run brought none
	ran    []string // tools whose calls were answered with ok
	count  tally
}

// A tally counts the calls of one run.
type tally struct {
	Tried  int `json:"tried"`  // calls that were begun, whether or not anybody could read them
	Read   int `json:"read"`   // of them those that became a call
	Valid  int `json:"valid"`  // of them those to a tool that there is, with arguments that fit its schema
	Right  int `json:"right"`  // of them those to a tool that fits the task
	Worked int `json:"worked"` // of the valid ones those that were answered with ok

	Steps  int    `json:"steps"`
	In     int    `json:"in"` // tokens
	Out    int    `json:"out"`
	MS     int64  `json:"ms"`     // of all requests together
	First  int64  `json:"first"`  // of it until the first word of each
	Answer bool   `json:"answer"` // it ended by an answer
	Failed string `json:"failed"` // what went wrong where the model did nothing wrong; "" if nothing did
}

// longestLine bounds one event.
const longestLine = 4 << 20

// A listener reads the events of a run.
type listener struct {
	said
	schemas map[string]*args.Schema
	fits    []string // tools that fit the task
	names   map[jackline.CallID]string
}

func listen(r io.Reader, schemas map[string]*args.Schema, fits []string) (said, error) {
	l := listener{schemas: schemas, fits: fits, names: map[jackline.CallID]string{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var ev jackline.Event
		err := json.Unmarshal(lines.Bytes(), &ev)
		if err == nil {
			err = l.take(ev)
		}
		if err != nil {
			return l.said, fmt.Errorf("a line of the output is no event: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return l.said, err
	}
	if l.status == "" {
		return l.said, errors.New("the run brought no result")
	}
	return l.said, nil
}

func (l *listener) take(ev jackline.Event) error {
	switch n := &l.count; ev.Type {
	case "tool.call":
		var c jackline.ToolCall
		if err := json.Unmarshal(ev.Data, &c); err != nil {
			return err
		}
		if c.Step == 0 {
			return nil // looked up before the model was asked
		}
		l.names[c.Call] = c.Name
		n.Tried++
		n.Read++
		if isValid(l.schemas[c.Name], c.Args) {
			n.Valid++
			n.Right += one(slices.Contains(l.fits, c.Name))
		}
	case "tool.result":
		var c jackline.ToolResult
		if err := json.Unmarshal(ev.Data, &c); err != nil {
			return err
		}
		if name, ok := l.names[c.Call]; ok && c.Outcome == jackline.OK {
			l.ran = append(l.ran, name)
			n.Worked++
		}
	case "nudge":
		var c jackline.Nudge
		if err := json.Unmarshal(ev.Data, &c); err != nil {
			return err
		}
		n.Tried += one(c.Kind == "retry")
		n.Read += one(c.Kind == "retry" && (strings.HasPrefix(c.Text, noSuch) || strings.HasPrefix(c.Text, noneSuch)))
	case "metrics":
		var c jackline.Metrics
		if err := json.Unmarshal(ev.Data, &c); err != nil {
			return err
		}
		n.Steps++
		n.In += c.Prompt
		n.Out += c.Completion
		n.MS += c.TotalMS
		n.First += c.FirstMS
	case "result":
		return l.end(ev.Data)
	}
	return nil
}

func (l *listener) end(data json.RawMessage) error {
	var e struct {
		Status string            `json:"status"`
		Answer string            `json:"answer"`
		Reason string            `json:"reason"`
		Error  *jackline.Problem `json:"error"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	l.answer, l.status, l.count.Answer = e.Answer, e.Status, e.Status == "done"
	l.count.Tried += one(e.Reason == unread)
	if e.Error != nil {
		l.count.Failed = e.Error.Text
	}
	return nil
}

// Either begins the reminder after a call in text to a tool that there is not: it could be read.
const (
	noSuch   = "There is no tool "
	noneSuch = "That tool does not exist."
)

// unread is the reason of a turn that ended because the model's call could not be read a second time.
const unread = "A tool call could not be read."

// isValid judges as the gate does.
func isValid(schema *args.Schema, raw json.RawMessage) bool {
	if schema == nil {
		return false
	}
	written, err := args.Strict(raw)
	return err == nil && schema.Validate(schema.Shape(written)) == nil
}
