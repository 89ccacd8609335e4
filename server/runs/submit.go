package runs

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/turn"
)

// inboxKey is the session fact in which words wait that are to steer the turn under way.
//
// They move to [turn.SteerKey] only where the engine is known not to be looking: when it asks whether there are any,
// and before a run begins. Written there at once, words that come while the engine empties its list would be lost.
const inboxKey = "steer.inbox"

// maxSteers is how many words may wait to be delivered: a step boundary is never far away.
const maxSteers = 20

// Submit takes a prompt as a new turn. The turn starts at once if its session is idle, else it queues.
func (t *Turns) Submit(ctx context.Context, o jackline.Owner, s jackline.SessionID, prompt string, opt jackline.TurnOptions) (Taken, error) {
	if err := fitsPrompt(prompt); err != nil {
		return Taken{}, err
	}
	l, err := t.enterOwn(ctx, o, s)
	if err != nil {
		return Taken{}, err
	}
	defer t.leave(l)
	return t.submit(ctx, l, prompt, opt)
}

// Begin makes a chat and takes its first prompt as a turn, which starts at once if it can. Both are there afterwards, or neither.
func (t *Turns) Begin(ctx context.Context, o jackline.Owner, s jackline.Session, prompt string, opt jackline.TurnOptions) (jackline.Session, Taken, error) {
	if err := fitsPrompt(prompt); err != nil {
		return s, Taken{}, err
	}
	if err := t.takes(); err != nil {
		return s, Taken{}, err
	}
	s.ID = jackline.NewID[jackline.SessionID]("s_")
	l := t.enter(o, s.ID)
	defer t.leave(l)
	v := jackline.Turn{
		ID: jackline.NewID[jackline.TurnID]("t_"), Session: s.ID, Owner: o, Prompt: prompt, Options: opt, Status: jackline.Queued, Created: time.Now().UTC(),
	}
	rec := jackline.Record{Turn: &v, Soon: true}
	if !t.serves() {
		rec.State = facts(map[string][]string{aloneKey: {string(v.ID)}})
	}
	t.mu.Lock()
	waits := t.free == 0
	claim := store.Claim{Name: leaseOf(s.ID), Holder: t.self, TTL: leaseTime}
	t.mu.Unlock()
	if waits {
		claim = store.Claim{}
		rec.Events = []jackline.Event{jackline.NewEvent(s.ID, "", jackline.QueueChanged{Turns: []jackline.TurnID{v.ID}})}
	}
	s, err := t.db.Begin(ctx, o, s, rec, claim)
	if err != nil {
		return s, Taken{}, err
	}
	if !waits {
		t.mu.Lock()
		l.quiet, l.first = v.ID, &turn.New{Session: s, Turn: v}
		t.mu.Unlock()
		v.Status = jackline.Running // it is on its way
	}
	t.want(l, v.ID)
	return s, Taken{Turn: v, Queued: waits}, nil
}

// Steer gives words to the turn under way. They reach its model at the next step boundary; cards that are open are
// withdrawn, for the person has gone on. In an idle session the words are a prompt like any other.
func (t *Turns) Steer(ctx context.Context, o jackline.Owner, s jackline.SessionID, words string, opt jackline.TurnOptions) (Taken, error) {
	if err := fitsPrompt(words); err != nil {
		return Taken{}, err
	}
	l, err := t.enterOwn(ctx, o, s)
	if err != nil {
		return Taken{}, err
	}
	defer t.leave(l)
	if err := t.takes(); err != nil {
		return Taken{}, err
	}
	active, _, err := t.standing(ctx, l)
	if err != nil {
		return Taken{}, err
	}
	if active == nil {
		return t.submit(ctx, l, words, opt)
	}
	inbox, err := t.words(ctx, l, inboxKey)
	if err != nil {
		return Taken{}, err
	}
	if len(inbox) >= maxSteers {
		return Taken{}, jackline.E("runs.Steer", jackline.Conflict, nil, "The turn has not yet read what you sent before; wait for its next step.")
	}
	if err := t.store(ctx, l, map[string][]string{inboxKey: append(inbox, words)}); err != nil {
		return Taken{}, err
	}
	// First the cards, then the mark: a run that ends waiting in between finds the mark and goes again.
	if err := t.desk.Withdraw(ctx, o, s, active.ID); err != nil {
		return Taken{}, err
	}
	t.wake(l, *active, true)
	return Taken{Turn: *active, Steered: true}, nil
}

