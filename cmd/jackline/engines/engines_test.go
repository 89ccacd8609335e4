package engines

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/script"
	"github.com/jackline-ai/jackline/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A shelf keeps settings in memory.
type shelf struct {
	mu     sync.Mutex
	all    map[string]json.RawMessage
	yields int // how often others have their turn between reading and writing
}

func (s *shelf) Setting(_ context.Context, _ jackline.Owner, name string) (json.RawMessage, error) {
	s.mu.Lock()
	value := s.all[name]
	s.mu.Unlock()
	for range s.yields {
		runtime.Gosched()
	}
	return value, nil
}

func (s *shelf) PutSetting(_ context.Context, _ jackline.Owner, name string, v json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]json.RawMessage{}
	}
	s.all[name] = v
	return nil
}

func plays(t *testing.T, text string) *script.Script {
	t.Helper()
	s, err := script.Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const hello = "=== *\nHello.\n"

// A port is one address at which now one engine listens and now another, or none.
type port struct {
	mu  sync.Mutex
	h   http.Handler // nil drops the connection
	url string
}

func newPort(t *testing.T, h http.Handler) *port {
	t.Helper()
	p := &port{h: h}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		h := p.h
		p.mu.Unlock()
		if h == nil {
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	p.url = srv.URL
	return p
}

func (p *port) now(h http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.h = h
}

// at makes engines that find what is at these addresses, and counts how often they look.
func at(t *testing.T, o Options, looks *atomic.Int64, addresses ...string) *Engines {
	t.Helper()
	o.Find = func(ctx context.Context, _ detect.Options) []detect.Found {
		if looks != nil {
			looks.Add(1)
		}
		var all []detect.Found
		for _, a := range addresses {
			if f, _ := detect.Read(ctx, a, ""); f.Engine != "" {
				all = append(all, f)
			}
		}
		return all
	}
	if o.Store == nil {
		o.Store = &shelf{}
	}
	e := New(o)
	t.Cleanup(e.Close)
	return e
}

func ask(t *testing.T, m turn.Models) (string, error) {
	t.Helper()
	text := ""
	for c, err := range m.Main.Stream(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}, MaxTokens: 100}) {
		if err != nil {
			return text, err
		}
		text += c.Text
	}
	return text, nil
}

func chat(t *testing.T, e *Engines, ref string) (turn.Models, string) {
	t.Helper()
	m, err := e.Model(t.Context(), jackline.Session{Model: ref})
	if err != nil {
		t.Fatal(err)
	}
	text, err := ask(t, m)
	if err != nil {
		t.Fatal(err)
	}
	return m, text
}

// An engine that turns out to take no tools is asked in text, and that is what is said of it from then on.
func TestStatusAfterFallback(t *testing.T) {
	t.Parallel()
	d := modeltest.LlamaCpp()
	d.NoTools = true
	srv := modeltest.NewServer(t, plays(t, hello), d)
	made := func(native bool) model.Model {
		m, err := openai.New(openai.Options{BaseURL: srv.URL, Model: "script", Window: 16384, Native: native})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	main := &either{first: made(true), second: modelsOf(made(false), false).Main, refused: engine.NoTools}
	e := at(t, Options{Name: "script", BaseURL: srv.URL}, nil)
	p, err := e.pick(t.Context(), "script")
	if err != nil {
		t.Fatal(err)
	}
	e.made[p.mark()] = turn.Models{Main: main, Raw: made(false)}
	if st := e.Status(t.Context()); st.Mode != "native" || !st.Ready {
		t.Errorf("before: %+v", st)
	}
	req := model.Request{
		Messages: []model.Message{{Role: model.User, Text: "hello"}}, MaxTokens: 100,
		Tools: []model.Tool{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}},
	}
	text := ""
	for c, err := range main.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		text += c.Text
	}
	if st := e.Status(t.Context()); st.Mode != "text" || main.Info().Native || !strings.Contains(text, "Hello.") {
		t.Errorf("after %q: %+v", text, st)
	}
}

