// Package undo takes back what a turn did to files.
//
// Before a call acts, what it may change is kept: for a file tool the files that its touches name, for a command all files of the
// workspace, as far as the limits reach. When the call has ended, what stands there is compared with that, and each
// file that differs becomes a [jackline.Snapshot]: how the turn found it and how it left it. Contents lie sealed in the store, once
// for each session.
//
// What is kept before a call is on the disk together with the call's intent, before anything happens, so a crash loses none of
// it. The copy that commands are compared with, the base, is kept from one command to the next: then only what changed
// in between is copied anew.
//
// [Keeper.Undo] is a person's act and no tool. It never goes over later edits by itself: a file that is not as the turn left it
// is a conflict and stays as it is, unless the person says once more that it is to go. An undo is a unit of its own, and can be
// undone like a turn.
package undo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/workspace"
)

// Named limits of what is kept.
const (
	// MaxFile bounds one file: what people and their tools write is smaller, and what is larger comes from somewhere.
	MaxFile = 32 << 20

	// MaxBytes bounds what is kept of a workspace for a command, and of one turn's changes: as much as a repository with its
	// pictures, and little enough to be copied while a person waits.
	MaxBytes = 200 << 20

	// maxEntries bounds the entries of a workspace that a command is compared over. To look at each takes some microseconds.
	maxEntries = 100_000

	// maxChanged bounds the files of one command that are told apart: beyond, it was no edit but an installation.
	maxChanged = 5000

	// maxShown bounds the content that a change keeps of what it made, only to show it, and that a diff is made of.
	maxShown = 512 << 10

	// batch bounds the contents that are held in memory before they are put on the disk, but for the last file.
	batch = 8 << 20
)

// caches are folders that tools fill and can fill again. A command is not compared over them: they would use up the limits, and
// nobody edits in them.
var caches = []string{
	"node_modules", ".venv", "venv", "__pycache__", ".cache", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle",
	".next", ".nuxt", ".parcel-cache", ".turbo", ".terraform", "bower_components",
}

// A Store keeps snapshots and contents. Package store has one.
type Store interface {
	Snapshots(ctx context.Context, o jackline.Owner, s jackline.SessionID, unit string) ([]jackline.Snapshot, error)
	Hold(context.Context, jackline.Owner, jackline.SessionID, []jackline.Content) error
	Content(ctx context.Context, o jackline.Owner, s jackline.SessionID, sum string) ([]byte, error)
	Append(context.Context, jackline.Owner, jackline.Record) ([]jackline.Event, error)
}

// Bases keeps the copy that a session's next command is compared with: a list under the name "", and what it speaks of. The
// store may drop it at any time.
type Bases interface {
	KeepBase(ctx context.Context, o jackline.Owner, s jackline.SessionID, name string, data []byte) error
	Base(ctx context.Context, o jackline.Owner, s jackline.SessionID, name string, start, size int) ([]byte, error)
	DropBase(ctx context.Context, o jackline.Owner, s jackline.SessionID, names ...string) error
}

// A Keeper keeps what calls in one workspace are about to change. It may be used by several goroutines at once.
type Keeper struct {
	root  *workspace.Root
	store Store
	bases Bases
	reads func(jackline.Intent) bool

	copying sync.Mutex // one at a time, so that none takes away what another goes by

	mu      sync.Mutex
	running map[jackline.CallID]*base // what the commands that run are compared with
}

// New makes a keeper. reads reports whether all that a call starts is proved to change nothing where it is to run, so that nothing need
// be kept for it; nil proves nothing.
func New(root *workspace.Root, s Store, b Bases, reads func(jackline.Intent) bool) *Keeper {
	return &Keeper{root: root, store: s, bases: b, reads: reads, running: map[jackline.CallID]*base{}}
}

// unitOf is whose work a call is part of.
func unitOf(who jackline.Actor, call jackline.CallID) string {
	if who.Turn.ID != "" {
		return string(who.Turn.ID)
	}
	return string(call)
}

