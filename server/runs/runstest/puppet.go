package runstest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/turn"
)

// A Puppet is a runner whose prompts are scripts: commands parted by ";". It uses the real gate, desk and log.
//
//	say TEXT         visible text
//	call NAME ARGS   a call, which may wait
//	hang             until the context ends; words that come meanwhile stay where they are
//	slowly           until the context ends, and then ends well all the same
//	steered          until words come
//	heard            until words come, which it leaves where they are
//	limit            end at the step limit
//	doze             wait for nothing
//	full             fail as where the disk is full
//	fail, panic, leave
type Puppet struct {
	db   *store.DB
	desk *approval.Desk
	gate func(jackline.Session) (*tool.Gate, error)

	mu     sync.Mutex
	active map[jackline.SessionID]int
	most   int // turns at work at once
	two    bool

	Began chan jackline.TurnID // gets each run that begins
	Asked func()               // is called between a card and the word that the turn waits, if not nil; set it before anything runs
}

func (p *Puppet) enter(s jackline.SessionID, id jackline.TurnID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active[s]++
	p.two = p.two || p.active[s] > 1
	n := 0
	for _, k := range p.active {
		n += k
	}
	p.most = max(p.most, n)
	select {
	case p.Began <- id:
	default:
	}
}

// AtOnce is how many turns were at work at once, at most.
func (p *Puppet) AtOnce() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

func (p *Puppet) leave(s jackline.SessionID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active[s]--
}

// An act is one run of a puppet.
type act struct {
	*Puppet
	o jackline.Owner
	s jackline.Session
	t jackline.Turn
	c turn.Control
}

// Run implements turn.Runner.
func (p *Puppet) Run(ctx context.Context, o jackline.Owner, id jackline.TurnID, c turn.Control) (jackline.Turn, error) {
	t, err := p.db.Turn(ctx, o, id)
	if err != nil || t.Status.Over() {
		return t, err
	}
	s, err := p.db.Session(ctx, o, t.Session)
	if err != nil {
		return t, err
	}
	p.enter(s.ID, id)
	defer p.leave(s.ID)
	a := &act{p, o, s, t, c}
	if err := a.begin(ctx); err != nil {
		return a.t, err
	}
	prompt := t.Prompt
	if t.Options.Continues != "" {
		prompt = "say on"
	}
	for _, cmd := range strings.Split(prompt, ";")[t.Progress.Step:] {
		verb, rest, _ := strings.Cut(strings.TrimSpace(cmd), " ")
		if verb != "heard" && verb != "steered" && verb != "hang" && c.Steered != nil && c.Steered() {
			if err := a.words(ctx); err != nil {
				return a.t, err
			}
		}
		left, err := a.do(ctx, verb, rest)
		if left || err != nil {
			return a.t, err
		}
		if cause := context.Cause(ctx); cause != nil {
			if errors.Is(cause, turn.ErrStopped) {
				return a.end(ctx, jackline.Stopped, "Stopped.")
			}
			return a.t, cause
		}
		a.t.Progress.Step++
		if err := a.append(ctx, jackline.Record{}); err != nil {
			return a.t, err
		}
	}
	return a.end(ctx, jackline.Done, "")
}

// do carries out one command, and reports whether that was the last of the run.
func (a *act) do(ctx context.Context, verb, rest string) (left bool, err error) {
	switch verb {
	case "say":
		a.db.Live(a.o, jackline.NewEvent(a.s.ID, a.t.ID, jackline.TextDelta{Text: rest}))
		return false, a.append(ctx, jackline.Record{}, jackline.Text{Text: rest})
	case "call":
		name, args, _ := strings.Cut(rest, " ")
		d, err := a.call(ctx, a.o, a.s, a.t, name, args)
		if err != nil && ctx.Err() == nil {
			return true, err
		}
		if d.Wait != "" {
			if a.Asked != nil {
				a.Asked()
			}
			return true, a.wait(ctx)
		}
	case "hang":
		<-ctx.Done()
	case "slowly":
		<-ctx.Done()
		_, err := a.end(ctx, jackline.Done, "")
		return true, err
	case "limit":
		_, err := a.end(ctx, jackline.StepLimit, "limit")
		return true, err
	case "steered", "heard":
		for !a.c.Steered() && ctx.Err() == nil {
			<-time.After(time.Millisecond)
		}
		if verb == "steered" {
			return false, a.words(ctx)
		}
	case "full":
		return true, jackline.E("store.Append", jackline.Unavailable, nil, "The disk that holds Jackline's data is full: make room, then try again.")
	case "fail":
		return true, errors.New("a secret cause")
	case "panic":
		panic("a secret panic")
	case "leave":
		return true, nil
	case "doze":
		return true, a.wait(ctx)
	}
	return false, nil
}

