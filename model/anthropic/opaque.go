package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// marker is what our opaque state begins with: that of another adapter is left alone.
const marker = `{"anthropic":`

// An opaque is what goes back with an answer: its signed reasoning, and where in it that stood. Text and calls are not
// repeated; they come back on their own.
type opaque struct {
	Model  string        `json:"model"` // reasoning is of use to the model that wrote it, and to no other
	Blocks []opaqueBlock `json:"blocks"`

	// The blanks around all of its text. They may have been taken off since, and the API compares.
	Lead string `json:"lead,omitempty"`
	Tail string `json:"tail,omitempty"`
}

// An opaqueBlock is one block of an answer: exactly one of its fields is set.
type opaqueBlock struct {
	Thought json.RawMessage `json:"thought,omitempty"` // the block, as the API wants it back
	Text    int             `json:"text,omitempty"`    // bytes of text
	Call    bool            `json:"call,omitempty"`
}

// String writes o, or nothing if it holds no reasoning.
func (o opaque) String() string {
	thoughts := false
	for _, b := range o.Blocks {
		thoughts = thoughts || b.Thought != nil
	}
	if !thoughts {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(map[string]opaque{"anthropic": o}) != nil {
		return "" // a block that is no JSON; there is none
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// readOpaque reads what String wrote; nil for anything else.
func readOpaque(s string) *opaque {
	if !strings.HasPrefix(s, marker) {
		return nil
	}
	var read struct {
		Ours *opaque `json:"anthropic"`
	}
	if json.Unmarshal([]byte(s), &read) != nil || read.Ours == nil || strings.TrimSpace(read.Ours.Lead+read.Ours.Tail) != "" {
		return nil
	}
	for _, b := range read.Ours.Blocks {
		if b.Text < 0 || b.Thought != nil && b.Thought[0] != '{' {
			return nil
		}
	}
	return read.Ours
}

// whole is the text of msg as it was when the model wrote it, and whether o describes msg: as much text, and as many calls.
func (o *opaque) whole(msg model.Message) (text string, ok bool) {
	size, calls := 0, 0
	for _, b := range o.Blocks {
		switch {
		case b.Thought != nil:
		case b.Call:
			calls++
		case b.Text > engine.MaxText:
			return "", false
		default:
			size += b.Text
		}
	}
	text = msg.Text
	if len(text) != size {
		text = o.Lead + text + o.Tail
	}
	return text, len(text) == size && calls == len(msg.Calls)
}
