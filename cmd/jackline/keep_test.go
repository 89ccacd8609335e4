package main

import (
	"encoding/json"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// A command that is proved to read only is not waited for: the workspace is not copied for it. One that may write is.
func TestReadingKeepsNoCopy(t *testing.T) {
	h := newHome(t, "http://127.0.0.1:1", "text")
	h.write("a.txt", "a\n")
	s := &sealing{t: t, home: h}
	s.open()
	held := s.app.cells.Report().Level > jackline.SandboxNone
	for _, c := range []struct {
		command string
		copies  bool
	}{
		{"pwd", false},
		{"cat a.txt", !held}, // without a sandbox only what touches no file is proved
		{"cat a.txt > b.txt", true},
	} {
		session, err := s.app.db.CreateSession(t.Context(), jackline.Local, jackline.Session{
			ID: jackline.NewID[jackline.SessionID]("s_"), Workspace: h.ws, Mode: jackline.ModeAllowAll, Ungated: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.who = jackline.Actor{Owner: jackline.Local, Session: session, Source: jackline.FromModel, Admin: true}
		s.who.Turn = s.turn(session.ID)
		raw, err := json.Marshal(map[string]string{"command": c.command})
		if err != nil {
			t.Fatal(err)
		}
		call := jackline.Call{
			ID: jackline.NewID[jackline.CallID]("c_"), Session: session.ID, Turn: s.who.Turn.ID, Step: 1, Asked: "shell", Name: "shell", Args: raw,
			State: jackline.CallNew,
		}
		s.keep(jackline.Record{Session: session.ID, Calls: []jackline.Call{call}})
		gate, err := s.app.gate(session)
		if err != nil {
			t.Fatal(err)
		}
		d, err := gate.Do(t.Context(), tool.Request{Who: s.who, Call: call})
		if d.Wait != "" { // as root without a sandbox everything else asks
			t.Logf("%s asks here", c.command)
			continue
		}
		if err != nil || d.Call.Outcome != jackline.OK {
			t.Fatalf("%s: %v %s %q", c.command, err, d.Call.Outcome, d.Call.Text)
		}
		_, err = s.app.db.Base(t.Context(), jackline.Local, session.ID, "", 0, -1)
		if copied := err == nil; copied != c.copies {
			t.Errorf("%s: copied %v (%v)", c.command, copied, err)
		}
	}
}
