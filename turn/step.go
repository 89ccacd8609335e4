package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/redact"
)

// A reply is one answer of the model, whole.
type reply struct {
	mu      sync.Mutex // while it is listened to, guards what is said and how much of it is in the log
	text    strings.Builder
	thought strings.Builder
	calls   []model.Call
	writing preview // the call that is being written; only for the eye
	garbled model.Garbled
	asked   string // the name of a tool that there is not
	opaque  string // what goes back to the engine with it
	finish  model.Finish
	usage   model.Usage
	counted bool // the engine gave usage
	late    bool // the turn's time was over before it was whole
	chars   int  // size of the request

	shownText, shownThought shown // the same for the log and for whoever watches
	first, total            time.Duration
}

// A shown is text as it may be shown while it comes: its secrets are hidden, also where they come in pieces.
type shown struct {
	pieces *redact.Stream
	text   strings.Builder
	logged int // how much is in the log already
}

// take adds a piece and gives what can be shown by now.
func (s *shown) take(piece string) string {
	piece = s.pieces.Feed(piece)
	s.text.WriteString(piece)
	return piece
}

// close adds what was held back.
func (s *shown) close() { s.text.WriteString(s.pieces.Close()) }

// fresh is what the log does not hold yet.
func (s *shown) fresh() string {
	text := s.text.String()[s.logged:]
	s.logged = s.text.Len()
	return text
}

// ask makes one model request and shows what comes as it comes.
func (r *run) ask(ctx context.Context, last bool) (*reply, error) {
	req, chars, err := r.fit(ctx, last)
	if err != nil {
		return nil, err
	}
	r.trace(ctx, req)
	rep := &reply{chars: chars}
	rep.shownText.pieces, rep.shownThought.pieces = r.gate.Hider.Stream(), r.gate.Hider.Stream()
	rep.writing.hider = r.gate.Hider
	logged := r.follow(context.WithoutCancel(ctx), rep)
	limited, cancel := r.limited(ctx)
	defer cancel()
	err = r.listen(limited, req, rep)
	if lerr := logged(); lerr != nil {
		return nil, lerr
	}
	var other *model.Instead
	if errors.As(err, &other) {
		return r.askOther(ctx, other, last)
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		rep.late, rep.calls, rep.opaque, err = true, nil, "", nil // what it said so far is what there is
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(r.keep(ctx, rep), err)
	}
	switch {
	case rep.counted && (rep.usage.Cut || model.FarBelow(rep.prompt(), rep.chars-pictures(req))):
		// What was counted is not what was sent: nothing can be learnt from it.
		if err := r.warnCut(ctx, rep, len(req.Messages)+1); err != nil {
			return nil, err
		}
	case rep.counted:
		r.e.counts.learn(r.counted(), rep.chars, len(req.Messages)+1, rep.prompt())
	default:
		rep.usage = model.Usage{Prompt: r.tokens(rep.chars, len(req.Messages)+1), Completion: (rep.text.Len() + rep.thought.Len()) * 2 / 7}
	}
	return rep, nil
}

// pictures is what the pictures of a request count for at most: an engine that takes them for less is not suspected for it.
func pictures(req model.Request) int {
	n := 0
	for _, m := range req.Messages {
		n += len(m.Images) * model.ImageSize
	}
	return n
}

// prompt is the tokens of the request itself, where its answer took several generations.
func (rep *reply) prompt() int {
	if rep.usage.First > 0 {
		return rep.usage.First
	}
	return rep.usage.Prompt
}

// Kinds of remarks about the model.
const (
	nudgeModel  = "model"  // another one answers
	nudgeWindow = "window" // the engine leaves out what does not fit
)

// askOther asks the model that has taken the place of one that failed. Its window and its way of calling tools may be others, so
// that the request is made anew. Each model has one turn, so this ends.
func (r *run) askOther(ctx context.Context, other *model.Instead, last bool) (*reply, error) {
	if err := r.append(ctx, jackline.Record{}, jackline.Nudge{Kind: nudgeModel, Text: other.Say}); err != nil {
		return nil, err
	}
	if err := fitsWindow(r.m.Main.Info()); err != nil {
		return nil, err
	}
	r.offered, r.known = nil, nil
	r.offer()
	r.images = nil // it may see none, or some that the first did not
	if err := r.see(ctx, r.items); err != nil {
		return nil, err
	}
	r.written, r.rendered, r.results = nil, 0, 0
	return r.ask(ctx, last)
}

