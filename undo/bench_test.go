package undo_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/jackline-ai/jackline"
)

// repository is a workspace of 10,000 files that have 100 MB together.
func repository(b *testing.B) *world {
	b.Helper()
	w := newWorld(b, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		line := make([]byte, 50)
		for j := range line {
			line[j] = byte('a' + r.IntN(26))
		}
		w.write(b, fmt.Sprintf("pkg%d/sub%d/file%d.go", i%40, i%7, i), string(bytes.Repeat(append(line, '\n'), 200)))
	}
	return w
}

// BenchmarkCommand is what keeping costs a command beside itself: in a new chat, and then for each one that changes a file.
func BenchmarkCommand(b *testing.B) {
	w := repository(b)
	b.Run("first", func(b *testing.B) {
		for range b.N {
			s, err := w.db.CreateSession(b.Context(), owner, jackline.Session{Workspace: w.dir})
			must(b, err)
			w.who.Session, w.who.Turn.Session = s, s.ID
			i := w.intent(jackline.Exec, "command", "make")
			rows, err := w.keeper.Before(b.Context(), i)
			must(b, err)
			w.append(b, rows)
			b.StopTimer()
			w.after(b, i.Call)
			b.StartTimer()
		}
	})
	b.Run("next", func(b *testing.B) {
		for n := range b.N {
			w.who.Turn.ID = jackline.TurnID(fmt.Sprint("t_", n))
			i := w.intent(jackline.Exec, "command", "make")
			w.before(b, i)
			must(b, os.WriteFile(w.path("pkg1/new.go"), fmt.Appendln(nil, n), 0o644))
			w.after(b, i.Call)
		}
	})
}
