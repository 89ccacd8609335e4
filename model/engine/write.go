package engine

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Schema is a tool's schema without blanks. One that is no JSON object would spoil the request: it becomes one that takes
// anything.
func Schema(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil || b.Len() == 0 || b.Bytes()[0] != '{' {
		return []byte(`{"type":"object","properties":{}}`)
	}
	return b.Bytes()
}

// longestFunctionName is what every API takes as the name of a tool or the identifier of a call, in bytes.
const longestFunctionName = 64

// FunctionName is the name of a call as engines take it: at most 64 letters, digits, lines and hyphens. A model may have
// called something that does not exist by any name at all, and a history that holds such a name would have every later
// request refused.
func FunctionName(name string) string {
	const longest = longestFunctionName
	ok := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	for i := range len(name) {
		if !ok(name[i]) || i == longest {
			b := []byte(name[:min(len(name), longest)])
			for k, c := range b {
				if !ok(c) {
					b[k] = '_'
				}
			}
			return string(b)
		}
	}
	if name == "" {
		return "unknown"
	}
	return name
}

// CalledName takes off what leaks into the names of calls: blanks, and the marks of gpt-oss's format.
func CalledName(name string) string {
	name, _, _ = strings.Cut(name, "<|")
	return strings.TrimSpace(name)
}