// Where address and model are given nothing is looked for, and the engine is asked nothing but the prompt.
func TestNothingIsLookedFor(t *testing.T) {
	t.Parallel()
	var paths []string
	played := modeltest.Handler(plays(t, hello), modeltest.LlamaCpp())
	p := newPort(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		played.ServeHTTP(w, r)
	}))
	for name, o := range map[string]Options{
		"by flag":       {Name: "script", BaseURL: p.url + "/v1", Alone: true},
		"by file":       {Name: "script", BaseURL: p.url + "/v1"},
		"with the id":   {Name: "configured/script", BaseURL: p.url + "/v1"},
		"and a slash":   {Name: "a/b/script", BaseURL: p.url + "/v1"},
		"and fallbacks": {Name: "script", BaseURL: p.url + "/v1", Fallback: []string{"added-9/x"}},
	} {
		paths = nil
		var looks atomic.Int64
		e := at(t, o, &looks)
		e.Warm(t.Context())
		if st := e.Status(t.Context()); !st.Ready || st.Window != 8192 || !st.Assumed || st.Mode != "text" || st.BaseURL != p.url+"/v1" {
			t.Errorf("%s: %+v", name, st)
		}
		if len(paths) != 0 {
			t.Errorf("%s: the engine was asked for %v before there was a prompt", name, paths)
		}
		m, err := e.Model(t.Context(), jackline.Session{})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = ask(t, m) // "a/b/script" is no model there; that is not what this is about
		for _, path := range paths {
			if path != "/v1/chat/completions" && name != "and a slash" {
				t.Errorf("%s: asked for %s", name, path)
			}
		}
		if looks.Load() != 0 {
			t.Errorf("%s: looked %d times", name, looks.Load())
		}
	}
}

// A turn whose model is known does not wait for a look that is under way.
func TestLooksDelayNobody(t *testing.T) {
	t.Parallel()
	o := modeltest.NewOllama(t, plays(t, hello), modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen()}})
	hold, began := make(chan struct{}), make(chan struct{}, 8)
	first := true
	e := New(Options{Store: &shelf{}, Find: func(ctx context.Context, _ detect.Options) []detect.Found {
		if !first {
			began <- struct{}{}
			<-hold
		}
		first = false
		f, _ := detect.Read(ctx, o.URL, "")
		return []detect.Found{f}
	}})
	defer e.Close()
	defer close(hold)
	chat(t, e, "")
	e.mu.Lock()
	e.stale()
	e.mu.Unlock()
	if _, text := chat(t, e, ""); text != "Hello." {
		t.Errorf("answered %q", text)
	}
	<-began
	if st := e.Status(t.Context()); !st.Ready || st.Name != "qwen3:4b" {
		t.Errorf("meanwhile: %+v", st)
	}
}

// An added engine that does not answer holds up nobody who wants another model; its own users are told.
func TestSlowEnginesHoldUpNobody(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	p := newPort(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	o := modeltest.NewOllama(t, plays(t, hello), modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen()}})
	keep := &shelf{}
	if err := New(Options{Store: keep}).keep(t.Context(), kept{Count: 2, Engines: []keptEntry{
		{ID: "added-1", BaseURL: p.url + "/v1", API: detect.APIOpenAI}, {ID: "added-2", BaseURL: o.URL, API: detect.APIOllama},
	}}); err != nil {
		t.Fatal(err)
	}
	here := modeltest.NewOllama(t, plays(t, hello), modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Gemma()}})
	e := at(t, Options{Store: keep}, nil, here.URL)
	began := time.Now()
	for _, ref := range []string{"gemma3:4b", "added-2/qwen3:4b"} {
		if _, text := chat(t, e, ref); text != "Hello." {
			t.Errorf("%s answered %q", ref, text)
		}
	}
	if took := time.Since(began); took > lookTime/2 {
		t.Errorf("it took %s", took)
	}
	close(hold)
	c, err := e.Catalogue(t.Context(), false)
	if err != nil || len(c.Engines) != 3 || c.Engines[0].State != "down" || c.Engines[0].Why == "" || c.Engines[1].State != "ready" || c.Engines[2].Origin != found {
		t.Errorf("%+v, %v", c, err)
	}
	if err := e.Drop(t.Context(), c.Engines[2].ID); jackline.KindOf(err) != jackline.Conflict {
		t.Errorf("dropped what was found: %v", err)
	}
	// One that was added is not listed as found too.
	if _, err := e.Add(t.Context(), model.Address{BaseURL: here.URL, Name: "mine"}); err != nil {
		t.Fatal(err)
	}
	c, err = e.Catalogue(t.Context(), false)
	if err != nil || len(c.Engines) != 3 || c.Engines[2].ID != "added-3" || c.Engines[2].Name != "mine" {
		t.Errorf("%+v, %v", c, err)
	}
}

