package constrainttest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/args"
)

// A Schema is a JSON Schema, of which it knows what engines take and tools use: types, properties, items, enum, const,
// anyOf, oneOf, allOf, references within the schema, bounds.
type Schema struct {
	root *args.Object
}

// ParseSchema reads a schema.
func ParseSchema(raw json.RawMessage) (*Schema, error) {
	v, err := args.Strict(raw)
	if err != nil {
		return nil, err
	}
	o, ok := v.(*args.Object)
	if !ok {
		return nil, fmt.Errorf("a schema is an object, not %s", raw)
	}
	return &Schema{root: o}, nil
}

// Keywords are all keywords that the schema uses, as an engine that refuses what it does not know would see them.
func (s *Schema) Keywords() map[string]bool {
	all := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		o, ok := v.(*args.Object)
		if !ok {
			return
		}
		for k, v := range o.All() {
			all[k] = true
			switch v := v.(type) {
			case *args.Object:
				if k == "properties" || k == "$defs" {
					for _, sub := range v.All() {
						walk(sub)
					}
					continue
				}
				walk(v)
			case []any:
				if k == "anyOf" || k == "oneOf" || k == "allOf" {
					for _, sub := range v {
						walk(sub)
					}
				}
			}
		}
	}
	walk(s.root)
	return all
}

// Check says why text is not a value that the schema allows; nil is that it is one.
func (s *Schema) Check(text string) error {
	v, err := args.Strict([]byte(text))
	if err != nil {
		return err
	}
	return s.check(s.root, v, "")
}

func (s *Schema) resolve(o *args.Object) *args.Object {
	for range 32 {
		v, ok := o.Get("$ref")
		ref, is := v.(string)
		if !ok || !is {
			return o
		}
		at := any(s.root)
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			if inner, ok := at.(*args.Object); ok && ref != "#" {
				at, _ = inner.Get(part)
			}
		}
		if o, ok = at.(*args.Object); !ok {
			return &args.Object{}
		}
	}
	return o
}

