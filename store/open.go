package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/redact"
	"github.com/jackline-ai/jackline/stack"
	"github.com/jackline-ai/jackline/store/chain"
	"github.com/jackline-ai/jackline/store/fault"
	"github.com/jackline-ai/jackline/store/queue"
	"github.com/jackline-ai/jackline/store/vault"
	"github.com/jackline-ai/jackline/store/watch"
)

// The files of the data folder.
const (
	fileDB    = "jackline.db"
	folderOut = "spill"
	folderIn  = "attachments"
	folderOld = "undo"
)

// readers is how many reads may run at once.
const readers = 4

// A DB is an open store. Its methods may be called from any goroutine.
type DB struct {
	dir    string
	master []byte
	boxes  boxes
	hider  *redact.Redactor
	spare  map[string]bool // settings that are learnt again; see Spare
	lost   func(name string, err error)
	keys   chain.Keys  // of the audit
	spill  vault.Vault // long results
	files  vault.Vault // attachments
	undo   vault.Vault // what files held

	read       *sql.DB // nil where the writer's connection reads too
	statements statements
	write      *sql.DB               // one connection, which the writer holds
	lazy       atomic.Pointer[piece] // the last one that was; only where read is nil

	sealedTo atomic.Int64 // the last line of the audit that this process put into the head

	hub    *watch.Hub
	queue  *queue.Queue[*piece]
	writer *writer
	done   chan struct{} // closed when the writer has ended
	close  sync.Once
	ended  error
}

// boxes are the seals, one for each table with a sealed column.
type boxes struct{ calls, items, approvals, grants, settings, attachments, snapshots, turns, state vault.Box }

func newBoxes(master []byte) boxes {
	return boxes{
		calls:     vault.NewBox(master, "calls"),
		items:     vault.NewBox(master, "items"),
		approvals: vault.NewBox(master, "approvals"),
		grants:    vault.NewBox(master, "grants"),
		settings:  vault.NewBox(master, "settings"),

		attachments: vault.NewBox(master, "attachments"),
		snapshots:   vault.NewBox(master, "snapshots"),
		turns:       vault.NewBox(master, "turns"),
		state:       vault.NewBox(master, "state"),
	}
}

// Open opens the store in a data folder, and makes folder, key and database where there are none. Several
// processes may have the same folder open. The caller closes the store.
func Open(ctx context.Context, dir string) (*DB, error) { return open(ctx, dir, false) }

// OpenAlone is Open for a command that runs by itself: one thing is read or written at a time, over one connection. Each
// further one would read the schema once more, prepare its own statements, and keep its own pages.
func OpenAlone(ctx context.Context, dir string) (*DB, error) { return open(ctx, dir, true) }

