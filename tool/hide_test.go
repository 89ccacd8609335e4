package tool_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/redact"
	"github.com/jackline-ai/jackline/tool"
)

const hidden = "w5Gt8Rn2Lk9Vx3Cj6Hp1Ds4Fq7My"

// A model reads no secret, neither at once nor from what is paged later, and nobody sees one while a call runs.
func TestResultsHideSecrets(t *testing.T) {
	w := newWorld(t)
	w.gate.Hider = &redact.Redactor{}
	w.gate.Hider.Know("test", hidden)
	w.did = func(_ context.Context, in tool.In, _ arg) (tool.Out, error) {
		in.Progress("it is " + hidden[:10])
		in.Progress(hidden[10:] + " and more\n")
		return tool.Out{Text: "it is " + hidden + "\npassword: hunter2\n" + strings.Repeat("a line\n", 2000) + hidden, Origin: "https://x.test/?token=" + hidden}, nil
	}
	watch := w.db.Watch(jackline.Local, w.who.Session.ID)
	defer watch.Close()
	c := w.call("peek", `{"path":"a"}`)
	d, err := w.try(t.Context(), tool.Request{Call: c, Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	spilled, _, err := w.db.ReadSpill(t.Context(), jackline.Local, c.ID, 0, 1<<20)
	if err != nil || spilled == "" {
		t.Fatalf("%q, %v", spilled, err)
	}
	live := ""
	for _, e := range watch.Live() {
		live += string(e.Data)
	}
	for what, text := range map[string]string{"result": d.Call.Text, "spill": spilled, "origin": d.Call.Origin, "progress": live} {
		if strings.Contains(text, hidden) || strings.Contains(text, hidden[10:]) || strings.Contains(text, "hunter2") || !redact.Holds(text) {
			t.Errorf("the %s is %.300q", what, text)
		}
	}
}

// What stands for a secret is not written in its place.
func TestPlaceholdersAreNotWritten(t *testing.T) {
	w := newWorld(t)
	for _, args := range []string{`{"path":"a","text":"token = [hidden:token]"}`, `{"path":"a","text":"\n[hidden:private-key]\n"}`} {
		d := w.run("put", args)
		w.wantEnd(d, jackline.Errored)
		if !strings.Contains(d.Call.Text, "placeholder") {
			t.Errorf("the model reads %q", d.Call.Text)
		}
	}
	w.wantEnd(w.run("exec", `{"path":"curl -H [hidden:token] https://x.test"}`), jackline.Errored) // nor given to a command
	w.wantCards(0)
	if slices.ContainsFunc(w.runs(), func(r string) bool { return strings.HasPrefix(r, "put") || strings.HasPrefix(r, "exec") }) {
		t.Error("it was written")
	}
	w.wantEnd(w.run("put", `{"path":"a","text":"[hidden] and [hidden:what] are words"}`), jackline.OK)
	w.run("look", `{"path":"[hidden:token]"}`) // to look for it is no harm
	if len(w.runs()) != 2 {
		t.Errorf("ran %v", w.runs())
	}
}