// Engines that are added at once are all kept, each under an id of its own.
func TestAddedAtOnce(t *testing.T) {
	t.Parallel()
	const many = 8
	e := at(t, Options{Store: &shelf{yields: 1000}}, nil)
	var adding sync.WaitGroup
	for i := range many {
		adding.Go(func() {
			if _, err := e.Add(t.Context(), model.Address{BaseURL: fmt.Sprintf("http://127.0.0.1:1/%d", i), API: "openai"}); err != nil {
				t.Error(err)
			}
		})
	}
	adding.Wait()
	k, err := e.added(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, x := range k.Engines {
		ids[x.ID] = true
	}
	if len(k.Engines) != many || len(ids) != many {
		t.Errorf("%d engines, %d ids, want %d", len(k.Engines), len(ids), many)
	}
}

// The window of a model in Ollama is chosen once and asked for each time, whatever others load it with.
func TestOllamaWindowStays(t *testing.T) {
	t.Parallel()
	o := modeltest.NewOllama(t, plays(t, hello), modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen()}})
	e := at(t, Options{Memory: 64 << 30}, nil, o.URL)
	m, _ := chat(t, e, "")
	if i := m.Main.Info(); i.Window != 8192 || i.Assumed || !i.Native {
		t.Errorf("first %+v", i)
	}
	// Another client loads it with more.
	res, err := http.Post(o.URL+"/api/chat", "application/json", strings.NewReader(`{"model":"qwen3:4b","messages":[{"role":"user","content":"x"}],"options":{"num_ctx":32768},"stream":false}`))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if c, err := e.Catalogue(t.Context(), true); err != nil || c.Engines[0].Models[0].Window != 8192 || c.Engines[0].Models[0].Loaded != model.Yes {
		t.Errorf("listed %+v, %v", c, err)
	}
	chat(t, e, "")
	sent := o.Sent()
	for _, i := range []int{0, len(sent) - 1} {
		if !strings.Contains(string(sent[i]), `"num_ctx":8192`) || !strings.Contains(string(sent[i]), `"think":false`) {
			t.Errorf("request %d: %s", i, sent[i])
		}
	}
	// A small machine gets a small window, an owner what was asked for, up to what the model was trained for.
	for want, o2 := range map[int]Options{
		4096: {Memory: 3 << 30}, 16384: {Window: 16384, Memory: 3 << 30}, 262144: {Window: 1 << 20},
		5000: {Window: 16384, Each: []Each{{Ref: "qwen3:4b", Window: 5000}}},
	} {
		fresh := modeltest.NewOllama(t, plays(t, hello), modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen()}})
		m, _ := chat(t, at(t, o2, nil, fresh.URL), "")
		if got := m.Main.Info().Window; got != want {
			t.Errorf("%+v: a window of %d, want %d", o2, got, want)
		}
	}
}