// warnCut says, once a turn, that the engine has left out a part of the prompt.
func (r *run) warnCut(ctx context.Context, rep *reply, messages int) error {
	if r.warned {
		return nil
	}
	r.warned = true
	info := r.m.Main.Info()
	const about = 100 // an estimate says no more
	text := fmt.Sprintf("The engine read only %d of about %d tokens and left out the rest without a word: %s has not seen all of this chat. "+
		"Give it a larger window (--window or model.window; with Ollama also OLLAMA_CONTEXT_LENGTH), or update the engine: Ollama from 0.12.6 on says so instead.",
		rep.usage.Prompt, (r.tokens(rep.chars, messages)+about/2)/about*about, info.Name)
	return r.append(ctx, jackline.Record{}, jackline.Nudge{Kind: nudgeWindow, Text: text})
}

// listen takes a reply down until it ends.
func (r *run) listen(ctx context.Context, req model.Request, rep *reply) error {
	sent := time.Now()
	defer func() { rep.total = time.Since(sent) }()
	for chunk, err := range r.m.Main.Stream(ctx, req) {
		if err != nil {
			return err
		}
		if rep.first == 0 {
			rep.first = time.Since(sent)
		}
		rep.mu.Lock()
		switch {
		case chunk.Text != "":
			rep.text.WriteString(chunk.Text)
			if text := rep.shownText.take(chunk.Text); text != "" {
				r.live(jackline.TextDelta{Text: text})
			}
		case chunk.Thought != "":
			rep.thought.WriteString(chunk.Thought)
			if text := rep.shownThought.take(chunk.Thought); text != "" {
				r.live(jackline.ThoughtDelta{Text: text})
			}
		case chunk.Preview.Name != "":
			if rep.writing.take(chunk.Preview, time.Now()) {
				r.live(rep.writing.event())
			}
		case chunk.Call != nil:
			if rest, ok := rep.writing.rest(); ok {
				r.live(rest)
			}
			rep.calls = append(rep.calls, *chunk.Call)
		case chunk.Garbled != "":
			rep.garbled, rep.asked = chunk.Garbled, chunk.Asked
		case chunk.Opaque != "":
			rep.opaque = chunk.Opaque
		}
		rep.mu.Unlock()
		if chunk.Usage != nil {
			rep.usage, rep.counted = *chunk.Usage, true
		}
		if chunk.Finish != "" {
			rep.finish = chunk.Finish
		}
	}
	return nil
}

// follow keeps the log no more than textEvery behind what is shown, also while the model pauses. It ends when the returned function is called,
// which says whether the log could be written. A stop must not take along what is being written, so it does not end it.
func (r *run) follow(ctx context.Context, rep *reply) (stop func() error) {
	var timer *time.Timer
	var failed error
	ended := false
	rep.mu.Lock()
	defer rep.mu.Unlock()
	timer = time.AfterFunc(textEvery, func() {
		rep.mu.Lock()
		defer rep.mu.Unlock()
		if ended || failed != nil {
			return
		}
		// Line breaks wait for what follows them: see ending. While this is written nothing is shown, so that what is shown
		// next comes behind it.
		if !strings.HasSuffix(rep.shownText.text.String(), "\n") {
			if bodies := rep.unlogged(); len(bodies) > 0 {
				failed = r.append(ctx, jackline.Record{}, bodies...)
			}
		}
		timer.Reset(textEvery)
	})
	return func() error {
		rep.mu.Lock() // waits for what is being written
		defer rep.mu.Unlock()
		timer.Stop()
		ended = true
		return failed
	}
}

// keep holds on to the words of a reply that broke off: they are part of the conversation and of the turn's answer.
func (r *run) keep(ctx context.Context, rep *reply) error {
	if text := strings.TrimSpace(rep.text.String()); text != "" {
		r.pending = append(r.pending, jackline.Item{Turn: r.t.ID, Role: jackline.ItemAssistant, Text: text})
		r.t.Answer = text
	}
	return r.append(context.WithoutCancel(ctx), jackline.Record{}, rep.rest()...)
}

// unlogged is the text since the last record, as events, as far as it can be shown.
func (rep *reply) unlogged() []jackline.Body {
	var bodies []jackline.Body
	if s := rep.shownThought.fresh(); s != "" {
		bodies = append(bodies, jackline.Thought{Text: s})
	}
	if s := rep.shownText.fresh(); s != "" {
		bodies = append(bodies, jackline.Text{Text: s})
	}
	return bodies
}

// rest is unlogged at the end of a reply: nothing is held back any longer.
func (rep *reply) rest() []jackline.Body {
	rep.shownText.close()
	rep.shownThought.close()
	return rep.unlogged()
}

