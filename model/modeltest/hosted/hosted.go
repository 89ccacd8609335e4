// Package hosted has servers of the APIs that hosted models are reached by, for tests: the Messages API and the
// Responses API. They play scripts, as the servers of package modeltest do, and are as strict with what they are sent as
// the APIs are known to be.
package hosted

import (
	"bytes"
	"encoding/json"
	"strings"
)

const (
	created  = 1_790_000_000 // a time is expected; the same each time makes recordings comparable
	argPiece = 12            // bytes of arguments in a fragment
)

// encode writes v as JSON, without the escapes that are only of use inside HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(strings.ToValidUTF8(err.Error(), "")) // v is made here: it always encodes
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// plain is a JSON value as the API understands it: however its strings are escaped, they say the same.
func plain(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	return encode(v)
}

// whole is n, or a little more so that no character of s is cut in two.
func whole(s string, n int) int {
	n = min(n, len(s))
	for n < len(s) && s[n]&0xC0 == 0x80 {
		n++
	}
	return n
}
