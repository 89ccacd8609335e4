package modeltest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackline-ai/jackline/model/constraint/constrainttest"
	"github.com/jackline-ai/jackline/model/script"
)

// An OllamaModel is a model as a scripted Ollama has it, or can fetch it.
type OllamaModel struct {
	Name    string // with its tag: "qwen3:4b"
	Bytes   int64
	Family  string // what its architecture is called: "qwen3"
	Size    string // of its parameters: "4.0B"
	Trained int    // the window it was trained for, tokens
	Window  int    // its own PARAMETER num_ctx; 0 for none

	Tools, Thinking, Vision bool
	Embeds                  bool // it makes embeddings and does not chat

	Weights string // which they are, where a name is not to tell: the digest is made from both

	Breaks int // how many times fetching it fails half way before it succeeds
}

// digest is made up from name and weights, and always the same.
func (m OllamaModel) digest() string {
	sum := uint64(14695981039346656037)
	for _, c := range []byte(m.Name + m.Weights) {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	return strings.Repeat(fmt.Sprintf("%016x", sum), 4)
}

func (m OllamaModel) capabilities() []string {
	if m.Embeds {
		return []string{"embedding"}
	}
	all := []string{"completion"}
	for name, has := range map[string]bool{"tools": m.Tools, "thinking": m.Thinking, "vision": m.Vision} {
		if has {
			all = append(all, name)
		}
	}
	slices.Sort(all[1:])
	return all
}

func (m OllamaModel) details() map[string]any {
	return map[string]any{
		"parent_model": "", "format": "gguf", "family": m.Family, "families": []string{m.Family},
		"parameter_size": m.Size, "quantization_level": "Q4_K_M",
	}
}

// Qwen is a model that calls tools and reasons, Gemma one that does neither and reads images, Nomic one that does not
// chat. Numbers are as those of their namesakes.
func Qwen() OllamaModel {
	return OllamaModel{Name: "qwen3:4b", Bytes: 2_497_293_931, Family: "qwen3", Size: "4.0B", Trained: 262_144, Tools: true, Thinking: true}
}

// Gemma: see [Qwen].
func Gemma() OllamaModel {
	return OllamaModel{Name: "gemma3:4b", Bytes: 3_338_801_804, Family: "gemma3", Size: "4.3B", Trained: 131_072, Vision: true}
}

// Nomic: see [Qwen].
func Nomic() OllamaModel {
	return OllamaModel{Name: "nomic-embed-text:latest", Bytes: 274_302_450, Family: "nomic-bert", Size: "137M", Trained: 2048, Embeds: true}
}

// OllamaOptions say what a scripted Ollama is like. The zero value is a current one with nothing fetched and an empty
// library.
type OllamaOptions struct {
	Version string        // "" is a current one
	Models  []OllamaModel // on disk, the one changed last first
	Library []OllamaModel // what can be fetched
	Window  int           // of a model whose request names none; 0 is Ollama's own 4096
	Key     string        // bearer token that a proxy in front of it asks for; "" for none

	// Pace is the time between two lines about a model being fetched; 0 is none. People like to watch it.
	Pace time.Duration

	// Cuts makes it one before 0.12.6: it does not know truncate, and cuts a prompt that is too long without a word.
	Cuts bool

	// Answers, if it is not nil, says what a model writes that is held to a form, in place of the script: see constrainttest.Samples.
	Answers func(constrainttest.Form) string

	// NoCapabilities makes it one before 0.6.4, which does not say what a model can do.
	NoCapabilities bool
}

// An OllamaEngine is a scripted Ollama: its own API, and under /v1 an [Engine] that plays the same script. It is an
// http.Handler that needs no test, so that a program can serve it.
//
// What it writes follows Ollama's source, versions 0.17 to 0.40; created_at and the durations are made up.
type OllamaEngine struct {
	script *script.Script
	o      OllamaOptions
	mux    *http.ServeMux
	v1     *Engine

	mu     sync.Mutex
	models []OllamaModel
	loaded map[string]loadedModel
	broken map[string]int // how many times fetching a model has failed
	bodies [][]byte
	errs   []error
}

type loadedModel struct {
	window int
	until  time.Time
}

// OllamaHandler makes an Ollama that plays s.
func OllamaHandler(s *script.Script, o OllamaOptions) *OllamaEngine {
	o.Version = cmp.Or(o.Version, "0.40.2")
	o.Window = cmp.Or(o.Window, 4096)
	v1 := Ollama()
	v1.Models = nil // which models there are is looked up here
	e := &OllamaEngine{
		script: s, o: o, mux: http.NewServeMux(), v1: Handler(s, v1), models: slices.Clone(o.Models),
		loaded: map[string]loadedModel{}, broken: map[string]int{},
	}
	e.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "Ollama is running")
	})
	e.mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"version": o.Version})
	})
	e.mux.HandleFunc("GET /api/tags", e.tags)
	e.mux.HandleFunc("GET /api/ps", e.ps)
	e.mux.HandleFunc("POST /api/show", e.show)
	e.mux.HandleFunc("POST /api/chat", e.chat)
	e.mux.HandleFunc("POST /api/pull", e.pull)
	e.mux.HandleFunc("DELETE /api/delete", e.remove)
	e.mux.HandleFunc("GET /v1/models", e.compatibleModels)
	e.mux.HandleFunc("POST /v1/chat/completions", e.compatible)
	return e
}

