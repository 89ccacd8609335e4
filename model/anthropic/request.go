package anthropic

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// Quirks are what a server was found not to take. They are learned from its refusals and kept as long as the Model.
type quirks uint32

const (
	noAdaptive   quirks = 1 << iota // reasons only within a budget
	noBudget                        // reasons only as it sees fit
	noDisabled                      // cannot stop reasoning
	noDisplay                       // does not know how reasoning is to be shown
	noEffort                        // knows no effort
	noMarks                         // takes no marks for its cache
	noToolChoice                    // refuses tool_choice
	needsTools                      // takes no calls where no tools are offered: they are put into words then
)

// A way is how one request is written: what the server was found not to take, and what is different this once.
type way struct {
	quirks
	most int // tokens that the model gives in an answer; 0 is any number
	max  int // tokens that fit behind the prompt; 0 is any number
}

// mark is what tells the provider to cache up to here.
const mark = `,"cache_control":{"type":"ephemeral"}`

// write renders r. Model, tools, system and messages come first, in this order, and what is written for one depends on
// nothing behind it but the marks. Thoughts says that signed reasoning is in it.
func (m *Model) write(r model.Request, how way) (body []byte, thoughts bool) {
	w := writer{b: make([]byte, 0, m.Size(r)+1024), m: m, how: how, ids: map[string]bool{}}
	w.raw(`{"model":`)
	w.text(m.info.Name)
	offered := m.info.Native && len(r.Tools) > 0
	w.native = m.info.Native && (offered || how.quirks&needsTools == 0)
	if offered {
		w.tools(r.Tools)
	}
	w.system(r.System)
	w.raw(`,"messages":[`)
	w.messages(r.Messages)
	w.raw(`]`)
	w.limits(m, r.MaxTokens)
	if m.effort != "" && how.quirks&noEffort == 0 {
		w.raw(`,"output_config":{"effort":`)
		w.text(m.effort)
		w.raw(`}`)
	}
	if offered && r.NoCalls && how.quirks&noToolChoice == 0 {
		w.raw(`,"tool_choice":{"type":"none"}`)
	}
	w.raw(`}`)
	if how.quirks&noMarks == 0 {
		w.mark()
	}
	return w.b, w.thoughts
}

// limits writes how much the model may write, and how it is to reason. Reasoning counts as writing, so what it may take
// comes on top of the answer's share.
func (w *writer) limits(m *Model, asked int) {
	thinking, room := m.thinking(w.how.quirks, !w.unsigned)
	n := m.max
	if asked > 0 {
		n = asked + room
	} else if room > n/2 {
		n += room
	}
	for _, most := range []int{w.how.most, w.how.max} {
		if most > 0 {
			n = min(n, most)
		}
	}
	if thinking == byBudget {
		if room = min(room, n-leastAnswer); room < leastThought {
			thinking = ""
		}
	}
	w.raw(`,"max_tokens":` + strconv.Itoa(n) + `,"stream":true`)
	switch thinking {
	case "":
	case byBudget:
		w.raw(`,"thinking":{"type":"enabled","budget_tokens":` + strconv.Itoa(room) + `}`)
	case asItLikes:
		w.raw(`,"thinking":{"type":"adaptive"`)
		if w.how.quirks&noDisplay == 0 {
			w.raw(`,"display":"summarized"`) // newer models show nothing unless they are asked to
		}
		w.raw(`}`)
	default:
		w.raw(`,"thinking":{"type":"` + thinking + `"}`)
	}
}

// The types of thinking that the API knows.
const (
	byBudget  = "enabled"
	asItLikes = "adaptive"
	notAtAll  = "disabled"
)