func open(ctx context.Context, dir string, alone bool) (_ *DB, err error) {
	const op = "store.Open"
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, jackline.E(op, jackline.Invalid, err, "The data folder has no usable path.")
	}
	d := &DB{dir: dir, hub: watch.NewHub(), queue: queue.New[*piece](), done: make(chan struct{})}
	defer func() {
		if err != nil {
			_ = d.release()
		}
	}()
	exists, err := vault.OpenFolder(dir, fileDB, folderOut, folderIn, folderOld)
	if err != nil {
		return nil, vault.Fault(op, dir, err)
	}
	for folder, v := range map[string]*vault.Vault{folderOut: &d.spill, folderIn: &d.files, folderOld: &d.undo} {
		if v.Root, err = os.OpenRoot(filepath.Join(dir, folder)); err != nil {
			return nil, vault.Fault(op, dir, err)
		}
	}
	path := filepath.Join(dir, fileDB)
	if d.write, err = openPool(path, true); err != nil {
		return nil, fault.Opening(op, dir, err)
	}
	var ours, fresh bool
	if alone {
		ours, fresh, err = probe(ctx, d.write)
	} else {
		if d.read, err = openPool(path, false); err != nil {
			return nil, fault.Opening(op, dir, err)
		}
		// To open a connection takes as long as all the rest. It changes nothing, so both are opened at once.
		var second sync.WaitGroup
		second.Go(func() { _ = d.write.PingContext(ctx) }) // what keeps it from opening is found again below
		ours, fresh, err = probe(ctx, d.read)
		second.Wait()
	}
	if err != nil {
		return nil, fault.Opening(op, dir, err)
	}
	if !ours && !fresh {
		return nil, jackline.E(op, jackline.Conflict, nil,
			"%s is the database of another program: choose another data folder.", path)
	}
	if d.master, err = vault.OpenKey(dir, exists); err != nil {
		return nil, vault.Fault(op, dir, err)
	}
	d.boxes, d.keys = newBoxes(d.master), auditKeys(d.master)
	d.spill.Box, d.files.Box, d.undo.Box = vault.NewBox(d.master, "spill"), vault.NewBox(d.master, "attached"), vault.NewBox(d.master, "undo")
	if err := d.prepare(ctx, fresh); err != nil {
		return nil, fault.Opening(op, dir, err)
	}
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return nil, fault.Opening(op, dir, err)
	}
	d.write.SetMaxOpenConns(2) // from here on there is one for checkpoints
	// The writer outlives the call that opened the store: it ends with Close.
	d.writer = &writer{empty: func() bool { return logIsEmpty(path) }, mode: sqlUnsynced, held: make(chan struct{}, 1), ctx: context.WithoutCancel(ctx), conn: conn, queue: d.queue, hub: d.hub,
		stmts: map[string]*sql.Stmt{}, heads: map[jackline.SessionID]head{},
		broken: map[thread]error{}, full: make(chan struct{}, 1), audited: make(chan struct{}, 1)}
	go func() {
		defer close(d.done)
		stack.Grow()
		var tidying sync.WaitGroup
		stop := make(chan struct{})
		tidying.Go(func() { d.tidy(d.writer.ctx, stop) })
		tidying.Go(func() { d.keepSealing(d.writer.ctx, stop) })
		d.writer.loop()
		close(stop)
		tidying.Wait()
		d.sealLast()
		d.writer.end()
	}()
	return d, nil
}

// Close writes what waits, waits for the writer to end, and closes the files. Later calls fail.
func (d *DB) Close() error {
	d.close.Do(func() {
		d.queue.Shut()
		<-d.done
		d.ended = d.release()
		d.hub.WakeAll()
	})
	return d.ended
}

// tidy moves the write-ahead log into the database when it has grown, while the writer goes on. The log's space is used again
// when a commit finds that all of it was moved; so it is moved again, a little each time, until the writer pauses. That it
// failed is no loss: the next one moves more.
func (d *DB) tidy(ctx context.Context, stop <-chan struct{}) {
	const (
		passes = 50 // a writer that does not pause for two seconds is looked at again after its next commits
		pause  = 40 * time.Millisecond
	)
	for {
		select {
		case <-stop:
			return
		case <-d.writer.full:
		}
		for range passes {
			had := d.writer.written.Load()
			if _, err := d.write.ExecContext(ctx, sqlCheckpoint); err != nil {
				break
			}
			select {
			case <-stop:
				return
			case <-time.After(pause):
			}
			if d.writer.written.Load() == had {
				break
			}
		}
	}
}

