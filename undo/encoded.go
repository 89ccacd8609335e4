package undo

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/jackline-ai/jackline"
)

// form is the first byte of an encoded base. One of another form is made anew.
const form = 2

// bytes encodes a base: numbers as varints, texts with their lengths before them, since names of files need not be UTF-8.
func (b *base) bytes() []byte {
	const each = 160 // bytes of a usual entry
	out := append(make([]byte, 0, 64+each*len(b.Files)), form)
	text := func(s string) {
		out = binary.AppendUvarint(out, uint64(len(s)))
		out = append(out, s...)
	}
	flag := func(v bool) {
		n := byte(0)
		if v {
			n = 1
		}
		out = append(out, n)
	}
	out = binary.AppendVarint(out, b.Taken)
	flag(b.Part)
	out = binary.AppendUvarint(out, uint64(len(b.Packs)))
	for _, name := range slices.Sorted(maps.Keys(b.Packs)) {
		text(name)
		out = binary.AppendVarint(out, int64(b.Packs[name]))
	}
	out = binary.AppendUvarint(out, uint64(len(b.Files)))
	for _, name := range slices.Sorted(maps.Keys(b.Files)) {
		f := b.Files[name]
		text(name)
		for _, s := range []string{string(f.Kept.Kind), f.Kept.ID, f.Kept.Sum, f.Kept.Link, f.Kept.Why, f.Pack} {
			text(s)
		}
		flag(f.Kept.Held)
		for _, n := range []int64{int64(f.Kept.Mode), f.Kept.Size, f.Changed, int64(f.Start)} {
			out = binary.AppendVarint(out, n)
		}
	}
	return out
}

// readBase decodes a base; ok is false where it is none.
func readBase(data []byte) (b *base, ok bool) {
	r := decoder{rest: data, ok: true}
	if r.byte() != form {
		return nil, false
	}
	b = &base{Taken: r.number(), Part: r.byte() == 1, Packs: map[string]int{}, Files: map[string]stood{}}
	for n := r.length(); n > 0 && r.ok; n-- {
		b.Packs[r.text()] = int(r.number())
	}
	for n := r.length(); n > 0 && r.ok; n-- {
		name := r.text()
		f := stood{Kept: jackline.Kept{Kind: jackline.KeptKind(r.text()), ID: r.text(), Sum: r.text(), Link: r.text(), Why: r.text()}, Pack: r.text()}
		f.Kept.Held = r.byte() == 1
		f.Kept.Mode, f.Kept.Size = uint32(r.number()), r.number() //nolint:gosec // it was written so
		f.Changed, f.Start = r.number(), int(r.number())
		b.Files[name] = f
	}
	return b, r.ok && len(r.rest) == 0
}

// A decoder reads what bytes wrote. Once something is missing it is no longer ok, and all that it gives is zero.
type decoder struct {
	rest []byte
	ok   bool
}

func (r *decoder) byte() byte {
	if len(r.rest) == 0 {
		r.ok = false
		return 0
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

func (r *decoder) number() int64 {
	v, n := binary.Varint(r.rest)
	return r.took(n, v)
}

// length is of what follows, which is never more than there are bytes.
func (r *decoder) length() int {
	v, n := binary.Uvarint(r.rest)
	if v > uint64(len(r.rest)) {
		n = 0
	}
	return int(r.took(n, int64(v))) //nolint:gosec // no more than there are bytes
}

func (r *decoder) took(n int, v int64) int64 {
	if n <= 0 {
		r.rest, r.ok = nil, false
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *decoder) text() string {
	n := r.length()
	if n > len(r.rest) {
		r.rest, r.ok = nil, false
		return ""
	}
	v := string(r.rest[:n])
	r.rest = r.rest[n:]
	return v
}
