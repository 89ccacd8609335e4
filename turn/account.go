package turn

import (
	"fmt"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/tool"
)

// An Outline is what a first request is made of.
type Outline struct {
	Model     model.Model // only measured
	Tools     *tool.Set
	Persona   string // "" is [DefaultPersona]
	Workspace string
	Mode      jackline.Mode
	Guide     string // a trusted folder's instructions
	Prompt    string // which may point at tools
}

// A Line is one part of a request: what it may take, and what it takes.
type Line struct {
	Block  string `json:"block"`
	Unit   string `json:"unit"`   // characters or tokens
	Budget int    `json:"budget"` // 0 is no bound of its own
	Used   *int   `json:"used"`   // nil where it is used only later
	Note   string `json:"note,omitempty"`
}

// The units of an account.
const (
	inChars  = "characters"
	inTokens = "tokens"
)

// Account says how the contract of the model's window is used by the first request of a session, part by part, as the engine would write it. The
// error is that of a window that is too small to work with.
func Account(o Outline) ([]Line, error) {
	info := o.Model.Info()
	if err := fitsWindow(info); err != nil {
		return nil, err
	}
	r := &run{
		e: &Engine{}, s: jackline.Session{Workspace: o.Workspace, Mode: o.Mode}, t: jackline.Turn{Prompt: o.Prompt, Status: jackline.Queued},
		set: jackline.AgentSettings{Persona: o.Persona}, m: Models{Main: o.Model}, guide: o.Guide, gate: &tool.Gate{Tools: o.Tools, Judge: nobody{}},
	}
	r.pick()
	r.offer()
	c := r.contract()
	size := func(req model.Request) int { return o.Model.Size(req) }
	system := r.system(nil)
	rules, workspace, guide := size(model.Request{System: system[:1]}), size(model.Request{System: system[1:2]}), 0
	if len(system) > 2 {
		guide = size(model.Request{System: system[2:3]})
	}
	whole := size(model.Request{System: system, Tools: r.offered, Known: r.known})
	told := whole - size(model.Request{System: system})
	names := told - size(model.Request{System: system, Tools: r.offered, Known: r.offered}) + size(model.Request{System: system})
	if info.Native { // they stand with the workspace
		names = contract.Weight(r.byName())
		workspace -= names
	}
	pointed := contract.Weight(r.pointer())
	tools, fixed := c.Tools, c.Fixed
	if info.Native {
		tools, fixed = c.ForTools(true), c.NativeBytes
	}
	used := func(n int) *int { return &n }
	left := c.Budget() - int(estimated(whole+pointed, 2))
	return []Line{
		{"rules", inChars, c.Rules, used(rules), "who the model is, and the house rules"},
		{"tools", inChars, tools, used(told), fmt.Sprintf("%d are offered, %d run when they are named", len(r.offered), len(r.known))},
		{"names", inChars, c.Names, used(names), "of tools that are not offered, as many as there is room for"},
		{"workspace", inChars, c.Workspace, used(workspace), "where the model is, and what it may do"},
		{"fixed", inChars, fixed, used(whole - guide), "all of these: what hello costs in an empty folder"},
		{"instructions", inChars, c.Instructions, used(guide), "a trusted folder's AGENTS.md, cut with a note"},
		{"skills", inChars, c.Skills, used(0), "the catalogue of skills"},
		{"summary", inChars, c.Summary, used(0), "of what a compaction took out"},
		{"found", inChars, c.Found, used(pointed), "tools that a prompt points at, described in front of it"},
		{"context", inChars, c.Context, nil, "what was looked up before the first request"},
		{"files", inChars, c.Files, nil, "what was attached to one prompt"},
		{"result", inChars, c.Result, nil, "one result; the rest can be read page by page"},
		{"results", inChars, c.Results, nil, "all results together; above it a compaction makes room"},
		{"reserve", inTokens, c.Reserve, nil, "kept free for the answer"},
		{"left", inTokens, c.Budget(), used(left), "for the conversation, before the engine has counted"},
	}, nil
}

// Nobody judges: nothing runs.
type nobody struct{}

// Judge implements tool.Judge.
func (nobody) Judge(jackline.Intent) jackline.Decision { return jackline.Decision{} }
