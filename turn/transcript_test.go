package turn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/jackline-ai/jackline"
)

var update = flag.Bool("update", false, "rewrite what the transcripts want")

// TestTranscripts plays every file of testdata: one a behaviour. Its sections:
//
//	options      a JSON object, see [options]
//	model        what the model says, in the format of package model/script
//	files/PATH   the workspace
//	web/HOST, web/HOST/PATH  the web, see [pages]
//	prompt       what the owner wants; prompt.2 … are further turns of the same session
//	answers      a person's answers, one line a card, in the order in which the cards open:
//	             yes [once|task|chat], no [reason], edit JSON, say ANSWER | ANSWER, decline, steer WORDS, stop, expire;
//	             meanwhile PATH=TEXT; ANSWER  changes a file before the answer
//	want.events  what the log then holds, ids and times masked
//	want.files/PATH, want.gone
//	want.request.N  what the model was sent in its Nth request
//	want.generation.N  what the engine was sent in its Nth, where the model needs a wrapper
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			play(t, file)
		})
	}
}

func play(t *testing.T, file string) {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, f := range ar.Files {
		sections[f.Name] = string(f.Data)
	}
	var o options
	if s := sections["options"]; s != "" {
		dec := json.NewDecoder(strings.NewReader(s))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&o); err != nil {
			t.Fatalf("options: %v", err)
		}
	}
	o.pages = pages{}
	for name, text := range sections {
		if at, ok := strings.CutPrefix(name, "web/"); ok {
			o.pages[at] = strings.TrimSuffix(text, "\n")
		}
	}
	b := newBench(t, o, sections["model"])
	for name, text := range sections {
		if path, ok := strings.CutPrefix(name, "files/"); ok {
			b.write(t, path, text)
		}
	}
	var answers []string
	for _, l := range strings.Split(sections["answers"], "\n") {
		if l = strings.TrimSpace(l); l != "" {
			answers = append(answers, l)
		}
	}
	for n := 1; ; n++ {
		name := "prompt"
		if n > 1 {
			name = fmt.Sprintf("prompt.%d", n)
		}
		prompt, ok := sections[name]
		if !ok {
			break
		}
		answers = b.turn(t, strings.TrimSpace(prompt), answers)
	}
	if len(answers) > 0 {
		t.Errorf("answers that nobody asked for: %q", answers)
	}
	got := map[string]string{"want.events": b.log(t)}
	for name := range sections {
		var n int
		if _, err := fmt.Sscanf(name, "want.request.%d", &n); err == nil {
			got[name] = b.sent(t, n)
		}
		if _, err := fmt.Sscanf(name, "want.generation.%d", &n); err == nil {
			got[name] = b.nth(t, b.inner, n)
		}
		if path, ok := strings.CutPrefix(name, "want.files/"); ok {
			data, err := os.ReadFile(filepath.Join(b.dir, path))
			if err != nil {
				data = []byte("missing: " + err.Error() + "\n")
			}
			got[name] = string(data)
		}
	}
	for _, path := range strings.Fields(sections["want.gone"]) {
		if _, err := os.Lstat(filepath.Join(b.dir, path)); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	if *update {
		var out []txtar.File
		for _, f := range ar.Files {
			if g, ok := got[f.Name]; ok {
				f.Data = []byte(g)
				delete(got, f.Name)
			}
			out = append(out, f)
		}
		if g, ok := got["want.events"]; ok {
			out = append(out, txtar.File{Name: "want.events", Data: []byte(g)})
		}
		ar.Files = out
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name, g := range got {
		if diff := cmp.Diff(strings.Split(sections[name], "\n"), strings.Split(g, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// log writes the session's events out, a line each, with what differs from run to run masked.
func (b *bench) log(t *testing.T) string {
	events, err := b.db.Events(context.Background(), jackline.Local, b.session.ID, 0, 10000)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for k := 0; k < len(events); k++ {
		ev := events[k]
		if int64(k+1) != ev.ID {
			t.Fatalf("event %d has id %d", k+1, ev.ID)
		}
		// How live text is cut into events depends on the clock; a thought is written like a text.
		for (ev.Type == "text" || ev.Type == "thought") && k+1 < len(events) && events[k+1].Type == ev.Type {
			var a, b jackline.Text
			if json.Unmarshal(ev.Data, &a) != nil || json.Unmarshal(events[k+1].Data, &b) != nil {
				t.Fatal("unreadable text event")
			}
			ev.Data, _ = json.Marshal(jackline.Text{Text: a.Text + b.Text})
			k++
		}
		fmt.Fprintf(&out, "%s %s\n", ev.Type, b.mask(ev.Data))
	}
	return out.String()
}

var masks = []struct {
	re *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`"(ms|first_ms|total_ms)":\d+`), `"$1":0`},
	{regexp.MustCompile(`"(prompt|cached_of|completion|request_chars|used|chars|before|after)":\d+`), `"$1":0`},
	{regexp.MustCompile(`"expires":"[^"]*"`), `"expires":"TIME"`},
	{regexp.MustCompile(`Today is \w+, \d+ \w+ \d+`), `Today is DAY`},
	{regexp.MustCompile(`(?:\w+day, )?\d+ \w+ 20\d\d, \d\d:\d\d(?::\d\d)?`), `NOW`},
	{regexp.MustCompile(`(UTC[+-]\d\d:\d\d)\), week \d+`), `ZONE), week N`},
	{regexp.MustCompile(`\d+(\.\d+)?(ms|µs|s)\b`), `TIME`},
}

// mask replaces ids by their order of appearance, the workspace by its name, and times and sizes by zeros.
func (b *bench) mask(data []byte) string {
	data = bytes.ReplaceAll(data, []byte(b.dir), []byte("WORKSPACE"))
	data = bytes.ReplaceAll(data, []byte(b.server), []byte("SERVER"))
	s := regexp.MustCompile(`\b[stcag]_[0-9a-v]{20}\b`).ReplaceAllStringFunc(string(data), func(id string) string {
		if b.ids[id] == "" {
			b.counts[id[:1]]++
			b.ids[id] = fmt.Sprintf("%s%d", strings.ToUpper(id[:1]), b.counts[id[:1]])
		}
		return b.ids[id]
	})
	for _, m := range masks {
		s = m.re.ReplaceAllString(s, m.by)
	}
	return s
}
