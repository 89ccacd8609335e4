package store

import (
	"database/sql"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/jackline-ai/jackline/store/vault"
)

var update = flag.Bool("update", false, "write the schema that the migrations make")

// TestSchema: a new database, which is made in one go, is the one that the migrations make, one after the other.
func TestSchema(t *testing.T) {
	old := migrated(t, filepath.Join(t.TempDir(), fileDB))
	if *update {
		if err := os.WriteFile("migrations/sqlite.sql", []byte(writeSchema(t, old)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(schema, "\n"), strings.Split(writeSchema(t, old), "\n")); diff != "" {
		t.Errorf("migrations/sqlite.sql is not what the migrations make; go test ./store -run TestSchema -update writes it (-have +want):\n%s", diff)
	}
	fresh := openTest(t, t.TempDir())
	want, got := contents(t, old), contents(t, fresh.read)
	// What a store adds when it is opened: which key it was written with.
	got = slices.DeleteFunc(got, func(row string) bool { return strings.HasPrefix(row, "flags: ["+flagKey) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a new database differs from a migrated one (-migrated +new):\n%s", diff)
	}
	var noted, newest int
	if err := fresh.write.QueryRowContext(t.Context(), sqlVersion).Scan(&noted); err != nil {
		t.Fatal(err)
	}
	if err := old.QueryRowContext(t.Context(), `SELECT max(version_id) FROM goose_db_version`).Scan(&newest); err != nil {
		t.Fatal(err)
	}
	if noted != newest {
		t.Errorf("the header says %d, the newest migration is %d", noted, newest)
	}
}

// TestOlderDatabases: a store of each earlier version opens, and becomes what a new one is.
func TestOlderDatabases(t *testing.T) {
	want := contents(t, migrated(t, filepath.Join(t.TempDir(), fileDB)))
	files, err := migrationFiles()
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) < 8 {
		t.Fatalf("%d migrations: %v", len(names), err)
	}
	for version := range int64(len(names)) + 1 {
		dir := t.TempDir()
		pool, err := openPool(filepath.Join(dir, fileDB), true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), sqlClaim); err != nil {
			t.Fatal(err)
		}
		if version > 0 { // 0 is one that was claimed and got no further
			p, err := goose.NewProvider(dialect, pool, files, goose.WithDisableGlobalRegistry(true))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.UpTo(t.Context(), version); err != nil {
				t.Fatal(err)
			}
		}
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, vault.FileKey), []byte(strings.Repeat("00", vault.KeySize)), 0o600); err != nil {
			t.Fatal(err)
		}
		got := contents(t, openTest(t, dir).read)
		got = slices.DeleteFunc(got, func(row string) bool { return strings.HasPrefix(row, "flags: ["+flagKey) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("from version %d (-want +got):\n%s", version, diff)
		}
	}
}

// migrated is a database that went through all the migrations.
func migrated(t *testing.T, path string) *sql.DB {
	pool, err := openPool(path, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	files, err := migrationFiles()
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(dialect, pool, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return pool
}

// writeSchema writes out what a database holds as statements: its tables, and the rows that the migrations put there. Shadow tables
// are made by the tables that they belong to.
func writeSchema(t *testing.T, pool *sql.DB) string {
	var b strings.Builder
	b.WriteString("-- What the migrations make of an empty database, written by: go test ./store -run TestSchema -update\n")
	for _, q := range texts(t, pool, `SELECT sql FROM sqlite_schema s WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
		AND NOT EXISTS (SELECT 1 FROM pragma_table_list l WHERE l.schema = 'main' AND l.name = s.name AND l.type = 'shadow') ORDER BY rowid`) {
		b.WriteString("\n" + q + ";\n")
	}
	b.WriteString("\n")
	// An index of words keeps its settings in a shadow table, and takes them as rows.
	for _, words := range texts(t, pool, `SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%' ORDER BY rowid`) {
		for _, q := range texts(t, pool, fmt.Sprintf(`SELECT printf('INSERT INTO %[1]s (%[1]s, rank) VALUES (%%Q, %%d);', k, v) FROM %[1]s_config
			WHERE k <> 'version' ORDER BY k`, words)) {
			b.WriteString(q + "\n")
		}
	}
	for _, q := range texts(t, pool, `SELECT printf('INSERT INTO counters (name, value) VALUES (%Q, %d);', name, value) FROM counters ORDER BY name`) {
		b.WriteString(q + "\n")
	}
	for _, q := range texts(t, pool, `SELECT printf('INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, %d);', version_id, is_applied) FROM goose_db_version ORDER BY id`) {
		b.WriteString(q + "\n")
	}
	return b.String()
}

// contents is everything in a database, a line for each row of each table, times of migrations left out.
func contents(t *testing.T, pool *sql.DB) []string {
	all := texts(t, pool, `SELECT type || ' ' || name || ' of ' || tbl_name || ': ' || coalesce(sql, '') FROM sqlite_schema`)
	for _, table := range texts(t, pool, `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'`) {
		from := `SELECT * FROM "` + table + `"`
		if table == "goose_db_version" {
			from = `SELECT id, version_id, is_applied FROM goose_db_version`
		}
		for _, row := range rowsOf(t, pool, from) {
			all = append(all, fmt.Sprintf("%s: %v", table, row))
		}
	}
	slices.Sort(all)
	return all
}

// texts are the one column that a query gives.
func texts(t *testing.T, pool *sql.DB, query string) (all []string) {
	for _, row := range rowsOf(t, pool, query) {
		all = append(all, fmt.Sprint(row[0]))
	}
	return all
}

func rowsOf(t *testing.T, pool *sql.DB, query string) (all [][]any) {
	rows, err := pool.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
