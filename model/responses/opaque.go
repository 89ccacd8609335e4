package responses

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// marker is what our opaque state begins with: that of another adapter is left alone.
const marker = `{"responses":`

// An opaque is what goes back with an answer: its sealed reasoning, and where in it that stood. Text and calls are not
// repeated; they come back on their own.
type opaque struct {
	Model string       `json:"model"` // reasoning is of use to the model that wrote it, and to no other
	Items []opaqueItem `json:"items"`

	// The blanks around all of its text. They may have been taken off since, and the API compares.
	Lead string `json:"lead,omitempty"`
	Tail string `json:"tail,omitempty"`
}

// An opaqueItem is one item of an answer: reasoning, a call, or text.
type opaqueItem struct {
	Thought json.RawMessage `json:"thought,omitempty"` // the item, as the API wants it back
	Call    bool            `json:"call,omitempty"`

	Gap   int    `json:"gap,omitempty"`   // bytes that we put before the text
	Text  int    `json:"text,omitempty"`  // bytes of text
	Phase string `json:"phase,omitempty"` // what the text is, in the API's words, which wants them back
}

// String writes o, or nothing if nothing in it is of use.
func (o opaque) String() string {
	useful := false
	for _, it := range o.Items {
		useful = useful || it.Thought != nil || it.Phase != ""
	}
	if !useful {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(map[string]opaque{"responses": o}) != nil {
		return "" // an item that is no JSON; there is none
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// readOpaque reads what String wrote; nil for anything else.
func readOpaque(s string) *opaque {
	if !strings.HasPrefix(s, marker) {
		return nil
	}
	var read struct {
		Ours *opaque `json:"responses"`
	}
	if json.Unmarshal([]byte(s), &read) != nil || read.Ours == nil || strings.TrimSpace(read.Ours.Lead+read.Ours.Tail) != "" {
		return nil
	}
	for _, it := range read.Ours.Items {
		if it.Text < 0 || it.Gap < 0 || it.Thought != nil && it.Thought[0] != '{' {
			return nil
		}
	}
	return read.Ours
}

// whole is the text of msg as it was when the model wrote it, and whether o describes msg: as much text, and as many calls.
func (o *opaque) whole(msg model.Message) (text string, ok bool) {
	size, calls := 0, 0
	for _, it := range o.Items {
		switch {
		case it.Thought != nil:
		case it.Call:
			calls++
		case it.Gap > len(gap) || it.Text > engine.MaxText:
			return "", false
		default:
			size += it.Gap + it.Text
		}
	}
	text = msg.Text
	if len(text) != size {
		text = o.Lead + text + o.Tail
	}
	return text, len(text) == size && calls == len(msg.Calls)
}

// A part is one item of an answer: sealed reasoning as it came, a call, or text.
type part struct {
	thought json.RawMessage
	call    *model.Call
	n       int // which call
	text    string
	phase   string
}

// parts are the items of an answer that is sent back. Reasoning goes in only where this model sealed it, and each item
// stands where it stood, if what was said since then is still whole; else reasoning goes in front.
func (w *writer) parts(msg model.Message) []part {
	var parts []part
	said := readOpaque(msg.Opaque)
	if said != nil && said.Model != w.m.info.Name {
		said = nil
	}
	refused := said != nil && w.m.refused.Has(msg.Opaque)
	text, fits := "", false
	if said != nil {
		text, fits = said.whole(msg)
	}
	if fits {
		n := 0
		for _, it := range said.Items {
			switch {
			case it.Thought != nil && refused:
			case it.Thought != nil:
				parts = append(parts, part{thought: it.Thought})
			case it.Call:
				parts = append(parts, part{call: &msg.Calls[n], n: n})
				n++
			case it.Text > 0:
				text = text[it.Gap:]
				parts = append(parts, part{text: text[:it.Text], phase: it.Phase})
				text = text[it.Text:]
			}
		}
		return parts
	}
	if said != nil && !refused {
		for _, it := range said.Items {
			if it.Thought != nil {
				parts = append(parts, part{thought: it.Thought})
			}
		}
	}
	if msg.Text != "" {
		parts = append(parts, part{text: msg.Text})
	}
	for i := range msg.Calls {
		parts = append(parts, part{call: &msg.Calls[i], n: i})
	}
	return parts
}
