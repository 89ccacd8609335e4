package args

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Canonical writes v in the one form that all equal values share: object keys sorted, no
// blanks, text escaped only where JSON demands it, integers as written and other numbers
// without superfluous zeros. Any value that encoding/json can write will do.
//
// An approval is sealed to these bytes, so two calls that mean the same have the same
// seal, and no other call has.
func Canonical(v any) (json.RawMessage, error) {
	v, err := plain(v)
	if err != nil {
		return nil, fmt.Errorf("args: canonical form: %w", err)
	}
	return appendJSON(nil, v, true), nil
}

// Compact writes v as JSON without blanks, in the order and with the numbers as they were
// written. It knows the values of this package only.
func Compact(v any) string { return string(appendJSON(nil, v, false)) }

// plain turns v into the values of this package.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, *Object, json.Number:
		return v, nil
	case []any:
		return v, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return Strict(raw)
}

// mostLevels is how deep the JSON reader of the standard library goes.
const mostLevels = 10_000

// Strict decodes JSON that must be right, keeping numbers and the order of keys.
func Strict(raw []byte) (any, error) { return Bounded(raw, mostLevels) }

// Bounded is Strict for JSON that must not be nested deeper than so many levels: a scalar has none, {} has one.
func Bounded(raw []byte, levels int) (any, error) {
	if !json.Valid(raw) {
		var v any // for the words of the error
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, err
		}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return decode(d, levels)
}

// decode reads one value, of at most so many levels, off a decoder whose text is known to be valid.
func decode(d *json.Decoder, levels int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if _, opens := token.(json.Delim); opens && levels == 0 {
		return nil, errors.New("args: nested too deep")
	}
	switch token {
	case json.Delim('{'):
		o := &Object{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := decode(d, levels-1)
			if err != nil {
				return nil, err
			}
			o.Set(key.(string), value)
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := decode(d, levels-1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

func appendJSON(b []byte, v any, canonical bool) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		if v {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case string:
		return AppendText(b, v)
	case json.Number:
		if canonical {
			if d, ok := parseDecimal(v); ok {
				return append(b, d.String()...)
			}
		}
		return append(b, v...)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, e, canonical)
		}
		return append(b, ']')
	case *Object:
		return appendObject(b, v, canonical)
	}
	// A value of another kind inside a list or an object.
	other, err := plain(v)
	if err != nil {
		return append(b, "null"...)
	}
	return appendJSON(b, other, canonical)
}

func appendObject(b []byte, o *Object, canonical bool) []byte {
	members := o.members
	if canonical {
		members = slices.Clone(members)
		slices.SortFunc(members, func(x, y member) int {
			return bytes.Compare([]byte(x.key), []byte(y.key))
		})
	}
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendText(b, m.key)
		b = append(b, ':')
		b = appendJSON(b, m.value, canonical)
	}
	return append(b, '}')
}

const hexDigits = "0123456789abcdef"

// AppendText appends s as a JSON string. Only what must be escaped is, and bytes that are not UTF-8 become U+FFFD.
func AppendText(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
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
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			if c >= utf8.RuneSelf {
				b = append(b, "\uFFFD"...)
			} else {
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