// Continue carries on a session's last turn, which ended at its limit, was interrupted or failed, as a new turn with the
// same options where opt does not say otherwise. What made one fail, such as an engine that was not running, may be over.
func (t *Turns) Continue(ctx context.Context, o jackline.Owner, s jackline.SessionID, id jackline.TurnID, opt jackline.TurnOptions) (Taken, error) {
	const op = "runs.Continue"
	l, err := t.enterOwn(ctx, o, s)
	if err != nil {
		return Taken{}, err
	}
	defer t.leave(l)
	if err := t.takes(); err != nil {
		return Taken{}, err
	}
	active, _, err := t.standing(ctx, l)
	if err != nil {
		return Taken{}, err
	}
	turns, err := t.db.Turns(ctx, o, s)
	if err != nil {
		return Taken{}, err
	}
	var last, old *jackline.Turn
	for i := range turns {
		if v := &turns[i]; v.Parent == "" && v.Status != jackline.Queued {
			last = v
			if v.ID == id {
				old = v
			}
		}
	}
	switch {
	case old == nil:
		return Taken{}, jackline.E(op, jackline.NotFound, nil, "There is no such turn in this chat.")
	case active != nil:
		return Taken{}, jackline.E(op, jackline.Conflict, nil, "A turn of this chat is still under way.")
	case old != last:
		return Taken{}, jackline.E(op, jackline.Conflict, nil, "Only the last turn of a chat can be continued.")
	case old.Status != jackline.StepLimit && old.Status != jackline.Interrupted && old.Status != jackline.Failed:
		return Taken{}, jackline.E(op, jackline.Conflict, nil, "This turn is %s: only one that reached its limit, was interrupted or failed can be continued.", old.Status)
	}
	opt = inherit(old.Options, opt)
	if old.Started.IsZero() { // it was interrupted before it began: its prompt never reached the model
		opt.Attachments = old.Options.Attachments
		return t.add(ctx, l, jackline.Turn{Prompt: old.Prompt, Options: opt}, false)
	}
	opt.Continues = id
	return t.add(ctx, l, jackline.Turn{Options: opt}, false)
}

// inherit fills what opt leaves open with what held for the turn before. The narrow rights of that turn end with it.
func inherit(old, opt jackline.TurnOptions) jackline.TurnOptions {
	opt.Plan, opt.Guide, opt.AskFirst = opt.Plan || old.Plan, opt.Guide || old.Guide, opt.AskFirst || old.AskFirst
	opt.Offline = opt.Offline || old.Offline
	if opt.OnAsk == "" {
		opt.OnAsk = old.OnAsk
	}
	if opt.TZ == "" {
		opt.TZ = old.TZ
	}
	if opt.MaxSteps == 0 {
		opt.MaxSteps = old.MaxSteps
	}
	if opt.MaxTokens == 0 {
		opt.MaxTokens = old.MaxTokens
	}
	if opt.MaxTimeMS == 0 {
		opt.MaxTimeMS = old.MaxTimeMS
	}
	if opt.Source == "" {
		opt.Source = old.Source
	}
	return opt
}

// EditQueued changes a prompt that has not begun.
func (t *Turns) EditQueued(ctx context.Context, o jackline.Owner, s jackline.SessionID, id jackline.TurnID, prompt string) (jackline.Turn, error) {
	if err := fitsPrompt(prompt); err != nil {
		return jackline.Turn{}, err
	}
	l, err := t.enterQueued(ctx, o, s, id)
	if err != nil {
		return jackline.Turn{}, err
	}
	defer t.leave(l)
	return t.db.EditQueued(ctx, o, id, prompt)
}

// DropQueued takes a prompt that has not begun out of the queue.
func (t *Turns) DropQueued(ctx context.Context, o jackline.Owner, s jackline.SessionID, id jackline.TurnID) error {
	l, err := t.enterQueued(ctx, o, s, id)
	if err != nil {
		return err
	}
	defer t.leave(l)
	return t.db.DropQueued(ctx, o, id)
}

