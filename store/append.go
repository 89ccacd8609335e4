package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/chain"
	"github.com/jackline-ai/jackline/store/column"
)

// Append writes a record: events and the state they change, in one transaction. It gives the events with the ID and
// Seq that they got. Watchers are woken before it returns.
//
// The record's session must be the owner's, else nothing is there to write to: [jackline.NotFound]. Rows without
// owner or session get the record's; rows of another session are [jackline.Invalid], and an id that names a row of
// another session is NotFound. An approval that is no longer in the state From is a [jackline.Conflict]. What a
// row was born with (its session, its owner, a turn's parent and time of creation, a call's place) stays when the row
// is replaced. Compacted starts a new generation where it is not nil, even where it is empty; Items follow it.
//
// Where Append gives the context's error, nothing was written.
//
// With Soon the record is written in the order of the calls, but Append does not wait for it and gives no events. If it
// cannot be written, no record of the same turn is written either until one that is waited for has got the error.
func (d *DB) Append(ctx context.Context, owner jackline.Owner, rec jackline.Record) ([]jackline.Event, error) {
	const op = "store.Append"
	r, err := d.encode(op, owner, rec)
	if err != nil {
		return nil, err
	}
	p := &piece{op: op, run: r.write, sync: rec.Sync, whose: r.whose, soon: rec.Soon}
	if len(r.events) > 0 {
		p.after = func() { d.hub.Grew(owner, rec.Session, r.events) }
	}
	if err := d.submit(ctx, p); err != nil || rec.Soon {
		return nil, err
	}
	return r.events, nil
}

// Settle waits until everything that was appended before is written, or known to be lost: what nobody waited for is then seen by
// whoever reads.
func (d *DB) Settle(ctx context.Context) error {
	if d.queue.Len() == 0 {
		select {
		case d.writer.held <- struct{}{}:
			<-d.writer.held
			return nil
		default: // what was waiting is being written
		}
	}
	return d.update(ctx, "store.Settle", func(*writer) error { return nil })
}

// A record is a jackline.Record made ready for the writer, which has better things to do than to encode it.
type record struct {
	db      *DB
	op      string
	owner   jackline.Owner
	session jackline.SessionID
	whose   thread
	now     int64
	events  []jackline.Event

	title     string
	mode      *jackline.Mode
	model     *string
	ungated   *bool
	labels    jackline.Labels
	compacted []jackline.Item
	newGen    bool
	items     []jackline.Item

	turn      []any
	turnStep  []any
	asked     bool // it has not begun, and may be new
	calls     [][]any
	approvals []approvalRow
	grants    [][]any
	snapshots [][]any
	state     map[string]json.RawMessage
	audit     []jackline.AuditEntry
}

func (d *DB) encode(op string, owner jackline.Owner, rec jackline.Record) (*record, error) {
	r := &record{
		db: d, op: op, owner: owner, session: rec.Session, whose: whose(rec), now: time.Now().UnixNano(),
		events: slices.Clone(rec.Events),
		title:  d.hider.Text(rec.Title), mode: rec.Mode, model: rec.Model, ungated: rec.Ungated, labels: rec.Labels,
		compacted: rec.Compacted, newGen: rec.Compacted != nil, items: rec.Items,
		state: rec.State, audit: d.audit(owner, append(chain.Implied(rec), rec.Audit...)...),
	}
	if r.mode != nil && !validMode(*r.mode) {
		return nil, jackline.E(op, jackline.Invalid, nil, "There is no such mode.")
	}
	for i := range r.events {
		e := &r.events[i]
		if err := r.belongs(&e.Session, nil); err != nil {
			return nil, err
		}
		if !json.Valid(e.Data) {
			return nil, jackline.E(op, jackline.Invalid, nil, "An event of type %s holds no JSON.", e.Type)
		}
		e.ID, e.Seq, e.Data = 0, 0, d.hider.JSON(e.Data)
		e.TS = e.TS.Round(0).UTC()
	}
	for name, v := range r.state {
		if !json.Valid(v) {
			return nil, jackline.E(op, jackline.Invalid, nil, "The state %q is not JSON.", name)
		}
	}
	return r, r.encodeRows(rec)
}

