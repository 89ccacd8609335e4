package store

import (
	"context"
	"time"

	"github.com/jackline-ai/jackline"
)

// A Mark is a file that a session wrote which had read text by others. It stays when the session is deleted: the file is what it
// is.
type Mark struct {
	Path    string // relative to the workspace; one that begins with [AllPaths] is anything in it
	ID      string // what the file is to the system: device and inode; "" where that is not known
	Session jackline.SessionID
}

// AllPaths is the path of a mark for everything in a workspace.
const AllPaths = "*"

// MostMarks is how many files of one workspace are marked one by one. Beyond it the whole workspace is.
const MostMarks = 20_000

// Mark stores marks, durably. It is not an owner's: a folder that several share holds what any of their sessions wrote.
func (d *DB) Mark(ctx context.Context, workspace string, marks []Mark) error {
	const op = "store.Mark"
	if workspace == "" {
		return jackline.E(op, jackline.Invalid, nil, "A mark is of a file in a workspace.")
	}
	now := time.Now().UnixNano()
	return d.update(ctx, op, func(w *writer) error {
		var have int
		if err := w.row(`SELECT count(*) FROM marks WHERE workspace = ?`, workspace).Scan(&have); err != nil {
			return err
		}
		if have+len(marks) > MostMarks {
			marks = []Mark{{Path: AllPaths}}
		}
		for _, m := range marks {
			if _, err := w.exec(`INSERT INTO marks (workspace, path, id, session, made) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT (workspace, path) DO UPDATE SET id = excluded.id, session = excluded.session, made = excluded.made`,
				workspace, m.Path, m.ID, string(m.Session), now); err != nil {
				return err
			}
		}
		return nil
	})
}

// Unmark takes marks away by their paths, or all of a workspace where none is named.
func (d *DB) Unmark(ctx context.Context, workspace string, paths ...string) error {
	return d.update(ctx, "store.Unmark", func(w *writer) error {
		if len(paths) == 0 {
			_, err := w.exec(`DELETE FROM marks WHERE workspace = ?`, workspace)
			return err
		}
		for _, p := range paths {
			if _, err := w.exec(`DELETE FROM marks WHERE workspace = ? AND path = ?`, workspace, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// Marked reports whether a file is marked, by its path or by what it is, or lies in a workspace that is marked as a whole. A path
// of "" asks for any mark.
func (d *DB) Marked(ctx context.Context, workspace, path, id string) (bool, error) {
	const one = `SELECT 1 FROM marks WHERE workspace = ? AND `
	scan := func(s scanner) (n int, err error) { return n, s.Scan(&n) }
	var list []int
	var err error
	if path == "" {
		list, err = many(ctx, d, "store.Marked", scan, one+`1 LIMIT 1`, workspace)
	} else {
		list, err = many(ctx, d, "store.Marked", scan, one+`(path = ? OR substr(path, 1, 1) = ? OR id <> '' AND id = ?) LIMIT 1`, workspace, path, AllPaths, id)
	}
	return len(list) > 0, err
}

// Marks lists the marked paths of a workspace, up to a limit.
func (d *DB) Marks(ctx context.Context, workspace string, limit int) ([]string, error) {
	return many(ctx, d, "store.Marks", func(s scanner) (p string, err error) { return p, s.Scan(&p) },
		sqlMarks, workspace, limit)
}

const sqlMarks = `SELECT path FROM marks WHERE workspace = ? ORDER BY path LIMIT ?`
