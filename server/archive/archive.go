// Package archive handles a chat as a whole: it reads all of its log, and copies it.
package archive

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
)

// page is how many events are read from the log at a time.
const page = 500

// Log reads all events of a session.
func Log(ctx context.Context, db *store.DB, owner jackline.Owner, id jackline.SessionID) ([]jackline.Event, error) {
	all := []jackline.Event{}
	for {
		after := int64(0)
		if len(all) > 0 {
			after = all[len(all)-1].ID
		}
		more, err := db.Events(ctx, owner, id, after, page)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
		if len(more) < page {
			return all, nil
		}
	}
}

// Copy copies a chat under another title: its ended turns up to and with last, or all of them, their calls, the log of
// them, and what the model remembers of them. The files that came with them go along, and everything gets a name of its own. Grants and open questions stay
// behind, and labels go along with where they came from: the model of the copy has read what the model of the first one has. Whether
// somebody switched the gate off that they stand for does not.
func Copy(ctx context.Context, db *store.DB, owner jackline.Owner, from jackline.Session, title string, last jackline.TurnID) (jackline.Session, error) {
	all, err := db.Turns(ctx, owner, from.ID)
	if err != nil {
		return jackline.Session{}, err
	}
	turns, err := upTo(all, last)
	if err != nil {
		return jackline.Session{}, err
	}
	c := &copying{db: db, owner: owner, from: from, turns: turns, names: map[string]string{}, kept: map[jackline.TurnID]bool{}}
	if err := c.read(ctx); err != nil {
		return jackline.Session{}, err
	}
	to, err := db.CreateSession(ctx, owner, jackline.Session{
		Title: title, Workspace: from.Workspace, Mode: from.Mode, Model: from.Model, Labels: from.Labels,
	})
	if err != nil {
		return jackline.Session{}, err
	}
	ctx = context.WithoutCancel(ctx) // half a copy is none
	if err := c.write(ctx, to); err != nil {
		if drop := db.DeleteSession(ctx, owner, to.ID); drop != nil {
			err = jackline.E("archive.Copy", jackline.Internal, errors.Join(err, drop), "The chat could not be copied, and half a copy is left.")
		}
		return jackline.Session{}, err
	}
	return db.Session(ctx, owner, to.ID)
}

// upTo is the ended turns up to and with one, children included.
func upTo(all []jackline.Turn, last jackline.TurnID) ([]jackline.Turn, error) {
	const op = "archive.Copy"
	var some []jackline.Turn
	found := last == ""
	for _, t := range all {
		if t.ID == last {
			if found = true; !t.Status.Over() || t.Parent != "" {
				return nil, jackline.E(op, jackline.Conflict, nil, "This turn has not ended; a chat is copied up to a turn that has.")
			}
		} else if found && last != "" && t.Parent != last {
			continue
		}
		if t.Status.Over() && !t.Started.IsZero() {
			some = append(some, t)
		}
	}
	if !found {
		return nil, jackline.E(op, jackline.NotFound, nil, "There is no such turn in this chat.")
	}
	return some, nil
}

// A copying is a chat on its way into another.
type copying struct {
	db    *store.DB
	owner jackline.Owner
	from  jackline.Session
	turns []jackline.Turn

	kept  map[jackline.TurnID]bool
	calls []jackline.Call
	log   []jackline.Event
	items []jackline.Item
	names map[string]string // old id → new id
}

// read takes in all that is to be copied, and gives it new names.
func (c *copying) read(ctx context.Context) error {
	for _, t := range c.turns {
		c.kept[t.ID] = true
		c.names[string(t.ID)] = jackline.NewID[string]("t_")
		calls, err := c.db.Calls(ctx, c.owner, t.ID)
		if err != nil {
			return err
		}
		for _, call := range calls {
			c.names[string(call.ID)] = jackline.NewID[string]("c_")
		}
		c.calls = append(c.calls, calls...)
	}
	log, err := Log(ctx, c.db, c.owner, c.from.ID)
	if err != nil {
		return err
	}
	for _, e := range log {
		if c.kept[e.Turn] {
			c.log = append(c.log, e)
		}
	}
	history, err := c.db.History(ctx, c.owner, c.from.ID)
	if err != nil {
		return err
	}
	c.items = c.remembered(history)
	return nil
}

// remembered is what the model of the copy remembers: the items of the copied turns as they stand. Turns of which a later
// compaction left nothing are remembered by their prompt and their answer.
func (c *copying) remembered(history []jackline.Item) []jackline.Item {
	has, summary := map[jackline.TurnID]bool{}, false
	var kept []jackline.Item
	for _, it := range history {
		if c.kept[it.Turn] {
			kept = append(kept, it)
			has[it.Turn] = true
			summary = summary || it.Role == jackline.ItemSummary
		}
	}
	if summary { // it tells of what came before it
		return kept
	}
	var lost []jackline.Item
	for _, t := range c.turns {
		if has[t.ID] || t.Parent != "" || t.Prompt == "" {
			continue
		}
		lost = append(lost, jackline.Item{Turn: t.ID, Role: jackline.ItemPrompt, Text: t.Prompt})
		if t.Answer != "" {
			lost = append(lost, jackline.Item{Turn: t.ID, Role: jackline.ItemAssistant, Text: t.Answer})
		}
	}
	return append(lost, kept...)
}

