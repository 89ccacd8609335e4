package approval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
)

// TestGrants: what each yes frees afterwards, and what it does not.
func TestGrants(t *testing.T) {
	with := func(i jackline.Intent, change func(*jackline.Intent)) jackline.Intent {
		i.Touches = slices.Clone(i.Touches)
		change(&i)
		return i
	}
	copyTo := func(from, to string) jackline.Intent {
		i := intent("file_copy", jackline.Read|jackline.Write, "path", from, to)
		i.Touches[0].Effect, i.Touches[1].Effect = jackline.Read, jackline.Write
		return i
	}
	turn2 := func(i *jackline.Intent) { i.Actor.Turn.ID = "t_2" }
	mode := func(m jackline.Mode) func(*jackline.Intent) {
		return func(i *jackline.Intent) { i.Actor.Session.Mode = m }
	}
	overlay := func(o jackline.TurnOptions) func(*jackline.Intent) {
		return func(i *jackline.Intent) { i.Actor.Turn.Options = o }
	}
	mcp := intent("mcp__x__y", 0, "")
	mcpRead := intent("mcp__x__read", jackline.Network, "host", "h")
	send := intent("email_send", jackline.Outward, "host", "h")
	read := intent("file_read", jackline.Read, "path", "src/a")
	noTurn := with(write("src/a"), func(i *jackline.Intent) { i.Actor.Turn.ID = "" })

	for name, c := range map[string]struct {
		given jackline.Intent
		scope jackline.Scope
		then  jackline.Intent
		want  bool
	}{
		"once frees nothing":                 {write("src/a"), jackline.Once, write("src/a"), false},
		"task: same folder":                  {write("src/a"), jackline.Task, write("src/b"), true},
		"task: same folder, other tool":      {write("src/a"), jackline.Task, intent("file_edit", jackline.Write|jackline.Read, "path", "src/c"), true},
		"task: folder written otherwise":     {write("./src/x/../a"), jackline.Task, write("src/b"), true},
		"task: folder below":                 {write("src/a"), jackline.Task, write("src/sub/b"), false},
		"task: folder above":                 {write("src/a"), jackline.Task, write("b"), false},
		"task: the workspace itself":         {write("a"), jackline.Task, write("b"), true},
		"task: not what is below it":         {write("a"), jackline.Task, write("src/b"), false},
		"task: dots do not lead out":         {write("src/a"), jackline.Task, write("src/../b"), false},
		"task: one of two files":             {write("src/a"), jackline.Task, write("src/a", "docs/b"), false},
		"task: two folders, both":            {write("src/a", "docs/b"), jackline.Task, write("docs/x", "src/y"), true},
		"task: two folders, one":             {write("src/a", "docs/b"), jackline.Task, write("docs/x"), true},
		"task: a write is no delete":         {write("src/a"), jackline.Task, remove("src/a"), false},
		"task: a write is no read elsewhere": {write("src/a"), jackline.Task, copyTo("docs/x", "src/a"), false},
		"task: copy within the folder":       {write("src/a"), jackline.Task, copyTo("src/x", "src/y"), true},
		"task: copy across is exact":         {copyTo("docs/x", "src/y"), jackline.Task, copyTo("docs/x", "src/y"), true},
		"task: and no more than that":        {copyTo("docs/x", "src/y"), jackline.Task, write("src/z"), false},
		"task: next turn":                    {write("src/a"), jackline.Task, with(write("src/a"), turn2), false},
		"task: without a turn":               {write("src/a"), jackline.Task, noTurn, false},
		"chat: next turn":                    {write("src/a"), jackline.Chat, with(write("src/b"), turn2), true},
		"chat: other session":                {write("src/a"), jackline.Chat, with(write("src/a"), func(i *jackline.Intent) { i.Actor.Session.ID = "s_2" }), false},
		"chat: no session":                   {write("src/a"), jackline.Chat, with(write("src/a"), func(i *jackline.Intent) { i.Actor.Session.ID = "" }), false},
		"chat: other owner":                  {write("src/a"), jackline.Chat, with(write("src/a"), func(i *jackline.Intent) { i.Actor.Owner = "eve" }), false},
		"chat: without a turn":               {write("src/a"), jackline.Chat, noTurn, true},
		"chat: refused touch":                {write("src/a"), jackline.Chat, with(write("src/a"), func(i *jackline.Intent) { i.Touches[0].Refused = "No." }), false},

		"command: the same":         {command("npm test"), jackline.Chat, command("npm test"), true},
		"command: another":          {command("npm test"), jackline.Chat, command("npm test "), false},
		"command: more":             {command("npm test"), jackline.Chat, command("npm test", "rm x"), false},
		"command: another tool":     {command("npm test"), jackline.Chat, intent("python", jackline.Exec, "command", "npm test"), false},
		"command: other arguments":  {command("npm test"), jackline.Chat, with(command("npm test"), func(i *jackline.Intent) { i.Args = json.RawMessage(`{"t":9}`) }), true},
		"command: and a file":       {command("npm test"), jackline.Chat, with(command("npm test"), func(i *jackline.Intent) { i.Touches = append(i.Touches, write("a").Touches[0]) }), false},
		"command: and more effects": {command("npm test"), jackline.Chat, with(command("npm test"), func(i *jackline.Intent) { i.Effect |= jackline.Network }), false},

		"host: the same":        {fetch("example.org:443"), jackline.Chat, fetch("example.org:443"), true},
		"host: another port":    {fetch("example.org:443"), jackline.Chat, fetch("example.org:8443"), false},
		"host: another":         {fetch("example.org:443"), jackline.Chat, fetch("a.example.org:443"), false},
		"host: sending to it":   {fetch("h"), jackline.Chat, send, false},
		"host: another tool":    {fetch("h"), jackline.Chat, intent("weather", jackline.Network, "host", "h"), false},
		"exact: the same":       {read, jackline.Chat, read, true},
		"exact: another":        {read, jackline.Chat, intent("file_read", jackline.Read, "path", "src/b"), false},
		"exact: another tool":   {read, jackline.Chat, with(read, func(i *jackline.Intent) { i.Tool = "grep" }), false},
		"delete: exact":         {remove("a"), jackline.Task, remove("a"), true},
		"delete: another":       {remove("a"), jackline.Task, remove("b"), false},
		"delete: next turn":     {remove("a"), jackline.Task, with(remove("a"), turn2), false},
		"send: exact":           {send, jackline.Task, send, true},
		"connected: exact":      {mcp, jackline.Task, mcp, true},
		"connected: other args": {mcp, jackline.Task, with(mcp, func(i *jackline.Intent) { i.Args = json.RawMessage(`{"x":1}`) }), false},
		"connected, reading":    {mcpRead, jackline.Task, with(mcpRead, func(i *jackline.Intent) { i.Args = json.RawMessage(`{"x":1}`) }), false},

		"mode: looser":       {write("a"), jackline.Chat, with(write("a"), mode(jackline.ModeAllowEdits)), true},
		"mode: stricter":     {write("a"), jackline.Chat, with(write("a"), mode(jackline.ModeAsk)), false},
		"mode: plan":         {write("a"), jackline.Chat, with(write("a"), mode(jackline.ModePlan)), false},
		"mode: none":         {write("a"), jackline.Chat, with(write("a"), mode(99)), false},
		"overlay: plan":      {write("a"), jackline.Chat, with(write("a"), overlay(jackline.TurnOptions{Plan: true})), false},
		"overlay: guide":     {write("a"), jackline.Chat, with(write("a"), overlay(jackline.TurnOptions{Guide: true})), false},
		"overlay: ask-first": {write("a"), jackline.Chat, with(write("a"), overlay(jackline.TurnOptions{AskFirst: true})), false},
		"asked in mode ask":  {with(write("a"), mode(jackline.ModeAsk)), jackline.Chat, with(write("a"), mode(jackline.ModeAsk)), true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if b.granted(c.then) {
				t.Fatal("granted before anybody said yes")
			}
			b.yes(b.ask(c.given), c.scope)
			if got := b.granted(c.then); got != c.want {
				t.Errorf("granted: %v, want %v; grants %+v", got, c.want, b.grants)
			}
		})
	}
}

