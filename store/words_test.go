package store

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/jackline-ai/jackline"
)

// sound fails the test where the index of words does not hold what the tables do.
func sound(t *testing.T, d *DB) {
	t.Helper()
	if err := d.readWords(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"title_words", "prompt_words", "answer_words"} {
		if _, err := d.write.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %[1]s (%[1]s, rank) VALUES ('integrity-check', 1)", table)); err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
}

func (d *DB) found(t *testing.T, words string) int {
	t.Helper()
	rows, err := d.Sessions(t.Context(), jackline.Local, SessionQuery{Search: words, Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	return len(rows)
}

// TestWords: whatever becomes of chats and turns, and whenever somebody searches, the index holds their words and no others.
func TestWords(t *testing.T) {
	d := openTest(t, t.TempDir())
	ctx := t.Context()
	r := rand.New(rand.NewPCG(1, 9))
	words := []string{"anchor", "rudder", "winch", "sail", "", "mast mast", "keel"}
	word := func() string { return words[r.IntN(len(words))] }
	var chats []jackline.SessionID
	turns := map[jackline.TurnID]*jackline.Turn{}
	for n := range 600 {
		switch k := r.IntN(10); {
		case k == 0 || len(chats) == 0:
			s, err := d.CreateSession(ctx, jackline.Local, jackline.Session{Title: word()})
			if err != nil {
				t.Fatal(err)
			}
			chats = append(chats, s.ID)
		case k == 1:
			if _, err := d.Append(ctx, jackline.Local, jackline.Record{Session: chats[r.IntN(len(chats))], Title: "boat " + word()}); err != nil {
				t.Fatal(err)
			}
		case k < 5 || len(turns) == 0:
			v := &jackline.Turn{
				ID: jackline.TurnID(fmt.Sprintf("t_%d", n)), Session: chats[r.IntN(len(chats))], Prompt: word(), Answer: word(),
				Status: []jackline.Status{jackline.Queued, jackline.Running, jackline.Done}[r.IntN(3)],
			}
			if _, err := d.Append(ctx, jackline.Local, jackline.Record{Session: v.Session, Turn: v}); err != nil {
				t.Fatal(err)
			}
			turns[v.ID] = v
		case k < 8:
			for _, v := range turns {
				v.Prompt, v.Answer, v.Status = word(), word(), jackline.Done
				if _, err := d.Append(ctx, jackline.Local, jackline.Record{Session: v.Session, Turn: v}); err != nil {
					t.Fatal(err)
				}
				break
			}
		case k == 8:
			d.found(t, "anchor")
		default:
			at := r.IntN(len(chats))
			if err := d.DeleteSession(ctx, jackline.Local, chats[at]); jackline.KindOf(err) == jackline.Conflict {
				continue // a turn runs in it
			} else if err != nil {
				t.Fatal(err)
			}
			for id, v := range turns {
				if v.Session == chats[at] {
					delete(turns, id)
				}
			}
			chats = append(chats[:at], chats[at+1:]...)
		}
		if n%50 == 0 {
			sound(t, d)
		}
	}
	sound(t, d)
	if d.found(t, "nobody") != 0 {
		t.Error("a word is found that nobody said")
	}
}

// TestWordsAreReadAtLast: those who never search do not leave all reading to the one who does.
func TestWordsAreReadAtLast(t *testing.T) {
	dir := t.TempDir()
	left := func(turns int) (unread int) {
		d := openTest(t, dir)
		s, err := d.CreateSession(t.Context(), jackline.Local, jackline.Session{})
		if err != nil {
			t.Fatal(err)
		}
		for range turns {
			v := &jackline.Turn{ID: jackline.NewID[jackline.TurnID]("t_"), Status: jackline.Queued, Prompt: "anchor"}
			if _, err := d.Append(t.Context(), jackline.Local, jackline.Record{Session: s.ID, Turn: v, Soon: true}); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = openTest(t, dir)
		if err := d.read.QueryRowContext(t.Context(), sqlUnread).Scan(&unread); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		return unread
	}
	if n := left(5); n != 5 {
		t.Errorf("%d of 5 are unread", n)
	}
	if n := left(maxUnread); n != 0 {
		t.Errorf("%d are unread after more than %d", n, maxUnread)
	}
}

// TestWordsOfAnOlderDatabase: what was in the index stays there, once, and what waits in a queue can still be edited.
func TestWordsOfAnOlderDatabase(t *testing.T) {
	dir := t.TempDir()
	first := openTest(t, dir) // makes the key that the older one has as well
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fileDB)
	pool, err := openPool(path, true)
	if err != nil {
		t.Fatal(err)
	}
	files, err := migrationFiles()
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(dialect, pool, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	const older = 8
	if _, err := p.DownTo(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		fmt.Sprintf("%s = %d", sqlVersion, older),
		`INSERT INTO sessions (id, owner, title, workspace, mode, model, tainted, private, gen, created, updated) VALUES
			('s_1', 'local', '', '/w', 'ask', '', 0, 0, 0, 1, 1), ('s_2', 'local', 'boat', '/w', 'ask', '', 0, 0, 0, 1, 1)`,
		`INSERT INTO turns (id, session, owner, parent, depth, prompt, options, status, answer, reason, usage, progress, created, started, ended) VALUES
			('t_1', 's_1', 'local', '', 0, 'anchor', '{}', 'done', 'rudder', '', '{}', '{}', 1, 1, 1),
			('t_2', 's_2', 'local', '', 0, 'winch', '{}', 'queued', '', '', '{}', '{}', 1, 0, 0)`,
	} {
		if _, err := pool.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}

	d := openTest(t, dir)
	for words, want := range map[string]int{"anchor": 1, "rudder": 1, "winch": 1, "boat": 1, "keel": 0} {
		if n := d.found(t, words); n != want {
			t.Errorf("%q is found %d times, want %d", words, n, want)
		}
	}
	if _, err := d.EditQueued(t.Context(), jackline.Local, "t_2", "keel"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Append(t.Context(), jackline.Local, jackline.Record{Session: "s_1", Title: "mast"}); err != nil {
		t.Fatal(err)
	}
	if d.found(t, "winch") != 0 || d.found(t, "keel") != 1 || d.found(t, "mast") != 1 {
		t.Error("what was edited is not found as it is now")
	}
	sound(t, d)
	for _, s := range []jackline.SessionID{"s_1", "s_2"} {
		if err := d.DeleteSession(t.Context(), jackline.Local, s); err != nil {
			t.Fatal(err)
		}
	}
	sound(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
