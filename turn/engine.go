package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/tool"
)

// An Engine runs turns. It is fixed once the first one runs, and safe for use by several goroutines, one for each turn.
type Engine struct {
	Journal  Journal
	Desk     Desk
	Models   func(context.Context, jackline.Session) (Models, error)
	Gate     func(jackline.Session) (*tool.Gate, error)
	Settings func(context.Context, jackline.Owner) (jackline.AgentSettings, error)
	Errors   *slog.Logger // gets the causes that nobody else may see

	// Files are the attachments; nil where there are none.
	Files Files
	// Guide gives the instructions of a session's workspace, if its owner trusts it; nil or "" is none.
	Guide func(context.Context, jackline.Session) (string, error)

	// Memory keeps how models count over restarts; nil forgets.
	Memory Memory

	counts counts
	trails trails
}

// Desk is what the engine needs of the approval desk.
type Desk interface {
	// Withdraw closes the turn's open rows as cancelled.
	Withdraw(context.Context, jackline.Owner, jackline.SessionID, jackline.TurnID) error
}

// Models are the two ways to the one model of a session.
type Models struct {
	Main model.Model // speaks calls, natively or through the reader of text
	Raw  model.Model // without tools: side generations, which never show in an answer

	// Note is what a person should know about the choice: that these stand in for another, for one. It may be empty.
	Note string
}

// The loop's limits.
const (
	// DefaultSteps is how many model requests a turn may take unless somebody says otherwise.
	DefaultSteps = 6
	// MaxSteps is the most that a person may set.
	MaxSteps = 2000
	// callsText and callsNative bound the calls of one step: a model that writes calls as text and goes on
	// writing is usually making the results up.
	callsText   = 3
	callsNative = 16
	// retriesPerTurn bounds how often an unreadable call is sent back, beside once per streak.
	retriesPerTurn = 3
	// announcements bounds the reminders to do what was announced.
	announcements = 2
	// textEvery is how often live text is made durable.
	textEvery = 50 * time.Millisecond
)

// A run is one stretch of a turn: from Run's begin to its end.
type run struct {
	e      *Engine
	o      jackline.Owner
	ctl    Control
	s      jackline.Session
	t      jackline.Turn
	gate   *tool.Gate
	m      Models
	set    jackline.AgentSettings
	zone   *time.Location
	began  time.Time
	looked bool   // for words that steer
	fresh  bool   // the session is new, and its turn has not begun
	named  string // the model that the log says answers
	warned bool   // that the engine cuts prompts
	said   string // of the switches that the prompt's words set

	items   []jackline.Item                   // the model history as stored
	pending []jackline.Item                   // what the next record appends to it
	rows    map[jackline.CallID]jackline.Call // every call that the history names
	prior   []jackline.Call                   // this turn's calls, in order
	closing []jackline.Body                   // the step that ended the turn, for the record of its end

	written  []model.Message // the first rendered items, written out
	rendered int
	results  int // characters of the results among them

	offered, known []model.Tool
	collected      map[jackline.CallID]bool // calls whose results are in the history
	picked         []string                 // tools that the session's first prompt had offered
	choosing       bool                     // and this is the one
	ahead          []string                 // tools that the prompt surely asks for, whether they were called or not

	images map[jackline.AttachmentID]model.Image // the pictures of the history that the model sees
	guide  string                                // what a trusted workspace says, the same as long as the turn lasts
}

// over is a turn's end: how and why.
type over struct {
	status jackline.Status
	answer string
	reason string
	err    *jackline.Problem
}

