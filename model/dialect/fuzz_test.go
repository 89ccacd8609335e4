package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
		for _, call := range r.Calls {
			if _, known := catalog.tools[call.Name]; !known || !json.Valid(call.Args) {
				t.Fatalf("impossible call: %+v", call)
			}
		}
		if len(r.Visible)+len(r.Thought) > 2*len(text)+8 {
			t.Fatalf("%d bytes of text and %d of thoughts out of %d", len(r.Visible), len(r.Thought), len(text))
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
		// Pieces of all lengths: some are single bytes, and some hold several calls.
		agreeIn(t, catalog, text, r, "random pieces", func() int { return 1 + random.IntN(1+random.IntN(60)) })
	})
}

// agree feeds text in pieces of a size and compares with the reading of the whole.
func agree(t *testing.T, catalog *Catalog, text string, want Reading, size int) {
	t.Helper()
	agreeIn(t, catalog, text, want, fmt.Sprintf("pieces of %d", size), func() int { return size })
}

// agreeIn feeds text in pieces of the lengths that next gives.
func agreeIn(t *testing.T, catalog *Catalog, text string, want Reading, how string, next func() int) {
	t.Helper()
	g := NewGuard(catalog, Options{})
	released, thought := "", ""
	take := func(d Delta) {
		released += d.Visible
		thought += d.Thought
		if d.Preview.Name == "" && d.Preview.Args != "" || !utf8.ValidString(d.Preview.Args) && utf8.ValidString(text) {
			t.Fatalf("%s: told %+v", how, d.Preview)
		}
		if rest, ok := strings.CutPrefix(released, want.Visible); !want.Orphan && !(ok && args.Trim(rest) == "") && !strings.HasPrefix(want.Visible, released) {
			t.Fatalf("%s: released %q, which is no beginning of %q", how, released, want.Visible)
		}
	}
	for rest := text; rest != ""; {
		n := min(next(), len(rest))
		take(g.Write([]byte(rest[:n])))
		rest = rest[n:]
	}
	d, got := g.Close()
	take(d)
	if bad := difference(outcomeOf(got), outcomeOf(want)); bad != "" {
		t.Fatalf("%s:%s", how, bad)
	}
	if got.Asked != want.Asked || got.Orphan != want.Orphan {
		t.Fatalf("%s: asked for %q, orphan %v, want %q, %v", how, got.Asked, got.Orphan, want.Asked, want.Orphan)
	}
	if want.Orphan { // what went out before it cannot be taken back; what comes behind it is all there
		if !strings.HasSuffix(args.Trim(released), want.Visible) {
			t.Fatalf("%s: released %q, which does not end in %q", how, released, want.Visible)
		}
		return
	}
	if args.Trim(released) != want.Visible {
		t.Fatalf("%s: released %q, want %q", how, released, want.Visible)
	}
	if thought != want.Thought {
		t.Fatalf("%s: thought %q, want %q", how, thought, want.Thought)
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
