package approval_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
)

// TestHolds: a yes holds for exactly the sealed call, and for nothing that differs in one fact.
func TestHolds(t *testing.T) {
	b := newBench(t)
	i := write("src/a.go")
	a := b.yes(b.ask(i), jackline.Once)
	row, ok, err := b.desk.Row(t.Context(), jackline.Local, i.Call)
	if err != nil || !ok || row.ID != a.ID {
		t.Fatalf("the row is not found: %v %v", ok, err)
	}
	if !b.desk.Holds(row, i) {
		t.Fatal("a yes to this very call does not hold")
	}
	for name, change := range map[string]func(*jackline.Intent){
		"owner":     func(i *jackline.Intent) { i.Actor.Owner = "eve" },
		"session":   func(i *jackline.Intent) { i.Actor.Session.ID = "s_2" },
		"turn":      func(i *jackline.Intent) { i.Actor.Turn.ID = "t_2" },
		"no turn":   func(i *jackline.Intent) { i.Actor.Turn.ID = "" },
		"call":      func(i *jackline.Intent) { i.Call = "c_2" },
		"tool":      func(i *jackline.Intent) { i.Tool = "file_edit" },
		"digest":    func(i *jackline.Intent) { i.Digest = "e" },
		"arguments": func(i *jackline.Intent) { i.Args = json.RawMessage(`{"what":["src/b.go"]}`) },
		"a space":   func(i *jackline.Intent) { i.Args = append(json.RawMessage(" "), i.Args...) },
		"folder":    func(i *jackline.Intent) { i.Actor.Session.Workspace = "/v" },
		"effect":    func(i *jackline.Intent) { i.Effect |= jackline.Delete },
		"touch": func(i *jackline.Intent) {
			i.Touches = []jackline.Touch{{Kind: "path", Effect: jackline.Write, Name: "b"}}
		},
		"no touch": func(i *jackline.Intent) { i.Touches = nil },
		"one more": func(i *jackline.Intent) {
			i.Touches = append([]jackline.Touch{{Kind: "path", Effect: jackline.Write, Name: "b"}}, i.Touches...)
		},
		"exists":  func(i *jackline.Intent) { i.Touches = []jackline.Touch{i.Touches[0]}; i.Touches[0].Exists = true },
		"refused": func(i *jackline.Intent) { i.Touches = []jackline.Touch{i.Touches[0]}; i.Touches[0].Refused = "No." },
	} {
		j := i
		change(&j)
		if b.desk.Holds(row, j) {
			t.Errorf("it holds although the %s changed", name)
		}
	}
	j := i
	j.Actor.Session.Mode = jackline.ModeAsk
	if !b.desk.Holds(row, j) {
		t.Error("a stricter mode undoes a yes to this very call")
	}

	// What an earlier call of the step has read meanwhile did not shape this one. Labels are never taken away.
	j = i
	j.Labels = jackline.Labels{Tainted: true, Private: true}
	if !b.desk.Holds(row, j) {
		t.Error("a label that came later undoes a yes")
	}
	tainted := j
	tainted.Call = "c_3"
	row = b.yes(b.ask(tainted), jackline.Once)
	tainted.Labels.Tainted = false
	if b.desk.Holds(row, tainted) {
		t.Error("it holds for a session that forgot a label")
	}
}

