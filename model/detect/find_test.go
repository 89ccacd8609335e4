package detect_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// two are a model that can everything and is loaded, and one that is not.
var two = []modeltest.Offer{
	{ID: "qwen3:8b", Trained: 40960, Usable: 16384, Bytes: 5 << 30, Tools: true, Thinking: true, Vision: true, Loaded: true},
	{ID: "gemma3:4b", Trained: 131072, Usable: 4096, Bytes: 3 << 30},
	{ID: "nomic-embed", Trained: 2048, Bytes: 1 << 28, Embeds: true},
}

func start(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func find(t *testing.T, o detect.Options, addresses ...string) []detect.Found {
	t.Helper()
	return detect.Find(t.Context(), o.At(addresses...))
}

// told is what a family says of a model, in short.
func told(c model.Card) string {
	return fmt.Sprintf("%s trained=%d usable=%d tools=%s thinking=%s vision=%s loaded=%s remote=%s bytes=%d %s",
		c.ID, c.Trained, c.Usable, c.Tools, c.Thinking, c.Vision, c.Loaded, c.Remote, c.Bytes, strings.Join(c.Constraints, "+"))
}

func TestFamilies(t *testing.T) {
	tests := []struct {
		engine, base string
		models       []modeltest.Offer
		version, why string
		cards        []string
	}{
		{detect.LMStudio, "/v1", two, "", "LM Studio has 2 models, 1 loaded.", []string{
			"qwen3:8b trained=40960 usable=16384 tools=yes thinking=yes vision=yes loaded=yes remote=unknown bytes=5368709120 json_schema",
			"gemma3:4b trained=131072 usable=0 tools=no thinking=unknown vision=no loaded=no remote=unknown bytes=3221225472 json_schema",
		}},
		{detect.LlamaCpp, "/v1", two[:1], "b9010-d05fe1d7d", "llama.cpp b9010-d05fe1d7d has one model, which is loaded.", []string{
			"qwen3:8b trained=40960 usable=16384 tools=yes thinking=unknown vision=yes loaded=yes remote=unknown bytes=5368709120 json_schema+grammar",
		}},
		{detect.VLLM, "/v1", two[:1], "0.26.0", "vLLM 0.26.0 has one model, which is loaded.", []string{
			"qwen3:8b trained=0 usable=16384 tools=unknown thinking=unknown vision=unknown loaded=yes remote=unknown bytes=0 json_schema+grammar",
		}},
		{detect.Jan, "/v1", two[:2], "", "Jan has 2 models.", []string{
			"qwen3:8b trained=0 usable=0 tools=unknown thinking=unknown vision=unknown loaded=unknown remote=no bytes=0 ",
			"gemma3:4b trained=0 usable=0 tools=unknown thinking=unknown vision=unknown loaded=unknown remote=no bytes=0 ",
		}},
		{detect.LocalAI, "/v1", two, "4.10.0", "LocalAI 4.10.0 has 2 models.", []string{
			"qwen3:8b trained=0 usable=16384 tools=yes thinking=yes vision=yes loaded=unknown remote=unknown bytes=0 grammar",
			"gemma3:4b trained=0 usable=4096 tools=unknown thinking=unknown vision=unknown loaded=unknown remote=unknown bytes=0 grammar",
		}},
		{detect.MLX, "/v1", two[:1], "", "mlx_lm.server has one model.", []string{
			"qwen3:8b trained=0 usable=0 tools=unknown thinking=unknown vision=unknown loaded=unknown remote=unknown bytes=0 ",
		}},
		{detect.Exo, "/v1", two[:2], "", "Exo has 2 models.", []string{
			"qwen3:8b trained=40960 usable=0 tools=unknown thinking=yes vision=yes loaded=unknown remote=unknown bytes=0 ",
			"gemma3:4b trained=131072 usable=0 tools=unknown thinking=no vision=no loaded=unknown remote=unknown bytes=0 ",
		}},
		{detect.Docker, "/engines/v1", two[:1], "", "Docker Model Runner has one model.", []string{
			"qwen3:8b trained=40960 usable=0 tools=unknown thinking=unknown vision=unknown loaded=unknown remote=unknown bytes=0 ",
		}},
		{detect.LiteRT, "/v1", two[:1], "", "LiteRT-LM has one model.", []string{
			"qwen3:8b trained=0 usable=0 tools=unknown thinking=unknown vision=unknown loaded=unknown remote=unknown bytes=0 ",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.engine, func(t *testing.T) {
			t.Parallel()
			url := start(t, modeltest.Family(tt.engine, modeltest.Presence{Models: tt.models, Version: tt.version}, nil))
			found := find(t, detect.Options{}, url)
			if len(found) != 1 {
				t.Fatalf("found %+v", found)
			}
			f := found[0]
			if f.Engine != tt.engine || f.API != detect.APIOpenAI || f.BaseURL != url+tt.base || f.Version != tt.version ||
				f.State != detect.Ready || f.Why != tt.why {
				t.Errorf("found %+v", f)
			}
			var cards []string
			for _, c := range f.Cards {
				cards = append(cards, told(c))
				if c.Engine != tt.engine || c.Source["usable"] != map[bool]string{true: "engine"}[c.Usable != 0] {
					t.Errorf("card %+v", c)
				}
			}
			if d := cmp.Diff(tt.cards, cards); d != "" {
				t.Error(d)
			}
			read, err := detect.Read(t.Context(), url, "")
			if err != nil || cmp.Diff(f, read) != "" {
				t.Errorf("Read says otherwise: %v\n%s", err, cmp.Diff(f, read))
			}
		})
	}
}

// An ollama is as much of Ollama's API as detection asks for. models is the list; show, by name, what it says of each.
type ollama struct {
	models, running string
	show            map[string]string
	asked           atomic.Int32
}

func (o *ollama) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /":
		_, _ = io.WriteString(w, "Ollama is running")
	case "GET /api/version":
		_, _ = io.WriteString(w, `{"version":"0.33.2"}`)
	case "GET /api/tags":
		_, _ = io.WriteString(w, `{"models":[`+o.models+`]}`)
	case "GET /api/ps":
		_, _ = io.WriteString(w, `{"models":[`+o.running+`]}`)
	case "GET /v1/models":
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"qwen3:8b","object":"model","owned_by":"library"}]}`)
	case "POST /api/show":
		o.asked.Add(1)
		var q struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		if said, ok := o.show[q.Model]; ok {
			_, _ = io.WriteString(w, said)
			return
		}
		http.Error(w, `{"error":"model not found"}`, http.StatusNotFound)
	default:
		http.Error(w, "404 page not found", http.StatusNotFound)
	}
}

func library() *ollama {
	return &ollama{
		models: `{"name":"gemma3:4b","model":"gemma3:4b","size":3221225472,"digest":"aaa","details":{"family":"gemma3"}},
			{"name":"qwen3:8b","model":"qwen3:8b","size":5368709120,"digest":"bbb"},
			{"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest","size":1,"digest":"ccc"},
			{"name":"gpt-oss:120b-cloud","model":"gpt-oss:120b-cloud","size":384,"digest":"ddd","remote_host":"https://ollama.com:443"},
			{"name":"tuned","model":"tuned:latest","size":9,"digest":"eee"}`,
		running: `{"name":"qwen3:8b","model":"qwen3:8b","digest":"bbb","size_vram":1,"context_length":16384}`,
		show: map[string]string{
			"gemma3:4b":               `{"capabilities":["completion","vision"],"model_info":{"general.architecture":"gemma3","gemma3.context_length":131072}}`,
			"qwen3:8b":                `{"capabilities":["completion","tools","thinking"],"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960,"tokenizer.ggml.tokens":null}}`,
			"nomic-embed-text:latest": `{"capabilities":["embedding"]}`,
			"gpt-oss:120b-cloud":      `{"capabilities":["completion","tools","thinking"],"details":{"context_length":131072}}`,
			"tuned:latest":            `{"parameters":"temperature 0.7\nnum_ctx                        12288\nstop \"x\""}`,
		},
	}
}