// Run implements [Runner].
func (e *Engine) Run(ctx context.Context, o jackline.Owner, id jackline.TurnID, c Control) (jackline.Turn, error) {
	r, err := e.load(ctx, o, id, c)
	if err != nil {
		return jackline.Turn{}, err
	}
	if r.t.Status.Over() {
		return r.t, nil
	}
	if err := r.begin(ctx); err != nil {
		if errors.Is(err, errEnded) {
			err = nil
		}
		return r.t, err
	}
	end, err := r.loop(ctx)
	if err != nil {
		cause := context.Cause(ctx)
		switch {
		case errors.Is(cause, ErrStopped):
			end = &over{status: jackline.Stopped, answer: r.t.Answer, reason: "Stopped."}
		case ctx.Err() != nil:
			return r.t, cause
		case jackline.KindOf(err) == jackline.Internal:
			return r.t, err
		default:
			// What was said before it failed stays said.
			end = &over{status: jackline.Failed, answer: r.t.Answer, reason: jackline.Say(err), err: jackline.ProblemOf(err)}
		}
		r.report(err)
	}
	if end == nil {
		return r.t, nil // it waits
	}
	ctx = context.WithoutCancel(ctx)
	if err := r.end(ctx, *end); err != nil {
		return r.t, err
	}
	if err := e.counts.keep(ctx, e.Memory); err != nil {
		r.report(err) // it is learnt again
	}
	return r.t, nil
}

// loop takes steps until the turn ends (an over), waits (nil), or cannot go on (an error).
func (r *run) loop(ctx context.Context) (*over, error) {
	if r.t.Progress.Ahead {
		if err := r.lookAhead(ctx); err != nil {
			return nil, err
		}
	}
	for {
		waits, end, err := r.settle(ctx)
		if waits || end != nil || err != nil {
			return end, err
		}
		if err := r.steer(ctx); err != nil {
			return nil, err
		}
		if end := r.spent(); end != nil {
			return end, nil
		}
		last := r.t.Progress.Step+1 >= r.maxSteps() || r.t.Progress.Salvage
		r.notes(last)
		reply, err := r.ask(ctx, last)
		if err != nil {
			return nil, err
		}
		if end, err := r.take(ctx, reply, last); end != nil || err != nil {
			return end, err
		}
	}
}

// load reads what the log knows of a turn. It needs nothing else, so that a turn can be ended whatever became of its model,
// its workspace and the settings.
func (e *Engine) load(ctx context.Context, o jackline.Owner, id jackline.TurnID, c Control) (*run, error) {
	r := &run{e: e, o: o, ctl: c, began: time.Now(), rows: map[jackline.CallID]jackline.Call{}, collected: map[jackline.CallID]bool{}, zone: time.UTC}
	if c.New != nil {
		r.s, r.t, r.fresh, r.looked = c.New.Session, c.New.Turn, true, true
		r.setZone()
		return r, nil
	}
	err := e.Journal.Settle(ctx) // a run that was broken off may have left something behind
	if err != nil {
		return nil, err
	}
	if r.t, err = e.Journal.Turn(ctx, o, id); err != nil {
		return nil, err
	}
	if r.s, err = e.Journal.Session(ctx, o, r.t.Session); err != nil {
		return nil, err
	}
	if r.items, err = e.Journal.History(ctx, o, r.s.ID); err != nil {
		return nil, err
	}
	seen := map[jackline.TurnID]bool{id: r.t.Status == jackline.Queued} // one that has not begun has made no calls
	for _, it := range append([]jackline.Item{{Turn: id, Role: jackline.ItemAssistant}}, r.items...) {
		if seen[it.Turn] || it.Turn == "" || it.Role != jackline.ItemAssistant {
			continue
		}
		seen[it.Turn] = true
		calls, err := e.Journal.Calls(ctx, o, it.Turn)
		if err != nil {
			return nil, err
		}
		for _, c := range calls {
			r.rows[c.ID] = c
		}
		if it.Turn == id {
			r.prior = calls
		}
	}
	// A call that a compaction took out of the history leaves no result behind either.
	for _, c := range r.prior {
		r.collected[c.ID] = true
	}
	for _, it := range r.items {
		for _, id := range it.Calls {
			r.collected[id] = false
		}
		if it.Role == jackline.ItemResult {
			r.collected[it.Call] = true
		}
	}
	r.setZone()
	return r, nil
}

// state reads one of the session's own small facts. One that is new has none before its turn has begun.
func (r *run) state(ctx context.Context, name string) (json.RawMessage, error) {
	if r.fresh {
		return nil, nil
	}
	return r.e.Journal.State(ctx, r.o, r.s.ID, name)
}

// setZone takes the client's time zone, if it is one.
func (r *run) setZone() {
	if z, err := time.LoadLocation(r.t.Options.TZ); err == nil && r.t.Options.TZ != "" {
		r.zone = z
	}
}

