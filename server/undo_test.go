package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/undo"
	"github.com/jackline-ai/jackline/workspace"
)

// keeper keeps the files of a session's workspace.
func (w *world) keeper(s jackline.Session) (*undo.Keeper, error) {
	root, err := workspace.Open(s.Workspace, workspace.Options{})
	if err != nil {
		return nil, err
	}
	w.T.Cleanup(func() { _ = root.Close() })
	return undo.New(root, w.DB, w.DB, nil), nil
}

// changes does what a turn of a session would do to files, as the gate records it.
func (w *world) changes(s jackline.Session, turn jackline.TurnID, do func(), names ...string) {
	w.T.Helper()
	k, err := w.keeper(s)
	if err != nil {
		w.T.Fatal(err)
	}
	i := jackline.Intent{Actor: jackline.Actor{Owner: jackline.Local, Session: s, Turn: jackline.Turn{ID: turn}}, Call: "c_1", Effect: jackline.Write}
	for _, n := range names {
		i.Touches = append(i.Touches, jackline.Touch{Effect: jackline.Write, Kind: "path", Name: n})
	}
	rows, err := k.Before(w.T.Context(), i)
	if err == nil {
		_, err = w.DB.Append(w.T.Context(), jackline.Local, jackline.Record{Session: s.ID, Snapshots: rows})
	}
	if err != nil {
		w.T.Fatal(err)
	}
	do()
	kept, err := k.After(w.T.Context(), i.Actor, i.Call)
	if err == nil {
		_, err = w.DB.Append(w.T.Context(), jackline.Local, jackline.Record{Session: s.ID, Snapshots: kept.Rows})
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

type undoAnswer struct {
	ID    string
	Turn  string
	Files []jackline.Undoing
}

func TestUndo(t *testing.T) {
	w := newWorld(t)
	s := w.Session()
	path := "/api/sessions/" + string(s.ID)
	file := filepath.Join(s.Workspace, "a.txt")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(file); err != nil || string(b) != want {
			t.Errorf("it holds %q, %v", b, err)
		}
	}
	if got := do[undoAnswer](w, 200, "GET", path+"/changes", nil); got.Files == nil || len(got.Files) != 0 {
		t.Errorf("%+v", got)
	}
	write("one\n")
	k := w.post(s.ID, map[string]any{"prompt": "say x"})
	turn := w.Ends(k.Turn.ID, jackline.Done).ID
	w.changes(s, turn, func() { write("two\n") }, "a.txt")

	for _, query := range []string{"", "?turn=" + string(turn)} {
		got := do[undoAnswer](w, 200, "GET", path+"/changes"+query, nil)
		if len(got.Files) != 1 || got.Turn != string(turn) || got.Files[0].State != jackline.UndoReady || got.Files[0].Patch != "@@ -1 +1 @@\n-one\n+two\n" {
			t.Errorf("%+v", got)
		}
	}
	if got := do[struct{ Session jackline.SessionID }](w, 200, "GET", "/api/changes/"+string(turn), nil); got.Session != s.ID {
		t.Errorf("%+v", got)
	}
	w.refused(404, "GET", "/api/changes/t_none", nil)
	w.refused(404, "GET", path+"/changes?turn=t_none", nil)
	w.refused(404, "POST", path+"/undo", map[string]any{"turn": "u_none"})
	w.refused(404, "POST", path+"/undo", map[string]any{"turn": string(turn), "paths": []string{"b.txt"}})
	w.refused(422, "POST", path+"/undo", map[string]any{})
	w.refused(422, "POST", path+"/undo", map[string]any{"turn": string(turn), "forced": true})

	// While a turn runs, its files are its own.
	busy := w.post(s.ID, map[string]any{"prompt": "hang"})
	if p := w.refused(409, "POST", path+"/undo", map[string]any{"turn": string(turn)}); !strings.Contains(p.Detail, "stop it") {
		t.Error(p.Detail)
	}
	do[undoAnswer](w, 200, "POST", path+"/undo", map[string]any{"turn": string(turn), "dry": true})
	is("two\n")
	do[any](w, 202, "POST", path+"/stop", nil)
	w.Ends(busy.Turn.ID, jackline.Stopped)

	got := do[undoAnswer](w, 200, "POST", path+"/undo", map[string]any{"turn": string(turn)})
	if len(got.Files) != 1 || got.Files[0].State != jackline.UndoDone || got.ID == "" {
		t.Errorf("%+v", got)
	}
	is("one\n")
	types := w.Types(s.ID)
	if types[len(types)-1] != "undo" {
		t.Errorf("%q", types)
	}
	// A conflict is left alone until it is said again.
	write("mine\n")
	got = do[undoAnswer](w, 200, "POST", path+"/undo", map[string]any{"turn": got.ID})
	if got.Files[0].State != jackline.UndoConflict || got.ID != "" {
		t.Errorf("%+v", got)
	}
	is("mine\n")
	got = do[undoAnswer](w, 200, "POST", path+"/undo", map[string]any{"turn": string(turn), "force": true, "paths": []string{"a.txt"}})
	if got.Files[0].State != jackline.UndoDone {
		t.Errorf("%+v", got)
	}
	is("one\n")
	// And the chat goes on afterwards.
	k = w.post(s.ID, map[string]any{"prompt": "say y"})
	w.Ends(k.Turn.ID, jackline.Done)
}