func TestOllama(t *testing.T) {
	o := library()
	url := start(t, o)
	var memory detect.Memory
	found := find(t, detect.Options{Memory: &memory}, url)
	if len(found) != 1 {
		t.Fatalf("found %+v", found)
	}
	f := found[0]
	if f.Engine != "ollama" || f.API != detect.APIOllama || f.BaseURL != url || f.Version != "0.33.2" || f.State != detect.Ready ||
		f.Why != "Ollama 0.33.2 has 4 models, 1 loaded." {
		t.Errorf("found %+v", f)
	}
	want := []string{
		"gemma3:4b trained=131072 usable=0 tools=no thinking=no vision=yes loaded=no remote=no bytes=3221225472 json_schema",
		"qwen3:8b trained=40960 usable=16384 tools=yes thinking=yes vision=no loaded=yes remote=no bytes=5368709120 json_schema",
		"gpt-oss:120b-cloud trained=131072 usable=0 tools=yes thinking=yes vision=no loaded=unknown remote=yes bytes=384 json_schema",
		"tuned:latest trained=0 usable=12288 tools=unknown thinking=unknown vision=unknown loaded=no remote=no bytes=9 json_schema",
	}
	var cards []string
	for _, c := range f.Cards {
		cards = append(cards, told(c))
	}
	if d := cmp.Diff(want, cards); d != "" {
		t.Error(d)
	}
	if f.Cards[1].Digest != "bbb" || f.Cards[1].Source["digest"] != "engine" || f.Cards[3].Source["tools"] != "" {
		t.Errorf("cards %+v", f.Cards)
	}

	// The second look asks about no model again, and says the same.
	before := o.asked.Load()
	again := find(t, detect.Options{Memory: &memory}, url)
	if d := cmp.Diff(found, again); d != "" {
		t.Error(d)
	}
	if n := o.asked.Load() - before; n != 0 {
		t.Errorf("%d models were asked about again", n)
	}

	// A model that is unloaded has no window of its own any more.
	o.running = ""
	if c := find(t, detect.Options{Memory: &memory}, url)[0].Cards[1]; c.Usable != 0 || c.Loaded != model.No || c.Trained != 40960 {
		t.Errorf("after unloading: %+v", c)
	}
	for _, typed := range []string{url, url + "/", url + "/v1", url + "/v1/", url + "/api", url + "/v1/chat/completions", url + "/api/tags"} {
		if f, err := detect.Read(t.Context(), typed, ""); err != nil || f.BaseURL != url || f.API != detect.APIOllama {
			t.Errorf("%s: %+v, %v", typed, f, err)
		}
	}
}

