package model

import "encoding/json"

// Weight is the size of a text in characters, where letters that take more tokens count for more: what a token estimate starts
// from. A tokenizer joins some four letters of Latin text into a token, fewer of other alphabets, and of Chinese, Japanese or
// Korean hardly any; and all of them begin at bytes. So letters weigh by the bytes that they have in UTF-8: one byte is one
// character, two are one and a half, three are three and a half (about a token), and four are seven.
func Weight(s string) int {
	return weigh(s)
}

func weigh[S ~string | ~[]byte](s S) int {
	ascii, halves := 0, 0
	for i := range len(s) {
		switch b := s[i]; {
		case b < 0x80:
			ascii++
		case b < 0xC0: // it goes on
		case b < 0xE0:
			halves += 3
		case b < 0xF0:
			halves += 7
		default:
			halves += 14
		}
	}
	return ascii + (halves+1)/2
}

// A Measure counts the characters that a request takes once it is written out, each by its [Weight], escapes not counted. The JSON around messages is
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
		n += weigh(b)
	}
	if m.Native {
		for _, t := range r.Tools {
			n += m.Tool + weigh(t.Name) + weigh(t.Description()) + weigh(m.Schema(t.Schema))
		}
	}
	return n
}

// Messages is what messages take.
func (m Measure) Messages(all ...Message) int {
	n := 0
	for _, msg := range all {
		n += weigh(msg.Text) + len(msg.Images)*m.Image
		if !m.Native {
			continue
		}
		if msg.Role == Result {
			n += weigh(msg.Name)
		}
		for _, c := range msg.Calls {
			n += m.Call + weigh(c.Name) + weigh(c.Arguments())
		}
	}
	return n
}