// enterQueued takes the lane of a session in which the turn has not begun.
func (t *Turns) enterQueued(ctx context.Context, o jackline.Owner, s jackline.SessionID, id jackline.TurnID) (*lane, error) {
	const op = "runs.Queued"
	v, err := t.db.Turn(ctx, o, id)
	if err == nil && v.Session != s {
		err = jackline.E(op, jackline.NotFound, nil, "There is no such turn in this chat.")
	}
	if err != nil {
		return nil, err
	}
	l := t.enter(o, s)
	t.mu.Lock()
	begun := l.run != nil && l.run.turn == id
	t.mu.Unlock()
	if begun {
		t.leave(l)
		return nil, jackline.E(op, jackline.Conflict, nil, "This prompt is no longer queued: its turn has begun.")
	}
	return l, nil
}

// Delete removes a session in which nothing runs, with all that belongs to it.
func (t *Turns) Delete(ctx context.Context, o jackline.Owner, s jackline.SessionID) error {
	l, err := t.enterOwn(ctx, o, s)
	if err != nil {
		return err
	}
	defer t.leave(l)
	if err := t.elsewhere(ctx, l); err != nil {
		return err
	}
	t.mu.Lock()
	running := l.run != nil
	t.mu.Unlock()
	if running {
		return jackline.E("runs.Delete", jackline.Conflict, nil, "A turn of this chat is still running: stop it, then delete the chat.")
	}
	if _, _, err := t.standing(ctx, l); err != nil { // what a crash left running is ended
		return err
	}
	if err := t.db.DeleteSession(ctx, o, s); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l.next, l.waiting, l.blocked = "", "", false
	return nil
}

func fitsPrompt(s string) error {
	if strings.TrimSpace(s) == "" {
		return jackline.E("runs.Submit", jackline.Unprocessed, nil, "The prompt is empty.")
	}
	return nil
}

// submit takes a prompt; the lane is entered.
func (t *Turns) submit(ctx context.Context, l *lane, prompt string, opt jackline.TurnOptions) (Taken, error) {
	if err := t.takes(); err != nil {
		return Taken{}, err
	}
	active, queue, err := t.standing(ctx, l)
	if err != nil {
		return Taken{}, err
	}
	if len(queue) >= maxQueue {
		return Taken{}, jackline.E("runs.Submit", jackline.Conflict, nil, "%d prompts are queued in this chat; let some of them run first.", maxQueue)
	}
	if active == nil {
		if err := t.elsewhere(ctx, l); err != nil {
			return Taken{}, err
		}
	}
	t.mu.Lock()
	flows := l.busy || l.ready || l.blocked // the queue moves by itself; a resting one is overtaken
	t.mu.Unlock()
	return t.add(ctx, l, jackline.Turn{Prompt: prompt, Options: opt}, active != nil || len(queue) > 0 && flows)
}

// add writes a new turn, and starts it unless another one of the session is under way. To the engine a queued turn is
// one that has not begun: it writes the beginning itself.
func (t *Turns) add(ctx context.Context, l *lane, v jackline.Turn, behind bool) (Taken, error) {
	v.ID, v.Session, v.Owner = jackline.NewID[jackline.TurnID]("t_"), l.session, l.owner
	v.Status, v.Created = jackline.Queued, time.Now().UTC()
	t.mu.Lock()
	waits := behind || !l.busy && (l.ready || t.free == 0)
	t.mu.Unlock()
	rec := jackline.Record{Session: l.session, Turn: &v}
	var err error
	if rec.State, err = t.marked(ctx, l, v.ID); err != nil {
		return Taken{}, err
	}
	if waits {
		ids, err := t.queued(ctx, l, "")
		if err != nil {
			return Taken{}, err
		}
		rec.Events = []jackline.Event{jackline.NewEvent(l.session, "", jackline.QueueChanged{Turns: append(ids, v.ID)})}
	}
	if _, err := t.db.Append(ctx, l.owner, rec); err != nil {
		return Taken{}, err
	}
	if behind {
		return Taken{Turn: v, Queued: true}, nil
	}
	if !waits {
		t.mu.Lock()
		l.quiet = v.ID
		t.mu.Unlock()
	}
	t.want(l, v.ID)
	if !waits {
		v.Status = jackline.Running // it is on its way
	}
	return Taken{Turn: v, Queued: waits}, nil
}

