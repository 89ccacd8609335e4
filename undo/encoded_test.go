package undo

import (
	"reflect"
	"testing"

	"github.com/jackline-ai/jackline"
)

func aBase() *base {
	return &base{
		Taken: 1_700_000_000_123_456_789, Part: true, Packs: map[string]int{"p1": 1 << 40, "": 0},
		Files: map[string]stood{
			"a.txt":    {Kept: jackline.Kept{Kind: jackline.KeptFile, Mode: 0o644, Size: 1 << 50, ID: "1:2:3", Sum: "ab", Held: true}, Changed: -5, Pack: "p1", Start: 77},
			"\xff\xfe": {Kept: jackline.Kept{Kind: jackline.KeptLink, Link: "to\x00\xff", Why: "it is long"}},
			"":         {},
		},
	}
}

// TestBase: a base is read as it was written, whatever its names are made of, and nothing else is one.
func TestBase(t *testing.T) {
	for _, b := range []*base{aBase(), {Packs: map[string]int{}, Files: map[string]stood{}}} {
		data := b.bytes()
		got, ok := readBase(data)
		if !ok || !reflect.DeepEqual(got, b) {
			t.Errorf("%+v became %+v, %v", b, got, ok)
		}
		for n := range data {
			if _, ok := readBase(data[:n]); ok {
				t.Errorf("%d of %d bytes are a base", n, len(data))
			}
		}
		if _, ok := readBase(append(data, 0)); ok {
			t.Error("a base with something behind it is one")
		}
	}
}

// FuzzBase: what is read as a base is written and read as the same one.
func FuzzBase(f *testing.F) {
	f.Add(aBase().bytes())
	f.Add([]byte{form})
	f.Add([]byte{form, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, data []byte) {
		b, ok := readBase(data)
		if !ok {
			return
		}
		again, ok := readBase(b.bytes())
		if !ok || !reflect.DeepEqual(again, b) {
			t.Errorf("%+v became %+v", b, again)
		}
	})
}
