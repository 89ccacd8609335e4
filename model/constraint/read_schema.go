package constraint

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/args"
)

// The bounds of what is read of one schema.
const (
	maxSchema  = 256 << 10 // bytes; more is no description of arguments
	maxFields  = 64        // properties of one object; optional ones beyond are not offered
	maxKey     = 200       // bytes of a property's name
	maxValues  = 100       // of an enumeration; a longer one is left to the tool's own check
	maxLiteral = 4 << 10   // bytes of all values of one enumeration
	maxRepeat  = 1000      // of a character or an element: llama.cpp refuses more than 2000 and is slow long before
	maxRefs    = 16        // references that lead to one schema, and parts of one: more go in a circle
	maxNumber  = 1e15      // whole numbers beyond lose digits in a float
)

// readSchema reads a tool's schema into a tree within a budget. What cannot be read allows anything.
func readSchema(raw json.RawMessage, b budget) *node {
	if len(raw) == 0 {
		return &node{kind: object}
	}
	if len(raw) > maxSchema || !utf8.Valid(raw) { // no engine writes a name that is no text
		return anything(anyDepth)
	}
	v, err := args.Strict(raw)
	if err != nil {
		return anything(anyDepth)
	}
	root, ok := v.(*args.Object)
	if !ok {
		return anything(anyDepth)
	}
	r := &reader{root: root, left: b.nodes}
	n := r.object(r.whole(root, 0), b.depth)
	if n == nil {
		return anything(anyDepth)
	}
	return n
}

type reader struct {
	root *args.Object
	left int // nodes
}

// whole is a schema with its references followed and its parts joined; nil where there is none.
func (r *reader) whole(v any, refs int) *args.Object {
	o, ok := v.(*args.Object)
	if !ok || refs > maxRefs {
		return nil
	}
	if to, ok := get[string](o, "$ref"); ok {
		return r.whole(r.at(to), refs+1)
	}
	parts, ok := get[[]any](o, "allOf")
	if !ok || len(parts) > maxRefs {
		return o
	}
	// A part adds what the schema itself does not say. That what both say holds twice is left to the tool's own check.
	joined := &args.Object{}
	for k, v := range o.All() {
		if k != "allOf" {
			joined.Set(k, v)
		}
	}
	for _, part := range parts {
		p := r.whole(part, refs+1)
		if p == nil {
			continue
		}
		for k, v := range p.All() {
			merge(joined, k, v)
		}
	}
	return joined
}

// merge adds a keyword to a schema.
func merge(to *args.Object, key string, v any) {
	old, there := to.Get(key)
	switch {
	case !there:
		to.Set(key, v)
	case key == "properties":
		was, _ := old.(*args.Object)
		more, _ := v.(*args.Object)
		if was == nil || more == nil {
			return
		}
		all := &args.Object{}
		for k, v := range was.All() {
			all.Set(k, v)
		}
		for k, v := range more.All() {
			if _, there := all.Get(k); !there {
				all.Set(k, v)
			}
		}
		to.Set(key, all)
	case key == "required":
		was, _ := old.([]any)
		more, _ := v.([]any)
		to.Set(key, slices.Concat(was, more))
	}
}

// at finds what a reference within the schema points to. Others lead nowhere.
func (r *reader) at(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var v any = r.root
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if part == "" {
			continue
		}
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case *args.Object:
			v, _ = at.Get(part)
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

func get[T any](o *args.Object, key string) (T, bool) {
	v, _ := o.Get(key)
	t, ok := v.(T)
	return t, ok
}

// schema reads one schema. Depth is how many levels of objects and lists may still come.
func (r *reader) schema(v any, depth int) *node {
	if r.left--; r.left < 0 {
		return anything(0)
	}
	o := r.whole(v, 0)
	if o == nil {
		return anything(anyDepth)
	}
	types := typesOf(o)
	if values, ok := r.values(o, types); ok {
		return &node{kind: literals, values: values}
	}
	_, shaped := get[*args.Object](o, "properties")
	for _, key := range []string{"anyOf", "oneOf"} {
		if each, ok := get[[]any](o, key); ok && len(each) > 0 && !shaped {
			return r.choices(o, types, each, depth)
		}
	}
	if len(types) == 0 {
		_, items := o.Get("items")
		switch {
		case shaped:
			types = []string{"object"}
		case items:
			types = []string{"array"}
		default:
			return anything(anyDepth)
		}
	}
	var of []*node
	for _, t := range types {
		of = append(of, r.typed(o, t, depth))
	}
	return choice(of)
}

// typesOf are the types that a schema names, null among them where OpenAPI's word says so.
func typesOf(o *args.Object) []string {
	var types []string
	v, _ := o.Get("type")
	all, ok := v.([]any)
	if !ok {
		all = []any{v}
	}
	for _, each := range all {
		if t, ok := each.(string); ok && !slices.Contains(types, t) && slices.Contains([]string{"object", "array", "string", "integer", "number", "boolean", "null"}, t) {
			types = append(types, t)
		}
	}
	if null, _ := get[bool](o, "nullable"); null && len(types) > 0 && !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	if slices.Contains(types, "number") { // which whole numbers are too
		types = slices.DeleteFunc(types, func(t string) bool { return t == "integer" })
	}
	return types
}

// values are those of an enumeration, as JSON, as far as they have one of the types.
func (r *reader) values(o *args.Object, types []string) (all []string, ok bool) {
	list, ok := get[[]any](o, "enum")
	if v, there := o.Get("const"); there {
		list, ok = []any{v}, true
	}
	if !ok || len(list) > maxValues {
		return nil, false
	}
	size := 0
	for _, v := range list {
		if len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return is(t, v) }) {
			continue
		}
		raw, err := args.Canonical(v)
		if err != nil {
			continue
		}
		if size += len(raw); size > maxLiteral {
			return nil, false
		}
		if s := string(raw); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all, len(all) > 0
}

