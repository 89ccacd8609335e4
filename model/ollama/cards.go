package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/phrase"
)

var _ model.Lister = (*Model)(nil)

const (
	maxName    = 256     // bytes of a model's name; Ollama's own are shorter
	maxVersion = 64      // bytes of a version
	maxDetails = 8 << 20 // bytes of all that is said of one: its licence and template are in it
	maxShown   = 32      // models whose details are asked for one by one; more would make a list slow
)

// A listed is a model in the answers to /api/tags and /api/ps.
type listed struct {
	Name   string `json:"name"`
	Model  string `json:"model"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	Host   string `json:"remote_host"` // of a model that runs elsewhere

	Capabilities []string `json:"capabilities"` // newer versions
	Context      float64  `json:"context_length"`
	Details      struct {
		Context float64 `json:"context_length"` // what it was trained for; newer versions
	} `json:"details"`
}

func (l listed) id() string {
	if l.Model != "" {
		return l.Model
	}
	return l.Name
}

// details are what /api/show says.
type details struct {
	Parameters   string                     `json:"parameters"`
	Info         map[string]json.RawMessage `json:"model_info"`
	Capabilities []string                   `json:"capabilities"` // missing before 0.6.4
	Details      struct {
		Context float64 `json:"context_length"`
	} `json:"details"`
}

// Cards asks which models Ollama has, and what is known of each. Models that cannot chat are left out. Of many models
// the last ones may be known by little more than their names: Card asks for all of one.
func (m *Model) Cards(ctx context.Context) ([]model.Card, error) {
	const op = "ollama.Cards"
	all, err := m.listed(ctx, op)
	if err != nil {
		return nil, err
	}
	loaded, err := m.loaded(ctx, op)
	if err != nil {
		return nil, err
	}
	cards := []model.Card{}
	asked := 0
	for _, l := range all {
		c := newCard(l, loaded)
		chats := talks(l.Capabilities)
		if (l.Capabilities == nil || c.Trained == 0) && asked < maxShown {
			asked++
			switch d, err := m.details(ctx, op, l.id()); {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil && jackline.KindOf(err) == jackline.Timeout:
				asked = maxShown // so it would be for each of them
			case err == nil: // what it will not say of one model does not hide the others
				d.fill(&c)
				chats = talks(d.Capabilities)
			}
		}
		if chats {
			cards = append(cards, c)
		}
	}
	return cards, nil
}

// Card asks for all that is known of one model. A model that Ollama does not have is jackline.NoModel.
func (m *Model) Card(ctx context.Context, name string) (model.Card, error) {
	const op = "ollama.Card"
	if err := m.named(op, name); err != nil {
		return model.Card{}, err
	}
	d, err := m.details(ctx, op, name)
	if err != nil {
		return model.Card{}, err
	}
	all, err := m.listed(ctx, op)
	if err != nil {
		return model.Card{}, err
	}
	loaded, err := m.loaded(ctx, op)
	if err != nil {
		return model.Card{}, err
	}
	l := listed{Model: name}
	if at := slices.IndexFunc(all, func(l listed) bool { return same(l.id(), name) }); at >= 0 {
		l = all[at]
	}
	c := newCard(l, loaded)
	c.ID = name
	d.fill(&c)
	return c, nil
}

// Version is Ollama's version: "0.40.2".
func (m *Model) Version(ctx context.Context) (string, error) {
	const op = "ollama.Version"
	body, err := m.client.Fetch(ctx, op, http.MethodGet, "api/version", nil, engine.MaxRefusal)
	if err != nil {
		return "", err
	}
	var v struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(body, &v); err != nil || v.Version == "" {
		return "", m.client.Strange(op, body)
	}
	return engine.Printable(v.Version, maxVersion), nil
}

// Delete has Ollama delete a model. One that it does not have is jackline.NoModel.
func (m *Model) Delete(ctx context.Context, name string) error {
	const op = "ollama.Delete"
	if err := m.named(op, name); err != nil {
		return err
	}
	_, err := m.client.For(name).Fetch(ctx, op, http.MethodDelete, "api/delete", naming(name, ""), engine.MaxRefusal)
	return err
}

// naming is a request that names a model, and what more stands in it.
func naming(name, more string) []byte {
	return append(args.AppendText([]byte(`{"model":`), name), more+"}"...)
}

// named refuses what can be no name of a model.
func (m *Model) named(op, name string) error {
	if !isName(name) {
		return jackline.E(op, jackline.Invalid, nil, "%q is no name of a model: names look like qwen3:8b.", engine.Printable(name, maxVersion))
	}
	return nil
}

func isName(name string) bool {
	return name != "" && len(name) <= maxName && engine.Printable(name, maxName) == name && !strings.ContainsAny(name, " \"'`<>\\")
}

// same reports whether two names are of one model: a tag that is not named is "latest".
func same(a, b string) bool {
	full := func(name string) string {
		if !strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ":") {
			name += ":latest"
		}
		return strings.ToLower(name)
	}
	return full(a) == full(b)
}