func (s *Schema) check(schema any, v any, path string) error {
	o, ok := schema.(*args.Object)
	if !ok {
		return nil
	}
	o = s.resolve(o)
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%s: %s (value %s)", path, fmt.Sprintf(format, a...), args.Compact(v))
	}
	if t, there := o.Get("type"); there && !hasType(t, v, o) {
		return bad("is no %v", t)
	}
	if c, there := o.Get("const"); there && !same(c, v) {
		return bad("is not %s", args.Compact(c))
	}
	if e, there := o.Get("enum"); there {
		found := false
		for _, each := range e.([]any) {
			found = found || same(each, v)
		}
		if !found {
			return bad("is not in %s", args.Compact(e))
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		all, _ := o.Get(key)
		each, _ := all.([]any)
		fits := len(each) == 0
		for _, sub := range each {
			fits = fits || s.check(sub, v, path) == nil
		}
		if !fits {
			return bad("fits nothing of %s", key)
		}
	}
	all, _ := o.Get("allOf")
	each, _ := all.([]any)
	for _, sub := range each {
		if err := s.check(sub, v, path); err != nil {
			return err
		}
	}
	switch v := v.(type) {
	case *args.Object:
		return s.checkObject(o, v, path)
	case []any:
		if n, ok := count(o, "minItems"); ok && len(v) < n {
			return bad("has fewer than %d", n)
		}
		if n, ok := count(o, "maxItems"); ok && len(v) > n {
			return bad("has more than %d", n)
		}
		items, _ := o.Get("items")
		for i, e := range v {
			if err := s.check(items, e, path+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
	case string:
		length := utf8.RuneCountInString(v)
		if n, ok := count(o, "minLength"); ok && length < n {
			return bad("is shorter than %d", n)
		}
		if n, ok := count(o, "maxLength"); ok && length > n {
			return bad("is longer than %d", n)
		}
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return bad("is no number")
		}
		low, high := span(o)
		if !low.under(f) || !high.over(f) {
			return bad("is out of bounds")
		}
	}
	return nil
}

func (s *Schema) checkObject(o, v *args.Object, path string) error {
	properties, _ := o.Get("properties")
	known, _ := properties.(*args.Object)
	required, _ := o.Get("required")
	names, _ := required.([]any)
	for _, n := range names {
		if _, ok := v.Get(n.(string)); !ok {
			return fmt.Errorf("%s: %v is missing", path, n)
		}
	}
	more, there := o.Get("additionalProperties")
	for k, e := range v.All() {
		var sub any
		var ok bool
		if known != nil {
			sub, ok = known.Get(k)
		}
		if !ok && there && more == false {
			return fmt.Errorf("%s: %s is not allowed", path, k)
		}
		if !ok {
			sub = more
		}
		if err := s.check(sub, e, path+"."+k); err != nil {
			return err
		}
	}
	return nil
}

func same(a, b any) bool {
	x, err := args.Canonical(a)
	y, err2 := args.Canonical(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

func hasType(t, v any, o *args.Object) bool {
	if null, _ := o.Get("nullable"); null == true && v == nil {
		return true
	}
	all, ok := t.([]any)
	if !ok {
		all = []any{t}
	}
	for _, each := range all {
		is := false
		switch v := v.(type) {
		case nil:
			is = each == "null"
		case bool:
			is = each == "boolean"
		case string:
			is = each == "string"
		case []any:
			is = each == "array"
		case *args.Object:
			is = each == "object"
		case json.Number:
			f, err := v.Float64()
			is = each == "number" || each == "integer" && err == nil && f == math.Trunc(f)
		}
		if is {
			return true
		}
	}
	return false
}

func count(o *args.Object, key string) (int, bool) {
	v, _ := o.Get(key)
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return int(f), err == nil
}

// An end is one of a range of numbers.
type end struct {
	at   float64
	open bool
}

func (e end) under(f float64) bool { return e.at < f || e.at == f && !e.open }
func (e end) over(f float64) bool  { return e.at > f || e.at == f && !e.open }

func span(o *args.Object) (low, high end) {
	low, high = end{at: math.Inf(-1)}, end{at: math.Inf(1)}
	get := func(key string) (float64, bool) {
		v, _ := o.Get(key)
		n, ok := v.(json.Number)
		if !ok {
			return 0, false
		}
		f, err := n.Float64()
		return f, err == nil
	}
	if f, ok := get("minimum"); ok {
		low.at = f
	}
	if f, ok := get("exclusiveMinimum"); ok && f >= low.at {
		low = end{f, true}
	}
	if f, ok := get("maximum"); ok {
		high.at = f
	}
	if f, ok := get("exclusiveMaximum"); ok && f <= high.at {
		high = end{f, true}
	}
	return low, high
}

// Sample makes up a value that the schema allows, as JSON. Properties come in the order of the schema, the required ones
// first, which is how engines write them. Of a property that the schema does not declare it makes none up.
func (s *Schema) Sample(rnd *rand.Rand) string {
	return string(s.sample(nil, s.root, rnd, 0))
}

func (s *Schema) sample(b []byte, schema any, rnd *rand.Rand, depth int) []byte {
	o, ok := schema.(*args.Object)
	if !ok {
		return append(b, oneOf(rnd, []string{`"any"`, "1", "true", "null", "-2.5"})...)
	}
	o = s.resolve(o)
	if c, there := o.Get("const"); there {
		return append(b, args.Compact(c)...)
	}
	if e, there := o.Get("enum"); there {
		t, typed := o.Get("type")
		all := slices.DeleteFunc(slices.Clone(e.([]any)), func(v any) bool { return typed && !hasType(t, v, o) })
		return append(b, args.Compact(oneOf(rnd, all))...)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if all, there := o.Get(key); there {
			return s.sample(b, oneOf(rnd, all.([]any)), rnd, depth)
		}
	}
	if all, there := o.Get("allOf"); there { // of one part, which is how it is used
		return s.sample(b, all.([]any)[0], rnd, depth)
	}
	t, _ := o.Get("type")
	if all, ok := t.([]any); ok {
		t = oneOf(rnd, all)
	}
	switch t {
	case "object":
		return s.sampleObject(b, o, rnd, depth)
	case "array":
		low, _ := count(o, "minItems")
		high, ok := count(o, "maxItems")
		if !ok {
			high = low + 2
		}
		items, _ := o.Get("items")
		b = append(b, '[')
		for i := range low + rnd.IntN(min(high-low, 2)+1) {
			if i > 0 {
				b = append(b, ',')
			}
			b = s.sample(b, items, rnd, depth+1)
		}
		return append(b, ']')
	case "string":
		return args.AppendText(b, sampleText(o, rnd))
	case "integer", "number":
		return append(b, sampleNumber(o, rnd, t == "number")...)
	case "boolean":
		return strconv.AppendBool(b, rnd.IntN(2) == 0)
	case "null":
		return append(b, "null"...)
	}
	return s.sample(b, nil, rnd, depth)
}

func sampleText(o *args.Object, rnd *rand.Rand) string {
	low, _ := count(o, "minLength")
	high, ok := count(o, "maxLength")
	if !ok {
		high = low + 12
	}
	n := low + rnd.IntN(min(high-low, 12)+1)
	if ok && rnd.IntN(8) == 0 && high < 50 {
		n = high // to the brim
	}
	text := make([]rune, n)
	for i := range text {
		text[i] = oneOf(rnd, letters())
	}
	return string(text)
}

// sampleNumber is a number in bounds: a whole one, or one whose whole part is in them together with the one after it.
func sampleNumber(o *args.Object, rnd *rand.Rand, fractions bool) string {
	low, high := span(o)
	from, to := math.Ceil(low.at), math.Floor(high.at)
	if low.open && from == low.at {
		from++
	}
	if high.open && to == high.at {
		to--
	}
	switch {
	case math.IsInf(from, -1) && math.IsInf(to, 1):
		from, to = -1000, 1000
	case math.IsInf(from, -1):
		from = to - 1000
	case math.IsInf(to, 1):
		to = from + 1000
	}
	if from > to { // no whole number
		return strconv.FormatFloat(low.at+(high.at-low.at)/2, 'f', -1, 64)
	}
	whole := from + math.Floor(rnd.Float64()*(to-from+1))
	whole = min(whole, to)
	text := strconv.FormatFloat(whole, 'f', -1, 64)
	if fractions && rnd.IntN(2) == 0 && whole >= 0 && whole+1 <= to {
		text += "." + strconv.Itoa(1+rnd.IntN(9))
	}
	return text
}

func (s *Schema) sampleObject(b []byte, o *args.Object, rnd *rand.Rand, depth int) []byte {
	properties, _ := o.Get("properties")
	known, _ := properties.(*args.Object)
	list, _ := o.Get("required")
	names, _ := list.([]any)
	required := map[string]bool{}
	for _, n := range names {
		required[n.(string)] = true
	}
	b = append(b, '{')
	first := true
	put := func(name string, schema any) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(args.AppendText(b, name), ':')
		b = s.sample(b, schema, rnd, depth+1)
	}
	if known != nil {
		for name, sub := range known.All() {
			if required[name] {
				put(name, sub)
			}
		}
		for name, sub := range known.All() {
			if !required[name] && rnd.IntN(2) == 0 && depth < 8 {
				put(name, sub)
			}
		}
	}
	if more, _ := o.Get("additionalProperties"); first {
		if sub, ok := more.(*args.Object); ok {
			for i := range rnd.IntN(3) {
				put(fmt.Sprintf("%c key %d", oneOf(rnd, letters()), i), sub)
			}
		}
	}
	return append(b, '}')
}
