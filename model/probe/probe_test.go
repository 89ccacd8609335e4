package probe_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/ollama"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/probe"
	"github.com/jackline-ai/jackline/model/prompted"
	"github.com/jackline-ai/jackline/model/script"
)

var update = flag.Bool("update", false, "rewrite what is expected")

// plays is a model that plays a script, in one way of calling tools.
func plays(t *testing.T, mode, text string, window int) model.Model {
	t.Helper()
	s, err := script.Parse(mode, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if mode == "native" {
		return script.New(s, script.Options{Native: true, Window: window})
	}
	return prompted.Wrap(script.New(s, script.Options{Window: window}), prompted.Options{})
}

// TestProbe plays each file of testdata: a script for each way, with what is to be made of the way behind its name. The last part
// is what comes of it.
func TestProbe(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			o, want := probe.Options{}, ""
			for _, f := range a.Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				mode, how, _ := strings.Cut(f.Name, ": ")
				w := probe.Way{Mode: mode}
				switch {
				case how == "no tools":
					w.Model = gemma(t)
				default:
					_, _ = fmt.Sscanf(how, "%d times", &o.Times)
					w.Model = plays(t, mode, string(f.Data), 32<<10)
				}
				o.Ways = append(o.Ways, w)
			}
			v, err := probe.Run(t.Context(), o)
			got := told(v, err)
			if *update {
				if n := len(a.Files); a.Files[n-1].Name == "want" {
					a.Files = a.Files[:n-1]
				}
				a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// told is a verdict without what a clock says.
func told(v model.Verdict, err error) string {
	if err != nil {
		return fmt.Sprintf("%s: %s\n", jackline.KindOf(err), jackline.Say(err))
	}
	var b strings.Builder
	for _, w := range v.Ways {
		fmt.Fprintf(&b, "%s %.3f fit=%t %s\n", w.Mode, w.Score, w.Fit, w.Why)
		for _, g := range w.Grades {
			fmt.Fprintf(&b, "  %-8s %-7s %.2f %s\n", g.Check, g.Verdict, g.Share, g.Why)
		}
	}
	fmt.Fprintf(&b, "mode=%s passed=%t tools=%s thinking=%s offer=%d steps=%d\n%s\n", v.Mode, v.Passed, v.Tools, v.Thinking, v.ToolBudget, v.StepBudget, v.Why)
	return b.String()
}

// gemma is a model that its engine takes no tools for.
func gemma(t *testing.T) model.Model {
	t.Helper()
	s, err := script.Parse("gemma", []byte("=== *\nnever said\n"))
	if err != nil {
		t.Fatal(err)
	}
	o := modeltest.NewOllama(t, s, modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Gemma()}})
	m, err := ollama.New(ollama.Options{BaseURL: o.URL, Model: "gemma3:4b", Window: 8192, Native: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What a probe asks for, in the order in which it asks: all of it right.
const right = `
===
--- call probe_note {"text": "green lamp"}
===
--- call probe_weather {"city": "Oslo"}
===
Good morning, Ada!
===
--- call probe_book {"title": "Night train", "seats": 3, "price": 42.5, "window": true, "days": ["mon", "tue"], "contact": {"name": "Ada"}}
===
7.3 kilograms.
===
--- call probe_scale
===
It failed.
===
--- call probe_weather {"city": "Oslo"}
--- call probe_weather {"city": "Lima"}
===
--- call probe_weather {"city": "Oslo"}
===
1, 2, 3, 4, 5
--- usage 1500 64 500
`

// The speeds are by the engine's clock where it has one, and the budgets of steps by the window.
func TestSpeedAndSteps(t *testing.T) {
	parse := func() *script.Script {
		s, err := script.Parse("right", []byte(right))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for window, steps := range map[int]int{4096: 0, 8192: 20, 32768: 200} {
		o := modeltest.NewOllama(t, parse(), modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen()}})
		m, err := ollama.New(ollama.Options{BaseURL: o.URL, Model: "qwen3:4b", Window: window, Native: true})
		if err != nil {
			t.Fatal(err)
		}
		v, err := probe.Run(t.Context(), probe.Options{Ways: []probe.Way{{Mode: "native", Model: m}}})
		// 1000 tokens were not in its cache and took 0.3 s, and 64 were written in 0.9 s.
		if err != nil || v.StepBudget != steps || v.Measured != "engine" || v.Reads != 3333 || v.Writes != 71.1 || v.Tools != model.Yes || v.Ways[0].Score != 1 {
			t.Errorf("window %d: %+v, %v", window, v, err)
		}
	}
	srv := modeltest.NewServer(t, parse(), modeltest.LlamaCpp())
	m, err := openai.New(openai.Options{BaseURL: srv.URL, Model: "script", Window: 8192, Native: true})
	if err != nil {
		t.Fatal(err)
	}
	v, err := probe.Run(t.Context(), probe.Options{Ways: []probe.Way{{Mode: "native", Model: m}}})
	if err != nil || !v.Passed || v.Ways[0].Score != 1 {
		t.Errorf("llama.cpp: %+v, %v", v, err)
	}
}

// A slow model is one that says something, and then takes its time.
type slow struct {
	model.Model
	first, rest time.Duration
}

func (s slow) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		wait := func(d time.Duration) bool {
			select {
			case <-time.After(d):
				return true
			case <-ctx.Done():
				yield(model.Chunk{}, ctx.Err())
				return false
			}
		}
		if !wait(s.first) {
			return
		}
		for c, err := range s.Model.Stream(ctx, r) {
			if !yield(c, err) || err != nil {
				return
			}
			if (c.Usage != nil || c.Text != "") && !wait(s.rest) {
				return
			}
		}
	}
}

