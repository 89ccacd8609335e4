package chain

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// FileHead is the name of the head's file in the data folder.
const FileHead = "audit.head"

const (
	headVersion = "jackline audit head 1"
	maxHead     = 1024 // bytes of the file: five short lines
)

// A Head is where a chain ended when it was sealed.
type Head struct {
	N   int64
	MAC MAC
	At  time.Time
}

// ErrForged says that a head is not one that the program sealed with these keys.
var ErrForged = errors.New("the head is not sealed with this store's key")

// seal is the hash over a head.
func (k Keys) seal(h Head) MAC {
	m := hmac.New(sha256.New, k.head)
	m.Write([]byte(h.text()))
	return sum(m)
}

// text is a head as its file begins.
func (h Head) text() string {
	return fmt.Sprintf("%s\nline %d\nmac %s\nat %d\n", headVersion, h.N, h.MAC.Hex(), h.At.UnixNano())
}

// file is a head as its file holds it.
func (k Keys) file(h Head) string { return h.text() + "seal " + k.seal(h).Hex() + "\n" }

// Write puts a head into the data folder: whole, or not at all, and so that it survives a power cut.
func (k Keys) Write(dir string, h Head) error {
	f, err := os.CreateTemp(dir, ".audit-*") // readable by nobody else
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(k.file(h))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, FileHead)); err != nil {
		return err
	}
	// The name itself must survive as well; systems that cannot sync a folder do not need it.
	if folder, err := os.Open(dir); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}

// Read reads the head of a data folder. There is none where the error is [fs.ErrNotExist], and it is [ErrForged] where
// somebody else wrote it. The zero Keys read a head without checking its seal.
func (k Keys) Read(dir string) (Head, error) {
	f, err := os.Open(filepath.Join(dir, FileHead))
	if err != nil {
		return Head{}, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxHead+1))
	if err != nil {
		return Head{}, err
	}
	return k.Parse(b)
}

// Parse reads the text of a head's file.
func (k Keys) Parse(b []byte) (Head, error) {
	lines := strings.Split(string(b), "\n")
	if len(b) > maxHead || len(lines) != 6 || lines[0] != headVersion || lines[5] != "" {
		return Head{}, ErrForged
	}
	var h Head
	var err [2]error
	var at int64
	h.N, err[0] = strconv.ParseInt(strings.TrimPrefix(lines[1], "line "), 10, 64)
	at, err[1] = strconv.ParseInt(strings.TrimPrefix(lines[3], "at "), 10, 64)
	mac, ok := ParseMAC(strings.TrimPrefix(lines[2], "mac "))
	seal, sealed := ParseMAC(strings.TrimPrefix(lines[4], "seal "))
	h.MAC, h.At = mac, time.Unix(0, at).UTC()
	if err[0] != nil || err[1] != nil || !ok || !sealed || h.N < 0 || h.text()+"seal "+hex.EncodeToString(seal[:])+"\n" != string(b) {
		return Head{}, ErrForged
	}
	if !k.Known() {
		return h, nil
	}
	if want := k.seal(h); !hmac.Equal(want[:], seal[:]) {
		return Head{}, ErrForged
	}
	return h, nil
}

// Gone reports whether an error of Read means that there is no head.
func Gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
