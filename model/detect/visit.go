package detect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/model"
)

// A visit is one look at one address.
type visit struct {
	asker  *asker
	root   *url.URL            // of the engine's own paths
	list   string              // the path of the OpenAI list of models, below root
	env    func(string) string // where keys are; nil when a person gave the key, or none
	memory *Memory             // may be nil
	heard  answer              // to the question for the list, for whoever has to say why there is no engine
}

// look says what is at the address. It is false where no engine is; then heard is what the question for the list of models gave.
func (v *visit) look(ctx context.Context) (Found, bool) {
	if err := v.asker.open(ctx); err != nil {
		v.heard = answer{err: err}
		return Found{}, false
	}
	var e evidence
	each(3, 3, func(i int) {
		switch i {
		case 0:
			e.banner = v.asker.get(ctx, "/", maxBanner)
		case 1:
			e.list = v.asker.get(ctx, v.list, maxList)
		case 2:
			e.wellKnown = v.asker.get(ctx, "/.well-known/localai.json", maxBanner)
		}
	})
	v.heard = e.list
	claims := e.claims()
	if len(claims) == 0 {
		claims = v.second(ctx, &e)
	}
	listed, isList := parseList(e.list.body)
	isList = isList && e.list.ok()
	switch {
	case slices.Contains(claims, ourselves):
		return Found{}, false
	case len(claims) == 1:
		return v.read(ctx, claims[0], e), true
	case len(claims) > 1:
		if !isList {
			return Found{}, false
		}
		f := v.plain(listed)
		marks := fmt.Sprintf("Something at %s shows the marks of %s and of %s. It is taken for a plain OpenAI-compatible server",
			hostPort(v.root), of(claims[0]).title, of(claims[1]).title)
		if f.State == NoModel {
			marks += ", and has no model"
		}
		f.Why = marks + "."
		return f, true
	case isList:
		return v.plain(listed), true
	case e.list.locked() && !anthropic(e.list) && asksForKey(e.list.body):
		return v.wantsKey(OpenAI), true
	}
	return Found{}, false
}

// evidence is what the first questions brought.
type evidence struct {
	banner    answer // of /
	list      answer // of /v1/models
	wellKnown answer // of LocalAI's discovery document
}

// ourselves is what Jackline writes into its own list of models: it is no engine to itself.
const ourselves = "jackline"

// claims are the families whose fingerprint is there, each once.
//
//   - Ollama's banner stands on its first page. LocalAI may be told to show it too, which its own document tells.
//   - LM Studio answers whatever it does not know with success and one sentence, and refuses with another.
//   - llama.cpp says its name in the Server header, and so says the list of models.
//   - vLLM, Exo, Docker and LiteRT-LM own the models that they list. Jan's are owned by its engines.
func (e evidence) claims() []string {
	var all []string
	claim := func(engine string, is bool) {
		if is && !slices.Contains(all, engine) {
			all = append(all, engine)
		}
	}
	one := []answer{e.banner, e.list, e.wellKnown}
	some := func(test func(answer) bool) bool { return slices.ContainsFunc(one, test) }

	localAI := e.document().Version != ""
	claim(LocalAI, localAI)
	claim(Ollama, !localAI && e.banner.ok() && strings.TrimSpace(string(e.banner.body)) == "Ollama is running")
	claim(Docker, e.banner.ok() && !e.banner.page() && e.banner.says("Docker Model Runner"))
	claim(LMStudio, some(func(r answer) bool {
		return r.err == nil && (r.says(`"Unexpected endpoint or method. (`) || r.says("LM Studio API token"))
	}))
	claim(LlamaCpp, some(func(r answer) bool { return r.err == nil && r.header.Get("Server") == "llama.cpp" }))
	claim(LlamaCpp, e.list.status == 503 && e.list.says("Loading model"))
	claim(Jan, e.list.locked() && strings.TrimSpace(string(e.list.body)) == "Invalid or missing authorization token")
	if listed, ok := parseList(e.list.body); ok && e.list.ok() && len(listed) > 0 {
		owners := map[string]string{
			"llamacpp": LlamaCpp, "vllm": VLLM, "exo": Exo, "docker": Docker, "litert-lm": LiteRT, ourselves: ourselves,
			"llama.cpp": Jan, "mlx": Jan, "remote": Jan,
		}
		engine := owners[listed[0].OwnedBy]
		known := engine != "" && (engine != Jan || e.banner.page()) // Jan's first page describes its API
		claim(engine, known && !slices.ContainsFunc(listed, func(m entry) bool { return owners[m.OwnedBy] != engine }))
	}
	return all
}

