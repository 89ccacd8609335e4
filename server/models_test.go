package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/script"
)

const theKey = "sk-not-to-be-seen-0123456789"

func plays(t *testing.T, text string) *script.Script {
	t.Helper()
	s, err := script.Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func byID(t *testing.T, c model.Catalogue, id string) model.Engine {
	t.Helper()
	for _, e := range c.Engines {
		if e.ID == id {
			return e
		}
	}
	t.Fatalf("no engine %s among %+v", id, c.Engines)
	return model.Engine{}
}

// A key goes in, and never comes out again: in no answer, no log, no error.
func TestEngineKeys(t *testing.T) {
	w := newWorld(t)
	o := modeltest.NewOllama(t, plays(t, "=== *\nHello.\n"), modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen()}, Key: theKey})
	var seen strings.Builder
	ask := func(status int, method, path string, in any) {
		t.Helper()
		res := w.send(method, path, in)
		defer res.Body.Close()
		b := make([]byte, 1<<20)
		n, _ := res.Body.Read(b)
		seen.Write(b[:n])
		if res.StatusCode != status {
			t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, b[:n])
		}
	}
	at := model.Address{BaseURL: o.URL}
	if e := do[model.Engine](w, 200, "POST", "/api/models/test", at); e.State != "needs-key" || e.Why == "" {
		t.Errorf("without a key: %+v", e)
	}
	at.Key = theKey + "x"
	if e := do[model.Engine](w, 200, "POST", "/api/models/test", at); e.State != "needs-key" {
		t.Errorf("with a wrong key: %+v", e)
	}
	at.Key = theKey
	if e := do[model.Engine](w, 200, "POST", "/api/models/test", at); e.State != "ready" || e.Engine != "ollama" || e.API != "ollama" || len(e.Models) != 1 {
		t.Errorf("with the key: %+v", e)
	}
	if c := do[model.Catalogue](w, 200, "GET", "/api/models", nil); len(c.Engines) != 0 {
		t.Errorf("a test was kept: %+v", c)
	}
	ask(201, "POST", "/api/models", at)
	ask(409, "POST", "/api/models", at)
	ask(200, "POST", "/api/models/test", map[string]any{"id": "added-1"})
	ask(200, "GET", "/api/models?refresh=true", nil)
	ask(200, "PUT", "/api/models/default", map[string]any{"ref": "added-1/qwen3:4b"})
	ask(200, "GET", "/api/permissions", nil)
	ask(200, "GET", "/api/doctor", nil)
	c := do[model.Catalogue](w, 200, "GET", "/api/models", nil)
	if e := byID(t, c, "added-1"); e.State != "ready" || e.Origin != "added" || e.Models[0].Ref != "added-1/qwen3:4b" || c.Default != "added-1/qwen3:4b" {
		t.Errorf("the list: %+v", c)
	}
	ask(204, "DELETE", "/api/models/added-1", nil)
	ask(404, "DELETE", "/api/models/added-1", nil)
	for what, text := range map[string]string{"answers": seen.String(), "log": w.Log.String()} {
		if strings.Contains(text, theKey) || strings.Contains(text, theKey[3:]) {
			t.Errorf("the %s hold the key", what)
		}
	}
	// An id does not come twice, so that a chat never talks to an engine that it was not meant for.
	if e := do[model.Engine](w, 201, "POST", "/api/models", at); e.ID != "added-2" {
		t.Errorf("the next one is %s", e.ID)
	}
}

