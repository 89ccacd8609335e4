package dialect

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
)

// everything is a catalog of all tools of the corpus.
func everything(tb testing.TB, c corpus) *Catalog {
	tb.Helper()
	var tools []model.Tool
	for name, schema := range c.tools {
		tools = append(tools, model.Tool{Name: name, Schema: schema})
	}
	return NewCatalogWith(tools, c.aliases)
}

func FuzzRead(f *testing.F) {
	c := loadCorpus(f)
	for _, t := range c.cases {
		if t.Text != nil {
			f.Add(*t.Text)
		}
	}
	rules, err := os.ReadFile(filepath.Join("testdata", "rules.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(rules) {
		var r rule
		if err := json.Unmarshal(line, &r); err != nil {
			f.Fatal(err)
		}
		f.Add(r.Text)
	}
	catalog := everything(f, c)
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		r := Read(catalog, text)
		if d := time.Since(start); d > time.Second+time.Duration(len(text))*20*time.Microsecond {
			t.Fatalf("took %v for %d bytes", d, len(text))
		}
		if r.Error != "" && len(r.Calls) > 0 || len(r.Calls) > 3 {
			t.Fatalf("impossible reading: %d calls, error %q", len(r.Calls), r.Error)
		}
		hash := fnv.New64a()
		hash.Write([]byte(text))
		random := rand.New(rand.NewPCG(hash.Sum64(), 0)) // the same for the same text
		for _, size := range []int{1, 1 + random.IntN(8), 1 + random.IntN(40)} {
			agree(t, catalog, text, r, size)
		}
	})
}

// agree feeds text in pieces of a size and compares with the reading of the whole.
func agree(t *testing.T, catalog *Catalog, text string, want Reading, size int) {
	t.Helper()
	g := NewGuard(catalog, Options{})
	released, thought := "", ""
	take := func(d Delta) {
		released += d.Visible
		thought += d.Thought
		if rest, ok := strings.CutPrefix(released, want.Visible); !want.Orphan && !(ok && args.Trim(rest) == "") && !strings.HasPrefix(want.Visible, released) {
			t.Fatalf("pieces of %d: released %q, which is no beginning of %q", size, released, want.Visible)
		}
	}
	for rest := text; rest != ""; {
		n := min(size, len(rest))
		take(g.Write([]byte(rest[:n])))
		rest = rest[n:]
	}
	d, got := g.Close()
	take(d)
	if bad := difference(outcomeOf(got), outcomeOf(want)); bad != "" {
		t.Fatalf("pieces of %d:%s", size, bad)
	}
	if want.Orphan {
		return
	}
	if args.Trim(released) != want.Visible {
		t.Fatalf("pieces of %d: released %q, want %q", size, released, want.Visible)
	}
	if thought != want.Thought {
		t.Fatalf("pieces of %d: thought %q, want %q", size, thought, want.Thought)
	}
}

// answer50 is an answer of 50 KB as a small model writes it: a thought, prose with code,
// and in the end a call with a long argument.
func answer50() string {
	prose := "The harbour is `open` from 6 to 22, see <https://example.test/>; a table [1] follows.\n\n```go\nx := map[string]int{\"a\": 1}\n```\n\n"
	body := strings.Repeat(`func f() { println(\"hello\") }\n`, 700)
	return "<think>" + strings.Repeat("First I look at it, and then I say what I found. ", 100) + "</think>\n" +
		strings.Repeat(prose, 170) +
		"```tool\n{\"name\": \"file_write\", \"args\": {\"path\": \"a.go\", \"content\": \"" + body + "\"}}\n```\n"
}

func BenchmarkRead(b *testing.B) {
	catalog, text := everything(b, loadCorpus(b)), answer50()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if r := Read(catalog, text); len(r.Calls) != 1 {
			b.Fatal(r)
		}
	}
}

func BenchmarkGuard(b *testing.B) {
	catalog, text := everything(b, loadCorpus(b)), []byte(answer50())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		g := NewGuard(catalog, Options{})
		for i := 0; i < len(text); i += 4 {
			g.Write(text[i:min(i+4, len(text))])
		}
		if _, r := g.Close(); len(r.Calls) != 1 {
			b.Fatal(r)
		}
	}
}
