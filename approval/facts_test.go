package approval_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
)

// TestFactsAreSealed: a yes holds while the world is what it was, in every part of every fact, and under the same sandbox.
func TestFactsAreSealed(t *testing.T) {
	base := func() jackline.Intent {
		i := command("sh x.sh")
		i.Facts = []jackline.Fact{{Name: "/w/x.sh", ID: "w:1.2.3", Digest: "abc"}, {Name: "the environment", Digest: "def"}}
		i.Sandbox = jackline.Sandbox{Level: jackline.SandboxLandlock, Hosts: []string{"a:443"}, Read: []string{"/r"}, Write: []string{"/x"}}
		return i
	}
	for name, change := range map[string]func(*jackline.Intent){
		"another file":     func(i *jackline.Intent) { i.Facts[0].Name = "/w/y.sh" },
		"another identity": func(i *jackline.Intent) { i.Facts[0].ID = "w:1.2.4" },
		"other content":    func(i *jackline.Intent) { i.Facts[0].Digest = "abd" },
		"another value":    func(i *jackline.Intent) { i.Facts[1].Digest = "" },
		"one less":         func(i *jackline.Intent) { i.Facts = i.Facts[:1] },
		"none":             func(i *jackline.Intent) { i.Facts = nil },
		"one more":         func(i *jackline.Intent) { i.Facts = append(i.Facts, jackline.Fact{Name: "/w/z"}) },
		"another order":    func(i *jackline.Intent) { slices.Reverse(i.Facts) },
		"parts moved over": func(i *jackline.Intent) { i.Facts[0].ID, i.Facts[0].Digest = "w:1.2.3a", "bc" },
		"level":            func(i *jackline.Intent) { i.Sandbox.Level = jackline.SandboxNone },
		"leaks":            func(i *jackline.Intent) { i.Sandbox.Leaks = "It does." },
		"hosts":            func(i *jackline.Intent) { i.Sandbox.Hosts = append(i.Sandbox.Hosts, "b:443") },
		"read for write":   func(i *jackline.Intent) { i.Sandbox.Read, i.Sandbox.Write = i.Sandbox.Write, i.Sandbox.Read },
		"repository":       func(i *jackline.Intent) { i.Sandbox.Repository = true },
	} {
		b := newBench(t)
		i := base()
		a := b.yes(b.ask(i), jackline.Once)
		same := base()
		same.Call = i.Call
		if !b.desk.Holds(b.read(a), same) {
			t.Fatalf("%s: it does not hold where nothing changed", name)
		}
		change(&same)
		if b.desk.Holds(b.read(a), same) {
			t.Errorf("%s: the yes holds", name)
		}
		forged := b.read(a)
		forged.Facts, forged.Sandbox = same.Facts, same.Sandbox
		if b.desk.Holds(forged, same) {
			t.Errorf("%s: a forged row holds", name)
		}
	}
}

// TestNarrow: what reaches beyond the workspace or its sandbox is allowed for the task at most.
func TestNarrow(t *testing.T) {
	sandboxed := func(change func(*jackline.Intent)) jackline.Intent {
		i := command("npm test")
		i.Sandbox.Level = jackline.SandboxNamespaces
		change(&i)
		return i
	}
	path := func(name string, e jackline.Effect) func(*jackline.Intent) {
		return func(i *jackline.Intent) {
			i.Touches = append(i.Touches, jackline.Touch{Effect: e, Kind: "path", Name: name})
		}
	}
	for name, c := range map[string]struct {
		i    jackline.Intent
		chat bool
	}{
		"inside": {sandboxed(path("src/a", jackline.Write)), true},
		"a program": {sandboxed(func(i *jackline.Intent) {
			i.Touches = append(i.Touches, jackline.Touch{Effect: jackline.Exec, Kind: "program", Name: "npm"})
		}), true},
		"outside": {sandboxed(path("/etc/x", jackline.Read)), false},
		"above":   {sandboxed(path("../x", jackline.Read)), false},
		"deletes": {sandboxed(path("src/a", jackline.Delete)), false},
		"a host": {sandboxed(func(i *jackline.Intent) {
			i.Touches = append(i.Touches, jackline.Touch{Effect: jackline.Network, Kind: "host", Name: "h"})
		}), false},
		"granted hosts":  {sandboxed(func(i *jackline.Intent) { i.Sandbox.Hosts = []string{"h:443"} }), false},
		"leaks":          {sandboxed(func(i *jackline.Intent) { i.Sandbox.Leaks = "It does." }), false},
		"reads outside":  {sandboxed(func(i *jackline.Intent) { i.Sandbox.Read = []string{"/x"} }), false},
		"a tainted chat": {sandboxed(func(i *jackline.Intent) { i.Labels.Tainted = true }), false},
	} {
		b := newBench(t)
		a := b.ask(c.i)
		if got := slices.Contains(a.Scopes, jackline.Chat); got != c.chat || !slices.Contains(a.Scopes, jackline.Task) {
			t.Errorf("%s: offered %v", name, a.Scopes)
		}
		b.yes(a, jackline.Task)
		again := c.i
		again.Call = "c_again"
		if !b.granted(again) {
			t.Errorf("%s: the same command in the same task is not granted", name)
		}
		again.Sandbox.Level = jackline.SandboxLandlock
		if b.granted(again) {
			t.Errorf("%s: granted under another sandbox", name)
		}
		again = c.i
		again.Touches = append(slices.Clone(c.i.Touches), jackline.Touch{Effect: jackline.Read, Kind: "path", Name: "other"})
		if b.granted(again) {
			t.Errorf("%s: granted though it touches more", name)
		}
	}
}

