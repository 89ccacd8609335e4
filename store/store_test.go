package store

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jackline-ai/jackline"
)

// TestMain also plays the other processes that some tests need: see child_test.go.
func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		if err := child(context.Background(), mode, os.Getenv(childDir)); err != nil {
			fmt.Println("error: " + jackline.KindOf(err).String() + ": " + jackline.Say(err))
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

const me jackline.Owner = "me"

func openTest(t testing.TB, dir string) *DB {
	t.Helper()
	d, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

func newSession(t testing.TB, d *DB, owner jackline.Owner) jackline.Session {
	t.Helper()
	s, err := d.CreateSession(t.Context(), owner, jackline.Session{Workspace: "/tmp/w", Mode: jackline.ModeAllowReads})
	if err != nil {
		t.Fatalf("create session: %v", err)
	}
	return s
}

// stepRecord is what one step of a turn typically writes.
func stepRecord(s jackline.SessionID, turn *jackline.Turn, call jackline.CallID, n int) jackline.Record {
	ev := func(b jackline.Body) jackline.Event { return jackline.NewEvent(s, turn.ID, b) }
	text := make([]byte, 400)
	for i := range text {
		text[i] = 'a' + byte((i+n)%26)
	}
	turn.Progress.Step = n
	return jackline.Record{
		Session: s,
		Events: []jackline.Event{
			ev(jackline.Text{Text: string(text)}),
			ev(jackline.ToolResult{Call: call, Name: "file_read", Outcome: jackline.OK, Text: string(text)}),
			ev(jackline.Step{N: n, Kind: "tool", Text: "Read a file"}),
			ev(jackline.Budget{Window: 8192, Used: 3000, Usable: 6000}),
		},
		Turn: turn,
		Calls: []jackline.Call{{ID: call, Session: s, Turn: turn.ID, Step: n, Asked: "file_read", Name: "file_read",
			Args: json.RawMessage(`{"path":"src/main.go"}`), State: jackline.CallEnded, Outcome: jackline.OK, Text: string(text),
			Source: jackline.Workspace, Origin: "file src/main.go", MS: 3, Started: time.Now()}},
		Items: []jackline.Item{
			{Turn: turn.ID, Role: jackline.ItemAssistant, Text: string(text), Calls: []jackline.CallID{call}},
			{Turn: turn.ID, Role: jackline.ItemResult, Call: call},
		},
	}
}