// write puts everything into the new session: one record for the turns each, the last one with what the model
// remembers.
func (c *copying) write(ctx context.Context, to jackline.Session) error {
	c.names[string(c.from.ID)] = string(to.ID)
	if err := c.attachments(ctx, to.ID); err != nil {
		return err
	}
	pairs := make([]string, 0, 2*len(c.names))
	for old, name := range c.names {
		pairs = append(pairs, old, name)
	}
	rename := strings.NewReplacer(pairs...)
	if err := c.origins(ctx, to.ID, rename); err != nil {
		return err
	}
	calls := map[jackline.TurnID][]jackline.Call{}
	for _, call := range c.calls {
		old := call.ID
		turn := call.Turn
		copied, err := renamed(call, rename)
		if err != nil {
			return err
		}
		// What JSON leaves out of a call.
		copied.Native, copied.Cut, copied.Stamp = call.Native, call.Cut, call.Stamp
		calls[turn] = append(calls[turn], copied)
		if err := c.spill(ctx, to.ID, old, copied.ID); err != nil {
			return err
		}
	}
	logs := map[jackline.TurnID][]jackline.Event{}
	for _, e := range c.log {
		copied, err := renamed(e, rename)
		if err != nil {
			return err
		}
		logs[e.Turn] = append(logs[e.Turn], copied)
	}
	for k, t := range c.turns {
		copied, err := renamed(t, rename)
		if err != nil {
			return err
		}
		copied.Owner, copied.Progress = t.Owner, t.Progress
		rec := jackline.Record{Session: to.ID, Turn: &copied, Calls: calls[t.ID], Events: logs[t.ID]}
		if k == len(c.turns)-1 {
			if rec.Items, err = renamed(c.items, rename); err != nil {
				return err
			}
		}
		if _, err := c.db.Append(ctx, c.owner, rec); err != nil {
			return err
		}
	}
	return nil
}

// origins copies where the labels came from, and the addresses that the model did not make up: those that stand in the owner's
// words and in the results that are copied. What was said or found later vouches for nothing in the copy.
func (c *copying) origins(ctx context.Context, to jackline.SessionID, rename *strings.Replacer) error {
	var said, found strings.Builder
	for _, t := range c.turns {
		if t.Depth == 0 { // the words of a sub-agent's turn are a model's
			said.WriteString(t.Prompt + "\n")
		}
	}
	for _, e := range c.log {
		var words jackline.Steered
		if e.Type == words.Type() && json.Unmarshal(e.Data, &words) == nil {
			said.WriteString(words.Text + "\n")
		}
	}
	for _, call := range c.calls {
		found.WriteString(call.Text + "\n")
	}
	state := map[string]json.RawMessage{}
	read := func(key string, change func(json.RawMessage) (json.RawMessage, error)) error {
		raw, err := c.db.State(ctx, c.owner, c.from.ID, key)
		if err == nil && len(raw) > 0 {
			state[key], err = change(raw)
		}
		return err
	}
	among := func(text string) func(json.RawMessage) (json.RawMessage, error) {
		return func(raw json.RawMessage) (json.RawMessage, error) {
			var list []string
			if json.Unmarshal(raw, &list) != nil {
				return json.RawMessage("[]"), nil // what cannot be read vouches for nothing
			}
			return json.Marshal(slices.DeleteFunc(list, func(a string) bool {
				return !strings.Contains(text, strings.TrimPrefix(a, "https://")) // people leave the scheme out
			}))
		}
	}
	err := errors.Join(read(tool.SaidKey, among(said.String())), read(tool.FoundKey, among(found.String())),
		read(tool.ReadKey, func(raw json.RawMessage) (json.RawMessage, error) { return renamed(raw, rename) }))
	if err == nil && len(state) > 0 {
		_, err = c.db.Append(ctx, c.owner, jackline.Record{Session: to, State: state})
	}
	return err
}

// renamed copies v with all names in it changed, wherever they stand: a result may name the call that reads on.
func renamed[T any](v T, names *strings.Replacer) (out T, err error) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal([]byte(names.Replace(string(raw))), &out)
	}
	if err != nil {
		return out, jackline.E("archive.Copy", jackline.Internal, err, "This chat cannot be copied.")
	}
	return out, nil
}

// attachments copies the files that came with the copied turns. Those that are gone stay gone.
func (c *copying) attachments(ctx context.Context, to jackline.SessionID) error {
	for _, t := range c.turns {
		for _, id := range t.Options.Attachments {
			if c.names[string(id)] != "" {
				continue
			}
			a, err := c.db.Attachment(ctx, c.owner, id)
			var data []byte
			var text string
			if err == nil {
				data, err = c.db.AttachmentData(ctx, c.owner, id)
			}
			if err == nil {
				text, err = c.db.AttachmentText(ctx, c.owner, id)
			}
			if kind := jackline.KindOf(err); err != nil && (kind == jackline.NotFound || kind == jackline.Gone) {
				continue
			}
			if err != nil {
				return err
			}
			a.Session = to
			if a, err = c.db.Attach(ctx, c.owner, a, data, text); err != nil {
				return err
			}
			c.names[string(id)] = string(a.ID)
		}
	}
	return nil
}

// spill copies the long result of a call, if it has one.
func (c *copying) spill(ctx context.Context, to jackline.SessionID, old, name jackline.CallID) error {
	const part = 1 << 20
	var text strings.Builder
	for {
		more, total, err := c.db.ReadSpill(ctx, c.owner, old, text.Len(), part)
		if jackline.KindOf(err) == jackline.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		text.WriteString(more)
		if text.Len() >= total || more == "" {
			return c.db.WriteSpill(ctx, c.owner, to, name, text.String())
		}
	}
}
