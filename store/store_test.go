package store

import (
	"encoding/json"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jackline-ai/jackline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// cpu reports the time that the process computed, which a busy machine leaves alone.
func cpu(b *testing.B) func() {
	now := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := now()
	return func() { b.ReportMetric(float64(now()-start)/float64(b.N), "cpu-ns/op") }
}

func BenchmarkAppendText(b *testing.B) {
	d := openTest(b, b.TempDir())
	s := newSession(b, d, me)
	text := make([]byte, 400)
	for i := range text {
		text[i] = 'x'
	}
	defer cpu(b)()
	rec := jackline.Record{Session: s.ID, Events: []jackline.Event{jackline.NewEvent(s.ID, "t_1", jackline.Text{Text: string(text)})}}
	for b.Loop() {
		if _, err := d.Append(b.Context(), me, rec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendStep(b *testing.B) {
	d := openTest(b, b.TempDir())
	s := newSession(b, d, me)
	turn := &jackline.Turn{ID: jackline.NewID[jackline.TurnID]("t_"), Prompt: "Do something useful", Status: jackline.Running, Created: time.Now()}
	n := 0
	defer cpu(b)()
	rec := stepRecord(s.ID, turn, "", n)
	for b.Loop() {
		n++
		rec.Calls[0].ID = jackline.CallID(strconv.Itoa(n))
		if _, err := d.Append(b.Context(), me, rec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendStepParallel(b *testing.B) {
	d := openTest(b, b.TempDir())
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		s := newSession(b, d, me)
		turn := &jackline.Turn{ID: jackline.NewID[jackline.TurnID]("t_"), Prompt: "Do something useful", Status: jackline.Running, Created: time.Now()}
		for n := 1; pb.Next(); n++ {
			if _, err := d.Append(b.Context(), me, stepRecord(s.ID, turn, jackline.NewID[jackline.CallID]("c_"), n)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAppendSync(b *testing.B) {
	d := openTest(b, b.TempDir())
	s := newSession(b, d, me)
	defer cpu(b)()
	for b.Loop() {
		rec := jackline.Record{Session: s.ID, Sync: true, Events: []jackline.Event{jackline.NewEvent(s.ID, "t_1", jackline.Text{Text: "x"})}}
		if _, err := d.Append(b.Context(), me, rec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	openTest(b, dir)
	for b.Loop() {
		d, err := Open(b.Context(), dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	d := openTest(t, dir)
	s := newSession(t, d, me)
	turn := &jackline.Turn{ID: "t_1", Prompt: "hello wörld", Status: jackline.Running, Created: time.Now()}
	w := d.Watch(me, s.ID)
	<-w.Wake()
	evs, err := d.Append(t.Context(), me, stepRecord(s.ID, turn, "c_1", 1))
	if err != nil {
		t.Fatal(err)
	}
	<-w.Wake()
	w.Close()
	t.Log(evs[0].ID, evs[3].ID, evs[3].Seq)
	got, err := d.Events(t.Context(), me, s.ID, 0, 0)
	if err != nil || len(got) != 4 {
		t.Fatal(got, err)
	}
	h, err := d.History(t.Context(), me, s.ID)
	if err != nil || len(h) != 2 {
		t.Fatal(h, err)
	}
	rows, err := d.Sessions(t.Context(), me, SessionQuery{Search: "WOR hel"})
	if err != nil || len(rows) != 1 || rows[0].Status != SessionBusy {
		t.Fatal(rows, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openTest(t, dir)
	c, err := d.Call(t.Context(), me, "c_1")
	if err != nil || c.Text == "" {
		t.Fatal(c, err)
	}
}