// What a person sends that makes no sense is said, and changes nothing.
func TestEnginesBadInput(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		status       int
		method, path string
		in           any
		want         string
	}{
		{400, "POST", "/api/models", map[string]any{"base_url": "ftp://x"}, "address"},
		{400, "POST", "/api/models", map[string]any{"base_url": "http://me:secret@127.0.0.1:1"}, "password"},
		{400, "POST", "/api/models", map[string]any{}, "address"},
		{422, "POST", "/api/models", map[string]any{"base_url": "http://127.0.0.1:9"}, "Nothing listens"},
		{422, "POST", "/api/models", map[string]any{"base_url": "http://127.0.0.1:9", "api": "klingon"}, "api"},
		{400, "POST", "/api/models/test", map[string]any{"base_url": "http://127.0.0.1:9", "key": "a b"}, "key"},
		{422, "POST", "/api/models/test", map[string]any{}, "either"},
		{422, "POST", "/api/models/test", map[string]any{"id": "ollama", "base_url": "http://127.0.0.1:9"}, "either"},
		{404, "POST", "/api/models/test", map[string]any{"id": "nosuch"}, "no engine"},
		{422, "PUT", "/api/models/default", map[string]any{"ref": "nosuch/model"}, "No engine that has"},
		{422, "PUT", "/api/models/default", map[string]any{"ref": "script:/etc/passwd"}, "transcript"},
		{404, "POST", "/api/models/pull", map[string]any{"engine": "nosuch", "model": "x"}, "no engine"},
		{422, "POST", "/api/models/pull", map[string]any{"model": "x"}, "No Ollama"},
		{422, "POST", "/api/models/pull", map[string]any{"model": ""}, "model"},
		{503, "POST", "/api/models/remove", map[string]any{"ref": "nosuch"}, "No engine"},
		{404, "GET", "/api/models/pulls/nosuch", nil, "fetched"},
		{404, "DELETE", "/api/models/pulls/nosuch", nil, "fetched"},
		{503, "POST", "/api/models/probe", map[string]any{"ref": "nosuch"}, "No engine"},
		{422, "POST", "/api/models/probe", map[string]any{"ref": "script:/etc/passwd"}, "transcript"},
		{422, "POST", "/api/models/probe", map[string]any{"mode": "loud"}, "mode"},
		{422, "POST", "/api/models/probe", map[string]any{"times": 6}, "times"},
		{404, "GET", "/api/models/probes/nosuch", nil, "probed"},
		{404, "DELETE", "/api/models/probes/nosuch", nil, "probed"},
	} {
		if p := w.refused(c.status, c.method, c.path, c.in); !strings.Contains(strings.ToLower(p.Detail), strings.ToLower(c.want)) {
			t.Errorf("%s %s %v: %q does not say %q", c.method, c.path, c.in, p.Detail, c.want)
		}
	}
	if e := do[model.Engine](w, 200, "POST", "/api/models/test", map[string]any{"base_url": "http://127.0.0.1:9"}); e.State != "down" || !strings.Contains(e.Why, "Nothing listens") {
		t.Errorf("nobody there: %+v", e)
	}
	// Whoever says what it speaks may add one that is off.
	if e := do[model.Engine](w, 201, "POST", "/api/models", map[string]any{"base_url": "http://127.0.0.1:9/v1", "api": "openai", "name": "The\nother"}); e.State != "down" || e.Name != "The other" {
		t.Errorf("added while off: %+v", e)
	}
	if c := do[model.Catalogue](w, 200, "GET", "/api/models", nil); len(c.Engines) != 1 || c.Default != "" || len(c.Pulls) != 0 {
		t.Errorf("left behind: %+v", c)
	}
	if h := do[jackline.Health](w, 200, "GET", "/api/doctor", nil); !h.OK || len(h.Checks) != 1 {
		t.Errorf("health: %+v", h)
	}
}

// A service for which the environment holds a key is listed, and not asked.
func TestCloudsAreNotAsked(t *testing.T) {
	w := newWorld(t)
	var asked atomic.Int64
	srv := modeltest.Family("vllm", modeltest.Presence{Version: "1"}, nil)
	l := newListener(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { asked.Add(1); srv.ServeHTTP(rw, r) }))
	w.env = map[string]string{"OPENAI_API_KEY": theKey, "OPENAI_BASE_URL": l}
	c := do[model.Catalogue](w, 200, "GET", "/api/models?refresh=true", nil)
	e := byID(t, c, "openai")
	if e.State != "unknown" || e.Origin != "cloud" || e.KeyEnv != "OPENAI_API_KEY" || len(e.Models) != 0 || asked.Load() != 0 {
		t.Errorf("%+v, asked %d times", e, asked.Load())
	}
	if do[model.Engine](w, 200, "POST", "/api/models/test", map[string]any{"id": "openai"}); asked.Load() == 0 {
		t.Error("it was not asked when a person wanted it")
	}
}

func newListener(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// A probe is begun, watched, cancelled and taken off the list.
func TestProbes(t *testing.T) {
	w := newWorld(t)
	o := modeltest.NewOllama(t, plays(t, "=== *\n--- wait\n"), modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen()}})
	e := do[model.Engine](w, 201, "POST", "/api/models", model.Address{BaseURL: o.URL})
	p := do[model.Probe](w, 202, "POST", "/api/models/probe", map[string]any{"ref": e.ID + "/qwen3:4b", "mode": "text", "times": 2})
	if p.ID == "" || p.Status != model.ProbeRunning || p.Ref != e.ID+"/qwen3:4b" {
		t.Fatalf("begun: %+v", p)
	}
	if all := do[[]model.Probe](w, 200, "GET", "/api/models/probes", nil); len(all) != 1 || all[0].ID != p.ID {
		t.Errorf("listed: %+v", all)
	}
	if c := do[model.Catalogue](w, 200, "GET", "/api/models", nil); len(c.Probes) != 1 {
		t.Errorf("in the catalogue: %+v", c.Probes)
	}
	do[struct{}](w, 204, "DELETE", "/api/models/probes/"+p.ID, nil)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(20 * time.Second); ; {
		if p = do[model.Probe](w, 200, "GET", "/api/models/probes/"+p.ID, nil); p.Over() {
			break
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("it does not end: %+v", p)
		}
	}
	if p.Status != model.ProbeCancelled || p.Result != nil {
		t.Errorf("cancelled: %+v", p)
	}
	do[struct{}](w, 204, "DELETE", "/api/models/probes/"+p.ID, nil)
	if all := do[[]model.Probe](w, 200, "GET", "/api/models/probes", nil); len(all) != 0 {
		t.Errorf("left: %+v", all)
	}
}