// ending is unlogged at the end of a step, without the blanks behind the text. A call that is written into the text
// stands on a line of its own; the log is to be the same as with native calls.
func (rep *reply) ending() []jackline.Body {
	bodies := rep.rest()
	n := len(bodies)
	if n == 0 {
		return nil
	}
	if t, ok := bodies[n-1].(jackline.Text); ok {
		if t.Text = strings.TrimRight(t.Text, " \t\r\n"); t.Text == "" {
			return bodies[:n-1]
		}
		bodies[n-1] = t
	}
	return bodies
}

func (r *run) live(b jackline.Body) {
	ev := jackline.NewEvent(r.s.ID, r.t.ID, b)
	ev.Parent = r.t.Parent
	r.e.Journal.Live(r.o, ev)
}

// take decides what a reply is: calls to make, something to send back, or the answer. It writes the step, unless the turn ends with it.
func (r *run) take(ctx context.Context, rep *reply, last bool) (*over, error) {
	text := strings.TrimSpace(rep.text.String())
	p := &r.t.Progress
	p.Step++
	r.t.Usage.Steps = p.Step
	r.t.Usage.Prompt += rep.usage.Prompt
	if rep.usage.CacheTold {
		r.t.Usage.Cached += rep.usage.Cached
		r.t.Usage.CachedOf += rep.usage.Prompt
	}
	r.t.Usage.Completion += rep.usage.Completion

	if end := r.spent(); rep.late && end != nil {
		if end.answer = text; text == "" {
			end.answer = "I could not finish this within the time that I was given."
		}
		r.answer(rep, end.answer)
		return end, nil
	}
	calling := len(rep.calls) > 0
	if last {
		return r.takeLast(rep, text, calling || rep.garbled != ""), nil
	}
	if calling {
		p.Streak = 0
		return nil, r.takeCalls(ctx, rep, text)
	}
	if rep.garbled != "" {
		if p.Streak == 0 && p.Retries < retriesPerTurn {
			p.Streak++
			p.Retries++
			said := text
			if said == "" {
				said = "(a tool call that could not be read)"
			}
			return nil, r.sendBack(ctx, rep, said, "retry", retryNote(rep.garbled, rep.asked, rep.finish == model.Length, r.names(), r.mode()))
		}
		if text != "" {
			text += "\n\n"
		}
		text += "I tried to use a tool, but could not write the call in a form that can be read."
		r.answer(rep, text)
		return &over{status: jackline.Done, answer: text, reason: "A tool call could not be read."}, nil
	}
	p.Streak = 0
	if kind, note := r.nudge(text, rep.thought.Len() > 0); note != "" {
		said := text
		if said == "" {
			said = "(nothing)"
		}
		return nil, r.sendBack(ctx, rep, said, kind, note)
	}
	if text == "" {
		r.answer(rep, "")
		return nil, jackline.E("turn.take", jackline.Unavailable, nil,
			"The model returned nothing, twice. Try another model, or a larger window; `jackline run --tool-mode text` helps where a model's own tool calls are broken.")
	}
	r.answer(rep, text)
	return &over{status: jackline.Done, answer: text}, nil
}

// takeLast ends the turn with its last reply: in words it is the answer, a call is dropped.
func (r *run) takeLast(rep *reply, text string, called bool) *over {
	p := r.t.Progress
	end := &over{status: jackline.Done, answer: text}
	switch {
	case p.Salvage && !called && text != "":
		end.reason = p.Guard
	case p.Salvage:
		end.status, end.reason = jackline.Failed, p.Guard
	case called || text == "":
		end.status = jackline.StepLimit
		end.reason = fmt.Sprintf("The turn reached its limit of %d steps.", r.maxSteps())
	}
	if text == "" {
		end.answer = "I could not finish this within the steps I was given."
		if p.Salvage {
			end.answer = "I stopped because I was repeating myself without getting anywhere."
		}
	}
	r.answer(rep, end.answer)
	return end
}

// longestName is what is kept of a tool's name that a model made up, in bytes.
const longestName = 100