func TestRouter(t *testing.T) {
	var loads atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[
			{"id":"a","owned_by":"llamacpp","status":{"value":"unloaded"}},
			{"id":"b/c d","owned_by":"llamacpp","status":{"value":"loaded"}},
			{"id":"e","owned_by":"llamacpp","status":{"value":"loading"}}]}`)
	})
	mux.HandleFunc("GET /props", func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case !q.Has("model"):
			_, _ = io.WriteString(w, `{"role":"router","default_generation_settings":{"n_ctx":0},"build_info":"b1"}`)
		case q.Get("model") == "b/c d" && q.Get("autoload") == "false":
			_, _ = io.WriteString(w, `{"default_generation_settings":{"n_ctx":8192},"chat_template_caps":{"supports_tools":false},"modalities":{"vision":true}}`)
		default:
			loads.Add(1)
		}
	})
	f := find(t, detect.Options{}, start(t, server("llama.cpp", mux)))[0]
	if loads.Load() != 0 {
		t.Error("a model was loaded by asking")
	}
	if f.Why != "llama.cpp b1 has 3 models, 1 loaded; one is being loaded." {
		t.Error(f.Why)
	}
	if c := f.Cards[1]; c.Usable != 8192 || c.Tools != model.No || c.Vision != model.Yes || c.Loaded != model.Yes {
		t.Errorf("%+v", c)
	}
	if c := f.Cards[0]; c.Usable != 0 || c.Loaded != model.No || c.Tools != model.Unknown {
		t.Errorf("%+v", c)
	}
}

func server(name string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", name)
		h.ServeHTTP(w, r)
	})
}

func TestOlderLMStudio(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v0/models":
			_, _ = io.WriteString(w, `{"object":"list","data":[
				{"id":"qwen2-vl","object":"model","type":"vlm","state":"loaded","max_context_length":32768,"loaded_context_length":4096,"capabilities":["tool_use"]},
				{"id":"llama","object":"model","type":"llm","state":"not-loaded","max_context_length":131072},
				{"id":"nomic","object":"model","type":"embeddings","state":"not-loaded","max_context_length":2048}]}`)
		case "/v1/models":
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"qwen2-vl","object":"model","owned_by":"organization_owner"}]}`)
		default:
			_, _ = fmt.Fprintf(w, `{"error":"Unexpected endpoint or method. (%s %s)"}`, r.Method, r.URL.Path)
		}
	})
	f := find(t, detect.Options{}, start(t, h))[0]
	var cards []string
	for _, c := range f.Cards {
		cards = append(cards, told(c))
	}
	want := []string{
		"qwen2-vl trained=32768 usable=4096 tools=yes thinking=unknown vision=yes loaded=yes remote=unknown bytes=0 json_schema",
		"llama trained=131072 usable=0 tools=unknown thinking=unknown vision=no loaded=no remote=unknown bytes=0 json_schema",
	}
	if d := cmp.Diff(want, cards); d != "" || f.Engine != detect.LMStudio {
		t.Error(f.Engine, d)
	}
}

