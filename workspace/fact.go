package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/jackline-ai/jackline"
)

// Named limits of what a person's yes is bound to by its bytes. What is larger is bound to by its identity, size and times: a
// program that changes a file and puts its change time back needs more rights than anything that runs here.
const (
	// maxDigest is the largest file whose content is digested: as large as what file tools read and write.
	maxDigest = MaxRead
	// maxDigests bounds the content that is digested for one call, so that a card does not wait for a slow disk.
	maxDigests = 64 << 20
)

// The first letter of a fact's identity says what the rest is made of.
const (
	factSame   = "s" // device, inode and kind: it is the same thing, whatever it holds by now
	factWhole  = "w" // the same, and its size; the digest is of its content
	factDated  = "d" // the same, its size and its times: its content was not read
	factFolder = "f" // a folder: device and inode; the digest, if there is one, is of all names in it
)

// Observe says what is true now of the things that touches name by paths. What would be replaced, edited, deleted or moved counts
// with its content, and a folder that would be deleted with the names in it; of what is only read the identity counts. A path
// that leads nowhere has a fact, too: that nothing is there. Names inside are looked up from the root, without following a link
// at their end, as [Root.Touch] gave them; absolute names outside are looked up as they are.
func (r *Root) Observe(ctx context.Context, touches []jackline.Touch) ([]jackline.Fact, error) {
	var facts []jackline.Fact
	left := int64(maxDigests)
	seen := map[string]bool{}
	for _, t := range touches {
		if t.Kind != "path" || t.Refused != "" || seen[t.Name+"\x00"+t.Effect.String()] {
			continue
		}
		seen[t.Name+"\x00"+t.Effect.String()] = true
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if filepath.IsAbs(t.Name) {
			if _, inside := r.below(split(filepath.ToSlash(t.Name))); !inside {
				facts = append(facts, factAt(ctx, t.Name, t.Effect != jackline.Read, &left))
				continue
			}
		}
		f := jackline.Fact{Name: t.Name}
		if p, err := r.resolve(t.Name, false); err == nil {
			f = r.fact(ctx, p, t.Effect, &left)
			f.Name = t.Name
			p.close()
		}
		facts = append(facts, f)
	}
	return facts, ctx.Err()
}

// ObserveAt says what is true now of files and folders at absolute paths; with content, of files also what is in them: scripts. Links
// are followed.
func ObserveAt(ctx context.Context, paths []string, content bool) ([]jackline.Fact, error) {
	facts := make([]jackline.Fact, 0, len(paths))
	left := int64(maxDigests)
	for _, p := range paths {
		facts = append(facts, factAt(ctx, p, content, &left))
	}
	return facts, ctx.Err()
}

// Identify gives the identities, sizes and times of what stands at absolute paths. No content is read: this is for programs of the
// system, of which some are large.
func Identify(paths []string) []jackline.Fact {
	facts := make([]jackline.Fact, 0, len(paths))
	for _, p := range paths {
		f := jackline.Fact{Name: p}
		if e, err := statPath(p); err == nil {
			f.ID = e.id(factDated)
		}
		facts = append(facts, f)
	}
	return facts
}

// factAt is the fact of an absolute path.
func factAt(ctx context.Context, name string, content bool, left *int64) jackline.Fact {
	f := jackline.Fact{Name: name}
	e, err := statPath(name)
	switch {
	case err != nil:
		return f
	case e.mode.IsDir():
		f.ID = e.id(factFolder)
	case !content || !e.mode.IsRegular():
		f.ID = e.id(factSame)
	case e.size > maxDigest || e.size > *left:
		f.ID = e.id(factDated)
	default:
		*left -= e.size
		file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // no pipe that took its place holds it up
		if err != nil {
			f.ID = e.id(factDated)
			return f
		}
		f = digested(ctx, f, file, e)
		_ = file.Close() // only read from
	}
	return f
}

// fact is what is true of a place under an effect.
func (r *Root) fact(ctx context.Context, p *place, effect jackline.Effect, left *int64) jackline.Fact {
	f := jackline.Fact{Name: p.full()}
	switch e := p.entry; {
	case !p.found:
	case e.mode.IsDir():
		f.ID = e.id(factFolder)
		if effect.Has(jackline.Delete) && !p.isRoot() {
			f.Digest = r.contents(ctx, p)
		}
	case effect == jackline.Read || !e.mode.IsRegular():
		f.ID = e.id(factSame)
	case e.size > maxDigest || e.size > *left:
		f.ID = e.id(factDated)
	default:
		*left -= e.size
		file, now, err := p.dir.file(p.name, e)
		if err != nil {
			f.ID = e.id(factDated) // it cannot be read, or was exchanged this moment: then the times differ next time
			return f
		}
		f = digested(ctx, f, file, now)
		_ = file.Close() // only read from
	}
	return f
}