// equip finds what the turn runs with: settings, the gate of its workspace, and its model.
func (r *run) equip(ctx context.Context) (err error) {
	if r.set, err = r.e.Settings(ctx, r.o); err != nil {
		return err
	}
	if r.gate, err = r.e.Gate(r.s); err != nil {
		return err
	}
	models, err := r.e.Models(ctx, r.s)
	if err != nil {
		return err
	}
	r.m = models
	if err := fitsWindow(models.Main.Info()); err != nil {
		return err
	}
	if err := r.e.counts.recall(ctx, r.e.Memory); err != nil {
		return err
	}
	if err := r.readGuide(ctx); err != nil {
		return err
	}
	if err := r.readPicked(ctx); err != nil {
		return err
	}
	return r.see(ctx, r.items)
}

// begin opens a queued turn, or says that a waiting one runs again.
func (r *run) begin(ctx context.Context) error {
	if r.t.Status == jackline.Queued {
		r.said = r.directives()
	}
	if err := r.equip(ctx); err != nil {
		if ctx.Err() != nil {
			return err // it was interrupted, and nothing is wrong with the turn
		}
		// The turn never came to a model: it is on record as begun and failed.
		if r.t.Status == jackline.Queued {
			if err := r.open(ctx); err != nil {
				return err
			}
		}
		r.report(err)
		if err := r.end(ctx, over{status: jackline.Failed, reason: jackline.Say(err), err: jackline.ProblemOf(err)}); err != nil {
			return err
		}
		return errEnded
	}
	r.named = r.m.Main.Info().Name
	r.offer()
	switch r.t.Status {
	case jackline.Queued:
		return r.open(ctx)
	case jackline.Waiting:
		r.t.Status = jackline.Running
		return r.append(ctx, jackline.Record{Turn: &r.t}, jackline.TurnStatus{Status: jackline.Running})
	default:
		return nil
	}
}

// errEnded says that begin has ended the turn already.
var errEnded = errors.New("turn: ended before it began")

// open writes the beginning of a turn.
func (r *run) open(ctx context.Context) error {
	r.t.Status, r.t.Started = jackline.Running, time.Now().UTC()
	at, err := r.attach(ctx)
	if err != nil {
		return err
	}
	rec := jackline.Record{Turn: &r.t}
	if r.s.Title == "" && r.gate != nil { // without its folder a chat has no gate, and nothing that hides
		rec.Title = titleOf(r.gate.Hider.Text(r.t.Prompt))
		r.s.Title = rec.Title
	}
	rec.State = r.guideState()
	r.pickedState(rec.State)
	if r.t.Options.Continues == "" {
		// A plan is the plan of one task.
		rec.State[jackline.PlanKey] = json.RawMessage("null")
	}
	start := jackline.TurnStart{Prompt: r.gate.Brief(r.t.Prompt), Mode: r.t.Options.Mode(r.s.Mode), Model: r.s.Model, OnAsk: r.t.Options.OnAsk, Attachments: at.list}
	bodies := []jackline.Body{&start}
	if r.m.Main != nil {
		info := r.m.Main.Info()
		start.Model = info.Name
		p := jackline.Prep{
			Window: info.Window, Assumed: info.Assumed, Budget: r.contract().Budget(), Tools: []string{},
			ToolMode: r.mode(), MaxSteps: r.maxSteps(),
		}
		for _, t := range r.offered {
			p.Tools = append(p.Tools, t.Name)
		}
		bodies = append(bodies, p)
	}
	// Whoever wrote a file is not known, and it is the owner's: it taints and is private, on record before a model reads it.
	if had := r.s.Labels; len(at.list) > 0 && had != (jackline.Labels{Tainted: true, Private: true}) {
		r.s.Labels = jackline.Labels{Tainted: true, Private: true}
		rec.Labels = r.s.Labels
		bodies = append(bodies, jackline.LabelChanged{Labels: r.s.Labels, Ungated: r.s.Ungated, Why: "Attached: " + at.list[0].Name})
		if err := r.came(ctx, had, "the attached file "+at.list[0].Name, rec.State); err != nil {
			return err
		}
	}
	if err := r.remember(ctx, []string{r.t.Prompt}, rec.State); err != nil {
		return err
	}
	if r.said != "" {
		bodies = append(bodies, jackline.Nudge{Kind: "directive", Text: r.said})
	}
	if r.m.Note != "" {
		bodies = append(bodies, jackline.Nudge{Kind: nudgeModel, Text: r.m.Note})
	}
	ahead, err := r.lookups(ctx)
	if err != nil {
		return err
	}
	bodies = append(bodies, r.scouted(ahead, &rec)...)
	if !r.t.Progress.Ahead {
		item, over := r.opened(at, ahead, 0)
		if err := r.see(ctx, []jackline.Item{item}); err != nil {
			return err
		}
		rec.Items, bodies = []jackline.Item{item}, append(bodies, over...)
	}
	// To begin again after a crash costs nobody anything. What marks the chat is on record before a model reads it.
	rec.Soon = rec.Labels == jackline.Labels{}
	if err := r.append(ctx, rec, bodies...); err != nil {
		return err
	}
	r.items, r.fresh = append(r.items, rec.Items...), false
	return nil
}