// whose is the turn that a record speaks of, as its rows or else its events say.
func whose(rec jackline.Record) thread {
	th := thread{session: rec.Session}
	switch {
	case rec.Turn != nil:
		th.turn = rec.Turn.ID
	case len(rec.Calls) > 0:
		th.turn = rec.Calls[0].Turn
	case len(rec.Approvals) > 0:
		th.turn = rec.Approvals[0].Turn
	case len(rec.Events) > 0:
		th.turn = rec.Events[0].Turn
	}
	return th
}

func (r *record) encodeRows(rec jackline.Record) error {
	if rec.Turn != nil {
		t := *rec.Turn
		if err := r.belongs(&t.Session, &t.Owner); err != nil {
			return err
		}
		args, err := r.db.turnArgs(t)
		if err != nil {
			return err
		}
		r.turn, r.asked = args, t.Status == jackline.Queued
		r.turnStep = []any{args[6], args[9], args[10], args[11], args[13], args[14], args[15], args[0], args[1], args[7], args[5], args[8]}
	}
	for _, c := range rec.Calls {
		if err := r.belongs(&c.Session, nil); err != nil {
			return err
		}
		r.calls = append(r.calls, r.db.callArgs(c))
	}
	for _, a := range rec.Approvals {
		if err := r.belongs(&a.Session, &a.Owner); err != nil {
			return err
		}
		row, err := r.db.approvalRow(a, rec.From)
		if err != nil {
			return err
		}
		r.approvals = append(r.approvals, row)
	}
	for _, g := range rec.Grants {
		if err := r.belongs(&g.Session, &g.Owner); err != nil {
			return err
		}
		r.grants = append(r.grants, r.db.grantArgs(g))
	}
	for _, s := range rec.Snapshots {
		if s.Unit == "" || s.Path == "" {
			return jackline.E(r.op, jackline.Invalid, nil, "A snapshot has a unit and a path.")
		}
		r.snapshots = append(r.snapshots, r.db.snapshotArgs(r.session, s))
	}
	return nil
}

// belongs fills a row's session and owner with the record's, or says that they are not the same.
func (r *record) belongs(session *jackline.SessionID, owner *jackline.Owner) error {
	if *session == "" {
		*session = r.session
	}
	if owner != nil && *owner == "" {
		*owner = r.owner
	}
	if *session != r.session || owner != nil && *owner != r.owner {
		return jackline.E(r.op, jackline.Invalid, nil, "A record holds rows of one session and one owner.")
	}
	return nil
}

func validMode(m jackline.Mode) bool {
	var known jackline.Mode
	return known.UnmarshalText([]byte(m.String())) == nil
}

// touchEvery is how exact a session's time of change is. It is indexed, so to move it costs more than to write an
// event.
const touchEvery = time.Second

// write runs within the writer's transaction.
func (r *record) write(w *writer) error {
	if err := w.broken[r.whose]; err != nil {
		return err
	}
	h, err := w.head(r.op, r.owner, r.session)
	if err != nil {
		return err
	}
	if err := r.writeSession(w, &h); err != nil {
		return err
	}
	if err := r.writeRows(w); err != nil {
		return err
	}
	if err := r.writeItems(w, &h); err != nil {
		return err
	}
	if err := r.writeEvents(w, &h); err != nil {
		return err
	}
	if err := w.audit(r.db.keys, r.audit); err != nil { // last of all: see there
		return err
	}
	w.heads[r.session] = h // last: a piece that fails leaves what is known as it was
	return nil
}

const sqlEvents = `INSERT INTO events (seq, id, owner, session, turn, parent, v, ts, type, data) VALUES `

func (r *record) writeEvents(w *writer, h *head) (err error) {
	args := make([]any, 0, 10*len(r.events))
	for i := range r.events {
		e := &r.events[i]
		if e.Seq, err = w.nextSeq(); err != nil {
			return err
		}
		h.id++
		e.ID = h.id
		args = append(args, e.Seq, e.ID, string(r.owner), string(e.Session), string(e.Turn), string(e.Parent),
			e.V, column.Nanos(e.TS), e.Type, string(e.Data))
	}
	return w.insert(sqlEvents, 10, args)
}