// runs reports whether a call may change anything in the workspace.
func (k *Keeper) runs(i jackline.Intent) bool {
	if i.Effect != 0 && !i.Effect.Has(jackline.Exec) {
		return false
	}
	starts := slices.ContainsFunc(i.Touches, func(t jackline.Touch) bool { return t.Effect.Has(jackline.Exec) })
	return i.Effect == 0 || starts && (k.reads == nil || !k.reads(i))
}

// writes are the paths that a call says it will change.
func writes(i jackline.Intent) []string {
	var paths []string
	for _, t := range i.Touches {
		if t.Kind == "path" && t.Refused == "" && t.Effect&(jackline.Write|jackline.Delete) != 0 && !slices.Contains(paths, t.Name) {
			paths = append(paths, t.Name)
		}
	}
	return paths
}

// Cover says what of a call could be undone afterwards, for the card that asks about it; "" where it changes no files.
func (k *Keeper) Cover(ctx context.Context, i jackline.Intent) (string, error) {
	const how = "jackline sessions undo, or the page"
	gaps, any := gaps{}, false
	if k.runs(i) {
		any = true
		if _, err := k.walk(ctx, &gaps, func(*workspace.Standing, string) error { return nil }); err != nil {
			return "", err
		}
		gaps.always("what is protected (secrets, keys, the git store), and everything outside this folder")
	}
	for _, p := range writes(i) {
		any = true
		many, err := k.many(ctx, p)
		if err != nil {
			return "", err
		}
		if many != "" {
			gaps.always(clean(p) + " (" + many + ")")
			continue
		}
		err = k.scan(ctx, p, func(f *workspace.Standing) error {
			if f.Kind == workspace.KindFile {
				gaps.room(f)
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	switch text := gaps.String(); {
	case !any:
		return "", nil
	case text == "":
		return "Can be undone: " + how + ".", nil
	default:
		return "Changes to files can be undone (" + how + "), but for: " + text + ".", nil
	}
}

// gaps collects what is not covered.
type gaps struct {
	bytes  int64
	large  []string // files over MaxFile
	beyond int      // files beyond MaxBytes
	first  string   // the first of them
	caches []string // folders that were left out
	part   bool     // more entries than are looked at
	more   []string
}

// room says why a file is not covered, and notes it; "" where it still fits.
func (g *gaps) room(f *workspace.Standing) (why string) {
	switch {
	case f.Size > MaxFile:
		g.large = append(g.large, f.Path)
		return fmt.Sprintf("it is larger than %d MiB", MaxFile>>20)
	case g.bytes+f.Size > MaxBytes:
		if g.beyond++; g.beyond == 1 {
			g.first = f.Path
		}
		return fmt.Sprintf("it is beyond the first %d MiB", MaxBytes>>20)
	}
	g.bytes += f.Size
	return ""
}

func (g *gaps) always(what string) { g.more = append(g.more, what) }

// String lists them for a person; "" where there are none.
func (g *gaps) String() string {
	var parts []string
	if len(g.large) > 0 {
		parts = append(parts, some(g.large)+fmt.Sprintf(" (over %d MiB)", MaxFile>>20))
	}
	if g.beyond > 0 {
		parts = append(parts, fmt.Sprintf("%s beyond the first %d MiB, from %s on", plural(g.beyond, "file"), MaxBytes>>20, clean(g.first)))
	}
	if len(g.caches) > 0 {
		parts = append(parts, some(g.caches))
	}
	if g.part {
		parts = append(parts, fmt.Sprintf("files beyond the first %d", maxEntries))
	}
	return strings.Join(append(parts, g.more...), "; ")
}

// some names the first few of many.
func some(names []string) string {
	const few = 3
	var shown []string
	for _, n := range names[:min(few, len(names))] {
		shown = append(shown, clean(n))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// clean makes a name of a file, which is somebody else's text, fit for a sentence.
func clean(name string) string {
	const most = 80
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == '\ufeff' {
			return '\ufffd'
		}
		return r
	}, name)
	if r := []rune(name); len(r) > most {
		return string(r[:most/2]) + "…" + string(r[len(r)-most/2:])
	}
	return name
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
