// Package tooltest runs tools in tests the way the program runs them: through a real gate, with a log in memory, a judge
// that is told what to say and a person who answers as scripted.
package tooltest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// A Bench is a set of tools with everything around them that a call needs.
type Bench struct {
	Tools   *tool.Set
	Log     *Log
	Desk    *Desk
	Judge   *Judge
	Session jackline.Session
	Turn    jackline.Turn
	Admin   bool
	Limit   int // characters of a result; 0 is no limit
	Zone    *time.Location

	gate  *tool.Gate
	prior []jackline.Call
}

// New makes a bench whose judge allows everything that is not refused by its touches, in a session and a turn that
// wait for a person.
func New(t testing.TB, tools ...tool.Tool) *Bench {
	t.Helper()
	return NewOn(t, NewLog(), tools...)
}

// NewOn is New over a log that the tools may know too.
func NewOn(t testing.TB, log *Log, tools ...tool.Tool) *Bench {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{
		Tools: set, Log: log, Judge: &Judge{Verdict: jackline.Allow},
		Session: jackline.Session{ID: jackline.NewID[jackline.SessionID]("s_"), Owner: jackline.Local},
	}
	b.Desk = &Desk{Log: b.Log}
	b.Turn = jackline.Turn{
		ID: jackline.NewID[jackline.TurnID]("t_"), Session: b.Session.ID, Owner: b.Session.Owner,
		Options: jackline.TurnOptions{OnAsk: jackline.AskWait},
	}
	b.gate = &tool.Gate{Tools: set, Judge: b.Judge, Desk: b.Desk, Log: b.Log}
	return b
}

// A Result is how one call ended.
type Result struct {
	jackline.Call
	View     jackline.View // what a person sees of the result
	Card     *Asked        // the card, if one was opened
	Progress []string
	Found    []string
	Labels   jackline.Labels
}

// Run makes one call and takes it to its end. If it asks, [Desk.Answer] is what the person says. Arguments are a JSON text
// or anything that has a JSON form.
func (b *Bench) Run(t testing.TB, name string, arguments any) Result {
	t.Helper()
	return b.RunContext(t, t.Context(), name, arguments)
}

// RunContext is Run under a context of the test's own.
func (b *Bench) RunContext(t testing.TB, ctx context.Context, name string, arguments any) Result {
	t.Helper()
	raw, ok := arguments.(string)
	if !ok {
		j, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(j)
	}
	who := jackline.Actor{Owner: b.Session.Owner, Admin: b.Admin, Session: b.Session, Turn: b.Turn, Source: jackline.FromModel}
	c := jackline.Call{
		ID: jackline.NewID[jackline.CallID]("c_"), Session: b.Session.ID, Turn: b.Turn.ID, Index: len(b.prior),
		Asked: name, Name: name, Args: json.RawMessage(raw), State: jackline.CallNew,
	}
	var r Result
	for range 3 { // asked, answered, run
		d, err := b.gate.Do(ctx, tool.Request{Who: who, Call: c, Prior: b.prior, Limit: b.Limit, Zone: b.Zone})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c = d.Call
		if d.Wait == "" {
			r.Call, r.Found, r.Labels = d.Call, d.Found, d.Labels
			break
		}
		r.Card = b.Desk.answer(d.Wait)
	}
	if r.State != jackline.CallEnded {
		t.Fatalf("%s: the call did not end: %+v", name, c)
	}
	b.prior = append(b.prior, r.Call)
	r.View, r.Progress = b.Log.shown(r.ID)
	return r
}

// Folder makes a temporary folder with files in it. A name that ends in / is an empty folder.
func Folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(p, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