func TestStates(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			if i := slices.Index(pairs, name); i >= 0 && i%2 == 0 {
				return pairs[i+1]
			}
			return ""
		}
	}
	p := modeltest.Presence{Models: two[:1], Version: "1.2.3"}
	locked := func(p modeltest.Presence) modeltest.Presence { p.Key = "right"; return p }
	tests := []struct {
		name   string
		h      http.Handler
		env    func(string) string
		engine string
		state  detect.State
		keyEnv string
		why    string
	}{
		{"LM Studio without its key", modeltest.Family(detect.LMStudio, locked(p), nil), nil, detect.LMStudio, detect.NeedsKey, "LM_API_TOKEN",
			"LM Studio asks for a key. Put it into the environment variable LM_API_TOKEN, or enter it."},
		{"LM Studio with its key", modeltest.Family(detect.LMStudio, locked(p), nil), env("LM_API_TOKEN", "right"), detect.LMStudio, detect.Ready, "LM_API_TOKEN",
			"LM Studio has one model, which is loaded."},
		{"LM Studio with another", modeltest.Family(detect.LMStudio, locked(p), nil), env("LM_API_TOKEN", "wrong"), detect.LMStudio, detect.NeedsKey, "LM_API_TOKEN",
			"LM Studio does not take the key that the environment variable LM_API_TOKEN holds."},
		{"Jan without its key", modeltest.Family(detect.Jan, locked(p), nil), nil, detect.Jan, detect.NeedsKey, "JAN_API_KEY",
			"Jan asks for a key. Put it into the environment variable JAN_API_KEY, or enter it."},
		{"vLLM without its key", modeltest.Family(detect.VLLM, locked(p), nil), nil, detect.VLLM, detect.NeedsKey, "VLLM_API_KEY",
			"vLLM asks for a key. Put it into the environment variable VLLM_API_KEY, or enter it."},
		{"vLLM with its key", modeltest.Family(detect.VLLM, locked(p), nil), env("VLLM_API_KEY", "right"), detect.VLLM, detect.Ready, "VLLM_API_KEY",
			"vLLM 1.2.3 has one model, which is loaded."},
		{"llama.cpp without its key", modeltest.Family(detect.LlamaCpp, locked(p), nil), nil, detect.LlamaCpp, detect.NeedsKey, "LLAMA_API_KEY",
			"llama.cpp asks for a key. Put it into the environment variable LLAMA_API_KEY, or enter it."},
		{"llama.cpp with its key", modeltest.Family(detect.LlamaCpp, locked(p), nil), env("LLAMA_API_KEY", "right"), detect.LlamaCpp, detect.Ready, "LLAMA_API_KEY",
			"llama.cpp 1.2.3 has one model, which is loaded."},
		{"LocalAI without its key", modeltest.Family(detect.LocalAI, locked(p), nil), nil, detect.LocalAI, detect.NeedsKey, "LOCALAI_API_KEY",
			"LocalAI asks for a key. Put it into the environment variable LOCALAI_API_KEY, or enter it."},
		{"LocalAI with its key", modeltest.Family(detect.LocalAI, locked(p), nil), env("LOCALAI_API_KEY", "right"), detect.LocalAI, detect.Ready, "LOCALAI_API_KEY",
			"LocalAI 1.2.3 has one model."},
		{"llama.cpp while it loads", modeltest.Family(detect.LlamaCpp, modeltest.Presence{Models: two[:1], Loading: true}, nil), nil, detect.LlamaCpp, detect.Loading, "",
			"llama.cpp is loading its model, which takes from seconds to minutes."},
		{"an older llama.cpp while it loads", always(503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`), nil, detect.LlamaCpp, detect.Loading, "",
			"llama.cpp is loading its model, which takes from seconds to minutes."},
		{"Ollama without a model", &ollama{}, nil, detect.Ollama, detect.NoModel, "",
			"Ollama 0.33.2 has no model yet. Get one, for example: ollama pull qwen3:4b"},
		{"LM Studio with vectors only", modeltest.Family(detect.LMStudio, modeltest.Presence{Models: two[2:]}, nil), nil, detect.LMStudio, detect.NoModel, "",
			"LM Studio has no model yet. Get one in LM Studio, or with: lms get qwen3-4b"},
		{"mlx without a model", modeltest.Family(detect.MLX, modeltest.Presence{}, nil), nil, detect.MLX, detect.NoModel, "",
			"mlx_lm.server has no model yet. Start it with one: mlx_lm.server --model MODEL"},
		{"an unknown server", always(200, `{"object":"list","data":[{"id":"m","object":"model","owned_by":"sglang","max_model_len":4096}]}`), nil, detect.OpenAI, detect.Ready, "",
			"An OpenAI-compatible server has one model."},
		{"an unknown server that wants a key", always(401, `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","code":"invalid_api_key"}}`),
			env("OPENAI_API_KEY", "secret"), detect.OpenAI, detect.NeedsKey, "", "An OpenAI-compatible server asks for a key."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found := find(t, detect.Options{Env: tt.env}, start(t, tt.h))
			if len(found) != 1 {
				t.Fatalf("found %+v", found)
			}
			if f := found[0]; f.Engine != tt.engine || f.State != tt.state || f.KeyEnv != tt.keyEnv || f.Why != tt.why || f.Cards == nil {
				t.Errorf("found %+v", f)
			}
		})
	}
}

