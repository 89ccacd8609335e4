package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
)

// KeySize is the size of the master key and of all keys made from it.
const KeySize = 32

// Subkey makes the key for one purpose. Two purposes never share a key.
func Subkey(master []byte, purpose string) []byte {
	k, err := hkdf.Key(sha256.New, master, nil, "jackline store "+purpose, KeySize)
	if err != nil {
		// Only a key longer than 255 hashes, or a FIPS refusal of a short master key, fails: neither is possible.
		panic("store: " + err.Error())
	}
	return k
}

// A Box seals the secret column of one table. What it seals it opens only for the same row.
type Box struct {
	table string
	aead  cipher.AEAD
}

// NewBox makes the box of one table with a key made from the master key.
func NewBox(master []byte, table string) Box {
	block, err := aes.NewCipher(Subkey(master, "table "+table))
	if err == nil {
		var aead cipher.AEAD
		if aead, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return Box{table, aead}
		}
	}
	panic("store: " + err.Error()) // the key has the right size by construction
}

// bind names what a ciphertext belongs to. The parts of a row's name are opaque ids or owner names; a zero byte
// keeps them apart.
func (b Box) bind(row []string) []byte {
	return []byte(b.table + "\x00sealed\x00" + strings.Join(row, "\x00"))
}

// Seal seals what belongs to a row.
func (b Box) Seal(plain []byte, row ...string) []byte {
	return b.aead.Seal(nil, nil, plain, b.bind(row))
}

// Open opens what was sealed for the very same row; anything else is an error.
func (b Box) Open(sealed []byte, row ...string) ([]byte, error) {
	return b.aead.Open(nil, nil, sealed, b.bind(row))
}

// Pack joins parts so that Unpack can take them apart. It keeps every byte, which JSON does not.
func Pack(parts ...string) []byte {
	n := 0
	for _, p := range parts {
		n += len(p) + binary.MaxVarintLen32
	}
	b := make([]byte, 0, n)
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return b
}

var errUnpack = errors.New("sealed column has another form")

// Unpack fills the parts, in the order in which they were packed. Parts that a later version appended are left.
func Unpack(b []byte, parts ...*string) error {
	for _, p := range parts {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return errUnpack
		}
		*p = string(b[w : w+int(n)])
		b = b[w+int(n):]
	}
	return nil
}

// sealOverhead is how much longer a sealed text is than the plain one: nonce and tag.
const sealOverhead = 12 + 16