// queued lists the session's queued turns but one.
func (t *Turns) queued(ctx context.Context, l *lane, but jackline.TurnID) ([]jackline.TurnID, error) {
	open, err := t.db.OpenTurns(ctx)
	if err != nil {
		return nil, err
	}
	ids := []jackline.TurnID{}
	for _, v := range open {
		if v.Session == l.session && v.Status == jackline.Queued && v.Parent == "" && v.ID != but {
			ids = append(ids, v.ID)
		}
	}
	return ids, nil
}

// wake lets a turn that is under way go on: after an answer, or with new words.
func (t *Turns) wake(l *lane, v jackline.Turn, words bool) {
	t.mu.Lock()
	if r := l.run; r != nil && r.turn == v.ID {
		r.again = true
		r.steered = r.steered || words
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	if v.Status == jackline.Waiting {
		t.want(l, v.ID)
	}
}

// words reads a list of words from the session's facts.
func (t *Turns) words(ctx context.Context, l *lane, key string) ([]string, error) {
	raw, err := t.db.State(ctx, l.owner, l.session, key)
	if err != nil || raw == nil {
		return nil, err
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, jackline.E("runs.words", jackline.Internal, err, "A fact about this chat cannot be read.")
	}
	return list, nil
}

// store writes lists of words; an empty list deletes the fact.
func (t *Turns) store(ctx context.Context, l *lane, lists map[string][]string) error {
	rec := jackline.Record{Session: l.session, State: facts(lists)}
	_, err := t.db.Append(ctx, l.owner, rec)
	return err
}

func facts(lists map[string][]string) map[string]json.RawMessage {
	state := map[string]json.RawMessage{}
	for key, list := range lists {
		raw := json.RawMessage("null")
		if len(list) > 0 {
			raw, _ = json.Marshal(list) // strings always encode
		}
		state[key] = raw
	}
	return state
}

// deliver moves the words that wait to where the engine looks. The lane is entered, and the engine is not looking.
func (t *Turns) deliver(ctx context.Context, l *lane) (some bool, err error) {
	inbox, err := t.words(ctx, l, inboxKey)
	if err != nil || len(inbox) == 0 {
		return false, err
	}
	have, err := t.words(ctx, l, turn.SteerKey)
	if err != nil {
		return false, err
	}
	return true, t.store(ctx, l, map[string][]string{inboxKey: nil, turn.SteerKey: append(have, inbox...)})
}

// salvage makes a queued prompt of words that came too late for the turn they were meant for, whether or not they had
// moved to where the engine looks: what it delivers, it takes away from there in the same record. After a stop they rest
// with the queue: they were sent before it.
func (t *Turns) salvage(ctx context.Context, l *lane, ended jackline.Turn) ([]jackline.Turn, error) {
	late, err := t.words(ctx, l, turn.SteerKey)
	if err != nil {
		return nil, err
	}
	inbox, err := t.words(ctx, l, inboxKey)
	if err != nil {
		return nil, err
	}
	if late = append(late, inbox...); len(late) == 0 {
		return nil, nil
	}
	ids, err := t.queued(ctx, l, "")
	if err != nil {
		return nil, err
	}
	opt := inherit(ended.Options, jackline.TurnOptions{})
	v := jackline.Turn{
		ID: jackline.NewID[jackline.TurnID]("t_"), Session: l.session, Owner: l.owner, Prompt: strings.Join(late, "\n\n"),
		Options: opt, Status: jackline.Queued, Created: time.Now().UTC(),
	}
	if ended.Status == jackline.Stopped {
		v.Created = ended.Ended
	}
	_, err = t.db.Append(ctx, l.owner, jackline.Record{
		Session: l.session, Turn: &v, State: facts(map[string][]string{inboxKey: nil, turn.SteerKey: nil}),
		Events: []jackline.Event{jackline.NewEvent(l.session, "", jackline.QueueChanged{Turns: append(ids, v.ID)})},
	})
	return []jackline.Turn{v}, err
}
