package constraint

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
)

// A Step is what an answer in the form turned out to be: a call, or the word that the model is done.
type Step struct {
	Final bool
	Text  string // of a model that put its answer where the word belongs, which only one does that nobody held to the form

	Name string
	Args *args.Object
	Cut  bool   // the answer ended before the call did
	Body string // the argument that is to come apart; it is not in Args
}

// Read reads an answer. It is not ok where it has not the form, or names none of the tools: then the name that it has, and
// its arguments as they were written, are in the step all the same.
func (f Form) Read(answer string, tools []model.Tool) (Step, bool) {
	found, ok := args.ReadText(answer)
	if !ok {
		return Step{}, false
	}
	o, ok := found.Value.(*args.Object)
	if !ok {
		return Step{}, false
	}
	inner, strict := get[*args.Object](o, stepKey)
	if strict = strict && o.Len() == 1; strict {
		o = inner
	}
	named, _ := get[string](o, f.Tool)
	if v, there := o.Get(finalKey); there && named == "" {
		said, _ := v.(string)
		if said == "true" {
			said = ""
		}
		return Step{Final: true, Text: said}, v != false && v != nil
	}
	s := Step{Name: named, Cut: !found.Whole()}
	v, there := o.Get(f.Args)
	at := slices.IndexFunc(tools, func(t model.Tool) bool { return t.Name == named })
	if at < 0 {
		s.Args, _ = v.(*args.Object)
		return s, false
	}
	if strict {
		v = unfilled(f.arguments(tools[at], budgets()[0]), v)
	}
	s.Cut = s.Cut || !there && o.Open()
	s.Args, s.Body = f.fitted(tools[at], v)
	return s, true
}

// fitted are the arguments of a call of t as its schema has them, without the body that is to come apart.
func (f Form) fitted(t model.Tool, v any) (*args.Object, string) {
	later := ""
	o, _ := v.(*args.Object)
	if o != nil && f.Inline > 0 && t.Body != "" {
		if body, there := o.Get(t.Body); there && f.apart(body) {
			later = t.Body
			o = without(o, t.Body)
		}
	}
	schema, err := args.Parse(t.Schema)
	switch {
	case err != nil && o != nil:
		return o, later
	case err != nil:
		return &args.Object{}, later
	case o != nil && later == "" && schema.Validate(o) == nil:
		return o, later
	}
	if o != nil {
		v = o
	}
	return schema.Shape(v), later
}

// unfilled is a value without the nulls that stand for optional properties, which a strict engine cannot leave out.
func unfilled(n *node, v any) any {
	if n.kind == union {
		for _, each := range n.of {
			if each.takes(v) {
				return unfilled(each, v)
			}
		}
		return v
	}
	switch v := v.(type) {
	case []any:
		if n.kind != list {
			return v
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = unfilled(n.items, e)
		}
		return out
	case *args.Object:
		if n.kind != object || len(n.fields) == 0 {
			return v
		}
		out := &args.Object{}
		for k, e := range v.All() {
			at := slices.IndexFunc(n.fields, func(f field) bool { return f.name == k })
			switch {
			case at < 0:
				out.Set(k, e)
			case e != nil || n.fields[at].required:
				out.Set(k, unfilled(n.fields[at].value, e))
			}
		}
		return out
	}
	return v
}

// takes reports whether v is a list or an object as n wants one.
func (n *node) takes(v any) bool {
	switch v := v.(type) {
	case []any:
		return n.kind == list
	case *args.Object:
		for _, f := range n.fields {
			if _, there := v.Get(f.name); !there {
				return false
			}
		}
		return n.kind == object
	}
	return false
}

// apart reports whether what stands for a body is none: it is to be asked for, or it was cut by the form.
func (f Form) apart(v any) bool {
	switch v := v.(type) {
	case *args.Object:
		_, later := v.Get(laterKey)
		return later && v.Len() == 1
	case string:
		return f.Long(v)
	}
	return false
}

// Long reports whether a body is longer than may stand in a call. One that is just as long as may is taken for one that was
// cut there.
func (f Form) Long(body string) bool {
	return f.Inline > 0 && len(body) >= f.Inline && utf8.RuneCountInString(body) >= f.Inline
}

func without(o *args.Object, key string) *args.Object {
	out := &args.Object{}
	for k, v := range o.All() {
		if k != key {
			out.Set(k, v)
		}
	}
	return out
}

// Named is the name of the tool in the beginning of an answer, as soon as it stands there, and the offset behind it.
func (f Form) Named(begin string) (name string, at int, ok bool) {
	rest := strings.TrimLeft(begin, " \t\r\n")
	for _, want := range []string{"{", `"` + stepKey + `"`, ":", "{", `"` + f.Tool + `"`, ":"} {
		after, ok := strings.CutPrefix(rest, want)
		if !ok && want != "{" && want != ":" && want != `"`+stepKey+`"` {
			return "", 0, false
		}
		if !ok {
			continue // the object around a step is OpenAI's
		}
		rest = strings.TrimLeft(after, " \t\r\n")
	}
	end := 1
	for ; end < len(rest) && end <= maxName; end++ {
		switch rest[end] {
		case '\\':
			end++
		case '"':
			if rest[0] != '"' || json.Unmarshal([]byte(rest[:end+1]), &name) != nil {
				return "", 0, false
			}
			return name, len(begin) - len(rest) + end + 1, true
		}
	}
	return "", 0, false
}
