package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/retrieve"
	"github.com/jackline-ai/jackline/tool"
)

// Which tools a model is told of. What stands in front of the conversation never changes within a session, so that the engine's cache
// holds: the pinned tools of the window, and in large windows those that the session's first prompt pointed at. What later prompts
// point at, and what the model finds, is described in the history. All others run when they are named.

// contract is what the model's window holds. Another model may have taken the place of the first.
func (r *run) contract() contract.Contract { return contract.Of(r.m.Main.Info().Window) }

// pickedKey is the session fact that holds the tools that its first prompt had offered: a JSON list of names.
const pickedKey = "offered"

// readPicked finds what the session's first prompt had offered, or chooses it now.
func (r *run) readPicked(ctx context.Context) error {
	raw, err := r.state(ctx, pickedKey)
	if err != nil {
		return err
	}
	if len(raw) > 0 && json.Unmarshal(raw, &r.picked) == nil {
		return nil
	}
	if r.t.Status == jackline.Queued {
		r.pick()
	}
	return nil
}

// pick chooses what the prompt has offered beside the pinned tools, as far as the window's budget for tools lasts. A turn without tools
// leaves the choice to a later one.
func (r *run) pick() {
	c := r.contract()
	if c.Picked == 0 || r.wordsOnly() {
		return
	}
	r.choosing = true
	info := r.m.Main.Info()
	room, most := c.ForTools(info.Native), c.Picked
	pinned := 0
	for t := range r.gate.Tools.All() {
		if f := t.Facts(); r.pinned(f) {
			room -= r.cost(told(f))
			pinned++
		}
	}
	if info.Offer > 0 { // more would only confuse it; what is pinned it needs in any case
		most = min(most, info.Offer-pinned)
	}
	for _, f := range r.pointed() {
		if len(r.picked) >= most {
			break
		}
		if n := r.cost(told(f)); n <= room {
			room -= n
			r.picked = append(r.picked, f.Name)
		}
	}
}

// pickedState keeps the choice for the session.
func (r *run) pickedState(state map[string]json.RawMessage) {
	if r.choosing {
		raw, _ := json.Marshal(append([]string{}, r.picked...)) // names always encode
		state[pickedKey] = raw
	}
}

// wordsOnly reports whether this turn goes without tools.
func (r *run) wordsOnly() bool { return r.t.Options.Guide || r.maxSteps() == 1 }

// pinned reports whether a tool is always offered in the model's window.
func (r *run) pinned(f tool.Facts) bool {
	return f.Pin > 0 && r.m.Main.Info().Window >= f.Pin && f.WhyNot == ""
}

// told is what a model is told about a tool.
func told(f tool.Facts) model.Tool {
	return model.Tool{Name: f.Name, Summary: f.Summary, Use: f.Use, Schema: f.Schema, Aliases: f.Aliases, Body: f.Body}
}

// cost is about what a tool takes where it is offered, in characters.
func (r *run) cost(t model.Tool) int {
	const frame = 80 // of a tool in JSON
	if r.m.Main.Info().Native {
		return frame + len(t.Name) + len(t.Description()) + len(t.Schema)
	}
	return utf8.RuneCountInString(described(t)) + len(t.Use)
}

// offer settles which tools go into the requests of this turn.
func (r *run) offer() {
	if r.wordsOnly() {
		return
	}
	who, picks := r.actor(), r.contract().Picked > 0
	for t := range r.gate.Tools.All() {
		if r.gate.Off(who, t) {
			continue
		}
		f := t.Facts()
		mt := told(f)
		r.known = append(r.known, mt)
		if r.pinned(f) || picks && f.WhyNot == "" && slices.Contains(r.picked, f.Name) {
			r.offered = append(r.offered, mt)
		}
	}
}

func (r *run) isOffered(name string) bool {
	return slices.ContainsFunc(r.offered, func(o model.Tool) bool { return o.Name == name })
}

// byName lists the tools that an engine with calls of its own is not told about, for they run when they are named. Where calls are
// text, whoever writes the tools out lists them too.
func (r *run) byName() string {
	if !r.m.Main.Info().Native || len(r.known) == len(r.offered) {
		return ""
	}
	const head, rest = " Tools that also run when you name them: ", ", and 1000 more."
	room := r.contract().Names - len(head) - len(rest)
	line, more := "", 0
	for _, t := range r.known {
		switch {
		case r.isOffered(t.Name):
		case more > 0, len(line)+len(", ")+len(t.Name) > room:
			more++ // what finds no place is found by its purpose
		default:
			line += ", " + t.Name
		}
	}
	if more > 0 {
		line += fmt.Sprintf(", and %d more", more)
	}
	return head + strings.TrimPrefix(line, ", ") + "."
}

// names are the tools that run when they are named, those that are offered first, as many as a short list holds.
func (r *run) names() []string {
	room := r.contract().Names
	names := make([]string, 0, len(r.known))
	for _, t := range r.offered {
		names = append(names, t.Name)
	}
	for _, t := range r.known {
		if len(t.Name) > room {
			break
		}
		if !r.isOffered(t.Name) {
			names, room = append(names, t.Name), room-len(t.Name)
		}
	}
	return names
}

// Limits of what a prompt points at.
const (
	// pointingChars is how much of a prompt counts: further down it is most likely pasted text.
	pointingChars = 2000
	// nearBest is the share of the best tool's score that another one must have: with less it shares but ordinary words.
	nearBest = 0.4
	// namedWords is how many words of a tool's name a prompt must have where each of them names many, and sharedWords how many
	// of what is said about it.
	namedWords  = 2
	sharedWords = 3
)

