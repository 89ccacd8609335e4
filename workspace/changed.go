package workspace

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// Limits of a look at what has changed: a folder in which more than this is looked at holds dependencies and build output.
const (
	maxLooked = 50_000
	deepest   = 64
)

// Named is one regular file of a workspace and what it is to the system, under whatever name.
type Named struct{ Path, ID string }

// Identity says what stands at a path, whatever it holds, and whether it is a folder; "" where nothing does, or nothing that may
// be looked at.
func (r *Root) Identity(name string) (id string, folder bool) {
	p, err := r.resolve(name, false)
	if err != nil {
		return "", false
	}
	defer p.close()
	if !p.found {
		return "", false
	}
	return p.entry.id(factSame), p.entry.mode.IsDir()
}

// Changed lists the files whose content, name or rights changed since a moment, by the time of change that no program can set back.
// whole is false where there are more than most, more than can be looked at, or the system does not tell. What git keeps for itself is
// left out.
func (r *Root) Changed(ctx context.Context, since time.Time, most int) (list []Named, whole bool, err error) {
	const grain = 20 * time.Millisecond // times of files are as coarse as the system's clock
	after, looked := since.Add(-grain).UnixNano(), 0
	whole = true
	var look func(d *dir, prefix string, depth int) error
	look = func(d *dir, prefix string, depth int) error {
		names, err := d.list(maxLooked - looked + 1)
		if err != nil {
			whole = false
			return nil //nolint:nilerr // what cannot be listed may have changed
		}
		for _, n := range names {
			if looked++; looked > maxLooked || depth > deepest || len(list) >= most {
				whole = false
			}
			if !whole || ctx.Err() != nil {
				return ctx.Err()
			}
			e, err := d.lstat(n)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				whole = false
			case e.ctime == 0:
				whole = false
			case e.mode.IsDir() && (prefix != "" || n != ".git"):
				sub, err := d.folder(n, e)
				if err != nil {
					whole = false
					return nil //nolint:nilerr // as above
				}
				err = look(sub, prefix+n+"/", depth+1)
				_ = sub.close()
				if err != nil || !whole {
					return err
				}
			case e.mode.IsRegular() && e.ctime >= after:
				list = append(list, Named{Path: prefix + n, ID: e.id(factSame)})
			}
		}
		return nil
	}
	err = look(r.top, "", 0)
	return list, whole, err
}