// begin takes the turn up where the log ends.
func (a *act) begin(ctx context.Context) (err error) {
	switch a.t.Status {
	case jackline.Queued:
		a.t.Status, a.t.Started = jackline.Running, time.Now().UTC()
		err = a.append(ctx, jackline.Record{Title: a.t.Prompt, Items: []jackline.Item{{Turn: a.t.ID, Role: jackline.ItemPrompt, Text: a.t.Prompt}}},
			jackline.TurnStart{Prompt: a.t.Prompt, Mode: a.s.Mode, OnAsk: a.t.Options.OnAsk})
	case jackline.Waiting:
		a.t.Status = jackline.Running
		err = a.append(ctx, jackline.Record{}, jackline.TurnStatus{Status: jackline.Running})
	default: // taken up again
	}
	if err != nil {
		return err
	}
	return a.words(ctx)
}

// append logs what happened, and how the turn stands.
func (a *act) append(ctx context.Context, rec jackline.Record, bodies ...jackline.Body) error {
	rec.Session, rec.Turn = a.s.ID, &a.t
	for _, b := range bodies {
		rec.Events = append(rec.Events, jackline.NewEvent(a.s.ID, a.t.ID, b))
	}
	_, err := a.db.Append(context.WithoutCancel(ctx), a.o, rec)
	return err
}

func (a *act) wait(ctx context.Context) error {
	a.t.Status = jackline.Waiting
	return a.append(ctx, jackline.Record{}, jackline.TurnStatus{Status: jackline.Waiting})
}

func (a *act) end(ctx context.Context, st jackline.Status, reason string) (jackline.Turn, error) {
	a.t.Status, a.t.Reason, a.t.Ended = st, reason, time.Now().UTC()
	if st == jackline.Done {
		a.t.Answer = "done: " + a.t.Prompt
	}
	return a.t, a.append(ctx, jackline.Record{Items: []jackline.Item{{Turn: a.t.ID, Role: jackline.ItemAssistant, Text: a.t.Answer}}},
		jackline.TurnEnd{Status: st, Answer: a.t.Answer, Reason: reason, Skills: []string{}, Denied: []jackline.DeniedAs{}, Changes: []jackline.Change{}})
}

// words delivers what was said to the turn.
func (a *act) words(ctx context.Context) error {
	raw, err := a.db.State(ctx, a.o, a.s.ID, turn.SteerKey)
	if err != nil || raw == nil {
		return err
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	var bodies []jackline.Body
	for _, w := range list {
		bodies = append(bodies, jackline.Steered{Text: w})
	}
	return a.append(ctx, jackline.Record{State: map[string]json.RawMessage{turn.SteerKey: json.RawMessage("null")}}, bodies...)
}

func (p *Puppet) call(ctx context.Context, o jackline.Owner, s jackline.Session, t jackline.Turn, name, args string) (tool.Done, error) {
	g, err := p.gate(s)
	if err != nil {
		return tool.Done{}, err
	}
	calls, err := p.db.Calls(ctx, o, t.ID)
	if err != nil {
		return tool.Done{}, err
	}
	c := jackline.Call{ID: jackline.NewID[jackline.CallID]("c_"), Session: s.ID, Turn: t.ID, Step: t.Progress.Step, Asked: name, Name: name, Args: json.RawMessage(args), State: jackline.CallNew}
	if n := len(calls); n > 0 && calls[n-1].Step == t.Progress.Step {
		c = calls[n-1]
	} else if _, err := p.db.Append(ctx, o, jackline.Record{Session: s.ID, Calls: []jackline.Call{c}}); err != nil {
		return tool.Done{}, err
	}
	return g.Do(ctx, tool.Request{Who: jackline.Actor{Owner: o, Admin: true, Session: s, Turn: t, Source: jackline.FromModel}, Call: c, Prior: calls, Limit: 2000})
}

// Finish implements turn.Runner.
func (p *Puppet) Finish(ctx context.Context, o jackline.Owner, id jackline.TurnID, st jackline.Status, reason string) (jackline.Turn, error) {
	t, err := p.db.Turn(ctx, o, id)
	if err != nil || t.Status.Over() {
		return t, err
	}
	if err := p.desk.Withdraw(ctx, o, t.Session, id); err != nil {
		return t, err
	}
	t.Status, t.Reason, t.Ended = st, reason, time.Now().UTC()
	_, err = p.db.Append(ctx, o, jackline.Record{Session: t.Session, Turn: &t, Events: []jackline.Event{jackline.NewEvent(t.Session, id,
		jackline.TurnEnd{Status: st, Reason: reason, Skills: []string{}, Denied: []jackline.DeniedAs{}, Changes: []jackline.Change{}})}})
	return t, err
}