// pointed are the tools that the prompt's own words point at, the best first: it says a word that names hardly another tool, or
// several words of one, or whose it is. Words that are in the names of tools that are there anyway point at none, and neither do
// questions about how something works.
func (r *run) pointed() []tool.Facts {
	said := r.t.Prompt
	if len(said) > pointingChars {
		said = said[:pointingChars]
	}
	there := func(f tool.Facts) bool { return r.pinned(f) || r.isOffered(f.Name) }
	covered := map[string]bool{}
	for t := range r.gate.Tools.All() {
		if f := t.Facts(); there(f) {
			for _, w := range retrieve.Words(f.Name, retrieve.QueryWords) {
				covered[w] = true
			}
		}
	}
	said = own(said)
	words := slices.DeleteFunc(retrieve.Words(said, retrieve.QueryWords), func(w string) bool { return covered[w] || weak(w) })
	if len(words) == 0 || explains.MatchString(said) {
		return nil
	}
	who := r.actor()
	var all []tool.Facts
	best := 0.0
	for _, m := range r.gate.Tools.Search(words, func(t tool.Tool) bool { return r.gate.Off(who, t) }) {
		f := m.Tool.Facts()
		if there(f) {
			continue
		}
		best = max(best, m.Score)
		if m.Score < best*nearBest {
			break
		}
		if f.WhyNot == "" && (m.Rare > 0 || m.Server || m.Named >= namedWords || m.Words >= sharedWords) {
			all = append(all, f)
		}
	}
	return all
}

// weak reports whether a word of a prompt points at nothing, whatever tools are called.
func weak(w string) bool {
	switch w {
	case "now", "today", "new", "next", "make", "do", "get", "go", "run", "tell", "giv", "show", "current", "name", "plan", "result", "thing":
		return true
	}
	return false
}

// pointer describes the tools that the prompt points at and the model has not been told of: it stands in front of the owner's words, like
// all that changes from turn to turn.
func (r *run) pointer() string {
	if r.wordsOnly() || r.gate == nil || r.m.Main == nil {
		return ""
	}
	c := r.contract()
	has := r.toldOf(r.items)
	for _, name := range r.ahead {
		has[name] = true
	}
	var names []string
	for _, f := range r.pointed() {
		if !has[f.Name] && len(names) < c.Points {
			names = append(names, f.Name)
		}
	}
	if text := r.describe(names, c.Found); text != "" {
		return "[note] " + foundNote + text + "\n"
	}
	return ""
}

// foundNote begins what describes tools in the history.
const foundNote = "These tools are yours to call now:"

// described is a tool in one line: signatures instead of schemas, since small models read them better and a window pays a quarter.
func described(t model.Tool) string {
	const longest = 300 // characters; servers write novels
	say := []rune(oneLine(defuse(t.Summary)))
	if len(say) > longest {
		say = append(say[:longest], '…')
	}
	return "\n- " + args.Signature(t.Name, t.Schema, args.Detail{Text: true, Nested: true}) + " " + string(say)
}

// describe writes tools out, as many as there is room for.
func (r *run) describe(names []string, room int) string {
	var b strings.Builder
	for _, n := range names {
		for _, t := range r.known {
			if t.Name != n {
				continue
			}
			if line := described(t); utf8.RuneCountInString(line) <= room {
				room -= utf8.RuneCountInString(line)
				b.WriteString(line)
			}
		}
	}
	return b.String()
}

// describeFound tells the model how to call tools that it found.
func (r *run) describeFound(names []string) {
	has := r.toldOf(append(slices.Clone(r.items), r.pending...))
	names = slices.DeleteFunc(slices.Compact(slices.Clone(names)), func(n string) bool { return has[n] || r.isOffered(n) })
	if text := r.describe(names, r.contract().Found*2); text != "" { // it was asked for
		r.note(foundNote + text)
	}
}

// toldOf are the tools that items describe.
func (r *run) toldOf(items []jackline.Item) map[string]bool {
	told := map[string]bool{}
	for _, it := range items {
		text := it.Text
		switch it.Role {
		case jackline.ItemNote:
		case jackline.ItemPrompt: // behind the line that says the day
			_, after, _ := strings.Cut(text, "]\n[note] ")
			text = after
		case jackline.ItemAssistant, jackline.ItemResult, jackline.ItemSummary:
			continue
		}
		list, ok := strings.CutPrefix(text, foundNote+"\n- ")
		if !ok {
			continue
		}
		for line := range strings.SplitSeq(list, "\n- ") {
			if name, _, ok := strings.Cut(line, "("); ok {
				told[name] = true
			}
		}
	}
	return told
}

// withFound describes again, behind a compaction, the tools that this session has used or found and that nothing tells of any more.
func (r *run) withFound(before, items []jackline.Item) []jackline.Item {
	has := r.toldOf(items)
	had := r.toldOf(before)
	for _, it := range before {
		for _, id := range it.Calls {
			had[r.rows[id].Name] = true
		}
	}
	var names []string
	for _, t := range r.known {
		if had[t.Name] && !has[t.Name] && !r.isOffered(t.Name) {
			names = append(names, t.Name)
		}
	}
	if text := r.describe(names, r.contract().Found); text != "" {
		items = append(items, jackline.Item{Turn: r.t.ID, Role: jackline.ItemNote, Text: foundNote + text})
	}
	return items
}
