package detect

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/model"
)

// decode reads an object. A field of another type than expected stays empty, and the rest is read all the same.
func decode(body []byte, to any) bool {
	if b := bytes.TrimSpace(body); len(b) == 0 || b[0] != '{' {
		return false
	}
	return fits(json.Unmarshal(body, to))
}

func fits(err error) bool {
	var mismatch *json.UnmarshalTypeError
	return err == nil || errors.As(err, &mismatch)
}

// A number is a count that may come as a number or as text. What is negative or none is 0, which means unknown.
type number int64

// UnmarshalJSON never fails.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = 0
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	if err == nil && f > 0 && f <= maxBytes && f == math.Trunc(f) {
		*n = number(f)
	}
	return nil
}

// tokens is a window, or 0.
func (n number) tokens() int {
	if n > maxTokens {
		return 0
	}
	return int(n)
}

// A truth is a report that may be missing.
type truth model.Known

// UnmarshalJSON never fails.
func (t *truth) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*t = truth(model.Yes)
	case "false":
		*t = truth(model.No)
	default:
		*t = truth(model.Unknown)
	}
	return nil
}

// rows are the elements of a list that fit, no more than are wanted: a list of a million empty objects makes none.
type rows[T any] []T

// UnmarshalJSON never fails. A list without elements is not nil, anything but a list is.
func (r *rows[T]) UnmarshalJSON(b []byte) error {
	*r = nil
	d := json.NewDecoder(bytes.NewReader(b))
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return nil
	}
	*r = rows[T]{}
	for d.More() && len(*r) < maxModels {
		var one T
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return nil
		}
		if fits(json.Unmarshal(raw, &one)) {
			*r = append(*r, one)
		}
	}
	return nil
}

// abilities are what a model can do: a list of words, or an object of truths. Nil is that nothing was said.
type abilities map[string]model.Known

// UnmarshalJSON never fails.
func (a *abilities) UnmarshalJSON(b []byte) error {
	*a = nil
	d := json.NewDecoder(bytes.NewReader(b))
	start, err := d.Token()
	if err != nil || (start != json.Delim('[') && start != json.Delim('{')) {
		return nil
	}
	*a = abilities{}
	for d.More() && len(*a) < maxWords {
		word, err := d.Token()
		if err != nil {
			return nil
		}
		name, _ := word.(string)
		yes := truth(model.Yes)
		if start == json.Delim('{') {
			var raw json.RawMessage
			if d.Decode(&raw) != nil {
				return nil
			}
			_ = yes.UnmarshalJSON(raw) // it never fails
		} else if delim, ok := word.(json.Delim); ok && (delim == '[' || delim == '{') {
			return nil // a list of something else
		}
		if name != "" {
			(*a)[name] = model.Known(yes)
		}
	}
	return nil
}

// of is what was said about the first of these words that was spoken of.
func (a abilities) of(words ...string) model.Known {
	for _, w := range words {
		if k := a[w]; k != model.Unknown {
			return k
		}
	}
	return model.Unknown
}

// among is of, where a list that lacks the words means that the model lacks the ability.
func (a abilities) among(words ...string) model.Known {
	if k := a.of(words...); k != model.Unknown || len(a) == 0 {
		return k
	}
	return model.No
}

// clean is a text from outside without what does not show: control characters, marks that only direct, join or select,
// blanks that are none, and broken bytes. What is longer than limit bytes is cut.
func clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s[:min(len(s), 4*limit)], ""))
	s = strings.TrimSpace(s)
	if len(s) > limit {
		cut := limit
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	return s
}

// hidden reports whether a character cannot be seen where a name is shown.
func hidden(r rune) bool {
	switch {
	case r == ' ':
		return false
	case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Zs,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return true
	case r == '\u034f', r == '\u2800', r == '\ufffd': // a joiner, the empty Braille cell, and what was lost
		return true
	}
	return false
}

// name is a model's name as it can be sent back and shown, or "" when there is none: a name that is cut would be another.
func name(candidates ...string) string {
	for _, s := range candidates {
		if s = clean(s, maxName+1); s != "" {
			if len(s) > maxName {
				return ""
			}
			return s
		}
	}
	return ""
}

// version is a version as it may stand in a sentence.
func version(s string) string {
	s = clean(s, maxShort)
	s = strings.TrimPrefix(s, "v")
	if i := strings.IndexFunc(s, func(r rune) bool {
		return r > 0x7e || !(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".-+_", r))
	}); i >= 0 {
		s = s[:i]
	}
	if !strings.ContainsAny(s, "0123456789") {
		return ""
	}
	return s
}

// readAll reads a body up to limit bytes, and says whether there was more.
func readAll(r io.Reader, limit int64) (body []byte, more bool, err error) {
	body, err = io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(body)) > limit {
		return body[:limit], true, err
	}
	return body, false, err
}
