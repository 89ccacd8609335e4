package detect

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/jackline-ai/jackline/model"
)

// An entry is one model of a list as OpenAI gives it, with what engines and services add.
type entry struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Name    string `json:"name"`
	OwnedBy string `json:"owned_by"`
	Type    string `json:"type"`

	MaxModelLen      number `json:"max_model_len"`      // vLLM, SGLang: the window that it was started with
	ContextLength    number `json:"context_length"`     // Exo, OpenRouter, Together: the most that the model can
	ContextWindow    number `json:"context_window"`     // Groq
	MaxContextLength number `json:"max_context_length"` // Mistral
	MaxInputTokens   number `json:"max_input_tokens"`   // Anthropic

	Meta struct { // llama.cpp
		Ctx     number `json:"n_ctx"`
		Trained number `json:"n_ctx_train"`
		Size    number `json:"size"`
	} `json:"meta"`
	Status struct { // llama.cpp as a router
		Value string `json:"value"`
	} `json:"status"`
	DMR struct { // Docker Model Runner: of the package, not of what runs
		ContextWindow number `json:"context_window"`
	} `json:"dmr"`

	Capabilities abilities `json:"capabilities"`         // Exo, LocalAI: words; Mistral: truths
	Parameters   abilities `json:"supported_parameters"` // OpenRouter
	Input        abilities `json:"input_modalities"`     // LocalAI
	Architecture struct {  // OpenRouter
		Input abilities `json:"input_modalities"`
	} `json:"architecture"`
	ContextSize number `json:"context_size"` // LocalAI
}

// parseList reads a list of models: OpenAI's object, or a bare list.
func parseList(body []byte) ([]entry, bool) {
	if b := bytes.TrimSpace(body); len(b) > 0 && b[0] == '[' {
		var bare rows[entry]
		if !json.Valid(b) || bare.UnmarshalJSON(b) != nil || len(bare) == 0 || bare[0].ID == "" {
			return nil, false // an empty list says nothing about whose it is
		}
		return bare, true
	}
	var list struct {
		Object string      `json:"object"`
		Data   rows[entry] `json:"data"`
	}
	if !decode(body, &list) {
		return nil, false
	}
	switch {
	case len(list.Data) > 0:
		for _, m := range list.Data {
			if m.ID != "" {
				return list.Data, true
			}
		}
		return nil, false
	case list.Object == "list" && bytes.Contains(body, []byte(`"data"`)):
		return nil, true // vLLM's is never empty; others write null
	}
	return nil, false
}

// listing is an engine that says all that it says in its list.
func (v *visit) listing(ctx context.Context, engine string, list answer) Found {
	list, variable := v.unlocked(ctx, engine, list, v.list)
	listed, ok := parseList(list.body)
	if !ok || !list.ok() {
		return v.failed(engine, list)
	}
	f := v.blank(engine)
	f.KeyEnv = variable
	if engine == VLLM {
		f.Version = v.versionAt(ctx, "/version")
	}
	var cards []model.Card
	for _, m := range listed {
		c := model.Card{ID: name(m.ID)}
		switch engine {
		case VLLM:
			// It serves what it lists, and nothing else. Whether it reads calls depends on how it was started.
			c.Usable, c.Loaded = m.MaxModelLen.tokens(), model.Yes
		case Jan:
			c.Remote = model.Is(m.OwnedBy == "remote")
		case Exo:
			c.Trained = m.ContextLength.tokens()
			c.Thinking = m.Capabilities.among("thinking", "thinking_toggle")
			c.Vision = m.Capabilities.among("vision")
		case Docker:
			c.Trained = m.DMR.ContextWindow.tokens()
		}
		cards = append(cards, c)
	}
	return f.settled(cards)
}