// writeSession changes what a record may change of its session. Most records change nothing.
func (r *record) writeSession(w *writer, h *head) error {
	set := func(what string, args ...any) error {
		_, err := w.exec(`UPDATE sessions SET `+what+` WHERE id = ? AND owner = ?`, append(args, string(r.session), string(r.owner))...)
		return err
	}
	var errs []error
	if r.now > h.updated+int64(touchEvery) {
		h.updated = r.now
		errs = append(errs, set(`updated = ?`, r.now))
	}
	if r.title != "" {
		errs = append(errs, set(`title = ?`, r.title))
	}
	if r.mode != nil {
		errs = append(errs, set(`mode = ?`, r.mode.String()))
	}
	if r.model != nil {
		errs = append(errs, set(`model = ?`, *r.model))
	}
	if r.ungated != nil {
		errs = append(errs, set(`ungated = ?`, column.Bit(*r.ungated)))
	}
	if r.labels != (jackline.Labels{}) {
		errs = append(errs, set(`tainted = tainted | ?, private = private | ?`, column.Bit(r.labels.Tainted), column.Bit(r.labels.Private)))
	}
	if r.newGen {
		h.gen++
		errs = append(errs, set(`gen = ?, gen_after = ?`, h.gen, h.item))
	}
	return errors.Join(errs...)
}

// writeTurn writes the turn in the cheapest way that does.
func (r *record) writeTurn(w *writer) error {
	if r.asked {
		if n, err := w.exec(sqlTurnNew, r.turn...); err != nil || n > 0 {
			return err
		}
	}
	if n, err := w.exec(sqlTurnStep, r.turnStep...); err != nil || n > 0 {
		return err
	}
	return r.upsert(w, "turn", sqlTurn, r.turn)
}

// writeRows writes the rows that replace what they find.
func (r *record) writeRows(w *writer) error {
	if r.turn != nil {
		if err := r.writeTurn(w); err != nil {
			return err
		}
	}
	for _, args := range r.calls {
		if err := r.upsert(w, "call", sqlCall, args); err != nil {
			return err
		}
	}
	for _, a := range r.approvals {
		if err := r.writeApproval(w, a); err != nil {
			return err
		}
	}
	for _, args := range r.grants {
		if err := r.upsert(w, "grant", sqlGrant, args); err != nil {
			return err
		}
	}
	for _, args := range r.snapshots {
		if err := r.upsert(w, "snapshot", sqlSnapshot, args); err != nil {
			return err
		}
	}
	for name, v := range r.state {
		var err error
		if string(v) == "null" {
			_, err = w.exec(`DELETE FROM state WHERE session = ? AND name = ?`, string(r.session), name)
		} else {
			_, err = w.exec(`INSERT INTO state (session, name, value) VALUES (?, ?, ?)
				ON CONFLICT (session, name) DO UPDATE SET value = excluded.value`, string(r.session), name, r.db.keepState(r.session, name, v))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// upsert writes a row. The statement replaces none of another session, and then changes nothing.
func (r *record) upsert(w *writer, what, query string, args []any) error {
	n, err := w.exec(query, args...)
	if err == nil && n == 0 {
		err = absent(r.op, what)
	}
	return err
}

const sqlItems = `INSERT INTO items (session, n, gen, turn, role, calls, call, keep, images, sealed, opaque) VALUES `

func (r *record) writeItems(w *writer, h *head) error {
	args := make([]any, 0, 11*(len(r.compacted)+len(r.items)))
	for _, list := range [][]jackline.Item{r.compacted, r.items} {
		for _, it := range list {
			h.item++
			var opaque []byte
			if it.Opaque != "" {
				opaque = r.db.boxes.items.Seal([]byte(it.Opaque), opaqueRow(r.session, h.item)...)
			}
			args = append(args, string(r.session), h.item, h.gen, string(it.Turn), string(it.Role), joined(it.Calls),
				string(it.Call), it.Keep, joined(it.Images), r.db.boxes.items.Seal([]byte(it.Text), itemRow(r.session, h.item)...), opaque)
		}
	}
	return w.insert(sqlItems, 11, args)
}

// joined writes a list of ids with blanks between them.
func joined[T ~string](ids []T) string {
	if len(ids) == 0 {
		return ""
	}
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(id))
	}
	return b.String()
}

// itemRow names an item: n never comes twice in a session, whatever the generation.
func itemRow(session jackline.SessionID, n int64) []string {
	return []string{string(session), strconv.FormatInt(n, 10)}
}

// opaqueRow names the opaque part of an item.
func opaqueRow(session jackline.SessionID, n int64) []string {
	return append(itemRow(session, n), "opaque")
}
