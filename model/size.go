package model

import (
	"encoding/json"

	"github.com/jackline-ai/jackline/contract"
)

const (
	// charsAtMost is more characters than a token of any text has on the whole: English has four to five, code three to four.
	charsAtMost = 8

	// suspectable is a request, in characters, of which no fewer fill any window there is: it is not suspected.
	suspectable = 8 << 10
)

// FarBelow reports that an engine cannot have read all of a request of so many characters, given how many tokens of a prompt it
// counted: it has left out a part of it without saying so. An engine that does not count is not suspected.
func FarBelow(prompt, chars int) bool {
	return prompt > 0 && chars >= suspectable && prompt < chars/charsAtMost
}

// A Measure counts the characters that a request takes once it is written out, each by its [contract.Weight], escapes not counted. The JSON around messages is
// left out: engines put marks of their own in its place.
type Measure struct {
	Native bool // calls and tools go through the engine's interface, and count

	// Call and Tool are the characters that stand around each, Image those that a picture counts for.
	Call, Tool, Image int

	// Schema is a tool's schema as it is sent.
	Schema func(json.RawMessage) []byte
}

// Head is what stands in front of the messages: the system blocks and the tools.
func (m Measure) Head(r Request) int {
	n := 0
	for i, b := range r.System {
		if i > 0 {
			n += 2 // a blank line between two
		}
		n += contract.Weight(b)
	}
	if m.Native {
		for _, t := range r.Tools {
			n += m.Tool + contract.Weight(t.Name) + contract.Weight(t.Description()) + contract.Weight(m.Schema(t.Schema))
		}
	}
	return n
}

// Messages is what messages take.
func (m Measure) Messages(all ...Message) int {
	n := 0
	for _, msg := range all {
		n += contract.Weight(msg.Text) + len(msg.Images)*m.Image
		if !m.Native {
			continue
		}
		if msg.Role == Result {
			n += contract.Weight(msg.Name)
		}
		for _, c := range msg.Calls {
			n += m.Call + contract.Weight(c.Name) + contract.Weight(c.Arguments())
		}
	}
	return n
}
