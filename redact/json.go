package redact

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSON is a JSON value with the secrets in its strings hidden, as text and by the names of the members that they are. It is the same
// bytes if there are none. What is no JSON is treated as text.
func (r *Redactor) JSON(raw json.RawMessage) json.RawMessage {
	w := walk{r: r, raw: string(raw)}
	if !w.value(meaning{}, 0) || w.pos != len(raw) && strings.TrimSpace(w.raw[w.pos:]) != "" {
		return r.loose(raw)
	}
	if w.out == nil {
		return raw
	}
	return append(w.out, raw[w.from:]...)
}

// loose hides in what is no JSON: it becomes a string.
func (r *Redactor) loose(raw []byte) json.RawMessage {
	if len(bytes.TrimSpace(raw)) == 0 {
		return raw
	}
	text, err := json.Marshal(r.Text(string(raw)))
	if err != nil {
		return nil
	}
	return text
}

// Member is a value with its secrets hidden, as that of a name.
func (r *Redactor) Member(name, value string) string { return r.member(meaningOf(name), value) }

func (r *Redactor) member(m meaning, v string) string {
	switch m.grade {
	case header, jar:
		if f := r.forms(); f != nil {
			known := matcher{forms: f}
			v = known.feed(v, true)
		}
		s := scan{shapes: table(), expect: m, phase: parted, sign: ':'}
		return s.feed(v, true)
	case weak, firm, strong:
		if strings.Contains(v, "://") {
			break
		}
		if secret(m, v, true) {
			return opening + m.what + closing
		}
	case plain:
	}
	return r.Text(v)
}

// A walk goes through a JSON text once.
type walk struct {
	r    *Redactor
	raw  string
	pos  int
	from int
	out  []byte
}

// deepest is how deep values may lie within each other: args allows no deeper.
const deepest = 200

func (w *walk) blanks() {
	for w.pos < len(w.raw) && strings.IndexByte(" \t\r\n", w.raw[w.pos]) >= 0 {
		w.pos++
	}
}

// value goes through one value, of a member whose name says m. It reports false where the text is no JSON.
func (w *walk) value(m meaning, depth int) bool {
	w.blanks()
	if w.pos >= len(w.raw) || depth > deepest {
		return false
	}
	switch w.raw[w.pos] {
	case '{':
		return w.object(depth)
	case '[':
		w.pos++
		for first := true; ; first = false {
			if w.blanks(); w.pos >= len(w.raw) {
				return false
			}
			if w.raw[w.pos] == ']' {
				w.pos++
				return true
			}
			if !first {
				if w.raw[w.pos] != ',' {
					return false
				}
				w.pos++
			}
			if !w.value(m, depth+1) {
				return false
			}
		}
	case '"':
		_, ok := w.text(m)
		return ok
	}
	start := w.pos
	for w.pos < len(w.raw) && strings.IndexByte(",]} \t\r\n", w.raw[w.pos]) < 0 {
		w.pos++
	}
	if v := w.raw[start:w.pos]; m.grade >= firm && m.grade <= strong && len(v) > 0 && kindOf(v[0]) == 'd' && secret(m, v, true) {
		w.put(start, []byte(`"`+opening+m.what+closing+`"`))
	}
	return w.pos > start
}

// object goes through an object. A member called value is what the one called name says.
func (w *walk) object(depth int) bool {
	w.pos++
	var pair meaning
	for first := true; ; first = false {
		if w.blanks(); w.pos >= len(w.raw) {
			return false
		}
		if w.raw[w.pos] == '}' {
			w.pos++
			return true
		}
		if !first {
			if w.raw[w.pos] != ',' {
				return false
			}
			w.pos++
			w.blanks()
		}
		if w.pos >= len(w.raw) || w.raw[w.pos] != '"' {
			return false
		}
		name, ok := w.text(meaning{})
		if !ok {
			return false
		}
		if w.blanks(); w.pos >= len(w.raw) || w.raw[w.pos] != ':' {
			return false
		}
		w.pos++
		w.blanks()
		m := meaningOf(name)
		switch {
		case strings.EqualFold(name, "value") && pair.grade > m.grade:
			m = pair
		case (strings.EqualFold(name, "name") || strings.EqualFold(name, "key")) && w.pos < len(w.raw) && w.raw[w.pos] == '"':
			v, ok := w.text(m)
			if !ok {
				return false
			}
			if len(v) < maxName {
				pair = meaningOf(v)
			}
			continue
		}
		if !w.value(m, depth+1) {
			return false
		}
	}
}

// text goes through one string, and hides what is secret in it.
func (w *walk) text(m meaning) (v string, ok bool) {
	start := w.pos
	escaped := false
	for w.pos++; ; w.pos++ {
		if w.pos >= len(w.raw) {
			return "", false
		}
		c := w.raw[w.pos]
		if c == '"' {
			break
		}
		if c == '\\' {
			escaped = true
			w.pos++
		}
	}
	w.pos++
	quoted := w.raw[start:w.pos]
	if escaped {
		if json.Unmarshal([]byte(quoted), &v) != nil {
			return "", false
		}
	} else {
		v = quoted[1 : len(quoted)-1]
	}
	if len(v) < LeastKnown && m.grade == plain {
		return v, true // nothing so short is a secret by itself
	}
	if clean := w.r.member(m, v); clean != v {
		text, err := json.Marshal(clean)
		if err != nil {
			return "", false
		}
		w.put(start, text)
	}
	return v, true
}

// put replaces the raw text from start up to where the walk is.
func (w *walk) put(start int, text []byte) {
	w.out = append(append(w.out, w.raw[w.from:start]...), text...)
	w.from = w.pos
}
