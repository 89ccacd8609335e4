package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/jackline-ai/jackline"
)

// A Stamp is the identity of a file and of what it held at one moment. Two equal stamps are one unchanged file.
type Stamp struct {
	Dev   uint64
	Ino   uint64
	Size  int64
	MTime int64  // nanoseconds
	Sum   string // digest of the contents; empty where they were not read
}

// String is the stamp without the digest, for comparing cheaply.
func (s Stamp) String() string { return fmt.Sprintf("%x.%x.%x.%x", s.Dev, s.Ino, s.Size, s.MTime) }

func stampOf(e entry) Stamp {
	return Stamp{Dev: e.dev, Ino: e.ino, Size: e.size, MTime: e.mtime.UnixNano()}
}

// A File is a file that was read.
type File struct {
	Path  string // from the root, links resolved
	Data  []byte
	Stamp Stamp
	Links int // names that the file has
}

// Read reads a regular file of at most [MaxRead] bytes.
func (r *Root) Read(ctx context.Context, path string) (File, error) {
	p, err := r.resolve(path, true)
	if err != nil {
		return File{}, err
	}
	defer p.close()
	return p.read(ctx)
}

func (p *place) read(ctx context.Context) (File, error) {
	if err := p.regular(); err != nil {
		return File{}, err
	}
	if err := fits(p.given, p.entry.size); err != nil {
		return File{}, err
	}
	f, e, err := p.dir.file(p.name, p.entry)
	if err != nil {
		return File{}, failure(p.given, err)
	}
	data, err := io.ReadAll(io.LimitReader(reader{ctx.Err, f}, MaxRead+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return File{}, readFailure(ctx, p.given, err)
	}
	if err := fits(p.given, int64(len(data))); err != nil {
		return File{}, err
	}
	s := stampOf(e)
	s.Sum = sum(data)
	return File{Path: p.rel, Data: data, Stamp: s, Links: int(min(e.links, 1<<20))}, nil
}

func fits(given string, size int64) error {
	if size > MaxRead {
		return jackline.E("workspace.Read", jackline.Unprocessed, nil,
			"%s has %d bytes; files over %d bytes are not read. Search in it with a command, or take a part of it.", quote(given), size, MaxRead)
	}
	return nil
}

func readFailure(ctx context.Context, given string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return failure(given, err)
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// Stat gives the stamp of what is at path, without its digest. It opens nothing.
func (r *Root) Stat(path string) (Stamp, error) {
	p, err := r.resolve(path, true)
	if err != nil {
		return Stamp{}, err
	}
	defer p.close()
	if !p.found {
		return Stamp{}, failure(path, fs.ErrNotExist)
	}
	return stampOf(p.entry), nil
}

// Seal gives the stamp of the file at path with the digest of its contents: what an approval of a change is bound to.
func (r *Root) Seal(ctx context.Context, path string) (Stamp, error) {
	f, err := r.Read(ctx, path)
	return f.Stamp, err
}

// A Folder is a folder for a command to start in. Close it when the command has ended.
type Folder struct {
	Path string   // absolute
	Rel  string   // from the root
	File *os.File // the folder itself, held open; nil where the system cannot start a command in an open folder
	done func()
}

// Close gives the handle back.
func (f *Folder) Close() { f.done() }

// Dir opens the existing folder at path; "" is the root.
func (r *Root) Dir(path string) (*Folder, error) {
	if path == "" {
		path = "."
	}
	p, err := r.resolve(path, true)
	if err != nil {
		return nil, err
	}
	d, done, err := p.folder()
	if err != nil {
		p.close()
		return nil, err
	}
	return &Folder{Path: joinHost(r.path, p.rel), Rel: p.rel, File: d.handle(), done: func() { done(); p.close() }}, nil
}

// reader stops reading once over says why.
type reader struct {
	over func() error
	r    io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.over(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}