// An OllamaServer is an [OllamaEngine] that listens on loopback.
type OllamaServer struct {
	*OllamaEngine
	URL string // base URL, without a path
}

// NewOllama starts an Ollama that is stopped when the test ends.
func NewOllama(t testing.TB, s *script.Script, o OllamaOptions) *OllamaServer {
	t.Helper()
	e := OllamaHandler(s, o)
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	return &OllamaServer{OllamaEngine: e, URL: srv.URL}
}

// ServeHTTP answers one request.
func (e *OllamaEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.o.Key != "" && r.Header.Get("Authorization") != "Bearer "+e.o.Key {
		refuse(w, http.StatusUnauthorized, "unauthorized")
		return
	}
	e.mux.ServeHTTP(w, r)
}

// Sent are the bodies of all requests to /api/chat so far, byte for byte.
func (e *OllamaEngine) Sent() [][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.bodies)
}

// Errs are what the script had to say against requests, under /v1 too.
func (e *OllamaEngine) Errs() []error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append(slices.Clone(e.errs), e.v1.Errs()...)
}

// reply answers with a JSON value.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v)) // nobody is there to tell
}

func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]any{"error": message})
}

// asks reads a request. It answers itself, and returns false, when there is nothing to read.
func asks(w http.ResponseWriter, r *http.Request, v any) bool {
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return false // the client has gone
	case len(body) == 0:
		refuse(w, http.StatusBadRequest, "missing request body")
		return false
	}
	if err := json.Unmarshal(body, v); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return false
	}
	return true
}

// tagged is a model's name with its tag.
func tagged(name string) string {
	if !strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ":") {
		return name + ":latest"
	}
	return name
}

func find(all []OllamaModel, name string) (OllamaModel, bool) {
	at := slices.IndexFunc(all, func(m OllamaModel) bool { return strings.EqualFold(tagged(m.Name), tagged(name)) })
	if at < 0 {
		return OllamaModel{}, false
	}
	return all[at], true
}

func (e *OllamaEngine) model(name string) (OllamaModel, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return find(e.models, name)
}

const ollamaTime = "2026-09-30T10:20:30.123456789Z" // the same each time makes recordings comparable

func (e *OllamaEngine) tags(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	models := []any{}
	for _, m := range e.models {
		models = append(models, map[string]any{
			"name": m.Name, "model": m.Name, "modified_at": ollamaTime, "size": m.Bytes, "digest": m.digest(), "details": m.details(),
		})
	}
	reply(w, http.StatusOK, map[string]any{"models": models})
}

func (e *OllamaEngine) ps(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	models := []any{}
	for _, m := range e.models {
		if l, ok := e.loaded[m.Name]; ok && time.Now().Before(l.until) {
			models = append(models, map[string]any{
				"name": m.Name, "model": m.Name, "size": m.Bytes, "digest": m.digest(), "details": m.details(),
				"expires_at": l.until.UTC().Format(time.RFC3339Nano), "size_vram": m.Bytes, "context_length": l.window,
			})
		}
	}
	reply(w, http.StatusOK, map[string]any{"models": models})
}

// A naming is a request that names a model; older clients call the field name.
type naming struct {
	Model  string `json:"model"`
	Name   string `json:"name"`
	Stream *bool  `json:"stream"`
}

func (n naming) name() string { return cmp.Or(n.Model, n.Name) }

func (e *OllamaEngine) show(w http.ResponseWriter, r *http.Request) {
	var n naming
	if !asks(w, r, &n) {
		return
	}
	if n.name() == "" {
		refuse(w, http.StatusBadRequest, "model is required")
		return
	}
	m, ok := e.model(n.name())
	if !ok {
		refuse(w, http.StatusNotFound, "model '"+n.name()+"' not found")
		return
	}
	parameters := fmt.Sprintf("%-30s %s\n%-30s %s", "stop", `"<|im_end|>"`, "temperature", "0.6")
	if m.Window > 0 {
		parameters += fmt.Sprintf("\n%-30s %d", "num_ctx", m.Window)
	}
	v := map[string]any{
		"license": "a licence", "modelfile": "FROM " + m.Name, "parameters": parameters, "template": "{{ .Prompt }}",
		"details": m.details(), "modified_at": ollamaTime,
		"model_info": map[string]any{
			"general.architecture": m.Family, "general.parameter_count": 4_022_468_096,
			m.Family + ".context_length": m.Trained, m.Family + ".embedding_length": 2560,
		},
	}
	if !e.o.NoCapabilities {
		v["capabilities"] = m.capabilities()
	}
	reply(w, http.StatusOK, v)
}

