package args

import (
	"encoding/json"
	"slices"
	"strings"
)

var argumentKeys = [...]string{"args", "arguments", "parameters", "params", "input", "action_input"}

// ArgumentKeys are the words under which models put the arguments of a call. They must not be changed.
func ArgumentKeys() []string { return argumentKeys[:] }

// Shape makes an object of known keys and wanted types out of whatever a model wrote for
// the arguments of a call: JSON inside a string, a wrapper too many, a single value
// without its name, numbers in quotation marks. It adds nothing, and it does not check;
// see [Schema.Validate].
func (s *Schema) Shape(written any) *Object {
	o := s.object(s.unwrap(written))
	out := &Object{open: o.open}
	for name, value := range o.All() {
		f := s.Field(name)
		if f == nil && name == "tex" { // a letter that small models lose
			if _, given := o.Get("text"); !given && s.Field("text") != nil {
				name, f = "text", s.Field("text")
			}
		}
		switch {
		case f != nil:
			if v, ok := f.coerce(value); ok {
				out.Set(name, v)
			}
		case s.open:
			out.Set(name, value)
		}
	}
	return out
}

// Fit reads text as the arguments of a call, shapes them and writes them in canonical form.
// Cut reports that the text ended before its value did.
func (s *Schema) Fit(text string) (canonical json.RawMessage, cut bool) {
	var written any = text
	if f, ok := ReadText(text); ok {
		written, cut = f.Value, !f.Whole()
	}
	return appendJSON(nil, s.Shape(written), true), cut
}

// unwrap takes away up to three layers of text around JSON, and up to two objects that hold
// nothing but the arguments.
func (s *Schema) unwrap(v any) any {
	texts, wrappers := 3, 2
	for {
		switch t := v.(type) {
		case string:
			inner, ok := inside(t)
			if !ok || texts == 0 {
				return v
			}
			texts--
			v = inner
			continue
		case *Object:
			key, inner, ok := t.only()
			if ok && wrappers > 0 && slices.Contains(ArgumentKeys(), key) && s.Field(key) == nil {
				wrappers--
				v = inner
				continue
			}
		}
		return v
	}
}

// inside reads the JSON in a text. A quoted text must be strictly right, or a search for
// two quoted phrases would lose its outer quotes.
func inside(text string) (any, bool) {
	text = Trim(text)
	if text == "" {
		return nil, false
	}
	switch text[0] {
	case '"':
		var s string
		if json.Unmarshal([]byte(text), &s) == nil {
			return s, true
		}
	case '{', '[':
		if f, ok := ReadText(text); ok && (text[0] == '{' || f.Whole()) {
			return f.Value, true
		}
	}
	return nil, false
}

// object finds the object that a value without names is meant to be.
func (s *Schema) object(v any) *Object {
	switch v := v.(type) {
	case *Object:
		return v
	case []any:
		name, ok := s.sole()
		if ok && s.Required(name) && s.Field(name) != nil && s.Field(name).Type() == "array" {
			return single(name, v)
		}
		if len(v) == 1 {
			if o, isObject := v[0].(*Object); isObject {
				return o
			}
			if ok && s.Required(name) && scalar(v[0]) {
				return single(name, v[0])
			}
		}
	default:
		if name, ok := s.sole(); ok && scalar(v) {
			return single(name, v)
		}
	}
	return &Object{}
}

func single(name string, v any) *Object {
	o := &Object{}
	o.Set(name, v)
	return o
}

func scalar(v any) bool {
	switch v.(type) {
	case string, bool, json.Number:
		return true
	}
	return false
}

// coerce gives a value the type that its schema asks for, as far as it means the same; what
// does not is left for the validator. A null that is not wanted is no value at all.
func (s *Schema) coerce(v any) (any, bool) {
	if v == nil {
		return nil, s.Nullable()
	}
	switch s.Type() {
	case "integer", "number":
		return number(v), true
	case "boolean":
		return boolean(v), true
	case "string":
		if _, ok := v.(string); !ok {
			return Compact(v), true
		}
	case "array":
		return s.list(v), true
	case "object":
		return s.fieldsOf(v), true
	}
	return v, true
}

// number reads numeric text, and writes whole numbers without a point.
func number(v any) any {
	var n json.Number
	switch v := v.(type) {
	case json.Number:
		n = v
	case string:
		var ok bool
		if n, ok = Number(Trim(v)); !ok {
			return v
		}
	default:
		return v
	}
	if d, ok := parseDecimal(n); ok && d.integer() && len(d.digits)+d.exp <= 21 {
		return json.Number(d.String())
	}
	return n
}

func boolean(v any) any {
	word := ""
	switch v := v.(type) {
	case string:
		word = strings.ToLower(Trim(v))
	case json.Number:
		d, ok := parseDecimal(v)
		if !ok {
			return v
		}
		word = d.String()
	}
	switch word {
	case "true", "yes", "on", "1":
		return true
	case "false", "no", "off", "0":
		return false
	}
	return v
}

// list makes a list out of JSON in a text, of words between commas, or of a single value.
func (s *Schema) list(v any) []any {
	var list []any
	switch v := v.(type) {
	case []any:
		list = v
	case string:
		list = split(v)
	default:
		list = []any{v}
	}
	if s.items == nil {
		return list
	}
	out := make([]any, 0, len(list))
	for _, e := range list {
		if e, ok := s.items.coerce(e); ok {
			out = append(out, e)
		}
	}
	return out
}

func split(text string) []any {
	if inner, ok := inside(text); ok {
		if list, ok := inner.([]any); ok {
			return list
		}
	}
	list := []any{}
	for part := range strings.SplitSeq(text, ",") {
		if part = Trim(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// fieldsOf coerces the known members of an object and leaves the others.
func (s *Schema) fieldsOf(v any) any {
	if text, ok := v.(string); ok {
		inner, _ := inside(text)
		v2, ok := inner.(*Object)
		if !ok {
			return v
		}
		v = v2
	}
	o, ok := v.(*Object)
	if !ok {
		return v
	}
	out := &Object{open: o.open}
	for name, value := range o.All() {
		if f := s.Field(name); f != nil {
			if value, ok = f.coerce(value); !ok {
				continue
			}
		}
		out.Set(name, value)
	}
	return out
}
