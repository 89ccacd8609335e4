package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
)

// marker is what our opaque state begins with: that of another adapter is left alone.
const marker = `{"openai":`

// An opaque is what goes back with an answer: what the server sent along with it and wants to see again. Text and calls are
// not repeated; they come back on their own.
type opaque struct {
	Model string `json:"model"` // signatures are of use to the model that made them, and to no other

	// Details is the reasoning as OpenRouter sends it, with its signatures: a list
	// (https://openrouter.ai/docs/use-cases/reasoning-tokens).
	Details json.RawMessage `json:"details,omitempty"`

	// Extras are one for each call, null for most: Gemini puts its signatures there, and refuses calls without
	// (https://ai.google.dev/gemini-api/docs/thought-signatures).
	Extras []json.RawMessage `json:"extras,omitempty"`

	// Thought is the reasoning as text, kept for a server that was found to want it: DeepSeek's, for one
	// (https://api-docs.deepseek.com/guides/thinking_mode).
	Thought string `json:"thought,omitempty"`
}

// unsigned is what Google's documents tell to send for a call that another model made.
const unsigned = `{"google":{"thought_signature":"skip_thought_signature_validator"}}`

// String writes o, or nothing if there is nothing in it.
func (o opaque) String() string {
	if o.Details == nil && o.Extras == nil && o.Thought == "" {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(map[string]opaque{"openai": o}) != nil {
		return "" // something that is no JSON; there is none
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// readOpaque reads what String wrote; nothing for anything else.
func readOpaque(s string) opaque {
	if !strings.HasPrefix(s, marker) {
		return opaque{}
	}
	var read struct {
		Ours opaque `json:"openai"`
	}
	if json.Unmarshal([]byte(s), &read) != nil || len(read.Ours.Details) > 0 && read.Ours.Details[0] != '[' {
		return opaque{}
	}
	return read.Ours
}

// taken is what goes back with msg: what this model said, as far as it takes it.
func (w *writer) taken(msg model.Message) opaque {
	o := readOpaque(msg.Opaque)
	if o.Model != w.model {
		o = opaque{}
	}
	if w.how&noExtras != 0 {
		o.Details, o.Extras = nil, nil
	}
	if len(o.Extras) != len(msg.Calls) {
		o.Extras = nil
	}
	if o.Extras == nil && w.how&wantsSignature != 0 && len(msg.Calls) > 0 {
		o.Extras = []json.RawMessage{json.RawMessage(unsigned)} // of the calls of one step only the first is signed
	}
	return o
}

// extra is what goes back with the i-th call, or nil.
func (o opaque) extra(i int) json.RawMessage {
	if i >= len(o.Extras) || !isSet(o.Extras[i]) {
		return nil
	}
	return o.Extras[i]
}

func isSet(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != `""`
}

// maxDetails is how many pieces of signed reasoning an answer may have. A thousand is more than any honest one; each is kept.
const maxDetails = 1000

// joined is signed reasoning, put together from the pieces in which it came: what follows a piece of the same kind and place
// goes on with it.
type joined struct{ blocks []block }

type block struct {
	fields map[string]json.RawMessage
	texts  map[string]*strings.Builder // those of the fields that go on
}

func (j *joined) add(raw json.RawMessage) {
	var piece map[string]json.RawMessage
	if json.Unmarshal(raw, &piece) != nil || piece == nil {
		return
	}
	goesOn := false
	if n := len(j.blocks); n > 0 {
		last := j.blocks[n-1].fields
		goesOn = isSet(piece["index"]) && bytes.Equal(last["index"], piece["index"]) && bytes.Equal(last["type"], piece["type"])
	}
	if !goesOn {
		if len(j.blocks) == maxDetails {
			return
		}
		j.blocks = append(j.blocks, block{map[string]json.RawMessage{}, map[string]*strings.Builder{}})
	}
	b := j.blocks[len(j.blocks)-1]
	for name, value := range piece {
		var text string
		if goesOn && !isSet(value) {
			continue
		}
		if (name == "text" || name == "summary" || name == "data") && len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
			if b.texts[name] == nil {
				b.texts[name] = &strings.Builder{}
			}
			b.texts[name].WriteString(text)
			continue
		}
		b.fields[name] = value
	}
}

// list is all of it, or nil where nothing is signed: words alone would only take room.
func (j *joined) list() json.RawMessage {
	signed := false
	all := make([]map[string]json.RawMessage, len(j.blocks))
	for i, b := range j.blocks {
		for name, text := range b.texts {
			b.fields[name] = args.AppendText(nil, text.String())
		}
		signed = signed || isSet(b.fields["signature"]) || isSet(b.fields["data"])
		all[i] = b.fields
	}
	if !signed {
		return nil
	}
	list, err := json.Marshal(all)
	if err != nil {
		return nil // there is nothing in it but JSON
	}
	return list
}