// is reports whether v has a type.
func is(t string, v any) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case []any:
		return t == "array"
	case *args.Object:
		return t == "object"
	case json.Number:
		f, err := v.Float64()
		return t == "number" || t == "integer" && err == nil && f == math.Trunc(f)
	}
	return false
}

// choices reads alternatives. One that names no type has those of the schema around it.
func (r *reader) choices(o *args.Object, types []string, each []any, depth int) *node {
	if len(each) > maxChoices {
		return anything(anyDepth)
	}
	var of []*node
	for _, v := range each {
		sub := r.whole(v, 0)
		if sub == nil {
			return anything(anyDepth)
		}
		if _, typed := sub.Get("type"); !typed && len(types) > 0 {
			joined := &args.Object{}
			for k, v := range sub.All() {
				joined.Set(k, v)
			}
			t, _ := o.Get("type")
			joined.Set("type", t)
			sub = joined
		}
		of = append(of, r.schema(sub, depth))
	}
	if len(types) > 0 && slices.Contains(types, "null") && len(of) > 0 { // OpenAPI's nullable stands beside
		of = append(of, &node{kind: null})
	}
	return choice(of)
}

func (r *reader) typed(o *args.Object, t string, depth int) *node {
	switch t {
	case "object":
		return r.object(o, depth)
	case "array":
		return r.list(o, depth)
	case "string":
		n := &node{kind: text}
		n.min, n.max = counts(o, "minLength", "maxLength")
		return n
	case "integer":
		n := &node{kind: integer}
		n.low, n.high = edges(o)
		return n
	case "number":
		n := &node{kind: number}
		n.low, n.high = edges(o)
		return n
	case "boolean":
		return &node{kind: boolean}
	}
	return &node{kind: null}
}

// counts are the bounds of a length. One that nothing could be written for is left out.
func counts(o *args.Object, least, most string) (low, high int) {
	n := func(key string, none int) int {
		v, ok := get[json.Number](o, key)
		if !ok {
			return none
		}
		f, err := v.Float64()
		if err != nil || f < 0 || f > maxRepeat || f != math.Trunc(f) {
			return none
		}
		return int(f)
	}
	low, high = n(least, 0), n(most, -1)
	if high >= 0 && low > high {
		return 0, -1
	}
	return low, high
}

// edges are the bounds of a number, in the words of all drafts.
func edges(o *args.Object) (low, high *bound) {
	read := func(key, exclusive string) *bound {
		var b *bound
		if f, ok := float(o, key); ok {
			open, _ := get[bool](o, exclusive)
			b = &bound{value: f, open: open}
		}
		if f, ok := float(o, exclusive); ok {
			up := key == "minimum"
			if b == nil || up && f >= b.value || !up && f <= b.value {
				b = &bound{value: f, open: true}
			}
		}
		return b
	}
	low, high = read("minimum", "exclusiveMinimum"), read("maximum", "exclusiveMaximum")
	if low != nil && high != nil && (low.value > high.value || low.value == high.value && (low.open || high.open)) {
		return nil, nil
	}
	return low, high
}

func float(o *args.Object, key string) (float64, bool) {
	v, ok := get[json.Number](o, key)
	if !ok {
		return 0, false
	}
	f, err := v.Float64()
	return f, err == nil && math.Abs(f) <= maxNumber
}

func (r *reader) list(o *args.Object, depth int) *node {
	n := &node{kind: list}
	n.min, n.max = counts(o, "minItems", "maxItems")
	if depth <= 1 {
		n.items = anything(anyDepth)
		return n
	}
	items, _ := o.Get("items")
	if all, tuple := items.([]any); tuple { // of old drafts: each place has its own, of which one for all is made
		var of []*node
		for _, v := range all[:min(len(all), maxChoices)] {
			of = append(of, r.schema(v, depth-1))
		}
		n.items = choice(of)
		return n
	}
	n.items = r.schema(items, depth-1)
	return n
}

// object reads an object; nil where o is none.
func (r *reader) object(o *args.Object, depth int) *node {
	if o == nil {
		return nil
	}
	if types := typesOf(o); len(types) > 0 && !slices.Contains(types, "object") {
		return nil
	}
	n := &node{kind: object}
	properties, _ := get[*args.Object](o, "properties")
	if depth <= 0 {
		n.extra = anything(anyDepth)
		return n
	}
	required := map[string]bool{}
	names, _ := get[[]any](o, "required")
	for _, v := range names {
		if s, ok := v.(string); ok && len(s) <= maxKey {
			required[s] = true
		}
	}
	add := func(name string, v any) {
		if len(name) > maxKey || required[name] && len(n.fields) >= maxFields*2 || !required[name] && len(n.fields) >= maxFields {
			return
		}
		n.fields = append(n.fields, field{name: name, value: r.schema(v, depth-1), required: required[name]})
	}
	if properties != nil {
		for name, v := range properties.All() {
			if required[name] {
				add(name, v)
			}
		}
	}
	for _, v := range names { // what is required and not described is anything
		s, ok := v.(string)
		if ok && !slices.ContainsFunc(n.fields, func(f field) bool { return f.name == s }) {
			add(s, nil)
		}
	}
	if properties != nil {
		for name, v := range properties.All() {
			if !required[name] {
				add(name, v)
			}
		}
	}
	if len(n.fields) > 0 {
		return n
	}
	switch more, there := o.Get("additionalProperties"); {
	case more == false:
	case there && more != true:
		n.extra = r.schema(more, depth-1)
	case there, properties == nil:
		n.extra = anything(anyDepth)
	}
	return n
}
