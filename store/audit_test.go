package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/chain"
)

// auditEntry is a line in which no column has its zero value.
func auditEntry(n int) jackline.AuditEntry {
	return jackline.AuditEntry{
		Kind: jackline.AuditRan, Session: "s_1", Turn: "t_1", Call: jackline.CallID(fmt.Sprint("c_", n)), Tool: "file_read", Source: jackline.FromModel,
		By: "page", Verdict: "allow", Rule: "mode.allow-reads", Stage: "policy", Approval: "a_1", Grant: "g_1", Scope: jackline.Once, Outcome: "ok",
		What: "call", MS: 3, Out: 7, Labels: jackline.Labels{Tainted: true, Private: true}, Sandbox: jackline.SandboxLandlock,
		Value: json.RawMessage(`{"path":"secret"}`), Rulings: []jackline.Ruling{{Stage: "policy", Decision: jackline.Decision{Rule: "r"}}},
	}
}

// audited makes a closed store with so many lines of the audit.
func audited(t *testing.T, lines int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	d, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []jackline.AuditEntry
	for n := range lines {
		list = append(list, auditEntry(n))
	}
	if err := d.Note(t.Context(), me, list...); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tamper changes a database behind the program's back, without the triggers that would refuse it.
func tamper(t *testing.T, dir string, statements ...string) {
	t.Helper()
	pool, err := sql.Open("sqlite", dsn(filepath.Join(dir, fileDB), true))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	for _, s := range append([]string{"DROP TRIGGER IF EXISTS audit_at_the_end", "DROP TRIGGER IF EXISTS audit_unchanged", "DROP TRIGGER IF EXISTS audit_kept"}, statements...) {
		if _, err := pool.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func verified(t *testing.T, d *DB) jackline.AuditReport {
	t.Helper()
	r, err := d.VerifyAudit(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func breaks(r jackline.AuditReport) string {
	var list []string
	for _, f := range r.Faults {
		list = append(list, fmt.Sprintf("%s %d", f.Kind, f.N))
	}
	return strings.Join(list, ", ")
}

func TestAuditWhole(t *testing.T) {
	d := openTest(t, audited(t, 30))
	r := verified(t, d)
	if !r.OK || !r.Full || !r.Keyed || r.Checked != 30 || r.Head != 30 || r.Since != 0 || r.Sealed.IsZero() || len(r.Noted) != 0 {
		t.Fatalf("%+v", r)
	}
	if err := d.Note(t.Context(), me, auditEntry(0)); err != nil {
		t.Fatal(err)
	}
	if r := verified(t, d); !r.OK || r.Head != 30 || r.Since != 1 {
		t.Fatalf("a table ahead of its head: %+v", r)
	}
}

// TestAuditTampered changes a chain in every way that SQL and a file manager offer. Each is found, and named for what it is.
func TestAuditTampered(t *testing.T) {
	columns := strings.FieldsFunc(auditColumns, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
	if len(columns) != auditWidth {
		t.Fatalf("%d columns", len(columns))
	}
	for _, c := range columns {
		change, want := `x'00' || substr(`+c+`, 2)`, "altered 10"
		switch c {
		case "n":
			continue // rows that move are below
		case "mac":
			change, want = `zeroblob(32)`, "altered 10, altered 11"
		case "at", "ms", "bytes_in", "bytes_out", "tainted", "private", "sandbox":
			change = c + ` + 1`
			if c == "tainted" || c == "private" {
				change = `1 - ` + c
			}
		default:
			change = `char(unicode(` + c + `) + 1) || substr(` + c + `, 2)`
		}
		t.Run("column "+c, func(t *testing.T) {
			dir := audited(t, 20)
			tamper(t, dir, `UPDATE audit SET `+c+` = `+change+` WHERE n = 10`)
			if got := breaks(verified(t, openTest(t, dir))); got != want {
				t.Fatalf("found %q, want %q", got, want)
			}
		})
	}
	for name, test := range map[string]struct {
		sql  []string
		want string
	}{
		"a line is removed":      {[]string{`DELETE FROM audit WHERE n = 10`}, "missing 10"},
		"the first is removed":   {[]string{`DELETE FROM audit WHERE n = 1`}, "missing 1"},
		"several are removed":    {[]string{`DELETE FROM audit WHERE n BETWEEN 5 AND 9`}, "missing 5"},
		"the end is cut off":     {[]string{`DELETE FROM audit WHERE n > 15`}, "cut 16"},
		"all is removed":         {[]string{`DELETE FROM audit`}, "cut 1"},
		"two change their place": {[]string{`UPDATE audit SET n = -1 WHERE n = 10`, `UPDATE audit SET n = 10 WHERE n = 11`, `UPDATE audit SET n = 11 WHERE n = -1`}, "altered 10, altered 11, altered 12"},
		"one is removed and all behind it move up": {[]string{`DELETE FROM audit WHERE n = 10`, `UPDATE audit SET n = n - 1 WHERE n > 10`},
			"altered 10, altered 11, altered 12, altered 13, altered 14, altered 15, altered 16, altered 17, altered 18, altered 19, cut 20"},
		"one is added at the end": {[]string{`INSERT INTO audit SELECT 21, at, owner, kind, session, turn, call, tool, source, actor, verdict, rule, stage, approval, permit, scope, outcome,
			what, ms, bytes_in, bytes_out, tainted, private, sandbox, args, chain, mac FROM audit WHERE n = 20`}, "altered 21"},
		"one is added before the first": {[]string{`INSERT INTO audit SELECT 0, at, owner, kind, session, turn, call, tool, source, actor, verdict, rule, stage, approval, permit, scope, outcome,
			what, ms, bytes_in, bytes_out, tainted, private, sandbox, args, chain, mac FROM audit WHERE n = 20`}, "altered 1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := audited(t, 20)
			tamper(t, dir, test.sql...)
			got := breaks(verified(t, openTest(t, dir)))
			if !strings.HasPrefix(got, test.want) {
				t.Fatalf("found %q, want %q", got, test.want)
			}
		})
	}
}

// TestAuditHead replaces the file that says where the chain ends.
func TestAuditHead(t *testing.T) {
	other := audited(t, 25)
	for name, test := range map[string]struct {
		do   func(t *testing.T, dir string, old []byte) error
		want jackline.AuditBreak
	}{
		"it is removed": {func(_ *testing.T, dir string, _ []byte) error { return os.Remove(filepath.Join(dir, chain.FileHead)) }, jackline.BreakNoHead},
		"it is another store's": {func(t *testing.T, dir string, _ []byte) error {
			return os.WriteFile(filepath.Join(dir, chain.FileHead), readFile(t, filepath.Join(other, chain.FileHead)), 0o600)
		}, jackline.BreakHead},
		"it is nonsense": {func(_ *testing.T, dir string, _ []byte) error {
			return os.WriteFile(filepath.Join(dir, chain.FileHead), []byte("x"), 0o600)
		}, jackline.BreakHead},
		"an old one comes back": {func(_ *testing.T, dir string, old []byte) error {
			return os.WriteFile(filepath.Join(dir, chain.FileHead), old, 0o600)
		}, jackline.BreakOldHead},
		"another number": {func(t *testing.T, dir string, _ []byte) error {
			text := strings.Replace(string(readFile(t, filepath.Join(dir, chain.FileHead))), "line 30", "line 29", 1)
			return os.WriteFile(filepath.Join(dir, chain.FileHead), []byte(text), 0o600)
		}, jackline.BreakHead},
	} {
		t.Run(name, func(t *testing.T) {
			dir := audited(t, 10)
			old := readFile(t, filepath.Join(dir, chain.FileHead))
			for range 2 {
				d := openTest(t, dir)
				for n := range 10 {
					if err := d.Note(t.Context(), me, auditEntry(n)); err != nil {
						t.Fatal(err)
					}
				}
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := test.do(t, dir, old); err != nil {
				t.Fatal(err)
			}
			d := openTest(t, dir)
			for _, full := range []bool{true, false} {
				r, err := d.VerifyAudit(t.Context(), full)
				if err != nil || r.OK || len(r.Faults) != 1 || r.Faults[0].Kind != test.want {
					t.Fatalf("full %v: %v %+v", full, err, r)
				}
			}
			// The program goes on. It seals what there is now, but not in silence.
			if err := d.seal(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := verified(t, d)
			if !r.OK || len(r.Noted) != 1 || r.Noted[0].What != string(test.want) || r.Head != 31 {
				t.Fatalf("afterwards: %+v", r)
			}
		})
	}
}

// TestAuditCutIsRemembered cuts the end off, and lets the program run over it.
func TestAuditCutIsRemembered(t *testing.T) {
	dir := audited(t, 20)
	tamper(t, dir, `DELETE FROM audit WHERE n > 15`)
	d := openTest(t, dir)
	for range 2 {
		if err := d.Note(t.Context(), me, auditEntry(0)); err != nil {
			t.Fatal(err)
		}
		if err := d.seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r := verified(t, d)
	if !r.OK || len(r.Noted) != 1 || r.Noted[0].What != string(jackline.BreakCut) || r.Noted[0].In != 17 || r.Head != 18 {
		t.Fatalf("%+v", r)
	}
}

// TestAuditIsOnlyAddedTo tries what the program itself never does.
func TestAuditIsOnlyAddedTo(t *testing.T) {
	d := openTest(t, audited(t, 5))
	for _, q := range []string{
		`UPDATE audit SET tool = 'x'`, `UPDATE audit SET n = n + 100`, `DELETE FROM audit`, `DELETE FROM audit WHERE n = 5`,
		`INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE n = 3`, `INSERT INTO audit SELECT * FROM audit WHERE n = 3`,
	} {
		err := d.update(t.Context(), "test", func(w *writer) error { _, err := w.exec(q); return err })
		if err == nil {
			t.Errorf("%s: it is allowed", q)
		}
	}
	if r := verified(t, d); !r.OK || r.Last != 5 {
		t.Fatalf("%+v", r)
	}
}

// TestNoAuditNoEffect makes the audit fail. Then nothing is written that belongs to it, and what comes behind is.
func TestNoAuditNoEffect(t *testing.T) {
	dir := t.TempDir()
	d := openTest(t, dir)
	s := newSession(t, d, me).ID
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(d.update(t.Context(), "test", func(w *writer) error {
		_, err := w.exec(`CREATE TRIGGER audit_fails BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no'); END`)
		return err
	}))
	rec := func(id jackline.CallID) jackline.Record {
		return jackline.Record{Session: s, Sync: true, Calls: []jackline.Call{{ID: id, Session: s, State: jackline.CallStarted, Acts: true}},
			Audit: []jackline.AuditEntry{auditEntry(1)}}
	}
	if _, err := d.Append(t.Context(), me, rec("c_1")); err == nil {
		t.Fatal("a record without its line was written")
	}
	for name, do := range map[string]func() error{
		"mode": func() error {
			m := jackline.ModeAllowAll
			_, err := d.Append(t.Context(), me, jackline.Record{Session: s, Mode: &m})
			return err
		},
		"setting": func() error {
			return d.PutSettings(t.Context(), me, map[string]json.RawMessage{"permissions.mode": json.RawMessage(`"allow-all"`)})
		},
		"switch":  func() error { return d.SetFlag(t.Context(), "kill", "by me") },
		"session": func() error { _, err := d.CreateSession(t.Context(), me, jackline.Session{ID: "s_new"}); return err },
		"deleted": func() error { return d.DeleteSession(t.Context(), me, s) },
		"approval": func() error {
			_, err := d.Append(t.Context(), me, jackline.Record{Session: s, Approvals: []jackline.Approval{{ID: "a_1", State: jackline.Approved}}})
			return err
		},
	} {
		if do() == nil {
			t.Errorf("%s: written without its line", name)
		}
	}
	// Beside others in one batch it takes none of them down.
	release := hold(t, d)
	var wg sync.WaitGroup
	var bad, good error
	wg.Go(func() { _, bad = d.Append(t.Context(), me, rec("c_2")) })
	wg.Go(func() { _, good = d.Append(t.Context(), me, jackline.Record{Session: s, Title: "good"}) })
	for !queueIs(d, 2) {
		runtime.Gosched()
	}
	release()
	wg.Wait()
	if bad == nil || good != nil {
		t.Fatalf("bad %v, good %v", bad, good)
	}
	must(d.update(t.Context(), "test", func(w *writer) error { _, err := w.exec(`DROP TRIGGER audit_fails`); return err }))
	v, err := d.Session(t.Context(), me, s)
	must(err)
	if v.Mode != jackline.ModeAllowReads || v.Title != "good" {
		t.Fatalf("%+v", v)
	}
	for _, id := range []jackline.CallID{"c_1", "c_2"} {
		if _, err := d.Call(t.Context(), me, id); jackline.KindOf(err) != jackline.NotFound {
			t.Fatalf("%s: %v", id, err)
		}
	}
	_, err = d.Append(t.Context(), me, rec("c_3"))
	must(err)
	if r := verified(t, d); !r.OK || r.Last != 2 {
		t.Fatalf("%+v", r)
	}
}

// TestAuditSaysNoValue writes lines whose records are full of words, and looks for any of them.
func TestAuditSaysNoValue(t *testing.T) {
	dir := t.TempDir()
	d := openTest(t, dir)
	s := newSession(t, d, me).ID
	a := jackline.Approval{
		ID: "a_1", State: jackline.Pending, Tool: "shell", Title: "WORD title", Args: json.RawMessage(`{"command":"WORD"}`), Why: "WORD", Rule: "ask shell(WORD*)",
		Folder: "/WORD", Touches: []jackline.Touch{{Kind: "command", Name: "WORD"}}, Answer: jackline.Answer{Reason: "WORD"},
	}
	e := auditEntry(1)
	e.Value, e.Rule, e.Rulings = json.RawMessage(`"WORD"`), "deny web_fetch(host:WORD)", []jackline.Ruling{{Decision: jackline.Decision{Reason: "WORD"}}}
	rec := jackline.Record{Session: s, Title: "WORD", Approvals: []jackline.Approval{a}, Audit: []jackline.AuditEntry{e},
		Grants: []jackline.Grant{{ID: "g_1", Scope: jackline.Task, Tool: "shell", Kind: jackline.GrantCommand, Value: "WORD"}}}
	if _, err := d.Append(t.Context(), me, rec); err != nil {
		t.Fatal(err)
	}
	if err := d.PutSettings(t.Context(), me, map[string]json.RawMessage{"permissions.rules": json.RawMessage(`["WORD"]`)}); err != nil {
		t.Fatal(err)
	}
	if err := d.SetFlag(t.Context(), "kill", "WORD"); err != nil {
		t.Fatal(err)
	}
	if err := d.RevokeGrant(t.Context(), me, "g_1"); err != nil {
		t.Fatal(err)
	}
	if err := d.DeleteSession(t.Context(), me, s); err != nil {
		t.Fatal(err)
	}
	lines, err := d.Audit(t.Context(), me, jackline.AuditQuery{Everybody: true, Oldest: true})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range lines {
		kinds = append(kinds, string(e.Kind))
		if b, _ := json.Marshal(e); bytes.Contains(b, []byte("WORD")) {
			t.Errorf("%s", b)
		}
	}
	want := "session.created approval.opened grant.made call.ran setting.changed switch.on grant.revoked session.deleted"
	if got := strings.Join(kinds, " "); got != want {
		t.Fatalf("%s\nwant %s", got, want)
	}
	if lines[3].Args == "" || lines[3].Chain == "" || lines[3].Args == lines[1].Args || lines[3].Rule != "deny web_fetch(…)" {
		t.Fatalf("%+v", lines[3])
	}
}

// TestAuditTwoProcesses lets two processes write to one chain.
func TestAuditTwoProcesses(t *testing.T) {
	dir := audited(t, 1)
	one, two := start(t, "audit", dir), start(t, "audit", dir)
	for _, c := range []interface{ Start() error }{one, two} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	d := openTest(t, dir)
	for n := range 50 {
		if err := d.Note(t.Context(), "third", auditEntry(n)); err != nil {
			t.Fatal(err)
		}
		if n%10 == 0 {
			if err := d.seal(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r := verified(t, d); !r.OK {
				t.Fatalf("while they write: %+v", r)
			}
		}
	}
	for _, c := range []interface{ Wait() error }{one, two} {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if r := verified(t, d); !r.OK || r.Last != 151 || len(r.Noted) != 0 {
		t.Fatalf("%+v", r)
	}
}

// childAudits writes lines, and seals now and then.
func childAudits(ctx context.Context, d *DB) error {
	for n := range 50 {
		if err := d.Note(ctx, me, auditEntry(n)); err != nil {
			return err
		}
		if n%7 == 0 {
			if err := d.seal(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestAuditIsSealed waits for the clock.
func TestAuditIsSealed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = d.Close() }()
		head := func() int64 { h, _ := d.keys.Read(dir); return h.N }
		for n := range 3 {
			if err := d.Note(t.Context(), me, auditEntry(n)); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(sealEvery - time.Second)
		synctest.Wait()
		if head() != 0 {
			t.Error("sealed before its time")
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if head() != 3 {
			t.Errorf("head %d", head())
		}
	})
}

func TestAuditExport(t *testing.T) {
	dir := audited(t, 12)
	d := openTest(t, dir)
	export := func(q jackline.AuditQuery) string {
		t.Helper()
		var b bytes.Buffer
		if err := d.ExportAudit(t.Context(), me, q, &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	keys, err := AuditKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string, k chain.Keys) jackline.AuditReport {
		t.Helper()
		r, err := chain.VerifyExport(strings.NewReader(text), k)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	all := export(jackline.AuditQuery{Everybody: true})
	if r := check(all, keys); !r.OK || !r.Full || !r.Keyed || r.Checked != 12 || r.Head != 12 {
		t.Fatalf("%+v", r)
	}
	if r := check(all, chain.Keys{}); !r.OK || r.Keyed {
		t.Fatalf("without the key: %+v", r)
	}
	some := export(jackline.AuditQuery{Call: "c_5"})
	if r := check(some, keys); !r.OK || r.Full || !r.Gaps || r.Checked != 1 || r.First != 6 {
		t.Fatalf("%+v", r)
	}
	lines := strings.SplitAfter(all, "\n")
	for name, test := range map[string]struct {
		text string
		want string
	}{
		"a word":        {strings.Replace(all, `"call":"c_4"`, `"call":"c_9"`, 1), "altered 5"},
		"a line":        {strings.Join(append(append([]string{}, lines[:4]...), lines[5:]...), ""), "missing 4"},
		"no end":        {strings.Join(lines[:8], ""), "cut 7, cut 8"},
		"an end":        {strings.Join(lines[:8], "") + `{"end":true,"lines":7}` + "\n", "cut 8"},
		"one more word": {strings.Replace(all, `"call":"c_4"`, `"note":"x","call":"c_4"`, 1), "unread 5, missing 5"},
		"no line":       {strings.Replace(all, lines[3], "what?\n", 1), "unread 3, missing 3"},
	} {
		if got := breaks(check(test.text, keys)); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	if _, err := chain.VerifyExport(strings.NewReader(`{"n":1}`), keys); jackline.KindOf(err) != jackline.Invalid {
		t.Errorf("something else: %v", err)
	}
}
