package store

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/redact"
)

// What is secret in a turn, a state, a title or an event lies nowhere on the disk but sealed, and the turn and the state read back exactly.
func TestHidden(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db, err := Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	const secret = "correct-horse-17-battery"
	r := &redact.Redactor{}
	r.Know("test", secret)
	db.Hide(r)
	s, err := db.CreateSession(ctx, jackline.Local, jackline.Session{Title: "about " + secret})
	if err != nil {
		t.Fatal(err)
	}
	turn := jackline.Turn{ID: "t_1", Session: s.ID, Status: jackline.Queued, Prompt: "use " + secret, Reason: "for " + secret}
	state := json.RawMessage(`["then ` + secret + `"]`)
	for range 2 { // new, and replaced
		_, err = db.Append(ctx, jackline.Local, jackline.Record{
			Session: s.ID, Turn: &turn, Title: "again " + secret, State: map[string]json.RawMessage{"steer": state, "plain": json.RawMessage(`["x"]`)},
			Events: []jackline.Event{jackline.NewEvent(s.ID, turn.ID, jackline.Text{Text: "it is " + secret})}, Sync: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := db.Turn(ctx, jackline.Local, turn.ID); err != nil || got.Prompt != turn.Prompt || got.Answer != turn.Answer || got.Reason != turn.Reason {
			t.Errorf("the turn reads %q, %q, %q, %v", got.Prompt, got.Answer, got.Reason, err)
		}
		turn.Answer = "done with " + secret
	}
	if got, err := db.State(ctx, jackline.Local, s.ID, "steer"); err != nil || string(got) != string(state) {
		t.Errorf("the state reads %s, %v", got, err)
	}
	if got, err := db.State(ctx, jackline.Local, s.ID, "plain"); err != nil || string(got) != `["x"]` {
		t.Errorf("another state reads %s, %v", got, err)
	}
	if got, err := db.EditQueued(ctx, jackline.Local, turn.ID, "rather "+secret); err != nil || got.Prompt != "rather "+secret {
		t.Errorf("the changed turn reads %q, %v", got.Prompt, err)
	}
	watch := db.Watch(jackline.Local, s.ID)
	defer watch.Close()
	db.Live(jackline.Local, jackline.NewEvent(s.ID, turn.ID, jackline.TextDelta{Text: secret}))
	if live := watch.Live(); len(live) != 1 || strings.Contains(string(live[0].Data), secret) {
		t.Errorf("live text is %v", live)
	}
	if found, err := db.Sessions(ctx, jackline.Local, SessionQuery{Search: secret}); err != nil || len(found) != 0 {
		t.Errorf("a search for the secret finds %v, %v", found, err)
	}
	if found, err := db.Sessions(ctx, jackline.Local, SessionQuery{Search: "rather"}); err != nil || len(found) != 1 {
		t.Errorf("a search for the words finds %v, %v", found, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "jackline.db*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err != nil || bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s holds the secret, or cannot be read: %v", f, err)
		}
	}
}
