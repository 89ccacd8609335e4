package tooltest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// A Judge gives one verdict to everything that its touches do not refuse, and remembers what it was asked.
type Judge struct {
	Blind   bool // what a card would open is judged like everything else
	Verdict jackline.Verdict

	mu   sync.Mutex
	seen []jackline.Intent
}

// Judge implements [tool.Judge].
func (j *Judge) Judge(i jackline.Intent) jackline.Decision {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = append(j.seen, i)
	for _, t := range i.Touches {
		if t.Refused != "" {
			return jackline.Decision{Verdict: jackline.Deny, Rule: "refused", Reason: t.Refused, Hard: true}
		}
	}
	if n := len(j.seen) - 2; n >= 0 && i.Effect == jackline.Read && j.seen[n].Call == i.Call && j.seen[n].Effect.Acts() && !j.Blind {
		return jackline.Decision{Verdict: jackline.Allow, Rule: "look", Reason: "A card may look."}
	}
	return jackline.Decision{Verdict: j.Verdict, Rule: "test", Reason: "The test says so."}
}

// Last is the last intent that was judged.
func (j *Judge) Last() jackline.Intent {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.seen) == 0 {
		return jackline.Intent{}
	}
	return j.seen[len(j.seen)-1]
}

// A Desk keeps rows in the bench's log, and has a person at it.
type Desk struct {
	Log *Log

	// Answer is what the person says to a card. Nil says yes, once, and answers questions with their first option.
	Answer func(Asked) jackline.Answer

	mu   sync.Mutex
	rows map[jackline.ApprovalID]Asked
}

// Asked is a card that was shown.
type Asked struct {
	jackline.Approval
	Intent jackline.Intent
	Card   jackline.Card
}

// Row implements [tool.Desk].
func (d *Desk) Row(_ context.Context, _ jackline.Owner, c jackline.CallID) (jackline.Approval, bool, error) {
	a, ok := d.Log.approval(c)
	return a, ok, nil
}

// Granted implements [tool.Desk]: nobody has granted anything.
func (d *Desk) Granted(context.Context, jackline.Intent) (bool, error) { return false, nil }

// New implements [tool.Desk].
func (d *Desk) New(_ context.Context, i jackline.Intent, _ jackline.Decision, c tool.Card) (jackline.Approval, error) {
	kind := jackline.KindCall
	if len(c.Questions) > 0 {
		kind = jackline.KindQuestion
	}
	a := jackline.Approval{
		ID: jackline.NewID[jackline.ApprovalID]("a_"), Kind: kind, Owner: i.Actor.Owner, Session: i.Actor.Session.ID,
		Turn: i.Actor.Turn.ID, Call: i.Call, Tool: i.Tool, Title: i.Title, Args: i.Args, Effect: i.Effect, Touches: i.Touches,
		View: c.View, Ask: c.Questions, State: jackline.Pending, Seal: []byte(seal(i)),
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rows == nil {
		d.rows = make(map[jackline.ApprovalID]Asked)
	}
	d.rows[a.ID] = Asked{Approval: a, Intent: i, Card: c}
	return a, nil
}

// Holds implements [tool.Desk].
func (d *Desk) Holds(a jackline.Approval, i jackline.Intent) bool {
	return a.State == jackline.Approved && string(a.Seal) == seal(i)
}

func seal(i jackline.Intent) string {
	touches, err := json.Marshal(i.Touches)
	return fmt.Sprintf("%s %s %s %s %v %v", i.Call, i.Tool, i.Digest, i.Args, string(touches), err)
}

// answer lets the person answer a row.
func (d *Desk) answer(id jackline.ApprovalID) *Asked {
	d.mu.Lock()
	asked := d.rows[id]
	d.mu.Unlock()
	say := d.Answer
	if say == nil {
		say = yes
	}
	asked.Approval.Answer = say(asked)
	asked.State = jackline.Refused
	if asked.Approval.Answer.Yes {
		asked.State = jackline.Approved
	}
	d.Log.answered(asked.Approval)
	return &asked
}

func yes(a Asked) jackline.Answer {
	answer := jackline.Answer{Yes: true, Scope: jackline.Once}
	for _, q := range a.Ask {
		first := []string{"yes"}
		if len(q.Options) > 0 {
			first = q.Options[:1]
		}
		answer.Answers = append(answer.Answers, first)
	}
	return answer
}

// A Log is the events and rows of a bench, in memory.
type Log struct {
	mu        sync.Mutex
	events    []jackline.Event
	live      []jackline.Event
	calls     map[jackline.CallID]jackline.Call
	approvals map[jackline.CallID]jackline.Approval
	state     map[string]json.RawMessage
	spills    map[jackline.CallID]string
}

// NewLog makes an empty log.
func NewLog() *Log {
	return &Log{
		calls: map[jackline.CallID]jackline.Call{}, approvals: map[jackline.CallID]jackline.Approval{},
		state: map[string]json.RawMessage{}, spills: map[jackline.CallID]string{},
	}
}

// Append implements [tool.Log].
func (l *Log) Append(_ context.Context, _ jackline.Owner, r jackline.Record) ([]jackline.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, r.Events...)
	for _, c := range r.Calls {
		l.calls[c.ID] = c
	}
	for _, a := range r.Approvals {
		l.approvals[a.Call] = a
	}
	for k, v := range r.State {
		l.state[k] = v
	}
	return r.Events, nil
}

