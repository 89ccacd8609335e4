package detect

import (
	"context"
	"net/url"
	"strings"

	"github.com/jackline-ai/jackline/model"
)

// props is what llama.cpp's GET /props says of the one model that is loaded.
type props struct {
	Build    string `json:"build_info"`
	Role     string `json:"role"` // "router" where it starts a process for each model
	Sleeping truth  `json:"is_sleeping"`
	Settings struct {
		Window number `json:"n_ctx"` // of one slot
	} `json:"default_generation_settings"`
	Template   abilities `json:"chat_template_caps"`
	Modalities abilities `json:"modalities"`
}

func parseProps(r answer) (props, bool) {
	var p props
	ok := r.ok() && decode(r.body, &p)
	return p, ok
}

// fill puts what is known of the loaded model into its card.
func (p props) fill(c *model.Card) {
	c.Usable = p.Settings.Window.tokens()
	c.Tools = p.Template.of("supports_tools", "supports_tool_calls")
	c.Vision = p.Modalities.of("vision")
	if p.Sleeping == truth(model.Yes) {
		c.Loaded = model.No
	}
}

// llamaCpp reads a llama-server: one with a single model, or a router over several. While a model is loaded the server
// refuses all but its list. The list and its health are open where it wants a key; the rest is not.
func (v *visit) llamaCpp(ctx context.Context, list answer) Found {
	if list.status == 503 {
		return v.loading(LlamaCpp)
	}
	list, variable := v.unlocked(ctx, LlamaCpp, list, v.list)
	listed, ok := parseList(list.body)
	if !ok || !list.ok() {
		return v.failed(LlamaCpp, list)
	}
	r := v.asker.get(ctx, "/props", maxProps)
	if r.locked() && variable == "" {
		r, variable = v.unlocked(ctx, LlamaCpp, r, "/props")
	}
	switch {
	case r.locked():
		return v.wantsKey(LlamaCpp)
	case r.err == nil && r.status == 503:
		return v.loading(LlamaCpp)
	}
	p, known := parseProps(r)
	f := v.blank(LlamaCpp)
	f.KeyEnv, f.Version = variable, version(p.Build)
	cards := make([]model.Card, len(listed))
	router, busy := p.Role == "router", false
	for i, m := range listed {
		c := model.Card{ID: name(m.ID, m.Name), Trained: m.Meta.Trained.tokens(), Bytes: int64(m.Meta.Size), Usable: m.Meta.Ctx.tokens()}
		switch m.Status.Value {
		case "":
			c.Loaded = model.Yes // a server without a router has its model in memory, unless it sleeps
		case "loaded":
			c.Loaded, router = model.Yes, true
		default:
			c.Loaded, router = model.No, true
			busy = busy || m.Status.Value == "loading"
		}
		cards[i] = c
	}
	if !router && known && len(cards) == 1 {
		p.fill(&cards[0])
		if cards[0].Usable == 0 {
			cards[0].Usable = listed[0].Meta.Ctx.tokens()
		}
	}
	if router {
		v.routed(ctx, cards)
	}
	f = f.settled(cards)
	if busy && f.State == Ready {
		f.Why = strings.TrimSuffix(f.Why, ".") + "; one is being loaded."
	}
	return f
}

// routed asks a router about the models that it has loaded, and about no other: the question alone would load them.
func (v *visit) routed(ctx context.Context, cards []model.Card) {
	asked := order(cards)
	asked = asked[:min(len(asked), maxAsked)]
	each(len(asked), atOnce, func(i int) {
		c := &cards[asked[i]]
		if c.Loaded != model.Yes || c.ID == "" {
			return
		}
		r := v.asker.get(ctx, "/props?autoload=false&model="+url.QueryEscape(c.ID), maxProps)
		if p, ok := parseProps(r); ok && p.Role != "router" {
			before := c.Usable
			p.fill(c)
			if c.Usable == 0 {
				c.Usable = before
			}
		}
	})
}
