package engines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
	"github.com/jackline-ai/jackline/model/probe"
	"github.com/jackline-ai/jackline/model/script"
)

// What a probe asks for, in the order in which it asks: nothing of it through the engine, all of it held to a form, and all of it as
// calls or text.
const (
	spoilt = "===\nSure.\n===\nIt is warm.\n===\nHello, Ada!\n"
	held   = `===
--- call probe_note {"text": "green lamp"}
===
--- call probe_weather {"city": "Oslo"}
===
{"final": true}
===
Good morning, Ada!
===
--- call probe_book {"title": "Night train", "seats": 3, "price": 42.5, "window": true, "days": ["mon", "tue"], "contact": {"name": "Ada"}}
===
{"final": true}
===
7.3 kilograms.
===
--- call probe_scale
===
{"final": true}
===
It failed.
===
--- call probe_weather {"city": "Oslo"}
===
{"final": true}
===
1, 2, 3, 4, 5
--- usage 1500 64
`
	right = `===
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
--- usage 1500 64
`
)

func ended(t *testing.T, e *Engines, id, status string) model.Probe {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(20 * time.Second); ; {
		for _, p := range e.Probes() {
			if p.ID == id && p.Over() {
				if p.Status != status {
					t.Errorf("%s ended as %+v, want %s", id, p, status)
				}
				return p
			}
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s does not end: %+v", id, e.Probes())
		}
	}
}

func probed(t *testing.T, e *Engines, ref, mode string) model.Probe {
	t.Helper()
	p, err := e.Probe(t.Context(), ref, mode, 1)
	if err != nil || p.ID == "" || p.Over() {
		t.Fatalf("%+v, %v", p, err)
	}
	if p = ended(t, e, p.ID, model.ProbeDone); p.Result == nil {
		t.FailNow()
	}
	return p
}

func oneItem(t *testing.T, e *Engines) model.Item {
	t.Helper()
	c, err := e.Catalogue(t.Context(), true)
	if err != nil || len(c.Engines) != 1 || len(c.Engines[0].Models) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	return c.Engines[0].Models[0]
}

func qwenOf(weights string) modeltest.OllamaOptions {
	m := modeltest.Qwen()
	m.Weights = weights
	return modeltest.OllamaOptions{Models: []modeltest.OllamaModel{m}}
}