// plain is a server of no known family. Services say about their models what theirs understand by it.
func (v *visit) plain(listed []entry) Found {
	f := v.blank(OpenAI)
	var cards []model.Card
	for _, m := range listed {
		if m.Type != "" && m.Type != "chat" && m.Type != "model" && m.Type != "llm" && m.Type != "language" && m.Type != "base" {
			continue // Together lists what makes images too, and says so
		}
		c := model.Card{
			ID:      name(m.ID),
			Usable:  first(m.MaxModelLen, m.Meta.Ctx, m.ContextWindow, m.MaxInputTokens),
			Trained: first(m.Meta.Trained, m.ContextLength, m.MaxContextLength),
		}
		if c.Tools = m.Parameters.among("tools"); c.Tools == model.Unknown {
			c.Tools = m.Capabilities.of("tools", "function_calling", "tool_use")
		}
		if c.Thinking = m.Parameters.among("reasoning"); c.Thinking == model.Unknown {
			c.Thinking = m.Capabilities.of("thinking", "reasoning")
		}
		if c.Vision = m.Architecture.Input.among("image"); c.Vision == model.Unknown {
			c.Vision = m.Capabilities.of("vision")
		}
		if m.Capabilities.of("completion_chat") == model.No {
			continue // Mistral lists what only embeds
		}
		cards = append(cards, c)
	}
	return f.settled(cards)
}

// first is the first window that is known.
func first(all ...number) int {
	for _, n := range all {
		if t := n.tokens(); t > 0 {
			return t
		}
	}
	return 0
}

// versionAt asks for {"version": …}.
func (v *visit) versionAt(ctx context.Context, path string) string {
	var r struct {
		Version string `json:"version"`
	}
	if a := v.asker.get(ctx, path, maxBanner); !a.ok() || !decode(a.body, &r) {
		return ""
	}
	return version(r.Version)
}

// localAI reads LocalAI's list with abilities, which it has from 4.9 on, and its plain one before. What a model can do
// beyond answering it knows only once the model was loaded: what it does not say is unknown, not missing.
func (v *visit) localAI(ctx context.Context, e evidence) Found {
	list, variable := v.unlocked(ctx, LocalAI, e.list, v.list)
	able := list
	if list.ok() {
		able = v.asker.get(ctx, "/v1/models/capabilities", maxList)
	}
	listed, ok := parseList(able.body)
	if !ok || !able.ok() {
		if listed, ok = parseList(list.body); !ok || !list.ok() {
			if r := v.asker.get(ctx, "/readyz", maxBanner); r.err == nil && r.status == 503 {
				return v.loading(LocalAI)
			}
			return v.failed(LocalAI, list)
		}
	}
	f := v.blank(LocalAI)
	f.KeyEnv, f.Version = variable, version(e.document().Version)
	var cards []model.Card
	for _, m := range listed {
		can := m.Capabilities
		if len(can) > 0 && can.of("chat", "completion") == model.Unknown || can.of("rerank") == model.Yes {
			continue // it speaks, draws or sorts
		}
		c := model.Card{ID: name(m.ID), Usable: m.ContextSize.tokens(), Tools: can.of("tools"), Thinking: can.of("thinking"), Vision: can.of("vision")}
		if c.Vision == model.Unknown {
			c.Vision = m.Input.of("image")
		}
		cards = append(cards, c)
	}
	return f.settled(cards)
}

// loading is an engine that is coming up.
func (v *visit) loading(engine string) Found {
	f := v.blank(engine)
	f.State, f.Why = Loading, of(engine).title+" is loading its model, which takes from seconds to minutes."
	return f
}

// lmStudio reads the list of LM Studio 0.4, or of 0.3.6 and later, or the plain one.
func (v *visit) lmStudio(ctx context.Context, list answer) Found {
	const native, older = "/api/v1/models", "/api/v0/models"
	r, variable := v.unlocked(ctx, LMStudio, v.asker.get(ctx, native, maxList), native)
	if _, ok := lmStudioCards(r.body); !ok && v.root.Path != "" {
		// It shows its fingerprint on every path; its API begins at the top.
		v.root.Path, v.list = "", "/v1/models"
		list = v.asker.get(ctx, v.list, maxList)
		r = v.asker.get(ctx, native, maxList)
	}
	if r.locked() {
		return v.wantsKey(LMStudio)
	}
	f := v.blank(LMStudio)
	f.KeyEnv = variable
	if cards, ok := lmStudioCards(r.body); ok && r.ok() {
		return f.settled(cards)
	}
	if r := v.asker.get(ctx, older, maxList); r.ok() {
		if cards, ok := lmStudioOlder(r.body); ok {
			return f.settled(cards)
		}
	}
	if variable != "" {
		list = v.asker.get(ctx, v.list, maxList)
	}
	found := v.listing(ctx, LMStudio, list)
	found.KeyEnv = variable
	return found
}

