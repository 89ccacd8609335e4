package modeltest

import (
	"net/http"
	"strings"
)

// A Presence is what an engine of some family has and how it is doing, before its family puts it into its own words.
type Presence struct {
	Models  []Offer
	Version string
	Key     string // bearer token that is asked for, where the family has one; "" asks for none
	Loading bool   // it is up, its model not yet
}

// An Offer is one model of a [Presence]. What a family does not say is left unsaid.
type Offer struct {
	ID                              string
	Trained, Usable                 int // windows; Usable counts where it is loaded
	Bytes                           int64
	Tools, Thinking, Vision, Loaded bool
	Embeds                          bool // it makes vectors and answers nobody
}

// Family is an engine of a family, named as in model.Card.Engine, with its fingerprint and its list of models. chat, if
// it is not nil, gets what the family does not answer itself: an [Engine] plays a script there. It knows all families but
// Ollama, and is nil for others.
//
// The families are written from documentation and source, as of 2026, not from captured traffic.
func Family(name string, p Presence, chat http.Handler) http.Handler {
	build, ok := map[string]func(Presence) (*http.ServeMux, house){
		"lm-studio": lmStudio, "llama.cpp": llamaServer, "vllm": vllm, "jan": jan, "localai": localAI, "mlx-lm": mlx, "exo": exo,
		"docker-model-runner": docker, "litert-lm": liteRT,
	}[name]
	if !ok {
		return nil
	}
	mux, h := build(p)
	if chat != nil {
		mux.Handle("POST "+h.prefix+"/v1/", http.StripPrefix(h.prefix, chat))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.server != "" {
			w.Header().Set("Server", h.server)
		}
		if p.Key != "" && !h.open(r) && r.Header.Get("Authorization") != "Bearer "+p.Key {
			answer(w, http.StatusUnauthorized, h.refusal)
			return
		}
		if _, pattern := mux.Handler(r); pattern == "" {
			answer(w, h.lost, strings.ReplaceAll(h.stray, "PATH", r.Method+" "+r.URL.Path))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// A house is what an engine does whatever it is asked.
type house struct {
	server  string                   // its Server header
	prefix  string                   // of the OpenAI paths
	open    func(*http.Request) bool // what it answers without a key
	refusal string                   // what it says to who has none
	lost    int                      // status for a path that it does not have
	stray   string                   // and what it says then; PATH is method and path
}

func always(*http.Request) bool { return true }

func under(prefix string) func(*http.Request) bool {
	return func(r *http.Request) bool { return !strings.HasPrefix(r.URL.Path, prefix) }
}

func paths(open ...string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		for _, p := range open {
			if r.URL.Path == p {
				return true
			}
		}
		return false
	}
}

// answer writes JSON, a page or plain text, as it looks.
func answer(w http.ResponseWriter, status int, body string) {
	kind := "text/plain; charset=utf-8"
	switch {
	case strings.HasPrefix(body, "{"), strings.HasPrefix(body, "["):
		kind = "application/json"
	case strings.HasPrefix(body, "<"):
		kind = "text/html; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // nobody is there to tell
}

// say answers a path always in the same way.
func say(mux *http.ServeMux, pattern string, status int, body string) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { answer(w, status, body) })
}

type object = map[string]any

// list is an OpenAI list of models, each made by one.
func list(p Presence, one func(Offer) object) string {
	data := []any{}
	for _, o := range p.Models {
		if m := one(o); m != nil {
			data = append(data, m)
		}
	}
	return string(encode(object{"object": "list", "data": data}))
}

func entry(o Offer, owner string) object {
	m := object{"id": o.ID, "object": "model", "created": created}
	if owner != "" {
		m["owned_by"] = owner
	}
	return m
}

func lmStudio(p Presence) (*http.ServeMux, house) {
	mux := http.NewServeMux()
	models := []any{}
	for _, o := range p.Models {
		m := object{
			"type": "llm", "publisher": "someone", "key": o.ID, "display_name": o.ID, "size_bytes": o.Bytes,
			"loaded_instances": []any{}, "max_context_length": o.Trained, "format": "gguf",
		}
		if o.Embeds {
			m["type"] = "embedding"
		} else {
			can := object{"vision": o.Vision, "trained_for_tool_use": o.Tools}
			if o.Thinking {
				can["reasoning"] = object{"allowed_options": []string{"off", "on"}, "default": "on"}
			}
			m["capabilities"] = can
		}
		if o.Loaded {
			m["loaded_instances"] = []any{object{"id": o.ID, "config": object{"context_length": o.Usable, "parallel": 4}}}
		}
		models = append(models, m)
	}
	say(mux, "GET /api/v1/models", 200, string(encode(object{"models": models})))
	say(mux, "GET /v1/models", 200, list(p, func(o Offer) object { return entry(o, "organization_owner") }))
	return mux, house{
		open: paths(), lost: 200, stray: `{"error":"Unexpected endpoint or method. (PATH)"}`,
		refusal: `{"error":{"type":"invalid_request","code":"invalid_api_key","message":"An LM Studio API token is required to make requests to this server, but none was provided using the Authorization header"}}`,
	}
}

func llamaServer(p Presence) (*http.ServeMux, house) {
	mux := http.NewServeMux()
	const loading = `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`
	say(mux, "GET /v1/models", 200, list(p, func(o Offer) object {
		m := entry(o, "llamacpp")
		m["meta"] = object{"vocab_type": 2, "n_vocab": 151936, "n_ctx": o.Usable, "n_ctx_train": o.Trained, "n_params": 1, "size": o.Bytes}
		if p.Loading {
			m["meta"] = nil
		}
		return m
	}))
	if p.Loading {
		say(mux, "GET /health", 503, loading)
		say(mux, "GET /props", 503, loading)
	} else {
		say(mux, "GET /health", 200, `{"status":"ok"}`)
		var o Offer
		if len(p.Models) > 0 {
			o = p.Models[0]
		}
		say(mux, "GET /props", 200, string(encode(object{
			"default_generation_settings": object{"n_ctx": o.Usable, "params": object{}}, "total_slots": 1, "model_alias": o.ID,
			"modalities":    object{"vision": o.Vision, "audio": false},
			"chat_template": "{{ messages }}", "chat_template_caps": object{"supports_tools": o.Tools, "supports_system_role": true},
			"build_info": p.Version, "is_sleeping": !o.Loaded,
		})))
	}
	say(mux, "GET /{$}", 200, "<!doctype html><html></html>")
	return mux, house{
		server: "llama.cpp", open: paths("/health", "/v1/health", "/models", "/v1/models", "/"), lost: 404,
		stray:   `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`,
		refusal: `{"error":{"code":401,"message":"Invalid API Key","type":"authentication_error"}}`,
	}
}

func vllm(p Presence) (*http.ServeMux, house) {
	mux := http.NewServeMux()
	say(mux, "GET /v1/models", 200, list(p, func(o Offer) object {
		m := entry(o, "vllm")
		m["root"], m["parent"], m["max_model_len"] = o.ID, nil, o.Usable
		return m
	}))
	say(mux, "GET /version", 200, `{"version":"`+p.Version+`"}`)
	say(mux, "GET /health", 200, "")
	return mux, house{server: "uvicorn", open: under("/v1"), refusal: `{"error":"Unauthorized"}`, lost: 404, stray: `{"detail":"Not Found"}`}
}

func jan(p Presence) (*http.ServeMux, house) {
	mux := http.NewServeMux()
	say(mux, "GET /v1/models", 200, list(p, func(o Offer) object { return entry(o, "llama.cpp") }))
	say(mux, "GET /{$}", 200, "<!DOCTYPE html><html><title>API</title></html>")
	return mux, house{open: paths("/", "/openapi.json"), refusal: "Invalid or missing authorization token", lost: 404, stray: "Not Found"}
}

func localAI(p Presence) (*http.ServeMux, house) {
	mux := http.NewServeMux()
	say(mux, "GET /.well-known/localai.json", 200, string(encode(object{
		"version": p.Version, "endpoints": object{"models": "/v1/models", "model_capabilities": "/v1/models/capabilities"},
	})))
	say(mux, "GET /v1/models/capabilities", 200, list(p, func(o Offer) object {
		m := entry(o, "")
		can := []string{"chat"}
		if o.Embeds {
			can = []string{"tts"}
		}
		for word, is := range map[string]bool{"tools": o.Tools, "thinking": o.Thinking, "vision": o.Vision} {
			if is {
				can = append(can, word)
			}
		}
		m["capabilities"], m["input_modalities"], m["context_size"] = can, []string{"text"}, o.Usable
		return m
	}))
	say(mux, "GET /v1/models", 200, list(p, func(o Offer) object { return object{"id": o.ID, "object": "model"} }))
	say(mux, "GET /version", 200, `{"version":"`+p.Version+`"}`)
	say(mux, "GET /api/version", 200, `{"version":"0.9.0"}`) // it speaks Ollama's API too, and says so
	say(mux, "GET /api/tags", 200, `{"models":[]}`)
	say(mux, "GET /{$}", 200, "<!doctype html><html></html>")
	ready := 200
	if p.Loading {
		ready = 503
	}
	say(mux, "GET /readyz", ready, "")
	return mux, house{
		open: paths("/", "/.well-known/localai.json", "/readyz", "/healthz", "/version"), lost: 404,
		stray:   `{"error":{"code":404,"message":"Resource not found","type":""}}`,
		refusal: `{"error":{"code":401,"message":"An authentication key is required","type":"invalid_request_error"}}`,
	}
}

func mlx(p Presence) (*http.ServeMux, house) {
	mux := http.NewServeMux()
	say(mux, "GET /v1/models", 200, list(p, func(o Offer) object { return entry(o, "") }))
	say(mux, "GET /health", 200, `{"status": "ok"}`)
	return mux, house{server: "BaseHTTP/0.6 Python/3.12.4", open: always, lost: 404, stray: "Not Found"}
}

func exo(p Presence) (*http.ServeMux, house) {
	mux := http.NewServeMux()
	say(mux, "GET /v1/models", 200, list(p, func(o Offer) object {
		m := entry(o, "exo")
		can := []string{"text"}
		if o.Thinking {
			can = append(can, "thinking")
		}
		if o.Vision {
			can = append(can, "vision")
		}
		m["name"], m["context_length"], m["storage_size_megabytes"], m["capabilities"] = o.ID, o.Trained, o.Bytes>>20, can
		return m
	}))
	say(mux, "GET /{$}", 200, "<!doctype html><html></html>")
	return mux, house{server: "uvicorn", open: always, lost: 404, stray: `{"detail":"Not Found"}`}
}

func docker(p Presence) (*http.ServeMux, house) {
	mux := http.NewServeMux()
	say(mux, "GET /engines/v1/models", 200, list(p, func(o Offer) object {
		m := entry(o, "docker")
		m["dmr"] = object{"context_window": o.Trained, "architecture": "llama"}
		return m
	}))
	say(mux, "GET /{$}", 200, "Docker Model Runner is running")
	return mux, house{prefix: "/engines", open: always, lost: 404, stray: "404 page not found"}
}

func liteRT(p Presence) (*http.ServeMux, house) {
	mux := http.NewServeMux()
	say(mux, "GET /v1/models", 200, list(p, func(o Offer) object { return entry(o, "litert-lm") }))
	return mux, house{server: "BaseHTTP/0.6 Python/3.12.4", open: always, lost: 404, stray: "<html>Error response</html>"}
}