// What a probe finds decides how a model is used, from then on and after a restart, below its owner and until its weights change.
func TestProbeDecides(t *testing.T) {
	t.Parallel()
	at1 := newPort(t, modeltest.OllamaHandler(plays(t, spoilt+held), qwenOf("")))
	keep := &shelf{}
	e := at(t, Options{Store: keep}, nil, at1.url)
	if it := oneItem(t, e); it.Mode != native || it.Source["mode"] != byEngine || it.Probed != nil || it.StepBudget != 0 {
		t.Errorf("before: %+v", it)
	}
	p := probed(t, e, "qwen3:4b", "")
	if p.Result == nil || p.Result.Mode != envelopes || !p.Result.Passed || p.Result.Tools != model.No || p.Done != p.Total || p.Doing != "" {
		t.Fatalf("%+v", p)
	}
	check := func(what string, e *Engines, mode, by string, steps, offer int, stale bool) {
		t.Helper()
		it := oneItem(t, e)
		if it.Mode != mode || it.Source["mode"] != by || it.StepBudget != steps || it.ToolBudget != offer || it.Stale != stale || it.Probed == nil {
			t.Errorf("%s: %+v", what, it)
		}
		m, err := e.Model(t.Context(), jackline.Session{})
		if i := m.Main.Info(); err != nil || i.Mode() != mode || i.Steps != steps || i.Offer != offer || i.Window != 8192 || m.Note != "" {
			t.Errorf("%s: %+v, %v", what, i, err)
		}
	}
	check("probed", e, envelopes, byProbe, 20, 20, false)
	if it := oneItem(t, e); it.Tools != model.No || it.Source["tools"] != byProbe || it.Writes == 0 || fmt.Sprint(it.Constraints) != "[json_schema]" || it.Source["constraints"] != byProbe || it.Source["writes"] != byProbe || it.Source["trained"] != byEngine {
		t.Errorf("sources: %+v", it)
	}
	if a, err := e.Account(t.Context()); err != nil || !strings.Contains(a.Mode, "A probe found") || !strings.HasPrefix(a.Card, "Probed on ") || a.Poor != "" {
		t.Errorf("%+v, %v", a, err)
	}
	check("after a restart", at(t, Options{Store: keep}, nil, at1.url), envelopes, byProbe, 20, 20, false)
	check("its owner knows better", at(t, Options{Store: keep, Each: []Each{{Ref: "qwen3:4b", ToolMode: native, Steps: 9, Tools: 3}}}, nil, at1.url), native, byOwner, 9, 3, false)
	check("a smaller window", at(t, Options{Store: keep, Each: []Each{{Ref: "qwen3:4b", Window: 8192}}}, nil, at1.url), envelopes, byProbe, 20, 20, false)
	small, err := at(t, Options{Store: keep, Window: 5000}, nil, at1.url).Model(t.Context(), jackline.Session{})
	if err != nil || small.Main.Info().Steps != 0 {
		t.Errorf("too small a window for many steps: %+v, %v", small.Main.Info(), err)
	}
	// Other weights under the same name.
	at1.now(modeltest.OllamaHandler(plays(t, right), qwenOf("new")))
	check("other weights", e, native, byEngine, 0, 0, true)
	if a, err := e.Account(t.Context()); err != nil || !strings.Contains(a.Card, "weights have changed") || a.Poor == "" {
		t.Errorf("%+v, %v", a, err)
	}
	if p := probed(t, e, "", ""); p.Result.Mode != native || len(p.Result.Ways) != 3 || !strings.Contains(p.Result.Ways[2].Why, "full marks") {
		t.Errorf("%+v", p)
	}
	check("probed again", e, native, byProbe, 20, 20, false)
	// A name for the same weights needs no probe of its own.
	if p := (source{base: at1.url, learnt: must(e.cards(t.Context()))}).with(model.Card{ID: "another", Digest: oneItem(t, e).Digest}); p.card.Mode != native || p.stale {
		t.Errorf("the same weights: %+v", p)
	}
}

func must(k *cards, err error) *cards {
	if err != nil {
		panic(err)
	}
	return k
}