// TestTaintedGrants: what was granted to the chat before it read somebody else's text does not count after; the task's does.
func TestTaintedGrants(t *testing.T) {
	for _, s := range []jackline.Scope{jackline.Task, jackline.Chat} {
		b := newBench(t)
		i := write("src/a")
		b.yes(b.ask(i), s)
		if !b.granted(i) {
			t.Fatalf("%s: not granted", s)
		}
		i.Labels.Tainted = true
		if got := b.granted(i); got != (s == jackline.Task) {
			t.Errorf("%s: granted in a tainted chat: %v", s, got)
		}
	}
}

// TestLasting: a yes for the workspace leaves rules, and holds for the rest of the task by itself.
func TestLasting(t *testing.T) {
	m := newMemory()
	fits := func(string, jackline.Intent) error { return nil }
	b := bench{t, m, approval.New(m, key, approval.Options{Pattern: fits})}
	one, other := b.ask(write("src/a")), b.ask(write("src/b"))
	if !slices.Contains(one.Scopes, jackline.Lasting) {
		t.Fatalf("offered %v", one.Scopes)
	}
	a := b.yes(one, jackline.Lasting)
	rules := approval.Rules(a)
	if len(rules) != 1 || rules[0].Pattern != "file_write(src/*)" || rules[0].Workspace != "/w" || rules[0].Do != jackline.Allow {
		t.Errorf("the rules: %+v", rules)
	}
	if b.read(other).State != jackline.Approved || len(b.grants) != 1 || b.grants[0].Scope != jackline.Task {
		t.Errorf("the other row is %s, the grants %+v", b.read(other).State, b.grants)
	}
	for name, a := range map[string]jackline.Approval{"pending": b.ask(write("x")), "once": b.yes(b.ask(write("y")), jackline.Once)} {
		if rules := approval.Rules(a); rules != nil {
			t.Errorf("%s: %v", name, rules)
		}
	}
	for _, name := range []string{"a*/b", "[x]/b", "{x}/b", "a?/b"} {
		if a := b.ask(write(name)); slices.Contains(a.Scopes, jackline.Lasting) {
			t.Errorf("%s may last, as %s", name, a.Pattern)
		}
	}
}

// TestExtend: a row waits as long again as a new one, not for ever, and only while it is open.
func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		a := b.ask(write("a"))
		<-time.After(20 * time.Hour)
		longer, err := b.desk.Extend(t.Context(), a.Owner, a.ID, "page")
		if err != nil || !longer.Expires.Equal(time.Now().UTC().Add(24*time.Hour)) {
			t.Fatalf("until %s: %v", longer.Expires, err)
		}
		if e := b.events[len(b.events)-1]; e.Type != "tool.approval_extended" {
			t.Errorf("its event: %+v", e)
		}
		<-time.After(10 * time.Hour) // the first wait is over
		if gone, err := b.desk.Expire(t.Context(), time.Now()); err != nil || len(gone) > 0 {
			t.Errorf("expired %v %v", gone, err)
		}
		for range 40 {
			if a, err = b.desk.Extend(t.Context(), a.Owner, a.ID, "page"); err != nil || a.Expires.Sub(a.Created) == 30*24*time.Hour {
				break
			}
			<-time.After(20 * time.Hour)
		}
		if _, err = b.desk.Extend(t.Context(), a.Owner, a.ID, "page"); jackline.KindOf(err) != jackline.Conflict || a.Expires.Sub(a.Created) != 30*24*time.Hour {
			t.Errorf("it waits %s: %v", a.Expires.Sub(a.Created), err)
		}
		if a := b.yes(a, jackline.Once); !b.desk.Holds(b.read(a), intentOfRow(a)) {
			t.Error("an extended yes does not hold")
		}
		if _, err := b.desk.Extend(t.Context(), a.Owner, a.ID, "page"); jackline.KindOf(err) != jackline.Conflict {
			t.Errorf("what was answered: %v", err)
		}
		if _, err := b.desk.Extend(t.Context(), "eve", a.ID, "page"); jackline.KindOf(err) != jackline.NotFound {
			t.Errorf("somebody else: %v", err)
		}
	})
}

// intentOfRow is the call that a row was asked about.
func intentOfRow(a jackline.Approval) jackline.Intent {
	i := write("a")
	i.Call = a.Call
	return i
}