// TestForgedGrants: a grant of a kind or scope that no card offers counts for nothing.
func TestForgedGrants(t *testing.T) {
	b := newBench(t)
	i := remove("a")
	g := jackline.Grant{ID: "g_1", Owner: jackline.Local, Session: "s_1", Turn: "t_1", Scope: jackline.Chat, Tool: i.Tool,
		Kind: jackline.GrantExact, Value: string(i.Args), Mode: jackline.ModeAllowReads}
	b.grants = []jackline.Grant{g}
	if b.granted(i) {
		t.Error("deleting is granted to the chat")
	}
	b.grants[0].Scope = jackline.Once
	if b.granted(i) {
		t.Error("a grant of once is a grant")
	}
	b.grants[0].Scope = jackline.Task
	if !b.granted(i) {
		t.Error("the task's grant does not count")
	}
	for what, change := range map[string]func(*jackline.Grant){
		"another owner's": func(g *jackline.Grant) { g.Owner = "eve" },
		"another chat's":  func(g *jackline.Grant) { g.Session = "s_2" },
	} {
		theirs := b.grants[0]
		change(&theirs)
		m := &careless{memory: newMemory(), grants: []jackline.Grant{theirs}}
		if ok, err := approval.New(m, key, approval.Options{}).Granted(t.Context(), i); ok || err != nil {
			t.Errorf("%s grant counts: %v", what, err)
		}
	}
	b.grants[0].Revoked = time.Now()
	if b.granted(i) {
		t.Error("a revoked grant counts")
	}
	b.grants = []jackline.Grant{{Owner: jackline.Local, Session: "s_1", Scope: jackline.Chat, Kind: jackline.GrantFolder, Value: "."}}
	if b.granted(i) {
		t.Error("a folder's grant deletes")
	}
}

