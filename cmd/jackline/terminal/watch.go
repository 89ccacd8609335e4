package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/stack"
)

// Following says which turn is followed, and how.
type Following struct {
	Session jackline.SessionID
	Turn    jackline.TurnID
	After   int64                 // the cursor behind what is known
	Open    []jackline.ApprovalID // the turn's cards that were open there
	Waits   bool                  // the turn waits there
	Each    func(jackline.Event)  // is given every event
	Typed   func(string)          // is given what a person types while no card is open
}

// Watched is how following a turn ended.
type Watched struct {
	End     *jackline.TurnEnd
	Waiting []jackline.ApprovalID // the turn waits, and nobody here can answer
	After   int64                 // the cursor behind the last event
	Said    string                // the text that was shown since the last call
}

// A watch is one turn being followed.
type watch struct {
	t     *Terminal
	c     *client.Client
	turn  jackline.TurnID
	open  []jackline.ApprovalID // its cards, in the order in which they opened
	shown *card                 // the one that stands on the terminal
	piece piece
	Watched
}

// Follow shows a session's events until the turn ends, or waits where no person can answer. What a person types meanwhile answers
// the open card.
func (t *Terminal) Follow(ctx context.Context, c *client.Client, f Following) (Watched, error) {
	ctx, cancel := context.WithCancel(ctx)
	events, failed := make(chan jackline.Event), make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		stack.Grow()
		failed <- c.Events(ctx, f.Session, f.After, func(ev jackline.Event) (bool, error) {
			select {
			case events <- ev:
				return true, nil
			case <-ctx.Done():
				return false, ctx.Err()
			}
		})
	})
	defer wg.Wait()
	defer cancel()
	w := &watch{t: t, c: c, turn: f.Turn, open: f.Open, Watched: Watched{After: f.After}}
	if f.Waits {
		if err := w.show(ctx); err != nil {
			return w.Watched, err
		}
	}
	for {
		select {
		case err := <-failed:
			return w.Watched, err
		case line, ok := <-t.Lines:
			switch {
			case !ok:
				// Nobody answers here any more, and a card that stands here need not be answered at once.
				t.Lines, t.Interactive = nil, false
				if w.shown == nil {
					continue
				}
				fmt.Fprintln(t.Err)
				w.shown = nil
				if over, err := w.waitsNow(ctx); over || err != nil {
					return w.Watched, err
				}
			case w.shown != nil:
				if err := w.answer(ctx, line); err != nil {
					return w.Watched, err
				}
			case f.Typed != nil:
				f.Typed(line)
			}
		case ev := <-events:
			if ev.ID > 0 {
				w.After = ev.ID
			}
			if f.Each != nil {
				f.Each(ev)
			}
			if ev.Type == client.Ready {
				w.piece.broke = true // what was live before this connection is not sent again
			}
			if ev.Turn != f.Turn {
				continue
			}
			w.text(ev)
			t.event(ev)
			if over, err := w.event(ctx, ev); over || err != nil {
				return w.Watched, err
			}
		}
	}
}

// A piece is what stands on the terminal of a turn's text, since the last text of the log.
type piece struct {
	shown string
	broke bool // live text is missing, so what comes live has no place until the log has caught up
}

// live takes live text and gives what is to be shown of it.
func (p *piece) live(s string) string {
	if p.broke {
		return ""
	}
	p.shown += s
	return s
}

// logged takes the text of the log, which supersedes all live text since the last one, and gives what is missing of it.
func (p *piece) logged(s string) string {
	const blanks = " \t\r\n"
	shown, whole := strings.TrimLeft(p.shown, blanks), strings.TrimLeft(s, blanks)
	*p = piece{}
	if shown == "" {
		return s
	}
	if rest, ok := strings.CutPrefix(whole, shown); ok {
		return rest
	}
	if strings.HasPrefix(shown, whole) {
		return "" // the log leaves out blanks at the end
	}
	return "\n" + s // other words were shown than were said
}

// text shows the turn's text, as it comes and once.
func (w *watch) text(ev jackline.Event) {
	if !w.t.Stream {
		return
	}
	s := ""
	switch ev.Type {
	case "text.delta":
		var b jackline.TextDelta
		if json.Unmarshal(ev.Data, &b) == nil {
			s = w.piece.live(b.Text)
		}
	case "text":
		var b jackline.Text
		if json.Unmarshal(ev.Data, &b) == nil {
			s = w.piece.logged(b.Text)
		}
	case "tool.call":
		w.Said = "" // what comes now may be the answer
	}
	w.Said += s
	fmt.Fprint(w.t.Out, Plain(s))
}