// always answers everything in the same way.
func always(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func TestNoEngines(t *testing.T) {
	var visits atomic.Int32
	elsewhere := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visits.Add(1)
		library().ServeHTTP(w, r)
	}))
	t.Cleanup(func() { // when the parallel ones are done
		if visits.Load() != 0 {
			t.Error("a redirect was followed to another origin")
		}
	})
	tests := []struct {
		name string
		h    http.Handler
	}{
		{"a web page", always(200, "<!doctype html><html>Docker Model Runner, LM Studio, Ollama is running</html>")},
		{"nothing", always(200, "")},
		{"an empty object", always(200, "{}")},
		{"an empty list", always(200, "[]")},
		{"the same version everywhere", always(200, `{"version":"1","endpoints":{}}`)},
		{"a number", always(200, "1")},
		{"somebody's password", always(401, "Unauthorized")},
		{"another API's password", always(401, `{"error":"unauthorized"}`)},
		{"forbidden", always(403, `{"error":{"message":"no api key"}}`)},
		{"not found", always(404, "404 page not found")},
		{"ourselves", always(200, `{"object":"list","data":[{"id":"m","object":"model","owned_by":"jackline"}]}`)},
		{"a list of other things", always(200, `{"data":[{"name":"x"}]}`)},
		{"a way to elsewhere", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusMovedPermanently)
		})},
		{"a way in circles", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusMovedPermanently)
		})},
		{"ten megabytes", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"`+strings.Repeat("x", 10<<20)+`"}]}`)
		})},
		{"endless", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
					return
				}
			}
		})},
		{"broken", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if found := find(t, detect.Options{}, start(t, tt.h)); len(found) != 0 {
				t.Errorf("found %+v", found)
			}
		})
	}
	t.Run("no HTTP", func(t *testing.T) {
		t.Parallel()
		if found := find(t, detect.Options{}, listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.6\r\n") })); len(found) != 0 {
			t.Errorf("found %+v", found)
		}
	})
	t.Run("silence", func(t *testing.T) {
		t.Parallel()
		begin := time.Now()
		found := find(t, detect.Options{}, listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }))
		if took := time.Since(begin); len(found) != 0 || took > 5*time.Second {
			t.Errorf("found %+v after %v", found, took)
		}
	})
	t.Run("nobody", func(t *testing.T) {
		if found := find(t, detect.Options{}, closed(t)); len(found) != 0 {
			t.Errorf("found %+v", found)
		}
	})
}

// listen answers connections in some way of its own.
func listen(t testing.TB, talk func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { talk(c); _ = c.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return "http://" + l.Addr().String()
}

// closed is an address where nobody listens.
func closed(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return "http://" + l.Addr().String()
}

func TestTwoFingerprints(t *testing.T) {
	liar := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			_, _ = io.WriteString(w, "Ollama is running")
			return
		}
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model","owned_by":"vllm","max_model_len":9}]}`)
	})
	url := start(t, liar)
	f := find(t, detect.Options{}, url)[0]
	if f.Engine != detect.OpenAI || f.API != detect.APIOpenAI || f.State != detect.Ready ||
		!strings.HasSuffix(f.Why, " shows the marks of Ollama and of vLLM. It is taken for a plain OpenAI-compatible server.") {
		t.Errorf("%+v", f)
	}
	// With no list it is nothing.
	if found := find(t, detect.Options{}, start(t, server("llama.cpp", always(200, "Ollama is running")))); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
	// LocalAI may be told to show Ollama's banner.
	imitator := http.NewServeMux()
	imitator.Handle("GET /{$}", always(200, "Ollama is running"))
	imitator.Handle("/", modeltest.Family(detect.LocalAI, modeltest.Presence{Models: two[:1], Version: "v4.10.0"}, nil))
	if f := find(t, detect.Options{}, start(t, imitator))[0]; f.Engine != detect.LocalAI || f.Version != "4.10.0" {
		t.Errorf("%+v", f)
	}
}