// release closes what is open, readers first: the last connection tidies the write-ahead log away.
func (d *DB) release() error {
	var errs []error
	for _, pool := range []*sql.DB{d.read, d.write} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	for _, v := range []*vault.Vault{&d.spill, &d.files, &d.undo} {
		if v.Root != nil {
			errs = append(errs, v.Root.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return jackline.E("store.Close", jackline.Internal, err, "Jackline's database did not close cleanly; its log says why.")
	}
	return nil
}

// Key makes a key for a purpose of the caller's, 32 bytes, the same one each time.
func (d *DB) Key(purpose string) []byte { return vault.Subkey(d.master, "for "+purpose) }

// Dir is the data folder.
func (d *DB) Dir() string { return d.dir }

// prepare marks a fresh database as ours, brings it to this version, and checks that the key belongs to it.
func (d *DB) prepare(ctx context.Context, fresh bool) error {
	err := fault.Patiently(ctx, func() error { _, err := d.write.ExecContext(ctx, sqlJournal); return err })
	if err != nil {
		return err
	}
	if fresh {
		if _, err := d.write.ExecContext(ctx, sqlClaim); err != nil {
			return err
		}
	}
	if err := d.migrate(ctx); err != nil {
		return err
	}
	if d.read != nil { // a command that runs by itself hears of it from what it writes first, if it writes
		if err := d.writable(ctx); err != nil {
			return err
		}
	}
	id := hex.EncodeToString(vault.Subkey(d.master, "id")[:8])
	have, err := d.keyID(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		// Of two processes that come here at once one writes it, and both read what it wrote.
		if _, err := d.write.ExecContext(ctx, `INSERT INTO flags (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`, flagKey, id); err != nil {
			return err
		}
		have, err = d.keyID(ctx)
	}
	if err != nil {
		return err
	}
	if have != id {
		return jackline.E("store.Open", jackline.Conflict, nil,
			"The key file in %s belongs to another database: put the right one back from a backup.", d.dir)
	}
	return nil
}

// writable fails where the file cannot be written: that is better known now than at the first prompt.
func (d *DB) writable(ctx context.Context) error {
	tx, err := d.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE flags SET value = value`)
	return errors.Join(err, tx.Rollback())
}

// keyID tells which key the database was written with.
func (d *DB) keyID(ctx context.Context) (id string, err error) {
	return id, d.write.QueryRowContext(ctx, sqlFlag, flagKey).Scan(&id)
}

// flagKey names the flag that tells which key a database was written with.
const flagKey = "store.key"

// migrate applies what is missing. Each migration is one transaction, so of two processes that start at once one
// applies it and the other finds it done at its next look. A database that has nothing yet is made in one go.
//
// The number of the newest one is noted in the file's header, where it costs next to nothing to find nothing to do.
func (d *DB) migrate(ctx context.Context) error {
	files, err := migrationFiles()
	if err != nil {
		return err
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no migrations: %w", err)
	}
	newest, err := strconv.Atoi(names[len(names)-1][:5])
	if err != nil {
		return err
	}
	note := sqlVersion + " = " + strconv.Itoa(newest)
	var noted int
	if err := d.write.QueryRowContext(ctx, sqlVersion).Scan(&noted); err != nil || noted == newest {
		return err
	}
	if noted == 0 {
		made := false
		err := fault.Patiently(ctx, func() (err error) { made, err = d.makeSchema(ctx, note); return err })
		if err != nil || made {
			return err
		}
	}
	p, err := goose.NewProvider(dialect, d.write, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	return fault.Patiently(ctx, func() error {
		if err := d.migrateOnce(ctx, p); err != nil {
			return err
		}
		_, err := d.write.ExecContext(ctx, note)
		return err
	})
}

// makeSchema gives a database without tables those of the newest migration, as one transaction: all of it is there afterwards, or
// none. One that has tables, of an older version or by another process that was first, it leaves alone and reports false.
func (d *DB) makeSchema(ctx context.Context, note string) (made bool, err error) {
	tx, err := d.write.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	var tables int64
	if err := tx.QueryRowContext(ctx, sqlHasTables).Scan(&tables); err != nil || tables > 0 {
		return false, err
	}
	for _, query := range []string{schema, note} {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return false, fmt.Errorf("schema: %w", err)
		}
	}
	return true, tx.Commit()
}

func (d *DB) migrateOnce(ctx context.Context, p *goose.Provider) error {
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("versions: %w", err)
	}
	if have > want {
		return jackline.E("store.Open", jackline.Conflict, nil,
			"The database in %s was written by a newer Jackline (its format is %d, this one knows %d): install that version or a later one.", d.dir, have, want)
	}
	if have == want {
		return nil
	}
	_, err = p.Up(ctx)
	return err
}

func closedError(op string) error {
	return jackline.E(op, jackline.Unavailable, nil, "Jackline is shutting down.")
}
