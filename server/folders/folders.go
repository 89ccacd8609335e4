// Package folders knows which folders of the server can be workspaces, and which of them a person trusts to instruct the
// model.
//
// Trust is kept with the owner's settings, never in a folder: whatever writes there could grant it to itself.
package folders

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/workspace"
)

// A Keeper keeps settings by owner and name: package store does.
type Keeper interface {
	Setting(ctx context.Context, o jackline.Owner, name string) (json.RawMessage, error)
	PutSetting(ctx context.Context, o jackline.Owner, name string, value json.RawMessage) error
}

const (
	// setting is the name under which trust is kept.
	setting = "workspace.trusted"
	// maxTrusted bounds the folders that one owner trusts: they are read with every turn.
	maxTrusted = 200
)

// Trusted is a folder whose instructions are followed.
type Trusted struct {
	Path  string    `json:"path"` // real and absolute
	Since time.Time `json:"since"`
}

// A Look is what can be said of a folder that may become a workspace.
type Look struct {
	Path     string `json:"path"`     // real and absolute where it fits, else as it was named
	Fits     bool   `json:"fits"`     // it can be a workspace
	Why      string `json:"why"`      // why not, and what to do
	Writable bool   `json:"writable"` // as the user that the server runs as
	Trusted  bool   `json:"trusted"`  // its instructions are followed
	workspace.Facts
}

// Folders are the server's. They are safe for several goroutines at once.
type Folders struct {
	keep   Keeper
	marker Marker
	opt    workspace.Options
	mu     sync.Mutex // one change of trust at a time
}

// New gives the folders of a server. opt names those that are nobody's.
func New(keep Keeper, marker Marker, opt workspace.Options) *Folders {
	return &Folders{keep: keep, marker: marker, opt: opt}
}

// Browse lists the folders in dir. See [workspace.Browse].
func (f *Folders) Browse(dir string) (workspace.Listing, error) { return workspace.Browse(dir, f.opt) }

// Look says whether dir can be a workspace, and what is in it. That it cannot is no error.
func (f *Folders) Look(ctx context.Context, o jackline.Owner, dir string) (Look, error) {
	look := Look{Path: dir, Facts: workspace.Facts{Protected: []string{}}}
	real, err := workspace.Vet(dir, f.opt)
	if err != nil {
		look.Why = jackline.Say(err)
		return look, nil
	}
	root, err := workspace.Open(real, f.opt)
	if err != nil {
		return look, err
	}
	look.Path, look.Fits, look.Writable = real, true, true // else it did not fit
	look.Facts, err = root.Facts(ctx)
	if err = errors.Join(err, root.Close()); err != nil {
		return look, err
	}
	look.Trusted, err = f.Trusts(ctx, o, real)
	return look, err
}

// List gives the folders that an owner trusts, by path.
func (f *Folders) List(ctx context.Context, o jackline.Owner) ([]Trusted, error) {
	raw, err := f.keep.Setting(ctx, o, setting)
	list := []Trusted{}
	if err != nil || len(raw) == 0 {
		return list, err
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, jackline.E("folders.List", jackline.Internal, err, "The list of trusted folders cannot be read.")
	}
	return list, nil
}

// Trusts reports whether an owner trusts the folder at a real absolute path.
func (f *Folders) Trusts(ctx context.Context, o jackline.Owner, path string) (bool, error) {
	list, err := f.List(ctx, o)
	return slices.ContainsFunc(list, func(t Trusted) bool { return t.Path == path }), err
}

// Trust begins to trust a folder, or ends it, which goes for folders that are no longer there as well. It gives the folder's
// path. Whoever says that they trust a folder, also for a second time, answers for what is in it at that moment: nothing there counts
// any longer as written by a chat that had read text by others.
func (f *Folders) Trust(ctx context.Context, o jackline.Owner, dir string, yes bool) (path string, err error) {
	const op = "folders.Trust"
	path, err = workspace.Vet(dir, f.opt)
	if err != nil {
		if yes {
			return "", err
		}
		path = dir
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	list, err := f.List(ctx, o)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(list, func(t Trusted) bool { return t.Path == path })
	if yes { // a person answers for what is in it now
		if err := f.marker.Unmark(ctx, path); err != nil {
			return "", err
		}
	}
	switch {
	case yes && at >= 0:
		return path, nil
	case yes && len(list) >= maxTrusted:
		return "", jackline.E(op, jackline.Conflict, nil, "%d folders are trusted, which is the most; end it for some.", len(list))
	case yes:
		list = append(list, Trusted{Path: path, Since: time.Now().Round(0).UTC()})
		slices.SortFunc(list, func(a, b Trusted) int { return strings.Compare(a.Path, b.Path) })
	case at < 0:
		return "", jackline.E(op, jackline.NotFound, nil, "This folder is not trusted.")
	default:
		list = slices.Delete(list, at, at+1)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return "", jackline.E(op, jackline.Internal, err, "The list of trusted folders cannot be written.")
	}
	return path, f.keep.PutSetting(ctx, o, setting, raw)
}

// Guide gives the instructions of a workspace: its AGENTS.md, if the owner trusts it and no chat that had read text by others
// has written it, else "".
func (f *Folders) Guide(ctx context.Context, o jackline.Owner, root *workspace.Root) (string, error) {
	own, err := f.Marks(root).Own(ctx, jackline.Actor{Owner: o}, []jackline.Touch{{Effect: jackline.Read, Kind: "path", Name: workspace.GuideFile}})
	if !own || err != nil {
		return "", err
	}
	return root.Guide(ctx)
}