// The mode can be named, and what cannot be probed says why.
func TestProbeRefused(t *testing.T) {
	t.Parallel()
	o := newPort(t, modeltest.OllamaHandler(plays(t, "=== *\n--- wait\n"), qwenOf("")))
	e := at(t, Options{}, nil, o.url)
	for _, tt := range []struct {
		ref, mode string
		times     int
		kind      jackline.Kind
		say       string
	}{
		{"qwen3:4b", "shouted", 1, jackline.Unprocessed, "There is no tool mode shouted"},
		{"qwen3:4b", "", 6, jackline.Unprocessed, "from 1 to 5 times"},
		{"qwen3:4b", "", -1, jackline.Unprocessed, "from 1 to 5 times"},
		{"script:x", "", 1, jackline.Unprocessed, "transcript"},
		{"nosuch", "", 1, jackline.NoModel, "No engine has the model nosuch"},
	} {
		if _, err := e.Probe(t.Context(), tt.ref, tt.mode, tt.times); jackline.KindOf(err) != tt.kind || !strings.Contains(jackline.Say(err), tt.say) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	first, err := e.Probe(t.Context(), "", text, 1)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := e.Probe(t.Context(), "qwen3:4b", "", 1); err != nil || again.ID != first.ID {
		t.Errorf("asked for twice: %+v, %v", again, err)
	}
	if err := e.CancelProbe(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	ended(t, e, first.ID, model.ProbeCancelled)
	if err := e.CancelProbe(t.Context(), first.ID); err != nil || len(e.Probes()) != 0 {
		t.Errorf("taken off the list: %v, %+v", err, e.Probes())
	}
	if err := e.CancelProbe(t.Context(), first.ID); jackline.KindOf(err) != jackline.NotFound {
		t.Errorf("once more: %v", err)
	}
	last, err := e.Probe(t.Context(), "", text, 1)
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	ended(t, e, last.ID, model.ProbeCancelled)
	if _, err := e.Probe(t.Context(), "qwen3:4b", "", 1); jackline.KindOf(err) != jackline.Unavailable {
		t.Errorf("after the end: %v", err)
	}
	if it := oneItem(t, at(t, Options{Store: e.o.Store}, nil, o.url)); it.Probed != nil {
		t.Errorf("something was kept: %+v", it)
	}
}

// A key that is missing, and an engine that is off, end a probe in a sentence that says so.
func TestProbeNeedsKey(t *testing.T) {
	t.Parallel()
	o := qwenOf("")
	o.Key = "sk-0123456789"
	srv := newPort(t, modeltest.OllamaHandler(plays(t, right), o))
	for want, address := range map[string]string{"wants a key": srv.url, "No engine answers": "http://127.0.0.1:9"} {
		e := at(t, Options{BaseURL: address, Name: "qwen3:4b", API: "ollama"}, nil)
		p, err := e.Probe(t.Context(), "", "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if p = ended(t, e, p.ID, model.ProbeFailed); !strings.Contains(p.Error, want) || p.Result != nil {
			t.Errorf("%s: %+v", want, p)
		}
	}
}

// Calls that a model with calls of its own writes into its text are made all the same, and after some it is taught to write them.
func TestWrittenCalls(t *testing.T) {
	t.Parallel()
	const writes = "=== *\nI will look.\n--- raw\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"sky\"}}\n</tool_call>\n--- end\n"
	first := modeltest.OllamaHandler(plays(t, writes), qwenOf(""))
	srv := newPort(t, first)
	e := at(t, Options{}, nil, srv.url)
	offer := []model.Tool{{Name: "look", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}}}`)}}
	for i := range mostWritten + 2 {
		m, err := e.Model(t.Context(), jackline.Session{})
		if err != nil {
			t.Fatal(err)
		}
		if want := i < mostWritten; m.Main.Info().Native != want || (m.Note != "") != (i == mostWritten) {
			t.Errorf("turn %d: %+v, note %q", i, m.Main.Info(), m.Note)
		}
		shown, calls := "", []model.Call{}
		for c, err := range m.Main.Stream(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}, Tools: offer, Known: offer}) {
			if err != nil {
				t.Fatal(err)
			}
			if shown += c.Text; c.Call != nil {
				calls = append(calls, *c.Call)
			}
		}
		if i == 0 { // another client loads it with more: that changes nothing for us, in whatever mode
			res, err := http.Post(srv.url+"/api/chat", "application/json", strings.NewReader(`{"model":"qwen3:4b","messages":[{"role":"user","content":"x"}],"options":{"num_ctx":32768},"stream":false}`))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			oneItem(t, e) // look again
		}
		if strings.TrimSpace(shown) != "I will look." || len(calls) != 1 || calls[0].Name != "look" || string(calls[0].Args) != `{"at":"sky"}` {
			t.Errorf("turn %d: %q, %+v", i, shown, calls)
		}
	}
	for i, sent := range first.Sent() {
		if ours := !strings.Contains(string(sent), `"num_ctx":32768`); ours != (i != 1) || ours && !strings.Contains(string(sent), `"num_ctx":8192`) {
			t.Errorf("request %d: %s", i, sent)
		}
	}
	if it := oneItem(t, e); it.Mode != text || it.Source["mode"] != byUse || it.Written != mostWritten {
		t.Errorf("%+v", it)
	}
	// A probe begins anew. That it was in native mode that it failed is what the probe sees now.
	srv.now(modeltest.OllamaHandler(plays(t, right), qwenOf("")))
	if p := probed(t, e, "", native); p.Result.Mode != native {
		t.Errorf("%+v", p)
	}
	if it := oneItem(t, e); it.Mode != native || it.Source["mode"] != byProbe || it.Written != 0 {
		t.Errorf("%+v", it)
	}
}

// Turns come first: a probe's request is dropped for one of a turn, and made again when that is over.
func TestProbeGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r road
		leave := r.enter()
		got := make(chan context.Context)
		go func() {
			for range 2 {
				ctx, done, err := r.lend(t.Context(), settle)
				if err != nil {
					t.Error(err)
				}
				got <- ctx
				<-ctx.Done()
				done()
			}
			close(got)
		}()
		<-time.After(time.Minute)
		select {
		case <-got:
			t.Fatal("lent while a turn has it")
		default:
		}
		leave()
		ended := time.Now()
		first := <-got
		if wait := time.Since(ended); wait != settle {
			t.Errorf("lent after %v", wait)
		}
		leave = r.enter()
		if synctest.Wait(); !errors.Is(context.Cause(first), probe.ErrGaveWay) {
			t.Errorf("it ended with %v", context.Cause(first))
		}
		leave()
		<-got
		r.enter()()
		for range got {
			t.Error("lent once more")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		defer r.enter()()
		if _, _, err := r.lend(ctx, settle); err == nil {
			t.Error("lent to one that has ended")
		}
	})
}

// When nobody has asked anything for a while, the model of new chats is probed, once.
func TestIdle(t *testing.T) {
	t.Parallel()
	for _, set := range []bool{true, false} {
		srv := newPort(t, modeltest.OllamaHandler(plays(t, right), qwenOf("")))
		o := Options{}
		if set {
			o.Idle = 10 * time.Millisecond
		}
		e := at(t, o, nil, srv.url)
		e.Warm(t.Context())
		if !set {
			if it := oneItem(t, e); it.Probed != nil || len(e.Probes()) > 0 {
				t.Errorf("off: %+v, %+v", it, e.Probes())
			}
			continue
		}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		end := time.After(20 * time.Second)
		for oneItem(t, e).Probed == nil {
			select {
			case <-tick.C:
			case <-end:
				t.Fatalf("never: %+v", e.Probes())
			}
		}
		if n := len(e.Probes()); n != 1 {
			t.Errorf("%d probes", n)
		}
	}
	for want, p := range map[bool][]pick{
		true: {{source: source{base: "http://localhost:1", state: "ready"}}, {source: source{base: "http://127.0.0.1:1", state: "ready"}, kept: &keptCard{Written: 1}}},
		false: {
			{source: source{base: "https://api.example.com", state: "ready"}}, {source: source{base: "http://192.168.1.2:1", state: "ready"}},
			{source: source{base: "http://127.0.0.1:1", state: "ready"}, card: model.Card{Remote: model.Yes}}, {source: source{base: "http://127.0.0.1:1", state: "down"}},
			{source: source{base: "http://127.0.0.1:1", state: "ready"}, kept: &keptCard{Verdict: &model.Verdict{}}},
		},
	} {
		for _, p := range p {
			if New(Options{}).probable(p) != want {
				t.Errorf("%s: probed unasked is %t", p.base, !want)
			}
		}
	}
}

// What is kept is bounded, and what cannot be read is as good as nothing.
func TestCardsKept(t *testing.T) {
	t.Parallel()
	e := New(Options{Store: &shelf{}})
	for i := range maxCards + 3 {
		p := pick{source: source{base: "http://127.0.0.1:1"}, card: model.Card{ID: fmt.Sprint("m", i)}}
		if err := e.note(t.Context(), p, func(k *keptCard) { k.Written = i }); err != nil {
			t.Fatal(err)
		}
	}
	k := must(e.cards(t.Context()))
	if _, known, _ := k.of("http://127.0.0.1:1", model.Card{ID: "m2"}); known || len(k.all) != maxCards {
		t.Errorf("%d are kept", len(k.all))
	}
	if c, known, stale := k.of("http://127.0.0.1:1", model.Card{ID: "m66"}); !known || stale || c.Written != 66 {
		t.Errorf("%+v %t %t", c, known, stale)
	}
	if _, known, _ := k.of("http://127.0.0.1:2", model.Card{ID: "m66"}); known {
		t.Error("of another engine")
	}
	if err := e.o.Store.PutSetting(t.Context(), jackline.Local, CardsName, json.RawMessage(`{"no":"list"}`)); err != nil {
		t.Fatal(err)
	}
	if k := must(e.cards(t.Context())); len(k.all) != 0 {
		t.Errorf("%+v", k)
	}
	without := New(Options{})
	if err := without.note(t.Context(), pick{source: source{base: "http://127.0.0.1:1"}, card: model.Card{ID: "m"}}, func(k *keptCard) { k.Written = 3 }); err != nil {
		t.Fatal(err)
	}
	if k := must(without.cards(t.Context())); len(k.all) != 1 {
		t.Errorf("without a store: %+v", k)
	}
	for _, tt := range []struct {
		a, b model.Card
		same bool
	}{
		{model.Card{Digest: "a"}, model.Card{Digest: "a", Bytes: 2}, true},
		{model.Card{Digest: "a"}, model.Card{Digest: "b"}, false},
		{model.Card{Digest: "a", Bytes: 1}, model.Card{Bytes: 1}, true},
		{model.Card{Bytes: 1}, model.Card{Bytes: 2}, false},
		{model.Card{Trained: 1}, model.Card{Trained: 2}, false},
		{model.Card{Trained: 1}, model.Card{}, true},
	} {
		if (keptCard{Digest: tt.a.Digest, Bytes: tt.a.Bytes, Trained: tt.a.Trained}).is(tt.b) != tt.same {
			t.Errorf("%+v", tt)
		}
	}
}

// TestProbeFamilies probes models that are good, good in part, and bad, through each API and each server that is known to differ.
func TestProbeFamilies(t *testing.T) {
	t.Parallel()
	partly := strings.Replace(strings.Replace(right, `"seats": 3, `, "", 1), "--- call probe_weather {\"city\": \"Lima\"}\n", "", 1)
	lies := strings.Replace(strings.Replace(right, "It failed.", "It weighs 9 kg.", 1), "7.3 kilograms.", "--- call probe_scale", 1)
	for name, family := range map[string]struct {
		api   string
		model string
		serve func(*script.Script) http.Handler
	}{
		"openai":    {"openai", "gpt-x", func(s *script.Script) http.Handler { return modeltest.Handler(s, modeltest.OpenAI()) }},
		"llama.cpp": {"openai", "m.gguf", func(s *script.Script) http.Handler { return modeltest.Handler(s, modeltest.LlamaCpp()) }},
		"vllm":      {"openai", "org/model-7b", func(s *script.Script) http.Handler { return modeltest.Handler(s, modeltest.VLLM()) }},
		"lm-studio": {"openai", "qwen/qwen3-8b", func(s *script.Script) http.Handler { return modeltest.Handler(s, modeltest.LMStudio()) }},
		"ollama":    {"ollama", "qwen3:4b", func(s *script.Script) http.Handler { return modeltest.OllamaHandler(s, qwenOf("")) }},
		"anthropic": {"anthropic", "claude-x", func(s *script.Script) http.Handler { return hosted.MessagesHandler(s, hosted.MessagesRules{}) }},
		"responses": {"responses", "o9", func(s *script.Script) http.Handler { return hosted.ResponsesHandler(s, hosted.ResponsesRules{}) }},
	} {
		for how, text := range map[string]string{"good": right, "partly": partly, "lies": lies} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				srv := newPort(t, family.serve(plays(t, text)))
				base := srv.url
				if family.api == "openai" || family.api == "responses" {
					base += "/v1"
				}
				e := at(t, Options{BaseURL: base, API: family.api, Name: family.model, KeyEnv: "KEY", Env: func(string) string { return "sk-test" }}, nil)
				p := probed(t, e, "", native)
				w := p.Result.Ways[0]
				grades := map[string]string{}
				for _, g := range w.Grades {
					grades[g.Check] = g.Verdict
				}
				want := map[string]string{
					"good":   "[forced:pass free:pass invents:pass many:pass parallel:pass stops:pass types:pass]",
					"partly": "[forced:pass free:pass invents:pass many:pass parallel:partial stops:pass types:partial]",
					"lies":   "[forced:pass free:pass invents:fail many:pass parallel:pass stops:fail types:pass]",
				}[how]
				if got := strings.TrimPrefix(fmt.Sprint(grades), "map"); got != want || p.Result.Passed != (how != "lies") || p.Result.Mode != native {
					t.Errorf("%s\n%+v", got, p.Result)
				}
				if it, err := e.Account(t.Context()); err != nil || !strings.HasPrefix(it.Card, "Probed on") || (it.Poor != "") != (how == "lies") {
					t.Errorf("%+v, %v", it, err)
				}
				if m, err := e.Model(t.Context(), jackline.Session{}); err != nil || !m.Main.Info().Native || (m.Main.Info().Steps == 0) != (how == "lies") {
					t.Errorf("%+v, %v", m.Main.Info(), err)
				}
			})
		}
	}
}