// lmStudioCards reads GET /api/v1/models. Of a model that is loaded several times the smallest window counts: it is not
// known which of them will answer.
func lmStudioCards(body []byte) ([]model.Card, bool) {
	var list struct {
		Models rows[struct {
			Type    string `json:"type"`
			Key     string `json:"key"`
			Size    number `json:"size_bytes"`
			Trained number `json:"max_context_length"`
			Loaded  rows[struct {
				Config struct {
					Window number `json:"context_length"`
				} `json:"config"`
			}] `json:"loaded_instances"`
			Capabilities struct {
				Vision    truth           `json:"vision"`
				Tools     truth           `json:"trained_for_tool_use"`
				Reasoning json.RawMessage `json:"reasoning"`
			} `json:"capabilities"`
		}] `json:"models"`
	}
	if !decode(body, &list) || list.Models == nil {
		return nil, false
	}
	var cards []model.Card
	for _, m := range list.Models {
		if m.Type != "" && m.Type != "llm" && m.Type != "vlm" {
			continue
		}
		c := model.Card{
			ID: name(m.Key), Bytes: int64(m.Size), Trained: m.Trained.tokens(),
			Tools: model.Known(m.Capabilities.Tools), Vision: model.Known(m.Capabilities.Vision),
			Thinking: reasons(m.Capabilities.Reasoning),
		}
		if m.Loaded != nil {
			c.Loaded = model.Is(len(m.Loaded) > 0)
		}
		for _, i := range m.Loaded {
			if w := i.Config.Window.tokens(); w > 0 && (c.Usable == 0 || w < c.Usable) {
				c.Usable = w
			}
		}
		cards = append(cards, c)
	}
	return cards, true
}

// reasons reads LM Studio's capability "reasoning": a truth, or the settings that are allowed.
func reasons(raw json.RawMessage) model.Known {
	var t truth
	if _ = t.UnmarshalJSON(raw); t != truth(model.Unknown) { // it never fails
		return model.Known(t)
	}
	var r struct {
		Options abilities `json:"allowed_options"`
	}
	if !decode(raw, &r) {
		return model.Unknown
	}
	for option := range r.Options {
		if option != "off" {
			return model.Yes
		}
	}
	return model.Unknown
}

// lmStudioOlder reads GET /api/v0/models.
func lmStudioOlder(body []byte) ([]model.Card, bool) {
	var list struct {
		Data rows[struct {
			ID           string    `json:"id"`
			Type         string    `json:"type"`
			State        string    `json:"state"`
			Trained      number    `json:"max_context_length"`
			Window       number    `json:"loaded_context_length"`
			Capabilities abilities `json:"capabilities"`
		}] `json:"data"`
	}
	if !decode(body, &list) || list.Data == nil {
		return nil, false
	}
	var cards []model.Card
	for _, m := range list.Data {
		if m.Type != "" && m.Type != "llm" && m.Type != "vlm" {
			continue
		}
		c := model.Card{ID: name(m.ID), Trained: m.Trained.tokens(), Tools: m.Capabilities.of("tool_use")}
		if m.Type != "" {
			c.Vision = model.Is(m.Type == "vlm")
		}
		switch m.State {
		case "loaded":
			c.Loaded, c.Usable = model.Yes, m.Window.tokens()
		case "not-loaded":
			c.Loaded = model.No
		}
		cards = append(cards, c)
	}
	return cards, true
}