// takeCalls writes a step that asks for tools. It does not wait for the disk: whatever a call does that counts is written, and
// waited for, behind it. A crash before that asks the model again.
func (r *run) takeCalls(ctx context.Context, rep *reply, text string) error {
	dropped := 0
	if most := r.callsPerStep(); len(rep.calls) > most {
		dropped = len(rep.calls) - most
		rep.calls, rep.opaque = rep.calls[:most], "" // it goes with all of them
	}
	item := jackline.Item{Turn: r.t.ID, Role: jackline.ItemAssistant, Text: text, Opaque: rep.opaque}
	rec := jackline.Record{Soon: true}
	var bodies []jackline.Body
	var using strings.Builder
	for i, mc := range rep.calls {
		mc.Name = brief(mc.Name) // a long one names no tool, and would fill the history
		name, title, icon, acts := r.gate.Describe(mc.Name, mc.Args)
		c := jackline.Call{
			ID: jackline.NewID[jackline.CallID]("c_"), Session: r.s.ID, Turn: r.t.ID, Step: r.t.Progress.Step, Index: i, Native: mc.ID,
			Asked: mc.Name, Name: name, Args: mc.Args, State: jackline.CallNew, Title: title, Acts: acts,
			// Only the last call of a reply can have been cut by the limit on tokens.
			Cut: mc.Cut || rep.finish == model.Length && dropped == 0 && i == len(rep.calls)-1,
		}
		item.Calls = append(item.Calls, c.ID)
		rec.Calls = append(rec.Calls, c)
		r.rows[c.ID] = c
		bodies = append(bodies, jackline.ToolCall{Call: c.ID, Name: c.Name, Title: r.gate.Brief(title), Kind: icon, Args: r.gate.BriefArgs(mc.Args), Step: c.Step})
		fmt.Fprintf(&using, "\nUsing `%s` %s", c.Name, r.gate.Brief(string(mc.Args)))
	}
	r.t.Progress.Dropped = dropped
	r.prior = append(r.prior, rec.Calls...)
	r.t.Usage.Calls = len(r.prior)
	r.pending = append(r.pending, item)
	return r.record(ctx, rep, strings.TrimSpace(text+using.String()), rec, bodies...)
}

// sendBack keeps what the model said and tells it what is missing.
func (r *run) sendBack(ctx context.Context, rep *reply, said, kind, note string) error {
	if said != strings.TrimSpace(rep.text.String()) {
		rep.opaque = "" // it goes with other words
	}
	r.pending = append(r.pending,
		jackline.Item{Turn: r.t.ID, Role: jackline.ItemAssistant, Text: said, Opaque: rep.opaque},
		jackline.Item{Turn: r.t.ID, Role: jackline.ItemNote, Text: note})
	return r.record(ctx, rep, said, jackline.Record{}, jackline.Nudge{Kind: kind, Text: note})
}

// answer keeps a step that ends the turn, for the record that ends it: a crash in between would ask the model again.
func (r *run) answer(rep *reply, text string) {
	if text != "" {
		r.pending = append(r.pending, jackline.Item{Turn: r.t.ID, Role: jackline.ItemAssistant, Text: text, Opaque: rep.opaque})
	}
	r.closing = r.step(rep, "answer", text)
}

// record writes a step after which the turn goes on: the turn, and all history that is pending.
func (r *run) record(ctx context.Context, rep *reply, text string, rec jackline.Record, bodies ...jackline.Body) error {
	rec.Turn, rec.Items = &r.t, r.pending
	if err := r.append(ctx, rec, append(r.step(rep, "tool", text), bodies...)...); err != nil {
		return err
	}
	r.items, r.pending = append(r.items, r.pending...), nil
	return nil
}

// step is what the log says of a model request: the text that it does not hold yet, the figures, and the step in readable
// words.
func (r *run) step(rep *reply, kind, text string) []jackline.Body {
	info := r.m.Main.Info()
	answered := info.Name
	if answered == r.named {
		answered = "" // as turn.start says
	}
	mended := 0
	for _, c := range rep.calls {
		if c.Mended {
			mended++
		}
	}
	return append(rep.ending(),
		jackline.Metrics{
			Model: answered,
			Step:  r.t.Progress.Step, FirstMS: rep.first.Milliseconds(), TotalMS: rep.total.Milliseconds(), Prompt: rep.usage.Prompt,
			Cached: cachedPart(rep.usage), Completion: rep.usage.Completion, RequestChars: rep.chars, Mended: mended,
		},
		jackline.Budget{Window: info.Window, Used: rep.prompt() + rep.usage.Completion, Usable: r.contract().Budget(), Cached: rep.usage.Cached},
		jackline.Step{N: r.t.Progress.Step, Kind: kind, Text: r.gate.Brief(text)})
}

// cachedPart is what came from the engine's cache, nil where it does not tell.
func cachedPart(u model.Usage) *int {
	if !u.CacheTold {
		return nil
	}
	return &u.Cached
}
