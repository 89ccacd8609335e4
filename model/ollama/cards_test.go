package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/ollama"
	"github.com/jackline-ai/jackline/model/script"
)

// scripted is a model of an Ollama that plays text.
func scripted(t *testing.T, text string, o modeltest.OllamaOptions, with ollama.Options) (*ollama.Model, *modeltest.OllamaServer) {
	t.Helper()
	s, err := script.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	srv := modeltest.NewOllama(t, s, o)
	with.BaseURL, with.Retry = srv.URL, once
	return open(t, with), srv
}

// show is a card in one line: what it says, and which fields the engine told.
func show(t *testing.T, c model.Card) string {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func fetchable() modeltest.OllamaOptions {
	gemma := modeltest.Gemma()
	gemma.Window = 16_384
	return modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen(), gemma, modeltest.Nomic()}}
}

func TestCards(t *testing.T) {
	m, _ := scripted(t, "=== *\nhi\n", fetchable(), ollama.Options{Window: 32_768})
	if got := play(t, m, request()); !strings.HasPrefix(got, "text hi\n") {
		t.Fatal(got)
	}
	cards, err := m.Cards(t.Context())
	if err != nil || len(cards) != 2 {
		t.Fatal(cards, err)
	}
	digest := func(c model.Card) string { return strings.Replace(show(t, c), c.Digest, "D", 1) }
	qwen := `{"engine":"ollama","id":"qwen3:4b","digest":"D","bytes":2497293931,"trained":262144,"usable":32768,` +
		`"tools":"yes","thinking":"yes","vision":"no","loaded":"yes","remote":"no","source":{"bytes":"engine","digest":"engine","loaded":"engine","remote":"engine",` +
		`"thinking":"engine","tools":"engine","trained":"engine","usable":"engine","vision":"engine"}}`
	gemma := `{"engine":"ollama","id":"gemma3:4b","digest":"D","bytes":3338801804,"trained":131072,"usable":16384,` +
		`"tools":"no","thinking":"no","vision":"yes","loaded":"no","remote":"no","source":{"bytes":"engine","digest":"engine","loaded":"engine","remote":"engine",` +
		`"thinking":"engine","tools":"engine","trained":"engine","usable":"engine","vision":"engine"}}`
	for i, want := range []string{qwen, gemma} {
		if got := digest(cards[i]); got != want || len(cards[i].Digest) != 64 {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
	one, err := m.Card(t.Context(), "qwen3:4b")
	if err != nil || digest(one) != qwen {
		t.Errorf("%s %v", show(t, one), err)
	}
	if _, err := m.Card(t.Context(), "nobody"); jackline.KindOf(err) != jackline.NoModel {
		t.Error(err)
	}
	if _, err := m.Card(t.Context(), "no body"); jackline.KindOf(err) != jackline.Invalid {
		t.Error(err)
	}
	if v, err := m.Version(t.Context()); v != "0.40.2" || err != nil {
		t.Error(v, err)
	}
}

// What nobody tells stays unknown.
func TestCardsOfAnOldOne(t *testing.T) {
	o := fetchable()
	o.NoCapabilities = true
	m, _ := scripted(t, "=== *\nhi\n", o, ollama.Options{})
	cards, err := m.Cards(t.Context())
	if err != nil || len(cards) != 3 {
		t.Fatal(cards, err)
	}
	c := cards[0]
	if c.Tools != model.Unknown || c.Thinking != model.Unknown || c.Vision != model.Unknown || c.Usable != 0 || c.Trained != 262_144 || c.Source["tools"] != "" {
		t.Errorf("%+v", c)
	}
}

// Whatever an engine lists, names are usable and numbers make sense.
func TestHostileLists(t *testing.T) {
	m := client(t, ollama.Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/tags":
			_, _ = io.WriteString(w, `{"models":[{"name":"ok","size":-5,"digest":"sha256:<b>","details":{"context_length":1e300},"capabilities":["completion","tools"]},`+
				`{"name":"x\u0000y"},{"name":""},{"name":"<script>"},{"name":"`+strings.Repeat("n", 300)+`"},7,{"name":["a"]},`+
				`{"model":"cloud:480b","remote_host":"https://ollama.com:443","digest":"ABCDEF012345","details":7}]}`)
		case "/api/show":
			_, _ = io.WriteString(w, `{"parameters":"num_ctx\nnum_ctx NaN\nnum_ctx 1e99","model_info":{"general.architecture":"a","a.context_length":"many"},"capabilities":[]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	cards, err := m.Cards(t.Context())
	if err != nil || len(cards) != 2 {
		t.Fatalf("%+v %v", cards, err)
	}
	if c := cards[0]; c.ID != "ok" || c.Bytes != 0 || c.Digest != "" || c.Trained != 1<<30 || c.Tools != model.Yes || c.Loaded != model.Unknown {
		t.Errorf("%+v", c)
	}
	if c := cards[1]; c.ID != "cloud:480b" || c.Digest != "abcdef012345" || c.Remote != model.Yes || c.Loaded != model.Unknown || c.Trained != 0 || c.Usable != 1<<30 {
		t.Errorf("%+v", c)
	}
}

func TestCardsFail(t *testing.T) {
	for name, tt := range map[string]struct {
		status     int
		body, want string
	}{
		"page":      {200, "<html>", "unavailable: URL answers with a web page: a sign-in page or a proxy stands there, or the address is not that of an API. Check --base-url."},
		"other":     {200, `{"data":[]}`, "unavailable: What URL answers is not what an Ollama server says. Check --base-url."},
		"list":      {200, `[]`, "unavailable: What URL answers is not what an Ollama server says. Check --base-url."},
		"key":       {401, `{"error":"unauthorized"}`, "forbidden: The engine at URL wants a key: name the environment variable that holds it with --api-key-env, or add the engine with its key."},
		"host":      {403, ``, "forbidden: The Ollama at URL does not answer to this host name: give its address in numbers with --base-url, or start it with OLLAMA_HOST=0.0.0.0."},
		"not there": {404, `404 page not found`, "unavailable: There is no Ollama API at URL. Check --base-url."},
	} {
		m := client(t, ollama.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		_, base, _ := strings.Cut(m.String(), " at ")
		_, err := m.Cards(t.Context())
		if got := jackline.KindOf(err).String() + ": " + strings.ReplaceAll(jackline.Say(err), base, "URL"); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
		if _, err := m.Version(t.Context()); err == nil {
			t.Errorf("%s: a version", name)
		}
	}
	m, _ := held(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Cards(ctx); !modeltest.AsItIs(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPull(t *testing.T) {
	qwen := modeltest.Qwen()
	qwen.Breaks = 1
	m, _ := scripted(t, "=== *\nhi\n", modeltest.OllamaOptions{Library: []modeltest.OllamaModel{qwen}}, ollama.Options{})
	pull := func() (statuses []string, last ollama.Progress, err error) {
		for p, e := range m.Pull(t.Context(), "qwen3:4b") {
			if err = e; err != nil {
				break
			}
			if p.Done < last.Done || p.Total < last.Total || p.Done > p.Total {
				t.Errorf("%+v after %+v", p, last)
			}
			if p.Status != last.Status {
				statuses = append(statuses, strings.Fields(p.Status)[0])
			}
			last = p
		}
		return statuses, last, err
	}
	_, last, err := pull()
	_, base, _ := strings.Cut(m.String(), " at ")
	if want := "The Ollama at " + base + " lost its way to the library while it fetched qwen3:4b. Fetch it again: it goes on where it stopped."; jackline.Say(err) != want {
		t.Error(err)
	}
	if last.Done != 2_497_293_931/2 || last.Total != 2_497_293_931 {
		t.Errorf("%+v", last)
	}
	if cards, err := m.Cards(t.Context()); err != nil || len(cards) != 0 {
		t.Error(cards, err)
	}
	statuses, last, err := pull()
	if err != nil || strings.Join(statuses, " ") != "pulling pulling pulling pulling verifying writing success" || last.Done != last.Total || last.Total != 2_497_293_931+1482+485 {
		t.Error(statuses, last, err)
	}
	if got := play(t, m, request()); !strings.HasPrefix(got, "text hi\n") {
		t.Error(got)
	}
	if err := m.Delete(t.Context(), "qwen3:4b"); err != nil {
		t.Error(err)
	}
	if err := m.Delete(t.Context(), "qwen3:4b"); jackline.KindOf(err) != jackline.NoModel || jackline.Say(err) != "The engine at "+base+` has no model "qwen3:4b".` {
		t.Error(err)
	}
}

func TestPullFails(t *testing.T) {
	const begin = `{"status":"pulling manifest"}` + "\n"
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"a", 200, begin + `{"error":"pull model manifest: file does not exist"}`, `not-found: Ollama's library has no model "a": check its name, and the tag behind the colon.`},
		{"a", 400, `{"error":"invalid model name"}`, `invalid: "a" is no name of a model: names look like qwen3:8b.`},
		{"no good", 200, "", `invalid: "no good" is no name of a model: names look like qwen3:8b.`},
		{"", 200, "", `invalid: "" is no name of a model: names look like qwen3:8b.`},
		{"a", 200, begin + `{"error":"write /x: no space left on device"}`, "unavailable: The disk of the Ollama at URL has no room for a: make room and fetch it again."},
		{"a", 200, begin + `{"error":"pull model manifest: Get \"https://registry.ollama.ai/v2/\": dial tcp: lookup registry.ollama.ai: no such host"}`,
			"unavailable: The Ollama at URL lost its way to the library while it fetched a. Fetch it again: it goes on where it stopped."},
		{"a", 200, begin + `{"error":"pull model manifest: 412: \n\nThe model you are attempting to pull requires a newer version of Ollama."}`, "unavailable: a needs a newer Ollama than the one at URL: update it."},
		{"a", 200, begin + `{"error":"digest mismatch, file must be downloaded again"}`, "unavailable: What arrived of a is damaged, and the Ollama at URL threw it away. Fetch it again."},
		{"a", 200, begin + `{"error":"something new"}`, "unavailable: The Ollama at URL could not fetch a. Its own log says why."},
		{"a", 200, begin, "unavailable: The Ollama at URL stopped before a was whole. Fetch it again: it goes on where it stopped."},
		{"a", 200, "<html>", "unavailable: URL answers with a web page: a sign-in page or a proxy stands there, or the address is not that of an API. Check --base-url."},
		{"a", 404, "404 page not found", "unavailable: There is no Ollama API at URL. Check --base-url."},
		{"a", 401, "{}", "forbidden: The engine at URL wants a key: name the environment variable that holds it with --api-key-env, or add the engine with its key."},
		{"a", 500, "{}", "unavailable: The engine at URL failed (status 500). Its own log says why."},
	} {
		m := client(t, ollama.Options{Model: "other"}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		_, base, _ := strings.Cut(m.String(), " at ")
		var err error
		for _, e := range m.Pull(t.Context(), tt.name) {
			err = e
		}
		if got := jackline.KindOf(err).String() + ": " + strings.ReplaceAll(jackline.Say(err), base, "URL"); got != tt.want {
			t.Errorf("%d %s:\n got %s\nwant %s", tt.status, tt.body, got, tt.want)
		}
	}
}

// Numbers of a hostile engine neither overflow nor run backwards, and its words are cleaned.
func TestHostileProgress(t *testing.T) {
	body := `{"status":"a\u001b[31m` + strings.Repeat("x", 500) + `","digest":"d","total":9223372036854775807,"completed":1}` + "\n" +
		`{"status":"b","digest":"d","total":10,"completed":-1}` + "\n" + `{"status":"c","digest":"d","total":10,"completed":99}` + "\n" +
		`{"status":"d","digest":7,"total":"x"}` + "\n" + `{"status":"success"}` + "\n"
	m := client(t, ollama.Options{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	var all []ollama.Progress
	for p, err := range m.Pull(t.Context(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) != 5 || len(all[0].Status) != 120 || strings.Contains(all[0].Status, "\x1b") || all[1].Total != 0 || all[2] != (ollama.Progress{Status: "c", Done: 10, Total: 10}) {
		t.Errorf("%+v", all)
	}
}

// Leaving stops the fetching.
func TestPullLeaving(t *testing.T) {
	gone := make(chan struct{}, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"status":"pulling manifest"}`+"\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	defer srv.Close()
	m := open(t, ollama.Options{BaseURL: srv.URL})
	for _, err := range m.Pull(t.Context(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	<-gone
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range m.Pull(ctx, "a") {
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	<-gone
}

func FuzzLists(f *testing.F) {
	f.Add(`{"models":[{"name":"qwen3:4b","size":1,"digest":"abc","details":{"context_length":1}}]}`, `{"capabilities":["completion"],"parameters":"num_ctx 5","model_info":{"general.architecture":"q","q.context_length":7}}`)
	f.Add(`{"models":null}`, `{}`)
	f.Add(`{"models":[{"model":"a","capabilities":[1]}]}`, `[]`)
	f.Fuzz(func(t *testing.T, tags, details string) {
		m := open(t, ollama.Options{BaseURL: "http://engine.test", Transport: pages{"/api/tags": tags, "/api/ps": tags, "/api/show": details}})
		cards, err := m.Cards(t.Context())
		if err != nil && jackline.Say(err) == "" {
			t.Fatal(err)
		}
		for _, c := range cards {
			if c.ID == "" || c.Bytes < 0 || c.Trained < 0 || c.Usable < 0 || strings.ContainsAny(c.ID, "<>\x00\n ") {
				t.Fatalf("%+v", c)
			}
		}
		for p, err := range m.Pull(t.Context(), "a") {
			if err == nil && (p.Done < 0 || p.Done > p.Total) {
				t.Fatalf("%+v", p)
			}
		}
	})
}

// pages is a transport that answers by path; what it does not know it answers with the list of models.
type pages map[string]string

func (p pages) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := p[r.URL.Path]
	if !ok {
		body = p["/api/tags"]
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}
