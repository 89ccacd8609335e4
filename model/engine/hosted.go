package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
)

// Base64 appends data, encoded, as a JSON string behind a prefix that needs no escapes.
func Base64(b []byte, prefix string, data []byte) []byte {
	b = append(append(b, '"'), prefix...)
	return append(base64.StdEncoding.AppendEncode(b, data), '"')
}

// ObjectSchema is a tool's schema without blanks, as hosted APIs take one: an object at the top that says so, without a choice
// between schemas beside it. What is no JSON object becomes a schema that takes anything. A choice at the top is dropped:
// the schema is wider without it, and arguments are checked before a call runs in any case.
func ObjectSchema(raw json.RawMessage) []byte {
	var top map[string]json.RawMessage
	if json.Unmarshal(raw, &top) != nil || top == nil {
		return []byte(`{"type":"object","properties":{}}`)
	}
	change := string(top["type"]) != `"object"`
	for _, choice := range []string{"oneOf", "anyOf", "allOf"} {
		if _, ok := top[choice]; ok {
			delete(top, choice)
			change = true
		}
	}
	if _, ok := top["properties"]; !ok {
		top["properties"] = json.RawMessage(`{}`)
		change = true
	}
	var b bytes.Buffer
	if !change {
		if json.Compact(&b, raw) == nil {
			return b.Bytes()
		}
	}
	top["type"] = json.RawMessage(`"object"`)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(top) != nil {
		return []byte(`{"type":"object","properties":{}}`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Unique is what FunctionName makes of name, or the first of its numbered kin that is not in taken. It is put there.
func Unique(name string, taken map[string]bool) string {
	name = FunctionName(name)
	free := name
	for n := 2; taken[free]; n++ {
		tail := "_" + strconv.Itoa(n)
		free = name[:min(len(name), longestFunctionName-len(tail))] + tail
	}
	taken[free] = true
	return free
}

// Names are the tools of one request under the names that an API takes.
type Names struct {
	sent map[string]string // our name to theirs
	ours map[string]string // their name to ours
}

// NewNames gives each of the names one that the API takes. What a name becomes depends only on those before it.
func NewNames(names []string) Names {
	n := Names{sent: map[string]string{}, ours: map[string]string{}}
	taken := map[string]bool{}
	for _, name := range names {
		if _, ok := n.sent[name]; ok {
			continue
		}
		s := Unique(name, taken)
		n.sent[name], n.ours[s] = s, name
	}
	return n
}

// Sent is the name under which the API knows a tool, offered or not.
func (n Names) Sent(name string) string {
	if s, ok := n.sent[name]; ok {
		return s
	}
	return FunctionName(name)
}

// Ours is the name of the tool that the API calls by name.
func (n Names) Ours(name string) string {
	if s, ok := n.ours[name]; ok {
		return s
	}
	return name
}
