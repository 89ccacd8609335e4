package undo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/workspace"
)

// A base is how a workspace stood before a command, with the contents of its files.
type base struct {
	Files map[string]stood
	Packs map[string]int // bytes of each file of contents
	Taken int64          // when it was looked at, in nanoseconds since 1970
	Part  bool           // there was more than is looked at
	sum   string         // of its encoding
}

// A stood is one entry of a base.
type stood struct {
	Kept    jackline.Kept
	Changed int64  // when it last changed
	Pack    string // where its content is
	Start   int
}

// slack is how far a file system's clock may be behind: a write so soon after a look need not show in the times of a file. The
// coarsest in use is that of FAT.
const slack = 2 * time.Second

// sure reports whether an entry whose ID is the same is surely unchanged.
func (b *base) sure(s stood) bool { return s.Changed < b.Taken-int64(slack) }

// load reads the base of a session; an empty one where there is none, or none that can be read.
func (k *Keeper) load(ctx context.Context, who jackline.Actor) (*base, error) {
	data, err := k.bases.Base(ctx, who.Owner, who.Session.ID, "", 0, -1)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return &base{}, nil
	}
	b, ok := readBase(data)
	if !ok {
		return &base{}, nil // it is made anew
	}
	b.sum = sumOf(data)
	return b, nil
}

func sumOf(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

const unreadable = "it could not be read"

// keptOf is an entry without its content.
func keptOf(f *workspace.Standing) jackline.Kept {
	v := jackline.Kept{Mode: uint32(f.Mode), ID: f.ID()}
	switch f.Kind {
	case workspace.KindFile:
		v.Kind, v.Size = jackline.KeptFile, f.Size
	case workspace.KindFolder:
		v.Kind, v.ID = jackline.KeptFolder, "" // what is in it changes its times
	case workspace.KindLink:
		v.Kind, v.Link, v.Mode = jackline.KeptLink, f.Link, 0
	case workspace.KindOther:
		v.Kind = jackline.KeptOther
	}
	return v
}

// scan is Root.Scan of a path that may be refused or gone: then there is nothing.
func (k *Keeper) scan(ctx context.Context, at string, fn func(*workspace.Standing) error) error {
	_, err := k.root.Scan(ctx, at, fn)
	if kind := jackline.KindOf(err); kind == jackline.NotFound || kind == jackline.Forbidden || kind == jackline.Unprocessed {
		return nil
	}
	return err
}

// walk calls fn for everything in the workspace, less the caches, with why a file is not covered. whole is false where there is more
// than is looked at.
func (k *Keeper) walk(ctx context.Context, g *gaps, fn func(f *workspace.Standing, why string) error) (whole bool, err error) {
	n := 0
	whole, err = k.root.Scan(ctx, ".", func(f *workspace.Standing) error {
		if f.Kind == workspace.KindFolder && slices.Contains(caches, path.Base(f.Path)) {
			g.caches = append(g.caches, f.Path)
			return fs.SkipDir
		}
		if n++; n > maxEntries {
			return fs.SkipAll
		}
		why := ""
		if f.Kind == workspace.KindFile {
			why = g.room(f)
		}
		return fn(f, why)
	})
	if errors.Is(err, fs.SkipAll) {
		whole, err = false, nil
	}
	g.part = !whole
	return whole, err
}

// A packer puts contents into the files of a base.
type packer struct {
	k    *Keeper
	who  jackline.Actor
	name string
	data []byte
	into map[string]int
}

func (p *packer) add(ctx context.Context, data []byte) (pack string, start int, err error) {
	if p.name == "" {
		p.name = jackline.NewID[string]("")
	}
	if len(data) == 0 {
		return "", 0, nil
	}
	pack, start = p.name, len(p.data)
	p.data = append(p.data, data...)
	if len(p.data) >= batch {
		err = p.flush(ctx)
	}
	return pack, start, err
}

func (p *packer) flush(ctx context.Context) error {
	if len(p.data) == 0 {
		return nil
	}
	err := p.k.bases.KeepBase(ctx, p.who.Owner, p.who.Session.ID, p.name, p.data)
	p.into[p.name] = len(p.data)
	p.name, p.data = "", p.data[:0]
	return err
}

// capture keeps the workspace as it stands, for a command that is about to run. What the last base of the session holds is not read
// again.
func (k *Keeper) capture(ctx context.Context, who jackline.Actor) (*base, error) {
	old, err := k.load(ctx, who)
	if err != nil {
		return nil, err
	}
	p := &packer{k: k, who: who, into: map[string]int{}}
	b := &base{Files: make(map[string]stood, len(old.Files)), Packs: map[string]int{}, Taken: time.Now().UnixNano()}
	again := 0 // files that had to be read only to see that they are the same
	take := func(f *workspace.Standing, s *stood) error {
		have, known := old.Files[f.Path]
		if known && have.Kept.Held && have.Kept.ID == s.Kept.ID && old.sure(have) {
			*s = have
			return nil
		}
		data, err := f.Read(ctx, MaxFile)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.Kept.Why = unreadable
			return nil //nolint:nilerr // the command may not be able to read it either, and the file is named
		}
		s.Kept.Sum, s.Kept.Held = sumOf(data), true
		if known && have.Kept.Held && have.Kept.Sum == s.Kept.Sum {
			s.Pack, s.Start = have.Pack, have.Start
			again++
			return nil
		}
		s.Pack, s.Start, err = p.add(ctx, data)
		return err
	}
	all, err := k.walk(ctx, &gaps{}, func(f *workspace.Standing, why string) error {
		s := stood{Kept: keptOf(f), Changed: f.Changed()}
		s.Kept.Why = why
		if f.Kind == workspace.KindFile && why == "" {
			if err := take(f, &s); err != nil {
				return err
			}
		}
		b.Files[f.Path] = s
		return nil
	})
	b.Part = !all
	if err == nil {
		err = p.flush(ctx)
	}
	const few = 50 // files that are read again each time cost less than a new list
	if err != nil || again <= few && old.Part == b.Part && maps.Equal(old.Files, b.Files) {
		return old, err
	}
	return k.save(ctx, who, old, b, p.into)
}

