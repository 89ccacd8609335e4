// Package chain binds the lines of the audit to each other, so that whoever changes, removes, moves or adds one afterwards
// is found out. It knows lines and bytes, and no database.
//
// # The chain
//
// Each line carries a MAC: HMAC-SHA256, under a key of the store's, over the MAC of the line before and over the line in a
// canonical form. The first one follows 32 zero bytes. Without the key nobody can write a line that fits, and no line can
// be taken out of the middle without the next one no longer fitting.
//
// # The head
//
// A chain says nothing of lines that were cut off its end. So its end is written into a second file, the head: number and
// MAC of a line, sealed under another key. A table that ends before the line that the head names was cut. One that goes on
// behind it is as it should be: lines are written all the time, and the head once in a while.
//
// What cannot be found with what lies in one folder: that all of it was put back as it once was, table, head and all. An
// export that is kept elsewhere shows that.
package chain

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"

	"github.com/jackline-ai/jackline"
)

// Size is how long a MAC is, in bytes.
const Size = sha256.Size

// A MAC binds a line to all before it.
type MAC [Size]byte

// Hex is the MAC as a line of an export holds it.
func (m MAC) Hex() string { return hex.EncodeToString(m[:]) }

// ParseMAC reads what Hex wrote.
func ParseMAC(s string) (m MAC, ok bool) {
	if len(s) != 2*Size {
		return m, false
	}
	_, err := hex.Decode(m[:], []byte(s))
	return m, err == nil
}

// Keys are what the chain of one store is made with. The zero Keys check nothing: see [Keys.Known].
type Keys struct{ lines, head, digests []byte }

// KeysOf makes the keys of a chain. subkey gives a key of 32 bytes for a purpose, the same one each time.
func KeysOf(subkey func(purpose string) []byte) Keys {
	return Keys{lines: subkey("audit lines"), head: subkey("audit head"), digests: subkey("audit digests")}
}

// Known reports whether there are keys.
func (k Keys) Known() bool { return len(k.lines) > 0 }

// lineVersion is what the canonical form of a line begins with: another form would be another version.
const lineVersion = "jackline audit line 1"

// Next is the MAC of a line that follows one with the MAC prev.
func (k Keys) Next(prev MAC, e jackline.AuditEntry) MAC {
	h := hmac.New(sha256.New, k.lines)
	h.Write(prev[:])
	h.Write(Canonical(e))
	return sum(h)
}

func sum(h hash.Hash) (m MAC) {
	h.Sum(m[:0])
	return m
}

// Canonical is a line in the form that is signed: all that it says but for the MACs, each part behind its length, so that no
// two lines share a form.
func Canonical(e jackline.AuditEntry) []byte {
	b := make([]byte, 0, 512)
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	number := func(n int64) { b = binary.BigEndian.AppendUint64(b, uint64(n)) } //nolint:gosec // the bits, whatever they mean
	flag := func(v bool) {
		if v {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	text(lineVersion)
	number(e.N)
	number(e.At.UnixNano())
	for _, s := range []string{
		string(e.Owner), string(e.Kind), string(e.Session), string(e.Turn), string(e.Call), e.Tool, string(e.Source), e.By,
		e.Verdict, e.Rule, e.Stage, string(e.Approval), string(e.Grant), string(e.Scope), e.Outcome, e.What, e.Args, e.Chain,
	} {
		text(s)
	}
	number(e.MS)
	number(e.In)
	number(e.Out)
	number(int64(e.Sandbox))
	flag(e.Labels.Tainted)
	flag(e.Labels.Private)
	return b
}

// digestSize is how much of a digest a line keeps: enough that no two texts share one by chance.
const digestSize = 16

// Digest is what a line says of a text that must not stand in it: the same for the same text, and nothing to whoever has not
// the key. For an empty text it is "".
func (k Keys) Digest(purpose string, text []byte) string {
	if len(text) == 0 {
		return ""
	}
	h := hmac.New(sha256.New, k.digests)
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write(text)
	m := sum(h)
	return hex.EncodeToString(m[:digestSize])
}

// Rulings is the digest of what was said on a call.
func (k Keys) Rulings(list []jackline.Ruling) string {
	if len(list) == 0 {
		return ""
	}
	var b []byte
	for _, r := range list {
		for _, s := range []string{r.Stage, r.Verdict.String(), r.Rule, r.Reason, strconv.FormatBool(r.Hard)} {
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
	}
	return k.Digest("rulings", b)
}
