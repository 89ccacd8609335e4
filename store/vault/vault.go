// Package vault seals: columns of tables, and files in folders. What was sealed for one row or one place opens for no other.
package vault

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/jackline-ai/jackline"
)

// A Vault is a folder of sealed files, in a folder for each session. A file is chunks, each sealed on its own, so
// that reading a page opens only the chunks under it. A chunk is bound to its file, its place and the size of the whole: files
// and chunks cannot be exchanged, reordered or cut short unnoticed.
type Vault struct {
	Root *os.Root
	Box  Box
}

const (
	// ChunkSize is how many plain bytes a chunk holds.
	ChunkSize = 32 << 10
	// ChunkSealed is the size of a sealed chunk in the file.
	ChunkSealed = ChunkSize + sealOverhead
)

// Write makes the file, or replaces it, in one step. The session and the name are plain names.
func (v *Vault) Write(session jackline.SessionID, name string, data []byte) error {
	if err := v.Root.Mkdir(string(session), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	path := string(session) + "/" + name
	temp := path + ".new"
	f, err := v.Root.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = v.Root.Remove(temp) }()
	for i := 0; err == nil && i*ChunkSize < len(data); i++ {
		plain := data[i*ChunkSize : min(len(data), (i+1)*ChunkSize)]
		_, err = f.Write(v.Box.Seal(plain, chunkRow(name, i, len(data))...))
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return v.Root.Rename(temp, path)
}

func chunkRow(name string, i, size int) []string {
	return []string{name, strconv.Itoa(i), strconv.Itoa(size)}
}

// Open opens a file, and says how many bytes are sealed in it.
func (v *Vault) Open(session jackline.SessionID, name string) (*os.File, int, error) {
	f, err := v.Root.Open(string(session) + "/" + name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, plainSize(info.Size()), nil
}

// plainSize is how many bytes are sealed in a file of this size.
func plainSize(file int64) int {
	chunks := (file + ChunkSealed - 1) / ChunkSealed
	return max(0, int(file-chunks*sealOverhead))
}

// Read reads the bytes between two offsets.
func (v *Vault) Read(f io.ReaderAt, name string, size, from, to int) ([]byte, error) {
	out := make([]byte, 0, to-from)
	buf := make([]byte, ChunkSealed)
	for i := from / ChunkSize; i*ChunkSize < to; i++ {
		n := min(ChunkSize, size-i*ChunkSize) + sealOverhead
		if _, err := f.ReadAt(buf[:n], int64(i)*ChunkSealed); err != nil {
			return nil, err
		}
		plain, err := v.Box.Open(buf[:n], chunkRow(name, i, size)...)
		if err != nil {
			return nil, err
		}
		out = append(out, plain[max(0, from-i*ChunkSize):min(len(plain), to-i*ChunkSize)]...)
	}
	return out, nil
}

// All reads a whole file.
func (v *Vault) All(session jackline.SessionID, name string) ([]byte, error) {
	f, size, err := v.Open(session, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return v.Read(f, name, size, 0, size)
}

// PlainName reports whether an id may be a file name on any system.
func PlainName(id string) bool {
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && c != '-' {
			return false
		}
	}
	return id != "" && len(id) <= 64
}