// save puts a new base on the disk, whose contents are there already, some of them in files that were made for it.
func (k *Keeper) save(ctx context.Context, who jackline.Actor, old, b *base, made map[string]int) (*base, error) {
	live, held := 0, 0
	for _, s := range b.Files {
		if s.Pack != "" {
			live += int(s.Kept.Size)
			b.Packs[s.Pack] = max(old.Packs[s.Pack], made[s.Pack])
		}
	}
	var gone []string
	for name := range old.Packs {
		if _, used := b.Packs[name]; !used {
			gone = append(gone, name)
		}
	}
	for _, n := range b.Packs {
		held += n
	}
	alone := k.alone()
	if alone && held > 2*live+batch && len(old.Files) > 0 {
		// More of the copy is of files as they were once than of files as they are: make it anew.
		gone = slices.Concat([]string{""}, gone, slices.Collect(maps.Keys(b.Packs)))
		if err := k.bases.DropBase(ctx, who.Owner, who.Session.ID, gone...); err != nil {
			return nil, err
		}
		return k.capture(ctx, who)
	}
	list := b.bytes()
	if err := k.bases.KeepBase(ctx, who.Owner, who.Session.ID, "", list); err != nil {
		return nil, err
	}
	b.sum = sumOf(list)
	if alone && len(gone) > 0 {
		return b, k.bases.DropBase(ctx, who.Owner, who.Session.ID, gone...)
	}
	return b, nil
}

// alone reports whether no command runs, so that nothing that one is compared with can be taken away.
func (k *Keeper) alone() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.running) == 0
}

// content reads what a file of a base held.
func (k *Keeper) content(ctx context.Context, who jackline.Actor, s stood) ([]byte, error) {
	if s.Kept.Size == 0 {
		return nil, nil
	}
	return k.bases.Base(ctx, who.Owner, who.Session.ID, s.Pack, s.Start, int(s.Kept.Size))
}