// Live implements [tool.Log].
func (l *Log) Live(_ jackline.Owner, e jackline.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live = append(l.live, e)
}

// State implements [tool.Log].
func (l *Log) State(_ context.Context, _ jackline.Owner, _ jackline.SessionID, key string) (json.RawMessage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state[key], nil
}

// WriteSpill implements [tool.Log].
func (l *Log) WriteSpill(_ context.Context, _ jackline.Owner, _ jackline.SessionID, c jackline.CallID, text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spills[c] = text
	return nil
}

// Call is the stored row of a call of owner.
func (l *Log) Call(_ context.Context, o jackline.Owner, id jackline.CallID) (jackline.Call, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.calls[id]
	if !ok || o != jackline.Local {
		return jackline.Call{}, jackline.E("tooltest.Call", jackline.NotFound, nil, "There is no call %q.", id)
	}
	return c, nil
}

// ReadSpill gives limit characters of a kept result from offset on, and how many there are.
func (l *Log) ReadSpill(_ context.Context, o jackline.Owner, id jackline.CallID, offset, limit int) (string, int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, ok := l.spills[id]
	if !ok || o != jackline.Local {
		return "", 0, jackline.E("tooltest.ReadSpill", jackline.NotFound, nil, "Nothing more is kept of %q.", id)
	}
	r := []rune(text)
	from := min(max(offset, 0), len(r))
	return string(r[from:min(len(r), from+limit)]), len(r), nil
}

// Events are the logged events of one type, decoded into bodies.
func Events[B jackline.Body](l *Log) (bodies []B) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var zero B
	for _, e := range l.events {
		var b B
		if e.Type == zero.Type() && json.Unmarshal(e.Data, &b) == nil {
			bodies = append(bodies, b)
		}
	}
	return bodies
}

func (l *Log) approval(c jackline.CallID) (jackline.Approval, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.approvals[c]
	return a, ok
}

func (l *Log) answered(a jackline.Approval) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.approvals[a.Call] = a
}

// shown is what a person saw of a call.
func (l *Log) shown(c jackline.CallID) (v jackline.View, progress []string) {
	for _, r := range Events[jackline.ToolResult](l) {
		if r.Call == c {
			v = r.View
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.live {
		var p jackline.ToolProgress
		if json.Unmarshal(e.Data, &p) == nil && p.Call == c {
			progress = append(progress, p.Text)
		}
	}
	return v, progress
}