// append writes a record of this session.
func (r *run) append(ctx context.Context, rec jackline.Record, bodies ...jackline.Body) error {
	rec.Session = r.s.ID
	for _, b := range bodies {
		ev := jackline.NewEvent(r.s.ID, r.t.ID, b)
		ev.Parent = r.t.Parent
		rec.Events = append(rec.Events, ev)
	}
	_, err := r.e.Journal.Append(ctx, r.o, rec)
	return err
}

// maxSteps is how many requests this turn may take.
func (r *run) maxSteps() int {
	n := r.t.Options.MaxSteps
	if n <= 0 {
		n = r.set.MaxSteps
	}
	if n <= 0 && r.m.Main != nil {
		n = r.m.Main.Info().Steps
	}
	if n <= 0 {
		n = DefaultSteps
	}
	return min(n, MaxSteps)
}

// mode is how the model makes its calls. An engine that turns out to know no tools changes it.
func (r *run) mode() string { return r.m.Main.Info().Mode() }

// callsPerStep is how many calls one step may make.
func (r *run) callsPerStep() int {
	switch {
	case r.set.CallsPerStep > 0:
		return r.set.CallsPerStep
	case r.mode() == model.ModeNative:
		return callsNative
	default:
		return callsText
	}
}

// maxTime is how many milliseconds the turn may run; 0 sets no limit.
func (r *run) maxTime() int64 {
	if ms := r.t.Options.MaxTimeMS; ms > 0 {
		return ms
	}
	return int64(r.set.MaxTime) * 1000
}

// limited ends with the turn's time: a small model that goes on and on is not waited for. What it said until then is kept.
func (r *run) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if ms := r.maxTime(); ms > 0 {
		return context.WithTimeout(ctx, time.Duration(ms-r.running())*time.Millisecond)
	}
	return ctx, func() {}
}

// spent ends a turn that has used up its tokens or its time.
func (r *run) spent() *over {
	tokens, ms := r.t.Options.MaxTokens, r.maxTime()
	if tokens <= 0 {
		tokens = r.set.MaxTokens
	}
	used := r.t.Usage.Prompt + r.t.Usage.Completion
	switch {
	case tokens > 0 && used >= tokens:
		return &over{status: jackline.StepLimit, reason: fmt.Sprintf("The turn used %d tokens; its limit is %d.", used, tokens)}
	case ms > 0 && r.running() >= ms:
		return &over{status: jackline.StepLimit, reason: fmt.Sprintf("The turn ran for %d seconds; its limit is %d.", r.running()/1000, ms/1000)}
	}
	return nil
}

// running is how many milliseconds the turn has run, waiting not counted.
func (r *run) running() int64 { return r.t.Progress.SpentMS + time.Since(r.began).Milliseconds() }

