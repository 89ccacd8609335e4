package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/jackline-ai/jackline"
)

// A vault is a folder of sealed files, in a folder for each session. A file is chunks, each sealed on its own, so
// that reading a page opens only the chunks under it. A chunk is bound to its file, its place and the size of the whole: files
// and chunks cannot be exchanged, reordered or cut short unnoticed.
type vault struct {
	root *os.Root
	box  box
}

const (
	chunkSize   = 32 << 10
	chunkSealed = chunkSize + sealOverhead
)

// write makes the file, or replaces it, in one step. The session and the name are plain names.
func (v *vault) write(session jackline.SessionID, name string, data []byte) error {
	if err := v.root.Mkdir(string(session), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	path := string(session) + "/" + name
	temp := path + ".new"
	f, err := v.root.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = v.root.Remove(temp) }()
	for i := 0; err == nil && i*chunkSize < len(data); i++ {
		plain := data[i*chunkSize : min(len(data), (i+1)*chunkSize)]
		_, err = f.Write(v.box.seal(plain, chunkRow(name, i, len(data))...))
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return v.root.Rename(temp, path)
}

func chunkRow(name string, i, size int) []string {
	return []string{name, strconv.Itoa(i), strconv.Itoa(size)}
}

// open opens a file, and says how many bytes are sealed in it.
func (v *vault) open(session jackline.SessionID, name string) (*os.File, int, error) {
	f, err := v.root.Open(string(session) + "/" + name)
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
	chunks := (file + chunkSealed - 1) / chunkSealed
	return max(0, int(file-chunks*sealOverhead))
}

// read reads the bytes between two offsets.
func (v *vault) read(f io.ReaderAt, name string, size, from, to int) ([]byte, error) {
	out := make([]byte, 0, to-from)
	buf := make([]byte, chunkSealed)
	for i := from / chunkSize; i*chunkSize < to; i++ {
		n := min(chunkSize, size-i*chunkSize) + sealOverhead
		if _, err := f.ReadAt(buf[:n], int64(i)*chunkSealed); err != nil {
			return nil, err
		}
		plain, err := v.box.open(buf[:n], chunkRow(name, i, size)...)
		if err != nil {
			return nil, err
		}
		out = append(out, plain[max(0, from-i*chunkSize):min(len(plain), to-i*chunkSize)]...)
	}
	return out, nil
}

// all reads a whole file.
func (v *vault) all(session jackline.SessionID, name string) ([]byte, error) {
	f, size, err := v.open(session, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return v.read(f, name, size, 0, size)
}

// sweepFiles removes the files of sessions that are gone: of the one just deleted, and of any whose deletion a crash
// cut short. A folder is made only for a session that exists, so one without a session is nobody's.
func (d *DB) sweepFiles(ctx context.Context, op string) error {
	var alive map[string]bool
	for _, v := range []*vault{&d.spill, &d.files, &d.undo} {
		folders, err := fs.ReadDir(v.root.FS(), ".")
		if err != nil {
			return spillFault(op, err)
		}
		if len(folders) == 0 {
			continue
		}
		if alive == nil {
			ids, err := many(ctx, d, op, func(s scanner) (id string, err error) { return id, s.Scan(&id) }, `SELECT id FROM sessions`)
			if err != nil {
				return err
			}
			alive = make(map[string]bool, len(ids))
			for _, id := range ids {
				alive[id] = true
			}
		}
		for _, f := range folders {
			if !alive[f.Name()] {
				if err := v.root.RemoveAll(f.Name()); err != nil {
					return spillFault(op, err)
				}
			}
		}
	}
	return nil
}

// plainName reports whether an id may be a file name on any system.
func plainName(id string) bool {
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && c != '-' {
			return false
		}
	}
	return id != "" && len(id) <= 64
}