// digested is the fact of an open file. One that grows while it is read has no digest, and no fact that holds.
func digested(ctx context.Context, f jackline.Fact, file *os.File, e entry) jackline.Fact {
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(reader{ctx.Err, file}, maxDigest+1))
	now, statErr := statFile(file)
	if err = errors.Join(err, statErr); err != nil || n > maxDigest || now.size != n || !now.same(e) {
		f.ID = e.id(factDated)
		return f
	}
	f.ID, f.Digest = now.id(factWhole), hex.EncodeToString(h.Sum(nil))
	return f
}

// contents is a digest of all that lies in a folder: names, kinds, identities and sizes.
func (r *Root) contents(ctx context.Context, p *place) string {
	d, done, err := p.folder()
	if err != nil {
		return ""
	}
	defer done()
	h := sha256.New()
	entries := 0
	v := visit{root: r, given: p.given, over: ctx.Err, strict: true, fn: func(i Item, in *dir) error {
		if entries++; entries > maxTree {
			return errEnough // more than is deleted at once
		}
		return described(h, i, in)
	}}
	if err := v.folder(d, p.rel, 0); err != nil {
		return "unread" // it is not deleted in this state
	}
	return hex.EncodeToString(h.Sum(nil))
}

func described(h hash.Hash, i Item, in *dir) error {
	e, err := in.lstat(path.Base(i.Path))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(h, "%q %s\n", i.Path, e.id(factDated))
	return err
}

// id is the identity of an entry, as far as a kind of fact goes. Systems without devices and inodes give the rest.
func (e entry) id(kind string) string {
	s := fmt.Sprintf("%s:%x.%x.%s", kind, e.dev, e.ino, e.mode.Type())
	switch kind {
	case factWhole:
		s += fmt.Sprintf(".%x", e.size)
	case factDated:
		s += fmt.Sprintf(".%x.%x.%x", e.size, e.mtime.UnixNano(), e.ctime)
	}
	return s
}

// pinned are the facts that a view of a root holds its operations to.
type pinned struct {
	mu    sync.Mutex
	facts map[string]jackline.Fact // by the path from the root
	spent []string                 // those that were acted on: they, and what lies below them, are the call's own by now
}

// Bound is the same workspace for one call that a person allowed: what it makes, replaces, edits, deletes and moves must be what facts
// say, or nothing is done to it, and what they say nothing of is not touched, as where a link has come to lead elsewhere. Each thing is
// compared when it is acted on, where it then stands; what the call itself has changed is not compared again.
func (r *Root) Bound(facts []jackline.Fact) *Root {
	if len(facts) == 0 {
		return r
	}
	view := &Root{root: r.root, top: r.top, path: r.path, bases: r.bases, names: r.names, state: r.state, pinned: &pinned{facts: map[string]jackline.Fact{}}}
	for _, f := range facts {
		if _, twice := view.pinned.facts[f.Name]; !twice || !strings.HasPrefix(f.ID, factSame) {
			view.pinned.facts[f.Name] = f
		}
	}
	return view
}

// asAllowed says why a place is not what a person allowed to change, or nil. It is spent with that.
func (r *Root) asAllowed(ctx context.Context, places ...*place) error {
	if r.pinned == nil {
		return nil
	}
	r.pinned.mu.Lock()
	defer r.pinned.mu.Unlock()
	for _, p := range places {
		if err := r.compare(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (r *Root) compare(ctx context.Context, p *place) error {
	for _, s := range r.pinned.spent {
		if within(s, p.full()) {
			return nil
		}
	}
	want, ok := r.pinned.facts[p.full()]
	if !ok {
		return jackline.E("workspace", jackline.Conflict, fs.ErrExist,
			"%s leads elsewhere than when this was allowed, so nothing was done there.", quote(p.given))
	}
	effect := jackline.Write
	switch {
	case strings.HasPrefix(want.ID, factSame):
		effect = jackline.Read
	case strings.HasPrefix(want.ID, factFolder) && want.Digest != "":
		effect = jackline.Delete
	}
	left := int64(maxDigests)
	if now := r.fact(ctx, p, effect, &left); now.ID != want.ID || now.Digest != want.Digest {
		if err := ctx.Err(); err != nil {
			return err
		}
		return jackline.E("workspace", jackline.Conflict, fs.ErrExist,
			"%s is not as it was when this was allowed, so nothing was done to it.", quote(p.given))
	}
	r.pinned.spent = append(r.pinned.spent, p.full())
	return nil
}
