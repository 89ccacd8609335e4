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