// A document is LocalAI's introduction of itself.
type document struct {
	Version   string          `json:"version"`
	Endpoints json.RawMessage `json:"endpoints"`
}

// document is what stands at LocalAI's well-known place, or nothing. A server that says the same everywhere has none.
func (e evidence) document() document {
	var d document
	if !e.wellKnown.ok() || !decode(e.wellKnown.body, &d) || d.Endpoints == nil || bytes.Equal(e.wellKnown.body, e.banner.body) {
		return document{}
	}
	return d
}

// second asks what only those are asked that showed nothing yet.
func (v *visit) second(ctx context.Context, e *evidence) []string {
	if e.list.err != nil && e.banner.err != nil && e.wellKnown.err != nil {
		return nil // it does not speak HTTP, or does not speak at all
	}
	var health, ver, engines answer
	each(3, 3, func(i int) {
		switch i {
		case 0:
			health = v.asker.get(ctx, "/health", maxBanner)
		case 1:
			ver = v.asker.get(ctx, "/version", maxBanner)
		case 2:
			if !e.list.ok() {
				engines = v.asker.get(ctx, "/engines/v1/models", maxList)
			}
		}
	})
	if listed, ok := parseList(engines.body); ok && engines.ok() && len(listed) > 0 && listed[0].OwnedBy == "docker" {
		return []string{Docker}
	}
	var h struct {
		Status string `json:"status"`
	}
	listed, isList := parseList(e.list.body)
	unowned := !slices.ContainsFunc(listed, func(m entry) bool { return m.OwnedBy != "" })
	python := strings.HasPrefix(e.list.header.Get("Server"), "BaseHTTP/")
	if isList && e.list.ok() && unowned && python && health.ok() && decode(health.body, &h) && h.Status == "ok" {
		return []string{MLX}
	}
	// vLLM guards only what is below /v1.
	var r struct {
		Version string `json:"version"`
	}
	if e.list.locked() && health.ok() && len(health.body) == 0 && ver.ok() && decode(ver.body, &r) && version(r.Version) != "" {
		return []string{VLLM}
	}
	return nil
}

// asksForKey reports whether a refusal is that of a model engine: an OpenAI error that speaks of a key. Other servers ask for
// passwords too.
func asksForKey(body []byte) bool {
	var r struct {
		Error struct {
			Message string `json:"message"`
			Type    string `json:"type"`
			Code    string `json:"code"`
		} `json:"error"`
	}
	if !decode(body, &r) {
		return false
	}
	said := strings.ToLower(r.Error.Message + " " + r.Error.Type + " " + r.Error.Code)
	return slices.ContainsFunc([]string{"api key", "api_key", "api-key", "apikey", "api token", "authentication"},
		func(w string) bool { return strings.Contains(said, w) })
}

// read asks an engine of a known family for its models, in its own way.
func (v *visit) read(ctx context.Context, engine string, e evidence) Found {
	switch engine {
	case Ollama:
		return v.ollama(ctx)
	case LMStudio:
		return v.lmStudio(ctx, e.list)
	case LlamaCpp:
		return v.llamaCpp(ctx, e.list)
	case LocalAI:
		return v.localAI(ctx, e)
	case Docker:
		v.list = "/engines/v1/models"
		e.list = v.asker.get(ctx, v.list, maxList)
	}
	return v.listing(ctx, engine, e.list)
}

// blank is an engine of which nothing is known yet but its family.
func (v *visit) blank(engine string) Found {
	root := *v.root
	root.RawQuery = ""
	f := Found{Engine: engine, API: APIOpenAI, Cards: []model.Card{}}
	f.BaseURL = root.JoinPath(strings.TrimSuffix(v.list, "/models")).String()
	if engine == Ollama {
		f.API, f.BaseURL = APIOllama, root.String()
	}
	f.BaseURL = strings.TrimRight(f.BaseURL, "/")
	return f
}

