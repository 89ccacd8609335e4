package tool

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/redact"
)

// veiled refuses to write what stands for a hidden value. A model reads files and outputs with their secrets hidden; what it makes of
// them holds the placeholder, and would put it in the secret's place. Commands are refused likewise: they cannot work with it.
func (g *Gate) veiled(_ context.Context, p *passage) (*ending, error) {
	const writes = jackline.Write | jackline.Exec
	if p.i.Effect != 0 && p.i.Effect&writes == 0 || !redact.Holds(string(p.c.Args)) {
		return nil, nil
	}
	return &ending{outcome: jackline.Errored, text: veiledText}, nil
}

const veiledText = "FAILED: The arguments hold a placeholder such as [hidden:token]. It stands for a secret that you were not shown, and would be " +
	"written in its place. Leave that part as it is: change only other lines, or ask the owner to do it."

// hidden is the text of an ending with its secrets hidden: what a model reads of the world goes to the engine, into the history and into its
// answers.
func (g *Gate) hidden(e ending) ending {
	e.text, e.origin = g.Hider.Text(e.text), g.Hider.Text(e.origin)
	return e
}

// Brief is [jackline.Brief] of a text whose secrets are hidden before it is cut, so that no half of one is left.
func (g *Gate) Brief(text string) string {
	if len(text) > jackline.EventTextLimit {
		text = g.Hider.Text(text)
	}
	return jackline.Brief(text)
}

// BriefArgs is an event's copy of arguments: the long strings are cut, in the same way.
func (g *Gate) BriefArgs(raw json.RawMessage) json.RawMessage {
	if len(raw) <= jackline.EventTextLimit {
		return raw
	}
	return jackline.CutArgs(raw, g.Brief)
}

// progress shows the output of a call that runs, piece by piece, with its secrets hidden also where a piece ends within one.
func (g *Gate) progress(o jackline.Owner, c jackline.Call) func(string) {
	var mu sync.Mutex
	pieces := g.Hider.Stream()
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if text = pieces.Feed(text); text != "" {
			g.Log.Live(o, jackline.NewEvent(c.Session, c.Turn, jackline.ToolProgress{Call: c.ID, Text: text}))
		}
	}
}