// Two engines have one port in turn: what was made for the first is not used for the second.
func TestAnotherEngineAtThePort(t *testing.T) {
	t.Parallel()
	p := newPort(t, modeltest.OllamaHandler(plays(t, "=== *\nFrom Ollama.\n"), modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen()}}))
	e := at(t, Options{}, nil, p.url)
	m, text := chat(t, e, "")
	if text != "From Ollama." || m.Main.Info().Name != "qwen3:4b" {
		t.Errorf("first %q from %+v", text, m.Main.Info())
	}
	d := modeltest.LlamaCpp()
	p.now(modeltest.Family("llama.cpp", modeltest.Presence{
		Version: "b1", Models: []modeltest.Offer{{ID: "script", Usable: 16384, Trained: 32768, Tools: true, Loaded: true}},
	}, modeltest.Handler(plays(t, "=== *\nFrom llama.cpp.\n"), d)))
	if _, err := e.Catalogue(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	m, text = chat(t, e, "")
	if i := m.Main.Info(); text != "From llama.cpp." || i.Name != "script" || i.Window != 16384 || i.Assumed || !i.Native {
		t.Errorf("then %q from %+v", text, i)
	}
	// The same engine with another window.
	p.now(modeltest.Family("llama.cpp", modeltest.Presence{
		Version: "b1", Models: []modeltest.Offer{{ID: "script", Usable: 4096, Trained: 32768, Loaded: true}},
	}, modeltest.Handler(plays(t, hello), d)))
	if _, err := e.Catalogue(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	m, _ = chat(t, e, "")
	if i := m.Main.Info(); i.Window != 4096 || i.Native {
		t.Errorf("in the end %+v", i)
	}
	// And none at all: what was known is asked, and its error is for a person.
	p.now(nil)
	m, err := e.Model(t.Context(), jackline.Session{})
	if err == nil {
		_, err = ask(t, m)
	}
	if k := jackline.KindOf(err); k != jackline.Unavailable && k != jackline.NoModel {
		t.Errorf("gone: %v", err)
	}
	if _, err := e.Catalogue(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Model(t.Context(), jackline.Session{}); jackline.KindOf(err) != jackline.NoModel || !strings.Contains(jackline.Say(err), "No model is there yet") {
		t.Errorf("nothing there: %v", err)
	}
}

// What is known of a model decides how it calls tools; its owner overrules that.
func TestToolModes(t *testing.T) {
	t.Parallel()
	at := func(origin, base string, api detect.API, name string, tools model.Known) pick {
		return pick{source: source{id: "x", origin: origin, base: base, api: api}, card: model.Card{ID: name, Tools: tools}}
	}
	const here = "http://127.0.0.1:1"
	for want, all := range map[string][]pick{
		native: {
			at(cloud, "https://api.openai.com/v1", detect.APIOpenAI, "gpt-9", model.Unknown),
			at(configured, "https://llm.example.com/v1", detect.APIOpenAI, "large", model.Unknown),
			at(added, here, detect.APIAnthropic, "claude", model.Unknown),
			at(added, here, detect.APIResponses, "o9", model.Unknown),
			at(found, here, detect.APIOllama, "qwen3:4b", model.Yes),
			at(found, here, detect.APIOpenAI, "publisher/model", model.Yes),
			at(cloud, "https://openrouter.ai/api/v1", detect.APIOpenAI, "openai/gpt-oss-20b", model.Unknown),
		},
		text: {
			at(found, here, detect.APIOllama, "gemma3:4b", model.No),
			at(found, here, detect.APIOllama, "gpt-oss:20b", model.Yes),
			at(found, here, detect.APIOpenAI, "openai/gpt-oss-20b", model.Yes),
			at(found, here, detect.APIOllama, "deepseek-r1:8b", model.Yes),
			at(found, here, detect.APIOpenAI, "unknown", model.Unknown),
			at(configured, "http://192.168.1.2:8080/v1", detect.APIOpenAI, "unknown", model.Unknown),
		},
	} {
		for _, p := range all {
			if got := New(Options{}).plan(p); got.mode != want || got.sure {
				t.Errorf("%s at %s: %+v, want %s", p.card.ID, p.base, got, want)
			}
			other := map[string]string{native: text, text: native}[want]
			if got := New(Options{ToolMode: other}).plan(p); got.mode != other || !got.sure {
				t.Errorf("%s with model.toolMode %s: %+v", p.card.ID, other, got)
			}
			if got := New(Options{ToolMode: want, Each: []Each{{Ref: p.ref(), ToolMode: other}}}).plan(p); got.mode != other {
				t.Errorf("%s for itself %s: %+v", p.card.ID, other, got)
			}
		}
	}
}

// Each API is made in all ways of calling tools and of thinking, and says of itself what the plan was.
func TestAPIs(t *testing.T) {
	t.Parallel()
	for _, api := range []detect.API{detect.APIOllama, detect.APIOpenAI, detect.APIAnthropic, detect.APIResponses} {
		for _, think := range []string{"", "off", "on", "low", "medium", "high"} {
			for _, mode := range []string{auto, native, text} {
				e := New(Options{ToolMode: mode, Think: think, Window: 16384, Vision: true})
				p := pick{source: source{id: "x", origin: added, api: api, base: "http://127.0.0.1:9"}, card: model.Card{ID: "m", Tools: model.Yes}}
				m, err := e.make(p)
				if err != nil {
					t.Errorf("%s, thinking %q, %s: %v", api, think, mode, err)
					continue
				}
				if i := m.Main.Info(); i.Name != "m" || i.Window != 16384 || i.Assumed || i.Native != (mode != text) || !i.Vision {
					t.Errorf("%s, thinking %q, %s: %+v", api, think, mode, i)
				}
				if i := m.Raw.Info(); i.Native {
					t.Errorf("%s: the raw one calls tools", api)
				}
			}
		}
	}
	if _, err := New(Options{}).make(pick{source: source{api: "klingon", base: "http://127.0.0.1:9"}}); jackline.KindOf(err) != jackline.Invalid {
		t.Errorf("an API that is none: %v", err)
	}
}

// A model is fetched once, whoever asks, can be stopped, and ends with the program.
func TestPulls(t *testing.T) {
	t.Parallel()
	slow := modeltest.Gemma()
	o := modeltest.NewOllama(t, plays(t, hello), modeltest.OllamaOptions{Library: []modeltest.OllamaModel{slow, modeltest.Qwen()}, Pace: time.Hour})
	e := at(t, Options{}, nil, o.URL)
	first, err := e.Fetch(t.Context(), "", "gemma3:4b")
	if err != nil || first.ID == "" || first.Over() {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := e.Fetch(t.Context(), first.Engine, "Gemma3:4b")
	if err != nil || second.ID != first.ID {
		t.Errorf("asked for twice: %+v, %v", second, err)
	}
	if err := e.Cancel(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	await(t, e, first.ID, model.PullCancelled)
	if err := e.Cancel(t.Context(), first.ID); err != nil || len(e.Pulls()) != 0 {
		t.Errorf("taken off the list: %v, %+v", err, e.Pulls())
	}
	if err := e.Cancel(t.Context(), first.ID); jackline.KindOf(err) != jackline.NotFound {
		t.Errorf("once more: %v", err)
	}
	last, err := e.Fetch(t.Context(), "", "qwen3:4b")
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	await(t, e, last.ID, model.PullCancelled)
	if _, err := e.Fetch(t.Context(), last.Engine, "qwen3:4b"); jackline.KindOf(err) != jackline.Unavailable {
		t.Errorf("after the end: %v", err)
	}
}

// One that breaks half way says so, and is taken up where it stopped.
func TestPullBreaks(t *testing.T) {
	t.Parallel()
	breaks := modeltest.Gemma()
	breaks.Breaks = 1
	o := modeltest.NewOllama(t, plays(t, hello), modeltest.OllamaOptions{Library: []modeltest.OllamaModel{breaks}})
	e := at(t, Options{}, nil, o.URL)
	for i, want := range []string{model.PullFailed, model.PullDone} {
		p, err := e.Fetch(t.Context(), "", "gemma3:4b")
		if err != nil {
			t.Fatal(err)
		}
		p = await(t, e, p.ID, want)
		if i == 0 && (!strings.Contains(p.Error, "goes on where it stopped") || p.Done == 0 || p.Done >= p.Total) {
			t.Errorf("half way: %+v", p)
		}
		if i == 1 && (p.Error != "" || p.Done != p.Total) {
			t.Errorf("whole: %+v", p)
		}
	}
	if m, err := e.Model(t.Context(), jackline.Session{}); err != nil || m.Main.Info().Name != "gemma3:4b" || !m.Main.Info().Vision {
		t.Errorf("%+v, %v", m, err)
	}
}

func await(t *testing.T, e *Engines, id, status string) model.Pull {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(20 * time.Second); ; {
		for _, p := range e.Pulls() {
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
			t.Fatalf("%s does not end: %+v", id, e.Pulls())
		}
	}
}

// A key in the environment is used for the engine that it belongs to, and is in nothing that is printed.
func TestKeysDoNotShow(t *testing.T) {
	t.Parallel()
	const secret = "sk-very-secret-0123456789"
	s := source{id: "x", key: engine.Key(secret)}
	e := at(t, Options{BaseURL: "http://127.0.0.1:9/v1?key=" + secret, Name: "m"}, nil)
	c, err := e.Catalogue(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(raw), spelled(s), spelled(pick{source: s}), spelled(pick{source: s}.mark()), e.Status(t.Context()).BaseURL} {
		if strings.Contains(text, secret) {
			t.Errorf("it shows in %s", text)
		}
	}
}

func spelled(v any) string { return fmt.Sprintf("%v %+v %#v", v, v, v) }