// settled gives f its cards, and the state that follows from them.
func (f Found) settled(cards []model.Card) Found {
	fam := of(f.Engine)
	seen := map[string]bool{}
	f.Cards = []model.Card{}
	for _, c := range cards {
		if c.ID == "" || seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		c.Engine = f.Engine
		c.Constraints = slices.Clone(fam.constraints)
		c.Source = sources(c)
		f.Cards = append(f.Cards, c)
	}
	called := fam.title
	if f.Version != "" {
		called += " " + f.Version
	}
	switch n := len(f.Cards); {
	case n == 0:
		f.State, f.Why = NoModel, called+" has no model yet. "+fam.fetch
	default:
		f.State, f.Why = Ready, called+" has "+count(f.Cards)+"."
	}
	return f
}

// count says how many models there are, and how many of them answer at once.
func count(cards []model.Card) string {
	loaded, known := 0, 0
	for _, c := range cards {
		if c.Loaded != model.Unknown {
			known++
		}
		if c.Loaded == model.Yes {
			loaded++
		}
	}
	s := "one model"
	if len(cards) > 1 {
		s = fmt.Sprintf("%d models", len(cards))
	}
	switch {
	case known == 0:
		return s
	case loaded == len(cards) && loaded == 1:
		return s + ", which is loaded"
	case loaded == len(cards):
		return s + ", all loaded"
	case loaded == 0:
		return s + ", none loaded"
	}
	return fmt.Sprintf("%s, %d loaded", s, loaded)
}

// sources notes that what is known comes from the engine.
func sources(c model.Card) map[string]string {
	s := map[string]string{}
	note := func(field string, known bool) {
		if known {
			s[field] = "engine"
		}
	}
	note("digest", c.Digest != "")
	note("bytes", c.Bytes != 0)
	note("trained", c.Trained != 0)
	note("usable", c.Usable != 0)
	note("tools", c.Tools != model.Unknown)
	note("thinking", c.Thinking != model.Unknown)
	note("vision", c.Vision != model.Unknown)
	note("loaded", c.Loaded != model.Unknown)
	note("remote", c.Remote != model.Unknown)
	note("constraints", len(c.Constraints) > 0)
	if len(s) == 0 {
		return nil
	}
	return s
}

// wantsKey is an engine that was not told the right key.
func (v *visit) wantsKey(engine string) Found {
	f, fam := v.blank(engine), of(engine)
	f.State = NeedsKey
	if v.env != nil {
		f.KeyEnv, _ = fam.key(v.env)
	}
	switch {
	case v.asker.key != "" && f.KeyEnv != "":
		f.Why = fam.title + " does not take the key that the environment variable " + f.KeyEnv + " holds."
	case v.asker.key != "":
		f.Why = fam.title + " does not take the key that it was given."
	case len(fam.keyEnv) > 0:
		f.KeyEnv = fam.keyEnv[0]
		f.Why = fam.title + " asks for a key. Put it into the environment variable " + f.KeyEnv + ", or enter it."
	default:
		f.Why = fam.title + " asks for a key."
	}
	return f
}

// unlocked asks again with the key of the environment, if r is a refusal for the lack of one. variable is whose key it was.
func (v *visit) unlocked(ctx context.Context, engine string, r answer, path string) (again answer, variable string) {
	if !r.locked() || v.env == nil || v.asker.key != "" {
		return r, ""
	}
	variable, key := of(engine).key(v.env)
	if key == "" {
		return r, ""
	}
	v.asker.bearer(key)
	return v.asker.get(ctx, path, maxList), variable
}

// failed is an engine that shows its fingerprint and does not give its list.
func (v *visit) failed(engine string, r answer) Found {
	if r.locked() {
		return v.wantsKey(engine)
	}
	f := v.blank(engine)
	f.State = Down
	f.Why = fmt.Sprintf("%s listens at %s, but its list of models %s. Its own log may say why.", of(engine).title, hostPort(v.root), r.fault())
	return f
}

// fault says what is wrong with an answer, after "the list".
func (r answer) fault() string {
	switch {
	case errors.Is(r.err, errTooMuch):
		return "is longer than 4 MB"
	case isTimeout(r.err):
		return "does not come in time"
	case r.err != nil:
		return "breaks off"
	case r.status != 200:
		return fmt.Sprintf("fails with status %d", r.status)
	case r.page():
		return "is a web page"
	}
	return "cannot be read"
}