// Without the engine's clock ours counts; a model that hangs is waited for so long, and a probe that takes too long ends.
func TestTime(t *testing.T) {
	run := func(ctx context.Context, m model.Model, first, rest time.Duration) (v model.Verdict, took time.Duration, err error) {
		began := time.Now()
		v, err = probe.Run(ctx, probe.Options{Ways: []probe.Way{{Mode: "native", Model: slow{m, first, rest}}}})
		return v, time.Since(began), err
	}
	synctest.Test(t, func(t *testing.T) {
		v, _, err := run(t.Context(), plays(t, "native", right, 8192), time.Second, 4*time.Second)
		// 1000 tokens in a second; 63 in the four seconds after each of five pieces and the count.
		if err != nil || v.Measured != "clock" || v.Reads != 1000 || v.Writes != 2.6 {
			t.Errorf("by the clock: %+v, %v", v, err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the last answer alone hangs: what the others have shown of its speed counts
		hangs := strings.Replace(right, "1, 2, 3, 4, 5\n--- usage 1500 64 500\n", "--- wait\n", 1)
		hangs = strings.Replace(hangs, "It failed.\n", "It failed.\n--- usage 200 41\n", 1)
		v, took, err := run(t.Context(), plays(t, "native", hangs, 8192), time.Second, 4*time.Second)
		if err != nil || v.Ways[0].Score != 1 || v.Measured != "clock" || v.Reads != 200 || v.Writes != 3.3 || took > 4*time.Minute {
			t.Errorf("no speed: %+v, %v after %v", v, err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		_, took, err := run(t.Context(), plays(t, "native", "=== *\n--- wait\n", 8192), 0, 0)
		if jackline.KindOf(err) != jackline.Timeout || took != 15*time.Minute || !strings.Contains(jackline.Say(err), "within 15 minutes") {
			t.Errorf("hangs: %v after %v", err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		_, took, err := run(t.Context(), plays(t, "native", right, 8192), 4*time.Minute+50*time.Second, 0)
		if jackline.KindOf(err) != jackline.Timeout || took != 45*time.Minute || !strings.Contains(jackline.Say(err), "45 minutes") {
			t.Errorf("crawls: %v after %v", err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(90*time.Second, cancel)
		_, took, err := run(ctx, plays(t, "native", right, 8192), time.Minute, 0)
		if !errors.Is(err, context.Canceled) || took != 90*time.Second {
			t.Errorf("cancelled: %v after %v", err, took)
		}
	})
}

// A request that had to give way is made again, as if it had never been.
func TestGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		leave := func(ctx context.Context) (context.Context, func(), error) {
			asked++
			ctx, off := context.WithCancelCause(ctx)
			if asked%2 == 1 {
				time.AfterFunc(time.Second, func() { off(probe.ErrGaveWay) })
			}
			return ctx, func() { off(nil) }, nil
		}
		m := slow{plays(t, "native", right, 8192), time.Minute, 0}
		v, err := probe.Run(t.Context(), probe.Options{Ways: []probe.Way{{Mode: "native", Model: m}}, Leave: leave})
		if err != nil || v.Ways[0].Score != 1 || asked != 20 {
			t.Errorf("asked %d times: %+v, %v", asked, v, err)
		}
		leave = func(ctx context.Context) (context.Context, func(), error) {
			ctx, off := context.WithCancelCause(ctx)
			off(probe.ErrGaveWay)
			return ctx, func() {}, nil
		}
		if _, err = probe.Run(t.Context(), probe.Options{Ways: []probe.Way{{Mode: "native", Model: m}}, Leave: leave}); jackline.KindOf(err) != jackline.Unavailable {
			t.Errorf("always in the way: %v", err)
		}
	})
}

// An engine that does not know a bound on tokens is not listened to for ever, and one that counts wildly ends the probe.
func TestRunsAway(t *testing.T) {
	long := "=== *\n" + strings.Repeat("and so on ", 10_000) + "\n"
	v, err := probe.Run(t.Context(), probe.Options{Ways: []probe.Way{{Mode: "native", Model: plays(t, "native", long, 8192)}}})
	if err != nil || v.Passed || v.Tokens > 200_000 || !strings.Contains(v.Ways[0].Grades[0].Why, "no end within") {
		t.Errorf("%+v, %v", v, err)
	}
	v, err = probe.Run(t.Context(), probe.Options{Ways: []probe.Way{{Mode: "native", Model: plays(t, "native", "=== *\n--- call probe_note {\"text\":\"green lamp\"}\n--- usage 50000 1\n", 8192)}}})
	if err != nil || !strings.Contains(v.Ways[0].Why, "all the tokens") || v.Tokens != 100_002 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestProgress(t *testing.T) {
	var heard []string
	o := probe.Options{Ways: []probe.Way{{Mode: "native", Model: plays(t, "native", right, 8192)}, {Mode: "envelope", Why: "Not here."}}}
	o.Progress = func(doing string, done, total int) { heard = append(heard, fmt.Sprint(done, "/", total, " ", doing)) }
	if _, err := probe.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if len(heard) != 8 || heard[0] != "0/7 native: makes a call when told to" || heard[7] != "7/7 how fast it is" {
		t.Errorf("%q", heard)
	}
	if _, err := probe.Run(t.Context(), probe.Options{Ways: o.Ways[1:]}); jackline.KindOf(err) != jackline.Unprocessed {
		t.Errorf("no way at all: %v", err)
	}
}

// A call that a model with calls of its own writes into its text counts half.
func TestWrittenCall(t *testing.T) {
	text := "===\n--- raw\n<tool_call>{\"name\": \"probe_note\", \"arguments\": {\"text\": \"green lamp\"}}</tool_call>\n--- end\n" + strings.TrimPrefix(right, "\n===\n--- call probe_note {\"text\": \"green lamp\"}\n")
	n := 0
	m := prompted.Overhear(plays(t, "native", text, 8192), prompted.Options{}, func(context.Context) { n++ })
	v, err := probe.Run(t.Context(), probe.Options{Ways: []probe.Way{{Mode: "native", Model: m, Read: func() int { return n }}}})
	if err != nil || n != 1 || v.Ways[0].Grades[0].Share != 0.5 || !strings.Contains(v.Ways[0].Grades[0].Why, "wrote the call into its text") || v.Ways[0].Grades[1].Share != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

// Whether an engine holds a model to a form is seen in what comes of one that leaves no place for what is asked for.
func TestForm(t *testing.T) {
	d := modeltest.LlamaCpp()
	refuses := d
	refuses.Refuses = []string{"grammar"}
	for _, tt := range []struct {
		name, last string
		d          modeltest.Dialect
		holds      model.Known
		why        string
	}{
		{"holds", `{"final": true}`, d, model.Yes, "could only answer in the form"},
		{"refuses", "Hello, Ada!", refuses, model.No, "refuses"},
		{"fails", "--- error 500 no", d, model.Unknown, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := script.Parse("s", []byte(strings.Replace(right, "===\n1, 2", "===\n"+tt.last+"\n=== *\n1, 2", 1)))
			if err != nil {
				t.Fatal(err)
			}
			srv := modeltest.NewServer(t, s, tt.d)
			made := func(native bool) model.Model {
				m, err := openai.New(openai.Options{BaseURL: srv.URL, Model: "script", Window: 8192, Native: native, Knob: model.KnobGrammar, Retry: engine.Retry{Tries: 1}})
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			v, err := probe.Run(t.Context(), probe.Options{Ways: []probe.Way{{Mode: "native", Model: made(true)}, {Mode: "envelope", Model: made(true), Raw: made(false)}}})
			if err != nil {
				t.Fatal(err)
			}
			last := v.Ways[0].Grades[len(v.Ways[0].Grades)-1]
			if last.Check != "schema" || v.Holds != tt.holds || (len(v.Constraints) > 0) != (tt.holds == model.Yes) || !strings.Contains(last.Why, tt.why) || v.Ways[0].Score != 1 {
				t.Errorf("%+v %+v", last, v)
			}
		})
	}
	// An engine that skips the form gives words.
	free := script.Options{Native: true, Window: 8192, Knob: model.KnobSchema}
	s, err := script.Parse("s", []byte(strings.Replace(right, "===\n1, 2", "===\nHello, Ada!\n===\n1, 2", 1)))
	if err != nil {
		t.Fatal(err)
	}
	m := script.New(s, free)
	if v, err := probe.Run(t.Context(), probe.Options{Ways: []probe.Way{{Mode: "native", Model: m, Raw: m}}}); err != nil || v.Holds != model.No {
		t.Errorf("%+v, %v", v, err)
	}
}
