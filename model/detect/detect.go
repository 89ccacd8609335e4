// Package detect finds the engines that run models on this machine, and reads from them which models they have and what
// those can do.
//
// [Find] looks by itself: it asks the usual ports of the loopback interface, and those that the environment names, all at the
// same time. In a container it asks the host's gateway too. It never looks anywhere else. [Read] looks at one address that a
// person typed, which may be far away. [Keys] says for which services on the network the environment holds a key.
//
// # What an engine is
//
// An engine is known by what it answers, not by its port: 8080 alone is the home of four of them. Each family has a
// fingerprint: a banner, the owner that it writes into its list of models, the way in which it refuses. Whatever shows no
// fingerprint but lists models as OpenAI does is an engine too, under the name "openai". Whatever else listens is none. Who
// shows two fingerprints is believed neither, and taken for such a plain one.
//
// # What is believed
//
// An engine may be old, broken or somebody else's program. Answers are read up to a limit of bytes and of time, tolerantly:
// what does not fit is left out, and what nobody said stays unknown. Names lose what cannot be seen. Nothing that an engine
// wrote gets into a sentence, but for its version. No redirect leads off the origin, no proxy lies between.
//
// A key is sent only to an address that has shown its fingerprint and asks for one, and only the one that the environment
// holds for engines of that family.
package detect

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackline-ai/jackline/model"
)

// The engines, as [model.Card.Engine] names them. Those of a service on the network are OpenAI or Anthropic.
const (
	Ollama    = "ollama"
	LMStudio  = "lm-studio"
	LlamaCpp  = "llama.cpp"
	VLLM      = "vllm"
	Jan       = "jan"
	LocalAI   = "localai"
	MLX       = "mlx-lm"
	Exo       = "exo"
	Docker    = "docker-model-runner"
	LiteRT    = "litert-lm"
	OpenAI    = "openai" // no family that is known here, but it lists models as OpenAI does
	Anthropic = "anthropic"
)

// An API is what to speak to an engine.
type API string

// The APIs. None of the engines needs Responses; some services offer nothing else for some models, which a person has to
// say.
const (
	APIOllama    API = "ollama"    // Ollama's own, the only one in which it can be told a window
	APIOpenAI    API = "openai"    // Chat Completions
	APIAnthropic API = "anthropic" // Messages
	APIResponses API = "responses" // OpenAI's Responses
)

// A State is how an engine is doing. The zero State is that nothing is known.
type State string

// The states.
const (
	Ready    State = "ready"     // it has a model to ask
	Loading  State = "loading"   // it is up, its model not yet
	NeedsKey State = "needs-key" // it wants a key that it was not given, or not the one that it was given
	NoModel  State = "no-model"  // it has none that answers in words
	Down     State = "down"      // it shows its fingerprint, and does not answer as it should
)

// Found is an engine.
type Found struct {
	Engine  string       `json:"engine"`
	API     API          `json:"api"`
	BaseURL string       `json:"baseUrl"` // what to configure for API; no trailing slash
	Version string       `json:"version,omitempty"`
	State   State        `json:"state"`
	Why     string       `json:"why"`              // one or two sentences for a person: how it is doing, and what to do
	KeyEnv  string       `json:"keyEnv,omitempty"` // the environment variable whose key it took, or would take
	Cards   []model.Card `json:"cards"`            // models that answer in words; as the engine orders them
}

// Options say where to look.
type Options struct {
	// Env is the environment, as of os.Getenv; nil is an empty one.
	Env func(string) string

	// Ports are further ones to ask, beside the usual and those of the environment.
	Ports []int

	// Skip are ports that are not asked: the server's own.
	Skip []int

	// Memory keeps what cannot change between two looks. It may be nil.
	Memory *Memory

	only []place // what tests look at instead
}

// Find looks for engines. It takes no longer than the slowest of them, and never longer than a few seconds; where nothing
// listens it is done at once, so that it can be called every half minute. The order is that of the table of families, then
// of the ports, and does not change from look to look. It sends questions about models only, and none of them loads one.
func Find(ctx context.Context, o Options) []Found {
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	var here, outside []Found
	each(2, 2, func(i int) {
		switch {
		case i == 0 && o.only != nil:
			here = lookAll(ctx, o, o.only)
		case i == 0:
			here = lookAll(ctx, o, o.places(loopback()))
		case o.only == nil:
			outside = lookAll(ctx, o, o.places(o.gateways(ctx)...))
		}
	})
	all := slices.Concat(here, outside)
	slices.SortStableFunc(all, func(a, b Found) int { return cmp.Compare(rank(a.Engine), rank(b.Engine)) })
	return once(all)
}