func (e *OllamaEngine) remove(w http.ResponseWriter, r *http.Request) {
	var n naming
	if !asks(w, r, &n) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	m, ok := find(e.models, n.name())
	if !ok {
		refuse(w, http.StatusNotFound, "model '"+n.name()+"' not found")
		return
	}
	e.models = slices.DeleteFunc(e.models, func(each OllamaModel) bool { return each.Name == m.Name })
	delete(e.loaded, m.Name)
	w.WriteHeader(http.StatusOK)
}

func (e *OllamaEngine) pull(w http.ResponseWriter, r *http.Request) {
	var n naming
	if !asks(w, r, &n) {
		return
	}
	if n.name() == "" || strings.ContainsAny(n.name(), " <>\"'") {
		refuse(w, http.StatusBadRequest, "invalid model name")
		return
	}
	streams := n.Stream == nil || *n.Stream
	say := func(v map[string]any) bool {
		if !streams {
			return r.Context().Err() == nil
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = w.Write(append(encode(v), '\n'))
		_ = http.NewResponseController(w).Flush()
		if e.o.Pace > 0 {
			select {
			case <-time.After(e.o.Pace):
			case <-r.Context().Done():
			}
		}
		return r.Context().Err() == nil
	}
	fail := func(message string) {
		if !streams {
			refuse(w, http.StatusInternalServerError, message)
			return
		}
		say(map[string]any{"error": message})
	}
	if !say(map[string]any{"status": "pulling manifest"}) {
		return
	}
	m, ok := find(e.o.Library, n.name())
	if !ok {
		fail("pull model manifest: file does not exist")
		return
	}
	if !e.fetch(m, say, fail) {
		return
	}
	for _, status := range []string{"verifying sha256 digest", "writing manifest"} {
		if !say(map[string]any{"status": status}) {
			return
		}
	}
	e.mu.Lock()
	e.models = slices.Insert(slices.DeleteFunc(e.models, func(each OllamaModel) bool { return each.Name == m.Name }), 0, m)
	e.mu.Unlock()
	if !streams {
		reply(w, http.StatusOK, map[string]any{"status": "success"})
		return
	}
	say(map[string]any{"status": "success"})
}

// fetch plays the parts of a model arriving: the weights in ten steps, then two small ones. A model that has failed before
// goes on in the middle.
func (e *OllamaEngine) fetch(m OllamaModel, say func(map[string]any) bool, fail func(string)) bool {
	e.mu.Lock()
	failed := e.broken[m.Name]
	breaks := failed < m.Breaks
	if breaks {
		e.broken[m.Name]++
	}
	e.mu.Unlock()
	const steps = 10
	digest := m.digest()
	for part, total := range []int64{m.Bytes, 1482, 485} {
		layer := fmt.Sprintf("%x%s", part, digest[1:])
		for i := range int64(steps + 1) {
			if part == 0 && failed > 0 && i < steps/2 {
				continue // it arrived the last time
			}
			if part == 0 && breaks && i > steps/2 {
				fail("max retries exceeded: unexpected EOF")
				return false
			}
			v := map[string]any{"status": "pulling " + layer[:12], "digest": "sha256:" + layer, "total": total}
			if i > 0 {
				v["completed"] = total * i / steps
			}
			if !say(v) {
				return false
			}
		}
	}
	return true
}

func (e *OllamaEngine) compatibleModels(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	data := []any{}
	for _, m := range e.models {
		data = append(data, map[string]any{"id": m.Name, "object": "model", "created": created, "owned_by": "library"})
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

// compatible hands a Chat Completions request on, if there is such a model and it can do what is asked.
func (e *OllamaEngine) compatible(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	var q question
	if err := json.Unmarshal(body, &q); err != nil {
		e.v1.refuse(w, http.StatusBadRequest, "", err.Error())
		return
	}
	m, ok := e.model(q.Model)
	switch {
	case !ok:
		e.v1.refuse(w, http.StatusNotFound, "", fmt.Sprintf("model '%s' not found", q.Model))
		return
	case len(q.Tools) > 0 && !m.Tools:
		e.v1.refuse(w, http.StatusBadRequest, "", longName(m)+" does not support tools")
		return
	}
	e.load(m, e.windowOf(m, 0), 5*time.Minute)
	r.Body = io.NopCloser(bytes.NewReader(body))
	e.v1.ServeHTTP(w, r)
}

// longName is a model's name as Ollama's errors spell it.
func longName(m OllamaModel) string { return "registry.ollama.ai/library/" + tagged(m.Name) }

// windowOf is the window that a model is loaded with: what the request says, else what the model does, else the engine's own.
func (e *OllamaEngine) windowOf(m OllamaModel, asked int) int {
	n := cmp.Or(asked, m.Window, e.o.Window)
	if m.Trained > 0 {
		n = min(n, m.Trained)
	}
	return n
}

func (e *OllamaEngine) load(m OllamaModel, window int, keep time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if keep == 0 {
		delete(e.loaded, m.Name)
		return
	}
	if keep < 0 {
		keep = 100 * 365 * 24 * time.Hour
	}
	e.loaded[m.Name] = loadedModel{window: window, until: time.Now().Add(keep)}
}