// steer delivers words that came for this turn while it ran.
func (r *run) steer(ctx context.Context) error {
	words, err := r.steered(ctx)
	if err != nil || len(words) == 0 {
		return err
	}
	var bodies []jackline.Body
	items := r.pending
	for _, w := range words {
		items = append(items, jackline.Item{Turn: r.t.ID, Role: jackline.ItemPrompt, Text: w})
		bodies = append(bodies, jackline.Steered{Text: r.gate.Brief(w)})
	}
	// New words from the owner are a new start: reminders and guards begin again.
	r.t.Progress.Announced, r.t.Progress.Streak, r.t.Progress.Nudged, r.t.Progress.Thought = 0, 0, false, false
	rec := jackline.Record{Turn: &r.t, Items: items, State: map[string]json.RawMessage{SteerKey: json.RawMessage("null")}}
	if err := r.remember(ctx, words, rec.State); err != nil {
		return err
	}
	if err := r.append(ctx, rec, bodies...); err != nil {
		return err
	}
	r.items, r.pending = append(r.items, items...), nil
	return nil
}

// end writes the end of the turn, with what it did and what it was denied. Calls that have no outcome get theirs in the same
// record, so that no crash can leave a turn of which only half has ended.
func (r *run) end(ctx context.Context, end over) error {
	rec, bodies, err := r.cancelOpen(ctx)
	if err != nil {
		return err
	}
	if r.t.Progress.Ahead { // it ended before the prompt had come into the history
		at, err := r.attach(ctx)
		if err != nil {
			return err
		}
		r.t.Progress.Ahead = false
		r.pending = append([]jackline.Item{r.prompted(at, "")}, r.pending...)
	}
	r.collect()
	r.t.Status, r.t.Answer, r.t.Reason, r.t.Ended = end.status, end.answer, end.reason, time.Now().UTC()
	r.t.Progress.SpentMS = r.running()
	body := jackline.TurnEnd{
		Status: end.status, Answer: r.gate.Brief(end.answer), Reason: end.reason, ToolCalls: len(r.prior), Skills: []string{}, Usage: r.t.Usage,
		Denied: []jackline.DeniedAs{}, Changes: changes(r.prior), Error: end.err,
	}
	for _, c := range r.prior {
		if c.Step > 0 && (c.Outcome == jackline.Denied || c.Outcome == jackline.Expired) { // nobody wanted what came before
			body.Denied = append(body.Denied, jackline.DeniedAs{Call: c.ID, Name: c.Name, Title: r.gate.Brief(c.Title), Outcome: c.Outcome, By: c.By, Reason: c.Reason})
		}
	}
	rec.Turn, rec.Items = &r.t, r.pending // words that were not delivered stay where they are, for the caller
	r.items, r.pending = append(r.items, r.pending...), nil
	return r.append(ctx, rec, append(append(r.closing, bodies...), body)...)
}

// changes sums up what a turn's calls did to files: one line a file, in the order in which they were first touched.
func changes(calls []jackline.Call) []jackline.Change {
	sum := []jackline.Change{}
	at := map[string]int{}
	for _, c := range calls {
		for _, ch := range c.Changes {
			k, ok := at[ch.Path]
			if !ok {
				at[ch.Path] = len(sum)
				sum = append(sum, ch)
				continue
			}
			sum[k].Added += ch.Added
			sum[k].Gone += ch.Gone
			sum[k].Lost = cmp.Or(sum[k].Lost, ch.Lost)
			if sum[k].Change == "edit" || ch.Change == "delete" {
				sum[k].Change = ch.Change
			}
		}
	}
	return sum
}

// report logs the cause of what went wrong.
func (r *run) report(err error) {
	if r.e.Errors != nil {
		r.e.Errors.Warn("turn", "turn", r.t.ID, "err", err)
	}
}

// Finish implements [Runner].
func (e *Engine) Finish(ctx context.Context, o jackline.Owner, id jackline.TurnID, s jackline.Status, reason string) (jackline.Turn, error) {
	r, err := e.load(ctx, o, id, Control{})
	if err != nil {
		return jackline.Turn{}, err
	}
	if r.t.Status.Over() {
		return r.t, nil
	}
	if r.t.Status == jackline.Queued {
		// It never began: its prompt is not part of the conversation.
		r.t.Status, r.t.Reason, r.t.Ended = s, reason, time.Now().UTC()
		return r.t, r.append(ctx, jackline.Record{Turn: &r.t}, jackline.TurnEnd{
			Status: s, Reason: reason, Skills: []string{}, Denied: []jackline.DeniedAs{}, Changes: []jackline.Change{},
		})
	}
	return r.t, r.end(ctx, over{status: s, reason: reason})
}