// names are the names of the models that Ollama has.
func (m *Model) names(ctx context.Context) ([]string, error) {
	all, err := m.listed(ctx, "ollama.Cards")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, l := range all {
		names = append(names, l.id())
	}
	return names, nil
}

// listed asks for the models on disk. What has no usable name is left out: nobody could ask for it.
func (m *Model) listed(ctx context.Context, op string) ([]listed, error) {
	body, err := m.client.Fetch(ctx, op, http.MethodGet, "api/tags", nil, engine.MaxList)
	if err != nil {
		return nil, err
	}
	all, ok := readList(body)
	if !ok {
		return nil, m.client.Strange(op, body)
	}
	return all, nil
}

// loaded asks for the models in memory; nil is an Ollama that does not say.
func (m *Model) loaded(ctx context.Context, op string) ([]listed, error) {
	body, err := m.client.Fetch(ctx, op, http.MethodGet, "api/ps", nil, engine.MaxList)
	if err != nil {
		return nil, ctx.Err() // before 0.1.34 there was none, and a card can do without
	}
	all, _ := readList(body)
	return all, nil
}

// readList reads the answer to /api/tags or /api/ps. One model that is odd does not spoil the others.
func readList(body []byte) ([]listed, bool) {
	var list struct {
		Models []json.RawMessage `json:"models"`
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || json.Unmarshal(body, &list) != nil || fields["models"] == nil {
		return nil, false
	}
	all := []listed{}
	for _, raw := range list.Models {
		var l listed
		var mismatch *json.UnmarshalTypeError
		if err := json.Unmarshal(raw, &l); (err == nil || errors.As(err, &mismatch)) && isName(l.id()) {
			all = append(all, l)
		}
	}
	return all, true
}

func (m *Model) details(ctx context.Context, op, name string) (details, error) {
	body, err := m.client.For(name).Fetch(ctx, op, http.MethodPost, "api/show", naming(name, ""), maxDetails)
	if err != nil {
		return details{}, err
	}
	var d details
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(body, &d); err != nil && !errors.As(err, &mismatch) {
		return details{}, m.client.Strange(op, body)
	}
	return d, nil
}

const byEngine = "engine"

// newCard is what a list says of a model. loaded are those in memory, nil if that is not known.
func newCard(l listed, loaded []listed) model.Card {
	c := model.Card{Engine: "ollama", ID: l.id(), Digest: digest(l.Digest), Bytes: max(0, l.Size), Remote: model.Is(l.Host != ""), Source: map[string]string{}}
	note(&c, "remote", true)
	note(&c, "digest", c.Digest != "")
	note(&c, "bytes", c.Bytes > 0)
	c.Trained = count(l.Details.Context)
	note(&c, "trained", c.Trained > 0)
	able(&c, l.Capabilities)
	if loaded == nil || l.Host != "" {
		return c // a model that runs elsewhere is in no memory here
	}
	at := slices.IndexFunc(loaded, func(p listed) bool { return same(p.id(), l.id()) })
	c.Loaded = model.Is(at >= 0)
	note(&c, "loaded", true)
	if at >= 0 {
		c.Usable = count(loaded[at].Context)
		note(&c, "usable", c.Usable > 0)
	}
	return c
}

// fill adds what is known in detail.
func (d details) fill(c *model.Card) {
	trained := count(d.Details.Context)
	var arch string
	if json.Unmarshal(d.Info["general.architecture"], &arch) == nil {
		var n float64
		if json.Unmarshal(d.Info[arch+".context_length"], &n) == nil && n > 0 {
			trained = count(n)
		}
	}
	if trained > 0 {
		c.Trained = trained
		note(c, "trained", true)
	}
	// The window that the model's own parameters give is the one of a request that does not name another.
	if n := numCtx(d.Parameters); c.Usable == 0 && n > 0 {
		c.Usable = n
		note(c, "usable", true)
	}
	able(c, d.Capabilities)
}

// able notes what a model can do. No list says nothing.
func able(c *model.Card, capabilities []string) {
	if capabilities == nil {
		return
	}
	has := func(what string) model.Known { return model.Is(slices.Contains(capabilities, what)) }
	c.Tools, c.Thinking, c.Vision = has("tools"), has("thinking"), has("vision")
	for _, field := range []string{"tools", "thinking", "vision"} {
		note(c, field, true)
	}
}

// talks reports whether a model chats, as far as is known.
func talks(capabilities []string) bool {
	return len(capabilities) == 0 || slices.Contains(capabilities, "completion")
}

func note(c *model.Card, field string, known bool) {
	if known {
		c.Source[field] = byEngine
	}
}

var isDigest = phrase.New(`^(?:sha256:)?[0-9a-f]{12,64}$`)

// digest is d if it looks like one, without the name of its algorithm.
func digest(d string) string {
	if d = strings.ToLower(d); !isDigest.MatchString(d) {
		return ""
	}
	return strings.TrimPrefix(d, "sha256:")
}

// numCtx finds the window in the parameters of a model, which are lines of a name and a value.
func numCtx(parameters string) int {
	for line := range strings.Lines(parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			if n, err := strconv.ParseFloat(f[1], 64); err == nil && n > 0 {
				return count(n)
			}
		}
	}
	return 0
}