// event keeps the cards in step with the log, and reports whether there is nothing more to follow.
func (w *watch) event(ctx context.Context, ev jackline.Event) (over bool, err error) {
	switch ev.Type {
	case "tool.approval_needed":
		var b jackline.ApprovalNeeded
		if err := json.Unmarshal(ev.Data, &b); err != nil {
			return false, err
		}
		if !slices.Contains(w.open, b.Approval) {
			w.open = append(w.open, b.Approval)
		}
	case "tool.approved", "tool.denied", "tool.expired", "tool.cancelled":
		var b jackline.ApprovalClosed
		if err := json.Unmarshal(ev.Data, &b); err != nil {
			return false, err
		}
		w.open = slices.DeleteFunc(w.open, func(id jackline.ApprovalID) bool { return id == b.Approval })
		if w.shown != nil && w.shown.row.ID == b.Approval {
			switch {
			case b.By != "":
				w.t.Say("  (answered by %s)\n", Plain(b.By))
			case ev.Type == "tool.expired":
				w.t.Say("  (nobody answered in time)\n")
			default:
				w.t.Say("  (taken back)\n")
			}
			w.shown = nil
			return false, w.show(ctx)
		}
	case "turn.status":
		var b jackline.TurnStatus
		if err := json.Unmarshal(ev.Data, &b); err != nil {
			return false, err
		}
		if b.Status != jackline.Waiting {
			return false, nil
		}
		if !w.t.Interactive {
			return w.waitsNow(ctx)
		}
		return false, w.show(ctx)
	case "turn.end":
		var b jackline.TurnEnd
		err := json.Unmarshal(ev.Data, &b)
		w.End = &b
		return true, err
	}
	return false, nil
}

// waitsNow reports whether the turn waits still: what the log says may have been answered meanwhile.
func (w *watch) waitsNow(ctx context.Context) (bool, error) {
	had := len(w.open)
	open := []jackline.ApprovalID{}
	for _, id := range w.open {
		a, err := w.c.Approval(ctx, id)
		if err != nil {
			return false, err
		}
		if a.State == jackline.Pending {
			open = append(open, id)
		}
	}
	w.open, w.Waiting = open, open
	return had == 0 || len(open) > 0, nil
}

// show puts the oldest open card on the terminal, if none stands there.
func (w *watch) show(ctx context.Context) error {
	for w.shown == nil && len(w.open) > 0 {
		a, err := w.c.Approval(ctx, w.open[0])
		if err != nil {
			return err
		}
		if a.State != jackline.Pending {
			w.open = w.open[1:]
			continue
		}
		w.shown = &card{row: a}
		w.shown.print(w.t)
		return w.others(ctx)
	}
	return nil
}

// others names the open cards behind the one that is shown, so that all can be answered in one line.
func (w *watch) others(ctx context.Context) error {
	if len(w.open) < 2 || w.shown == nil {
		return nil
	}
	fmt.Fprint(w.t.Err, "\n")
	for k, id := range w.open {
		a, err := w.c.Approval(ctx, id)
		if err != nil {
			return err
		}
		fmt.Fprintf(w.t.Err, "  %d) %s risk: %s\n", k+1, inset(a.Risk), inset(a.Title))
	}
	fmt.Fprintf(w.t.Err, "  This is the first of %d. To answer several at once: 1y 2n 3t; high risk is allowed with yy > ", len(w.open))
	return nil
}

// several reads a line that answers several cards by their numbers; ok is false where the line is no such.
func (w *watch) several(line string) (answers []map[string]any, ok bool) {
	fields := strings.Fields(line)
	if len(fields) == 0 || len(w.open) < 2 {
		return nil, false
	}
	for _, f := range fields {
		n, key := 0, ""
		if _, err := fmt.Sscanf(f, "%d%s", &n, &key); err != nil || n < 1 || n > len(w.open) {
			return nil, false
		}
		a := map[string]any{"id": w.open[n-1], "approved": true}
		if twice := strings.TrimSuffix(key, key[:1]); len(key) == 2 && twice == key[:1] {
			a["confirm"], key = true, twice
		}
		switch scope, yes := scopes[key]; {
		case yes && scope != jackline.Lasting:
			a["scope"] = scope
		case key == "n":
			a["approved"] = false
		default:
			return nil, false
		}
		answers = append(answers, a)
	}
	return answers, true
}

// answerSeveral sends such answers, and says which of them do not count.
func (w *watch) answerSeveral(ctx context.Context, answers []map[string]any) error {
	rows, err := w.c.AnswerAll(ctx, answers)
	for _, r := range rows {
		if r.Problem != nil {
			w.t.Say("  %s: %s\n", Plain(string(r.ID)), Plain(r.Problem.Detail))
		}
		if r.Problem == nil || r.Problem.By != "" || r.Problem.Status == http.StatusGone {
			w.open = slices.DeleteFunc(w.open, func(id jackline.ApprovalID) bool { return id == r.ID })
		}
	}
	if err != nil {
		w.t.Say("%s\n", Sentence(err))
	}
	w.shown = nil
	return w.show(ctx)
}

// answer takes a typed line for the card on the terminal.
func (w *watch) answer(ctx context.Context, line string) error {
	if answers, ok := w.several(line); ok && w.shown.wait == "" && w.shown.row.Kind == jackline.KindCall {
		return w.answerSeveral(ctx, answers)
	}
	done, err := w.shown.read(ctx, w.t, w.c, line)
	if err != nil {
		w.t.Say("%s\n", Sentence(err))
	}
	if !done {
		return nil
	}
	settled := w.shown.row.ID
	w.open = slices.DeleteFunc(w.open, func(id jackline.ApprovalID) bool { return id == settled })
	w.shown = nil
	return w.show(ctx)
}