// TestForgedRow: nobody who can write rows, and has no key, can make one hold.
func TestForgedRow(t *testing.T) {
	b := newBench(t)
	i := write("a")
	pending := b.read(b.ask(i))
	forged := pending
	forged.State, forged.Answer = jackline.Approved, jackline.Answer{Yes: true}
	if b.desk.Holds(forged, i) {
		t.Error("a row that was made approved by hand holds")
	}
	good := b.yes(pending, jackline.Once)
	for name, change := range map[string]func(*jackline.Approval){
		"pending":  func(a *jackline.Approval) { a.State = jackline.Pending },
		"denied":   func(a *jackline.Approval) { a.State = jackline.Refused },
		"used":     func(a *jackline.Approval) { a.State = jackline.Used },
		"no yes":   func(a *jackline.Approval) { a.Answer.Yes = false },
		"longer":   func(a *jackline.Approval) { a.Expires = a.Expires.Add(time.Hour) },
		"another":  func(a *jackline.Approval) { a.ID = "a_2" },
		"question": func(a *jackline.Approval) { a.Kind = jackline.KindQuestion },
		"args":     func(a *jackline.Approval) { a.Args = json.RawMessage(`{}`) },
		"touches":  func(a *jackline.Approval) { a.Touches = nil },
		"labels":   func(a *jackline.Approval) { a.Labels.Private = true },
		"mode":     func(a *jackline.Approval) { a.Mode = jackline.ModeAllowAll },
		"no seal":  func(a *jackline.Approval) { a.Seal = nil },
		"short":    func(a *jackline.Approval) { a.Seal = a.Seal[:20] },
		"bit":      func(a *jackline.Approval) { a.Seal = append([]byte(nil), a.Seal...); a.Seal[40] ^= 1 },
		"nonce":    func(a *jackline.Approval) { a.Seal = append([]byte(nil), a.Seal...); a.Seal[0] ^= 1 },
	} {
		a := good
		change(&a)
		if b.desk.Holds(a, i) {
			t.Errorf("%s: it holds", name)
		}
	}
	other := approval.New(b.memory, []byte("another key of thirty-two bytes!"), approval.Options{})
	if other.Holds(good, i) {
		t.Error("it holds under another key")
	}
	if !b.desk.Holds(good, i) {
		t.Error("the row itself does not hold")
	}
}

// TestForgedQuestion: a row that was changed while it was open takes no yes, and still takes a no.
func TestForgedQuestion(t *testing.T) {
	b := newBench(t)
	a := b.ask(write("a"))
	a.Args = json.RawMessage(`{"what":["b"]}`)
	b.rows[a.ID] = a
	if _, err := b.desk.Answer(t.Context(), a.Owner, a.ID, jackline.Answer{Yes: true}, nil); jackline.KindOf(err) != jackline.Conflict {
		t.Errorf("a changed row takes a yes: %v", err)
	}
	if got := b.answer(a, jackline.Answer{}); got.State != jackline.Refused {
		t.Errorf("a changed row takes no no: %+v", got)
	}
}

// TestLengthsAreSealed: text cannot move from one field into the next.
func TestLengthsAreSealed(t *testing.T) {
	b := newBench(t)
	i := write("a")
	i.Tool, i.Digest = "ab", "c"
	row := b.yes(b.ask(i), jackline.Once)
	i.Tool, i.Digest = "a", "bc"
	if b.desk.Holds(row, i) {
		t.Error("it holds for fields that only look the same in a row")
	}
}

// TestExpiry: an answer is worth something only while the row is in time, and a row without one lapses.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.desk = approval.New(b.memory, key, approval.Options{Timeout: func() time.Duration { return time.Hour }})
		answered, open, late := write("a"), write("b"), write("c")
		yes := b.yes(b.ask(answered), jackline.Once)
		pending, also := b.ask(open), b.ask(late)
		<-time.After(time.Hour - time.Second)
		if !b.desk.Holds(yes, answered) {
			t.Error("it lapsed too early")
		}
		if closed, err := b.desk.Expire(t.Context(), time.Now()); err != nil || len(closed) > 0 {
			t.Errorf("closed too early: %v %v", closed, err)
		}
		<-time.After(time.Second)
		if b.desk.Holds(yes, answered) {
			t.Error("it holds after its time")
		}
		if _, err := b.desk.Answer(t.Context(), jackline.Local, also.ID, jackline.Answer{Yes: true}, nil); jackline.KindOf(err) != jackline.Gone {
			t.Errorf("an answer after the time: %v", err)
		}
		<-time.After(time.Nanosecond)
		closed, err := b.desk.Expire(t.Context(), time.Now())
		if err != nil || len(closed) != 2 || closed[0].ID != pending.ID || closed[0].State != jackline.Lapsed {
			t.Fatalf("closed: %v %v", closed, err)
		}
		if e := b.events[len(b.events)-1]; e.Type != "tool.expired" || e.Turn != "t_1" {
			t.Errorf("event %+v", e)
		}
		if closed, err = b.desk.Expire(t.Context(), time.Now()); err != nil || len(closed) > 0 {
			t.Errorf("closed twice: %v %v", closed, err)
		}
		if _, err := b.desk.Answer(t.Context(), jackline.Local, pending.ID, jackline.Answer{}, nil); jackline.KindOf(err) != jackline.Gone {
			t.Errorf("an answer after the end: %v", err)
		}
	})
}
