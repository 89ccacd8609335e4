package detect

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline/model"
)

// A tag is one line of Ollama's GET /api/tags and GET /api/ps.
type tag struct {
	Name   string `json:"name"`
	Model  string `json:"model"`
	Digest string `json:"digest"`
	Size   number `json:"size"`
	Window number `json:"context_length"` // of a loaded model: what it was loaded with
	Remote string `json:"remote_host"`
}

func (t tag) id() string { return name(t.Model, t.Name) }

func parseTags(body []byte) ([]tag, bool) {
	var list struct {
		Models rows[tag] `json:"models"`
	}
	if !decode(body, &list) {
		return nil, false
	}
	return list.Models, list.Models != nil || strings.Contains(string(body[:min(len(body), 64)]), `"models"`)
}

// A profile is what Ollama's POST /api/show says of a model, as far as it matters here.
type profile struct {
	trained                 int
	window                  int // that its Modelfile asks for
	tools, thinking, vision model.Known
	mute                    bool // it only embeds
}

func parseProfile(body []byte) (profile, bool) {
	var r struct {
		Capabilities abilities                  `json:"capabilities"`
		Info         map[string]json.RawMessage `json:"model_info"`
		Parameters   string                     `json:"parameters"`
		Details      struct {
			Window number `json:"context_length"`
		} `json:"details"`
	}
	if !decode(body, &r) {
		return profile{}, false
	}
	var arch string
	_ = json.Unmarshal(r.Info["general.architecture"], &arch) // without one the next look finds nothing
	var trained number
	if raw, ok := r.Info[arch+".context_length"]; ok {
		_ = trained.UnmarshalJSON(raw) // it never fails
	}
	can := r.Capabilities
	return profile{
		trained: first(trained, r.Details.Window), window: parameter(r.Parameters, "num_ctx"),
		tools: can.among("tools"), thinking: can.among("thinking"), vision: can.among("vision"),
		mute: len(can) > 0 && can.of("completion") != model.Yes,
	}, true
}

// parameter reads a number from what a Modelfile sets: lines of a name, blanks and a value.
func parameter(text, name string) int {
	for line := range strings.Lines(text[:min(len(text), 16<<10)]) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			if n, err := strconv.Atoi(f[1]); err == nil && n > 0 && n <= maxTokens {
				return n
			}
		}
	}
	return 0
}

// ollama asks for the list, for what is loaded, and for each model what it can do. The window that a request has is that
// with which the model is loaded; else the one that its Modelfile asks for; else it depends on the request.
func (v *visit) ollama(ctx context.Context) Found {
	var tags, ps answer
	f := v.blank(Ollama)
	each(3, 3, func(i int) {
		switch i {
		case 0:
			tags = v.asker.get(ctx, "/api/tags", maxList)
		case 1:
			ps = v.asker.get(ctx, "/api/ps", maxList)
		case 2:
			f.Version = v.versionAt(ctx, "/api/version")
		}
	})
	list, ok := parseTags(tags.body)
	if !ok || !tags.ok() {
		return v.failed(Ollama, tags)
	}
	loaded, psOK := parseTags(ps.body)
	psOK = psOK && ps.ok()
	running := map[string]tag{}
	for _, t := range loaded {
		running[t.id()] = t
	}
	cards := make([]model.Card, len(list))
	mute := make([]bool, len(list))
	for i, t := range list {
		c := model.Card{ID: t.id(), Digest: clean(t.Digest, maxDigest), Bytes: int64(t.Size), Remote: model.Is(t.Remote != "")}
		if on, is := running[c.ID]; psOK && t.Remote == "" { // whether somebody else's machine has it loaded is not known
			c.Loaded, c.Usable = model.Is(is), on.Window.tokens()
		}
		cards[i] = c
	}
	asked := order(cards)
	asked = asked[:min(len(asked), maxAsked)]
	each(len(asked), atOnce, func(i int) {
		c := &cards[asked[i]]
		p, ok := v.profile(ctx, *c)
		if !ok {
			return
		}
		c.Trained, c.Tools, c.Thinking, c.Vision = p.trained, p.tools, p.thinking, p.vision
		if c.Usable == 0 {
			c.Usable = p.window
		}
		mute[asked[i]] = p.mute
	})
	kept := cards[:0]
	for i, c := range cards {
		if !mute[i] {
			kept = append(kept, c)
		}
	}
	return f.settled(kept)
}

// order are the indexes of cards, those of loaded models first: they are asked first if there are many.
func order(cards []model.Card) []int {
	all := make([]int, len(cards))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return int(cards[b].Loaded) - int(cards[a].Loaded) })
	return all
}

// profile asks about one model, unless it is known by its digest.
func (v *visit) profile(ctx context.Context, c model.Card) (profile, bool) {
	key := v.root.String() + " " + c.ID + " " + c.Digest
	if c.Digest != "" {
		if p, ok := v.memory.profile(key); ok {
			return p, true
		}
	}
	question, err := json.Marshal(map[string]string{"model": c.ID})
	if err != nil || c.ID == "" {
		return profile{}, false
	}
	r := v.asker.do(ctx, "POST", "/api/show", question, maxProps)
	p, ok := parseProfile(r.body)
	if !ok || !r.ok() {
		return profile{}, false
	}
	if c.Digest != "" {
		v.memory.setProfile(key, p)
	}
	return p, true
}