// thinking is the type to ask for, "" for none, and how many tokens reasoning may take. Signed says that the last answer with
// calls begins with signed reasoning: without that a budget is refused.
func (m *Model) thinking(q quirks, signed bool) (kind string, room int) {
	switch m.think {
	case model.Unknown:
		if m.thinks.Load() {
			return "", thoughtRoom
		}
		return "", 0
	case model.No:
		if q&noDisabled == 0 {
			return notAtAll, 0
		}
		return "", thoughtRoom // it reasons all the same
	case model.Yes:
	}
	room = cmp.Or(m.budget, thoughtRoom)
	switch {
	case q&noBudget != 0 && q&noAdaptive != 0:
		return "", 0 // it takes neither
	case q&noBudget != 0 || m.budget == 0 && q&noAdaptive == 0:
		return asItLikes, room
	case !signed:
		return "", 0
	}
	return byBudget, room
}

// A writer appends JSON.
type writer struct {
	b      []byte
	native bool
	m      *Model
	how    way
	names  engine.Names

	role   string          // of the message that is open; "" for none
	blocks int             // in it
	open   []model.Made    // the calls of the last answer, until their results are written
	held   []model.Message // their results so far
	ids    map[string]bool // of all calls so far

	seams    []int // where the system message and tools can be marked
	tail     int   // end of the last block of a user message
	before   int   // the same of the request before this one, as far as can be seen
	thoughts bool  // signed reasoning was written
	unsigned bool  // the last answer has calls and does not begin with signed reasoning
}

func (w *writer) raw(s string) { w.b = append(w.b, s...) }

func (w *writer) text(s string) { w.b = args.AppendText(w.b, s) }

func (w *writer) comma(i int) {
	if i > 0 {
		w.raw(",")
	}
}

func (w *writer) tools(tools []model.Tool) {
	w.names = namesOf(tools)
	w.raw(`,"tools":[`)
	for i, t := range tools {
		w.comma(i)
		w.raw(`{"name":`)
		w.text(w.names.Sent(t.Name))
		if d := t.Description(); d != "" {
			w.raw(`,"description":`)
			w.text(d)
		}
		w.raw(`,"input_schema":`)
		w.b = append(w.b, engine.ObjectSchema(t.Schema)...)
		w.seams = []int{len(w.b)}
		w.raw(`}`)
	}
	w.raw(`]`)
}

// namesOf gives the tools of a request names that the API takes.
func namesOf(tools []model.Tool) engine.Names {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return engine.NewNames(names)
}

// system writes the system message, one block each. Its blocks take the place of the tools where marks are set: a mark
// behind them covers the tools too.
func (w *writer) system(blocks []string) {
	var seams []int
	for _, b := range blocks {
		if blank(b) {
			continue
		}
		if len(seams) == 0 {
			w.raw(`,"system":[`)
		}
		w.comma(len(seams))
		w.raw(`{"type":"text","text":`)
		if len(seams) > 0 {
			b = "\n\n" + b // the API puts nothing between blocks
		}
		w.text(b)
		seams = append(seams, len(w.b))
		w.raw(`}`)
	}
	if len(seams) > 0 {
		w.raw(`]`)
		w.seams = []int{seams[0], seams[len(seams)-1]}
	}
}

// mark sets the marks, from behind, so that each offset is still right when its turn comes.
func (w *writer) mark() {
	at := slices.Clone(w.seams)
	for _, end := range []int{w.before, w.tail} {
		if end > 0 {
			at = append(at, end)
		}
	}
	slices.Sort(at)
	for _, end := range slices.Backward(slices.Compact(at)) {
		w.b = slices.Insert(w.b, end, []byte(mark)...)
	}
}

// Size is the number of characters that r's system blocks, messages, calls and offered tools take in the request, escapes
// not counted. The JSON around messages is left out: the provider puts marks of its own in its place.
func (m *Model) Size(r model.Request) int {
	size := model.Measure{Native: m.info.Native, Call: callFrame, Tool: toolFrame, Image: model.ImageSize, Schema: engine.ObjectSchema}
	return size.Head(r) + size.Messages(r.Messages...)
}

// Models read calls and tools as something like JSON: these characters stand around each.
const (
	callFrame = len(`{"name": "", "input": }`)
	toolFrame = len(`{"name":"","description":"","input_schema":}`)
)