func TestHalfAnEngine(t *testing.T) {
	tests := []struct {
		name string
		tags http.HandlerFunc
		why  string
	}{
		{"it hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "does not come in time"},
		{"it fails", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "fails with status 500"},
		{"it says too much", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 10<<20)) }, "is longer than 4 MB"},
		{"it says something else", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"a":1}`) }, "cannot be read"},
		{"it shows a page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `<html>`) }, "is a web page"},
		{"it breaks off", func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "breaks off"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/tags" {
					tt.tags(w, r)
					return
				}
				library().ServeHTTP(w, r)
			}))
			found := find(t, detect.Options{}, url)
			want := "Ollama listens at " + strings.TrimPrefix(url, "http://") + ", but its list of models " + tt.why + ". Its own log may say why."
			if len(found) != 1 || found[0].State != detect.Down || found[0].Why != want {
				t.Errorf("found %+v", found)
			}
		})
	}
}

func TestHostileNames(t *testing.T) {
	o := &ollama{models: `{"name":"a\u202eb\u200bc\u0000"},{"name":"abc"},{"name":"` + strings.Repeat("x", 600) + `"},{"name":"  "},{"name":7},
		{"name":"\ufe0f"},{"name":"ok","size":-1,"digest":"d\u001bd"},{"name":"huge","size":1e300}`}
	f := find(t, detect.Options{}, start(t, o))[0]
	ids := []string{}
	for _, c := range f.Cards {
		ids = append(ids, c.ID)
	}
	if d := cmp.Diff([]string{"abc", "ok", "huge"}, ids); d != "" {
		t.Error(d)
	}
	if f.Cards[1].Digest != "dd" || f.Cards[1].Bytes != 0 || f.Cards[2].Bytes != 0 {
		t.Errorf("%+v", f.Cards)
	}
	many := strings.TrimSuffix(strings.Repeat("{},", 300_000), ",")
	if found := find(t, detect.Options{}, start(t, &ollama{models: many})); len(found) != 1 || found[0].State != detect.NoModel {
		t.Errorf("found %d", len(found))
	}
	var names []string
	for i := range 2000 {
		names = append(names, fmt.Sprintf(`{"name":"m%d"}`, i))
	}
	if found := find(t, detect.Options{}, start(t, &ollama{models: strings.Join(names, ",")})); len(found[0].Cards) != 512 {
		t.Errorf("%d models are listed", len(found[0].Cards))
	}
}

// A key goes to nobody who did not show the fingerprint of its family, and to nobody who does not ask for one.
func TestKeysStay(t *testing.T) {
	const secret = "do-not-tell"
	var told atomic.Bool
	spy := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, values := range r.Header {
				if strings.Contains(strings.Join(values, " "), secret) {
					told.Store(true)
				}
			}
			h.ServeHTTP(w, r)
		})
	}
	env := func(string) string { return secret }
	p := modeltest.Presence{Models: two[:1]}
	for _, h := range []http.Handler{
		always(401, `{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`), always(401, ""), library(),
		modeltest.Family(detect.LMStudio, p, nil), modeltest.Family(detect.LlamaCpp, p, nil), modeltest.Family(detect.VLLM, p, nil),
	} {
		find(t, detect.Options{Env: env}, start(t, spy(h)))
	}
	if told.Load() {
		t.Error("a key was sent to somebody who had not asked for it")
	}
	p.Key = secret
	find(t, detect.Options{Env: env}, start(t, spy(modeltest.Family(detect.LMStudio, p, nil))))
	if !told.Load() {
		t.Error("the key was not sent to the one who asked for it")
	}
}

func TestOrder(t *testing.T) {
	p := modeltest.Presence{Models: two[:1]}
	urls := []string{
		start(t, modeltest.Family(detect.Exo, p, nil)), start(t, modeltest.Family(detect.VLLM, p, nil)), start(t, library()),
		start(t, modeltest.Family(detect.VLLM, p, nil)), start(t, modeltest.Family(detect.LMStudio, p, nil)),
	}
	first := find(t, detect.Options{}, urls...)
	var engines []string
	for _, f := range first {
		engines = append(engines, f.Engine)
	}
	if d := cmp.Diff([]string{"ollama", "lm-studio", "vllm", "vllm", "exo"}, engines); d != "" {
		t.Fatal(d)
	}
	if first[2].BaseURL != urls[1]+"/v1" || first[3].BaseURL != urls[3]+"/v1" {
		t.Error("engines of one family are not in the order of their ports")
	}
	for range 5 {
		if d := cmp.Diff(first, find(t, detect.Options{}, urls...)); d != "" {
			t.Fatal(d)
		}
	}
}

func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("there is no IPv6 here: %v", err)
	}
	s := &http.Server{Handler: library()}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	found := find(t, detect.Options{}, "http://127.0.0.1:"+port)
	if len(found) != 1 || found[0].BaseURL != "http://[::1]:"+port {
		t.Errorf("found %+v", found)
	}
}

func BenchmarkFind(b *testing.B) {
	b.Run("nothing", func(b *testing.B) {
		var memory detect.Memory
		for b.Loop() {
			_ = detect.Find(b.Context(), detect.Options{Memory: &memory})
		}
	})
	b.Run("nothing, in a container, for the first time", func(b *testing.B) {
		for b.Loop() {
			_ = detect.Find(b.Context(), detect.Options{})
		}
	})
	b.Run("ollama", func(b *testing.B) {
		var memory detect.Memory
		o := detect.Options{Memory: &memory}.At(start(b, library()))
		for b.Loop() {
			if len(detect.Find(b.Context(), o)) != 1 {
				b.Fatal("not found")
			}
		}
	})
}