// careless is a ledger that gives all grants to everybody.
type careless struct {
	*memory
	grants []jackline.Grant
}

func (c *careless) Grants(context.Context, jackline.Owner, jackline.SessionID) ([]jackline.Grant, error) {
	return c.grants, nil
}

// TestCard: what the row offers and says.
func TestCard(t *testing.T) {
	now := time.Now()
	m := newMemory()
	b := bench{t, m, approval.New(m, key, approval.Options{Now: func() time.Time { return now },
		Risk: func(jackline.Intent) (string, string) { return "medium", "Medium risk: because." }})}
	all := []jackline.Scope{jackline.Once, jackline.Task, jackline.Chat}
	askFirst := write("a")
	askFirst.Actor.Turn.Options.AskFirst = true
	own := write("a")
	own.Actor.Turn = jackline.Turn{}
	overwrite := write("a")
	overwrite.Touches[0].Exists = true
	for name, c := range map[string]struct {
		i       jackline.Intent
		scopes  []jackline.Scope
		covers  string
		pattern string
		undo    string
	}{
		"write":     {write("src/a"), all, "changes to files directly in src, not in folders below", "file_write(src/*)", "Can be undone: jackline sessions undo, or the page."},
		"top":       {write("a"), all, "changes to files directly in the workspace folder itself, not in folders below", "file_write(*)", "Can be undone: jackline sessions undo, or the page."},
		"overwrite": {overwrite, all, "changes to files directly in the workspace folder itself, not in folders below", "file_write(*)", "Can be undone: jackline sessions undo, or the page."},
		"command":   {command("npm test"), all, "this exact command only", "shell(npm test)", "What it changes in files of this folder can be undone; what else it does cannot."},
		"host":      {fetch("h:443"), all, "reading from h:443", "web_fetch(host:h:443)", "Nothing is changed."},
		"delete":    {remove("a"), all[:2], "this call with exactly these arguments", "", "Can be undone: jackline sessions undo, or the page."},
		"unknown":   {intent("mcp__x__y", 0, ""), all[:2], "this call with exactly these arguments", "", "What it does is not known, so neither is whether it can be undone."},
		"send":      {intent("email_send", jackline.Outward, "host", "h"), all[:2], "this call with exactly these arguments", "", "What is sent cannot be taken back."},
		"ask-first": {askFirst, all[:1], "", "", "Can be undone: jackline sessions undo, or the page."},
		"own call":  {own, []jackline.Scope{jackline.Once, jackline.Chat}, "changes to files directly in the workspace folder itself, not in folders below", "file_write(*)", "Can be undone: jackline sessions undo, or the page."},
	} {
		a := b.ask(c.i)
		if !slices.Equal(a.Scopes, c.scopes) || a.Covers != c.covers || a.Pattern != c.pattern || a.Undo != c.undo {
			t.Errorf("%s: %v %q %q %q", name, a.Scopes, a.Covers, a.Pattern, a.Undo)
		}
		if a.Risk != "medium" || a.Why != "It needs a yes. Medium risk: because." || a.Rule != "mode.allow-reads" || a.Folder != "/w" ||
			a.View.Text != "x" || a.State != jackline.Pending || !a.Created.Equal(now) || !a.Expires.Equal(now.Add(24*time.Hour)) {
			t.Errorf("%s: %+v", name, a)
		}
		for _, s := range all {
			if slices.Contains(c.scopes, s) {
				continue
			}
			_, err := b.desk.Answer(t.Context(), a.Owner, a.ID, jackline.Answer{Yes: true, Scope: s}, nil)
			if jackline.KindOf(err) != jackline.Conflict {
				t.Errorf("%s: the scope %s: %v", name, s, err)
			}
		}
	}
	refused := write("a")
	refused.Touches[0].Refused = "It is a secret."
	for name, d := range map[string]jackline.Decision{"refused": {Verdict: jackline.Ask}, "denied": {Reason: "No."}} {
		i := write("a")
		if name == "refused" {
			i = refused
		}
		if _, err := b.desk.New(t.Context(), i, d, jackline.Card{}); jackline.KindOf(err) != jackline.Forbidden {
			t.Errorf("a card for what is %s: %v", name, err)
		}
	}
}

// TestFlood: people are not asked more than they can read.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		ask := jackline.Decision{Verdict: jackline.Ask}
		open := func() error {
			_, err := b.desk.New(t.Context(), write("a"), ask, jackline.Card{})
			return err
		}
		var rows []jackline.Approval
		for k := range 20 {
			rows = append(rows, b.ask(write(fmt.Sprint("open", k))))
		}
		if err := open(); jackline.KindOf(err) != jackline.Conflict {
			t.Errorf("the 21st open row: %v", err)
		}
		other := write("a")
		other.Actor.Session.ID = "s_2"
		if _, err := b.desk.New(t.Context(), other, ask, jackline.Card{}); err != nil {
			t.Errorf("another session: %v", err)
		}
		for k := range 40 {
			b.yes(rows[len(rows)-1], jackline.Once)
			rows = append(rows[:len(rows)-1], b.ask(write(fmt.Sprint("more", k))))
		}
		b.yes(rows[0], jackline.Once)
		if err := open(); jackline.KindOf(err) != jackline.Conflict {
			t.Errorf("the 61st row within ten minutes: %v", err)
		}
		<-time.After(10 * time.Minute)
		if err := open(); err != nil {
			t.Errorf("ten minutes later: %v", err)
		}
	})
}
