package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver
)

// Everything that another database would do differently is in this file and in its migrations.

//go:embed migrations
var migrations embed.FS

// schema is what all the migrations together make of an empty database, so that a new one need not go through each of them.
// TestSchema compares the two, and writes the file with -update.
//
//go:embed migrations/sqlite.sql
var schema string

const (
	// applicationID marks a SQLite file as ours: "jkln".
	applicationID = 0x6a6b6c6e

	// busyMS is how long a statement waits for another process that writes.
	busyMS = 10_000

	// checkpointEvery is after how many transactions the write-ahead log is moved into the database, beside the writer: it takes
	// as long as a hundred commits. So many are about 8 MB of log.
	checkpointEvery = 250

	// checkpointPages is how long the log grows at most, where moving it falls behind, before a commit has to wait for it.
	checkpointPages = 20_000

	dialect = goose.DialectSQLite3
)

// The statements with which the writer steers transactions.
const (
	sqlBegin      = "BEGIN IMMEDIATE"
	sqlCommit     = "COMMIT"
	sqlRollback   = "ROLLBACK"
	sqlSave       = "SAVEPOINT piece"
	sqlRelease    = "RELEASE piece"
	sqlUndo       = "ROLLBACK TO piece"
	sqlSynced     = "PRAGMA synchronous = FULL"
	sqlUnsynced   = "PRAGMA synchronous = NORMAL"
	sqlNever      = "PRAGMA synchronous = OFF"
	sqlForeign    = "PRAGMA data_version" // another number after another process wrote
	sqlJournal    = "PRAGMA journal_mode = WAL"
	sqlClaim      = "PRAGMA application_id = 0x6a6b6c6e"
	sqlVersion    = "PRAGMA user_version"
	sqlCheckpoint = "PRAGMA wal_checkpoint(PASSIVE)" // it waits for nobody, and nobody for it
	sqlIsOurs     = "PRAGMA application_id"
	sqlHasTables  = "SELECT count(*) FROM sqlite_schema"
	sqlWhose      = "SELECT (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)"
)

func migrationFiles() (fs.FS, error) { return fs.Sub(migrations, "migrations/sqlite") }

// dsn names the file to the driver, with the settings that each connection needs.
func dsn(path string, writer bool) string {
	q := url.Values{}
	add := func(pragma string) { q.Add("_pragma", pragma) }
	add("busy_timeout(" + strconv.Itoa(busyMS) + ")")
	add("foreign_keys(1)")
	add("temp_store(2)") // what a statement puts aside stays in memory, and out of the folder for everybody's scratch files
	if writer {
		add("synchronous(NORMAL)")
		add("wal_autocheckpoint(" + strconv.Itoa(checkpointPages) + ")")
		add("journal_size_limit(" + strconv.Itoa(8*checkpointEvery*4096*8) + ")")
		add("secure_delete(1)")
		add("cache_size(-8000)")
		q.Set("_txlock", "immediate")
	} else {
		q.Set("mode", "ro")
	}
	q.Set("_dqs", "0")
	q.Set("_defensive", "1")
	q.Set("_error_rc", "1")
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a Windows drive
	}
	u := url.URL{Scheme: "file", Path: p, RawQuery: q.Encode()}
	return u.String()
}

func openPool(path string, writer bool) (*sql.DB, error) {
	pool, err := sql.Open("sqlite", dsn(path, writer))
	if err != nil {
		return nil, err
	}
	n := readers
	if writer {
		n = 1
	}
	pool.SetMaxOpenConns(n)
	pool.SetMaxIdleConns(n)
	return pool, nil
}

// probe finds out whose the file is: ours already, or fresh, so that it may become ours. It changes nothing.
func probe(ctx context.Context, pool *sql.DB) (ours, fresh bool, err error) {
	var id, tables int64
	if err := pool.QueryRowContext(ctx, sqlIsOurs).Scan(&id); err != nil || id == applicationID {
		return err == nil, false, err
	}
	if err := pool.QueryRowContext(ctx, sqlWhose).Scan(&id, &tables); err != nil {
		return false, false, err
	}
	return id == applicationID, id == 0 && tables == 0, nil
}

// logIsEmpty reports whether nothing was ever written to the write-ahead log of a database, or all of it was cut off.
func logIsEmpty(path string) bool {
	info, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// sqlLastSeq is the newest number of the store-wide sequence. The counter holds those of events that were deleted.
const sqlLastSeq = `SELECT max(value, coalesce((SELECT max(seq) FROM events), 0)) FROM counters WHERE name = 'seq'`

// sqlSessionHas is true for a session s in which a word occurs: in its title, in a prompt or in an answer. It takes
// the word, as searchWords writes it, for each of the three.
const sqlSessionHas = `(s.num IN (SELECT rowid FROM title_words WHERE title_words MATCH ?)
	OR s.id IN (SELECT session FROM turns WHERE num IN (SELECT rowid FROM prompt_words WHERE prompt_words MATCH ?))
	OR s.id IN (SELECT session FROM turns WHERE num IN (SELECT rowid FROM answer_words WHERE answer_words MATCH ?)))`

// sqlUnread counts the turns whose words are not in the index yet, and sqlReadWords puts them there.
const sqlUnread = `SELECT count(*) FROM unread`

var sqlReadWords = []string{
	`INSERT INTO prompt_words (rowid, prompt) SELECT num, prompt FROM turns WHERE num IN (SELECT num FROM unread)`,
	`INSERT INTO answer_words (rowid, answer) SELECT num, answer FROM turns WHERE num IN (SELECT num FROM unread)`,
	`DELETE FROM unread`,
}

// maxSearchWords bounds the work of one search.
const maxSearchWords = 8

// searchWords takes what a person typed apart into words, each as the index wants it. Nothing that a person can
// type is syntax there: a word is letters and digits within quotes, and matches what begins with it.
func searchWords(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	if len(words) > maxSearchWords {
		words = words[:maxSearchWords]
	}
	for i, w := range words {
		words[i] = `"` + w + `"*`
	}
	return words
}