// lookAll asks all places at the same time.
func lookAll(ctx context.Context, o Options, places []place) []Found {
	at := make([][]Found, len(places))
	each(len(places), len(places), func(i int) {
		if found, ok := places[i].look(ctx, o); ok {
			at[i] = []Found{found}
		}
	})
	return slices.Concat(at...)
}

// look asks one port, on its addresses in turn: an engine that listens on 127.0.0.1 mostly does on ::1 too, and it
// is one engine.
func (p place) look(ctx context.Context, o Options) (Found, bool) {
	limited, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for _, host := range p.hosts {
		root := p.url(host)
		v := visit{root: root, list: "/v1/models", env: o.Env, memory: o.Memory, asker: newAsker(root, connectTime, answerTime)}
		found, ok := v.look(limited)
		v.asker.close()
		if ok {
			return found, true
		}
	}
	return Found{}, false
}

// once leaves out what is there twice: in a container that shares the host's network the gateway leads to loopback.
func once(all []Found) []Found {
	same := func(a, b Found) bool {
		return a.Engine == b.Engine && a.Version == b.Version && port(a.BaseURL) == port(b.BaseURL) && a.State == b.State &&
			slices.EqualFunc(a.Cards, b.Cards, func(x, y model.Card) bool { return x.ID == y.ID && x.Digest == y.Digest })
	}
	kept := []Found{}
	for _, f := range all {
		if !slices.ContainsFunc(kept, func(k Found) bool { return same(k, f) }) {
			kept = append(kept, f)
		}
	}
	return kept
}

// port is what is behind the host of an address, paths included.
func port(base string) string {
	_, rest, _ := strings.Cut(base, "://")
	if _, after, ok := strings.Cut(rest, "]"); ok {
		return after
	}
	_, after, _ := strings.Cut(rest, ":")
	return after
}

// each calls do for 0 to n-1, up to so many at a time, and waits for all of them.
func each(n, workers int, do func(int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(n, workers) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// A family is what is known about one engine, apart from how it talks.
type family struct {
	name, title string
	port        int
	keyEnv      []string // variables that hold a key for it, the first that is set counts
	constraints []string // in which ways it can be held to a form, by its documentation
	fetch       string   // how one gets a first model
}

// families is the table, in the order in which engines are listed. Ports and variables are those of the engines' own
// documentation, as of 2026.
var families = []family{
	{Ollama, "Ollama", 11434, nil, []string{"json_schema"}, "Get one, for example: ollama pull qwen3:4b"},
	{LMStudio, "LM Studio", 1234, []string{"LM_API_TOKEN"}, []string{"json_schema"}, "Get one in LM Studio, or with: lms get qwen3-4b"},
	{LlamaCpp, "llama.cpp", 8080, []string{"LLAMA_API_KEY"}, []string{"json_schema", "grammar"}, "Start it with one: llama-server -m MODEL.gguf"},
	{VLLM, "vLLM", 8000, []string{"VLLM_API_KEY"}, []string{"json_schema", "grammar"}, "Start it with one: vllm serve MODEL"},
	{Jan, "Jan", 1337, []string{"JAN_API_KEY"}, nil, "Get one in Jan, under Hub, and start it."},
	{LocalAI, "LocalAI", 8080, []string{"LOCALAI_API_KEY"}, []string{"grammar"}, "Get one, for example: local-ai models install qwen3-4b"},
	{MLX, "mlx_lm.server", 8080, nil, nil, "Start it with one: mlx_lm.server --model MODEL"},
	{Exo, "Exo", 52415, nil, nil, "Get one on Exo's page."},
	{Docker, "Docker Model Runner", 12434, nil, nil, "Get one, for example: docker model pull ai/qwen3"},
	{LiteRT, "LiteRT-LM", 9379, nil, nil, "Get one with: litert-lm import"},
	{Anthropic, "An Anthropic service", 0, nil, nil, "Ask who runs it for one."},
	{OpenAI, "An OpenAI-compatible server", 0, nil, nil, "Its own documentation says how to get one."},
}

// Port is where an engine of that family listens unless it is told otherwise; 0 where there is no such place.
func Port(engine string) int { return of(engine).port }

// of is the family of that name; the last one stands for all that are not known.
func of(engine string) family {
	return families[rank(engine)]
}

func rank(engine string) int {
	if i := slices.IndexFunc(families, func(f family) bool { return f.name == engine }); i >= 0 {
		return i
	}
	return len(families) - 1
}

// key is the key that the environment holds for engines of this family, and under which name.
func (f family) key(env func(string) string) (variable, value string) {
	for _, name := range f.keyEnv {
		if v := strings.TrimSpace(env(name)); v != "" {
			return name, v
		}
	}
	return "", ""
}

// loopback are the addresses of this machine, in the order in which they are asked.
func loopback() []netip.Addr {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
}
