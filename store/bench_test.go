//go:build unix

package store

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
)

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
	defer cpu(b)()
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

// BenchmarkTurn is a whole short turn: the prompt and its answer, both indexed for search.
func BenchmarkTurn(b *testing.B) {
	d := openTest(b, b.TempDir())
	s := newSession(b, d, me)
	answer := ""
	for i := range 200 {
		answer += " word" + strconv.Itoa(i*7919%1000)
	}
	n := 0
	defer cpu(b)()
	for b.Loop() {
		n++
		turn := &jackline.Turn{ID: jackline.TurnID(strconv.Itoa(n)), Prompt: "Please look at the thing number " + strconv.Itoa(n), Status: jackline.Running}
		for _, status := range []jackline.Status{jackline.Running, jackline.Done} {
			turn.Status = status
			if status == jackline.Done {
				turn.Answer = answer
			}
			if _, err := d.Append(b.Context(), me, jackline.Record{Session: s.ID, Turn: turn}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkRead reads what a step of the loop and a page of the log read.
func BenchmarkRead(b *testing.B) {
	d := openTest(b, b.TempDir())
	s := newSession(b, d, me)
	turn := &jackline.Turn{ID: "t_1", Prompt: "Do something useful", Status: jackline.Running, Created: time.Now()}
	for n := 1; n <= 500; n++ {
		if _, err := d.Append(b.Context(), me, stepRecord(s.ID, turn, jackline.CallID("c_"+strconv.Itoa(n)), n)); err != nil {
			b.Fatal(err)
		}
	}
	for name, read := range map[string]func() error{
		"Session":   func() error { _, err := d.Session(b.Context(), me, s.ID); return err },
		"Call":      func() error { _, err := d.Call(b.Context(), me, "c_250"); return err },
		"Events100": func() error { _, err := d.Events(b.Context(), me, s.ID, 500, 100); return err },
		"History1k": func() error { _, err := d.History(b.Context(), me, s.ID); return err },
		"Calls500":  func() error { _, err := d.Calls(b.Context(), me, "t_1"); return err },
		"Sessions":  func() error { _, err := d.Sessions(b.Context(), me, SessionQuery{}); return err },
		"Search":    func() error { _, err := d.Sessions(b.Context(), me, SessionQuery{Search: "useful thing"}); return err },
	} {
		b.Run(name, func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppendAudited is BenchmarkAppendStep with the line that the audit has of a read.
func BenchmarkAppendAudited(b *testing.B) {
	d := openTest(b, b.TempDir())
	s := newSession(b, d, me)
	turn := &jackline.Turn{ID: jackline.NewID[jackline.TurnID]("t_"), Prompt: "Do something useful", Status: jackline.Running, Created: time.Now()}
	n := 0
	defer cpu(b)()
	rec := stepRecord(s.ID, turn, "", n)
	for b.Loop() {
		n++
		rec.Calls[0].ID = jackline.CallID(strconv.Itoa(n))
		rec.Audit = []jackline.AuditEntry{auditEntry(n)}
		if _, err := d.Append(b.Context(), me, rec); err != nil {
			b.Fatal(err)
		}
	}
}
