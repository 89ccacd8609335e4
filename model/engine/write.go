package engine

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// AppendQuoted appends s as a JSON string. Only what must be escaped is, and bytes that are no UTF-8 are replaced.
func AppendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		b = append(b, s[start:i]...)
		i++
		start = i
		switch {
		case c >= utf8.RuneSelf:
			b = append(b, "\ufffd"...)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\r':
			b = append(b, `\r`...)
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, s[start:]...), '"')
}

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
