// Package args is everything about the arguments of a tool call, from what a model
// wrote to what a tool is given.
//
// Models write JSON the way people write letters: most of it is right, and the rest
// is understandable. [Read] takes a value out of a text and mends what can be mended
// without guessing. [Schema] knows the parameters of one tool: [Schema.Shape] turns
// whatever was written into an object of known keys and wanted types, and
// [Schema.Validate] says in plain sentences what is still wrong with it. [For] writes
// the schema of a Go struct, and [Canonical] gives equal values equal bytes, so that an
// approval can be sealed to them.
//
// Values are held as nil, bool, string, [json.Number], []any and *[Object]. Numbers
// stay as they were written and objects keep their order: neither a large integer nor a
// file's contents may change on the way through.
//
// The package imports the standard library only, starts nothing and keeps nothing.
package args

import "iter"

// An Object is a JSON object whose members keep the order in which they were written. The
// zero Object is empty and ready to use.
type Object struct {
	members []member
	index   map[string]int // only of objects that are too long to search
	open    bool
}

type member struct {
	key   string
	value any
}

// indexed is the length from which an object is searched through a map.
const indexed = 16

// Len returns the number of members.
func (o *Object) Len() int { return len(o.members) }

// Get returns the value of key.
func (o *Object) Get(key string) (any, bool) {
	if i := o.find(key); i >= 0 {
		return o.members[i].value, true
	}
	return nil, false
}

// Set gives key a value. A key that was there already keeps its place.
func (o *Object) Set(key string, value any) {
	if i := o.find(key); i >= 0 {
		o.members[i].value = value
		return
	}
	if o.members == nil {
		o.members = make([]member, 0, 4) // most have no more
	}
	o.members = append(o.members, member{key, value})
	if o.index != nil {
		o.index[key] = len(o.members) - 1
	} else if len(o.members) >= indexed {
		o.index = make(map[string]int, 2*indexed)
		for i, m := range o.members {
			o.index[m.key] = i
		}
	}
}

// All yields the members in order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, m := range o.members {
			if !yield(m.key, m.value) {
				return
			}
		}
	}
}

// Open reports that the text of the object ended before its closing brace.
func (o *Object) Open() bool { return o.open }

func (o *Object) find(key string) int {
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range o.members {
		if o.members[i].key == key {
			return i
		}
	}
	return -1
}

// only returns the single member of an object that has just one.
func (o *Object) only() (key string, value any, ok bool) {
	if len(o.members) != 1 {
		return "", nil, false
	}
	return o.members[0].key, o.members[0].value, true
}

// cut leaves the first n members.
func (o *Object) cut(n int) {
	for _, m := range o.members[n:] {
		delete(o.index, m.key)
	}
	o.members = o.members[:n]
}

// clone copies the object itself, not what is in it.
func (o *Object) clone() *Object {
	c := &Object{open: o.open}
	for _, m := range o.members {
		c.Set(m.key, m.value)
	}
	return c
}
