package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/jackline-ai/jackline"
)

// A terminal is where a person watches and answers.
type terminal struct {
	out, err    io.Writer
	color       bool
	interactive bool // a person can answer
	quiet       bool // no progress
	stream      bool // the answer is shown as it comes
	lines       <-chan string
}

// readLines reads a person's lines until in ends. The goroutine ends with in, which for a terminal is the end of the program.
func readLines(in io.Reader) <-chan string {
	ch := make(chan string)
	go func() {
		defer close(ch)
		sc := bufio.NewScanner(in)
		const longest = 1 << 20
		sc.Buffer(make([]byte, 0, 4096), longest)
		for sc.Scan() {
			ch <- sc.Text()
		}
	}()
	return ch
}

func (t *terminal) say(format string, a ...any) {
	if !t.quiet {
		fmt.Fprintf(t.err, format, a...)
	}
}

// paint wraps s in an SGR code where colour is wanted.
func (t *terminal) paint(code, s string) string {
	if !t.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// plain makes text from outside harmless to a terminal: control characters, escapes, and marks that nobody sees or that change
// the direction of writing become visible.
func plain(s string) string {
	const joiner, nonJoiner = '\u200d', '\u200c' // emoji and some scripts cannot be written without them
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == joiner || r == nonJoiner:
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			return '�'
		}
		return r
	}, s)
}

// inset is plain text for a place of a card that is one line: further lines are marked, so that none of them passes for a line
// of the card itself.
func inset(s string) string { return strings.ReplaceAll(plain(s), "\n", "\n  | ") }

// oneLine is plain text for a cell of a table.
func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\t", " ").Replace(plain(s)) }

// following says which turn is followed, and how.
type following struct {
	session jackline.SessionID
	turn    jackline.TurnID
	after   int64                 // the cursor behind what is known
	open    []jackline.ApprovalID // the turn's cards that were open there
	waits   bool                  // the turn waits there
	each    func(jackline.Event)  // is given every event
	typed   func(string)          // is given what a person types while no card is open
}

// watched is how following a turn ended.
type watched struct {
	end     *jackline.TurnEnd
	waiting []jackline.ApprovalID // the turn waits, and nobody here can answer
	after   int64                 // the cursor behind the last event
	said    string                // the text that was shown since the last call
}

// A watch is one turn being followed.
type watch struct {
	t     *terminal
	c     *client
	turn  jackline.TurnID
	open  []jackline.ApprovalID // its cards, in the order in which they opened
	shown *card                 // the one that stands on the terminal
	piece piece
	watched
}

// follow shows a session's events until the turn ends, or waits where no person can answer. What a person types meanwhile answers
// the open card.
func (t *terminal) follow(ctx context.Context, c *client, f following) (watched, error) {
	ctx, cancel := context.WithCancel(ctx)
	events, failed := make(chan jackline.Event), make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		failed <- c.events(ctx, sessionPath(f.session)+"/events", f.after, func(ev jackline.Event) (bool, error) {
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
	w := &watch{t: t, c: c, turn: f.turn, open: f.open, watched: watched{after: f.after}}
	if f.waits {
		if err := w.show(ctx); err != nil {
			return w.watched, err
		}
	}
	for {
		select {
		case err := <-failed:
			return w.watched, err
		case line, ok := <-t.lines:
			switch {
			case !ok:
				t.lines = nil
			case w.shown != nil:
				if err := w.answer(ctx, line); err != nil {
					return w.watched, err
				}
			case f.typed != nil:
				f.typed(line)
			}
		case ev := <-events:
			if ev.ID > 0 {
				w.after = ev.ID
			}
			if f.each != nil {
				f.each(ev)
			}
			if ev.Type == ready {
				w.piece.broke = true // what was live before this connection is not sent again
			}
			if ev.Turn != f.turn {
				continue
			}
			w.text(ev)
			t.event(ev)
			if over, err := w.event(ctx, ev); over || err != nil {
				return w.watched, err
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
	if !w.t.stream {
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
		w.said = "" // what comes now may be the answer
	}
	w.said += s
	fmt.Fprint(w.t.out, plain(s))
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
			w.t.say("  (answered by %s)\n", plain(b.By))
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
		if !w.t.interactive {
			return w.waitsNow(ctx)
		}
		return false, w.show(ctx)
	case "turn.end":
		var b jackline.TurnEnd
		err := json.Unmarshal(ev.Data, &b)
		w.end = &b
		return true, err
	}
	return false, nil
}

// waitsNow reports whether the turn waits still: what the log says may have been answered meanwhile.
func (w *watch) waitsNow(ctx context.Context) (bool, error) {
	had := len(w.open)
	open := []jackline.ApprovalID{}
	for _, id := range w.open {
		a, err := w.c.approval(ctx, id)
		if err != nil {
			return false, err
		}
		if a.State == jackline.Pending {
			open = append(open, id)
		}
	}
	w.open, w.waiting = open, open
	return had == 0 || len(open) > 0, nil
}

// show puts the oldest open card on the terminal, if none stands there.
func (w *watch) show(ctx context.Context) error {
	for w.shown == nil && len(w.open) > 0 {
		a, err := w.c.approval(ctx, w.open[0])
		if err != nil {
			return err
		}
		if a.State != jackline.Pending {
			w.open = w.open[1:]
			continue
		}
		w.shown = &card{row: a}
		w.shown.print(w.t)
	}
	return nil
}

// answer takes a typed line for the card on the terminal.
func (w *watch) answer(ctx context.Context, line string) error {
	done, err := w.shown.read(ctx, w.t, w.c, line)
	if err != nil {
		w.t.say("%s\n", sayOf(err))
	}
	if !done {
		return nil
	}
	settled := w.shown.row.ID
	w.open = slices.DeleteFunc(w.open, func(id jackline.ApprovalID) bool { return id == settled })
	w.shown = nil
	return w.show(ctx)
}

// event shows one event of the watched turn. Its text is shown by the watch.
func (t *terminal) event(ev jackline.Event) {
	get := func(v any) bool { return json.Unmarshal(ev.Data, v) == nil }
	switch ev.Type {
	case "prep":
		var b jackline.Prep
		if get(&b) && b.Assumed {
			t.say("%s\n", t.paint("2", fmt.Sprintf("  window unknown, taken to be %d tokens", b.Window)))
		}
	case "tool.result":
		var b jackline.ToolResult
		if get(&b) {
			t.result(b)
		}
	case "tool.call":
		var b jackline.ToolCall
		if get(&b) {
			if t.stream {
				t.say("\n")
			}
			t.say("  %s %s\n", t.paint("36", "›"), plain(b.Title))
		}
	case "nudge":
		var b jackline.Nudge
		if get(&b) {
			t.say("%s\n", t.paint("2", "  ("+plain(b.Text)+")"))
		}
	case "loop.guard":
		var b jackline.LoopGuard
		if get(&b) {
			t.say("%s\n", t.paint("33", "  "+plain(b.Reason)))
		}
	case "compaction.done":
		t.say("%s\n", t.paint("2", "  (older parts of the conversation were summed up to make room)"))
	case "plan.update":
		var b jackline.PlanUpdate
		if get(&b) {
			for _, s := range b.Steps {
				mark := map[string]string{"done": "x", "active": ">"}[s.State]
				if mark == "" {
					mark = " "
				}
				t.say("    [%s] %s\n", mark, plain(s.Text))
			}
		}
	}
}

func (t *terminal) result(b jackline.ToolResult) {
	word := b.Outcome.String()
	code := "32"
	switch b.Outcome {
	case jackline.OK:
	case jackline.Errored, jackline.Denied, jackline.Unknown:
		code = "31"
	case jackline.Expired, jackline.Cancelled:
		code = "33"
	}
	detail := ""
	if b.Outcome != jackline.OK {
		detail = ": " + firstLine(b.Text)
	} else if b.View.Shape == jackline.ViewDiff {
		for _, f := range b.View.Files {
			detail += fmt.Sprintf("  %s +%d -%d", f.Path, f.Added, f.Gone)
		}
	}
	t.say("    %s%s %s\n", t.paint(code, word), plain(detail), t.paint("2", (time.Duration(b.MS)*time.Millisecond).String()))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	const longest = 200
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	return s
}

// A card is an approval or question that stands on the terminal.
type card struct {
	row     jackline.Approval
	wait    string     // what the next line is: "reason", "args", "" for a key
	answers [][]string // of a question row, so far
	sure    bool       // high risk: y was said once
}

// print shows the row: the exact action first, nothing left out.
func (k *card) print(t *terminal) {
	a := k.row
	if a.Kind == jackline.KindQuestion {
		fmt.Fprintf(t.err, "\n%s\n", t.paint("1;33", "? The model asks"))
		k.question(t)
		return
	}
	fmt.Fprintf(t.err, "\n%s\n", t.paint("1;33", fmt.Sprintf("! Allow this? %s risk", inset(a.Risk))))
	switch {
	case a.View.Shape == jackline.ViewDiff:
		for _, f := range a.View.Files {
			fmt.Fprintf(t.err, "  %s %s  +%d -%d\n", inset(f.Change), inset(f.Path), f.Added, f.Gone)
			for _, l := range strings.Split(strings.TrimRight(f.Patch, "\n"), "\n") {
				code := "0"
				if strings.HasPrefix(l, "+") {
					code = "32"
				} else if strings.HasPrefix(l, "-") {
					code = "31"
				}
				fmt.Fprintf(t.err, "  | %s\n", t.paint(code, plain(l)))
			}
		}
	default:
		fmt.Fprintf(t.err, "  %s\n  %s\n", inset(a.Title), inset(string(a.Args)))
	}
	for _, touch := range a.Touches {
		fmt.Fprintf(t.err, "  %s %s: %s\n", touch.Effect, inset(touch.Kind), inset(touch.Name))
	}
	fmt.Fprintf(t.err, "  runs in %s\n  why     %s\n", inset(a.Folder), inset(a.Why))
	choices := "[y] once"
	for _, s := range a.Scopes {
		switch s {
		case jackline.Task:
			choices += "  [t] this task"
		case jackline.Chat:
			choices += "  [c] this chat"
		case jackline.Once:
		}
	}
	if a.Covers != "" {
		fmt.Fprintf(t.err, "  task and chat cover: %s\n", inset(a.Covers))
	}
	fmt.Fprintf(t.err, "  %s  [e] edit  [n] deny  [d] deny and say why  [s] stop > ", choices)
}

func (k *card) question(t *terminal) {
	q := k.row.Ask[len(k.answers)]
	fmt.Fprintf(t.err, "  %s\n", inset(q.Text))
	for i, o := range q.Options {
		fmt.Fprintf(t.err, "    %d) %s\n", i+1, inset(o))
	}
	hint := "your answer"
	if len(q.Options) > 0 {
		hint = "a number, or your own words"
	}
	fmt.Fprintf(t.err, "  (%s; /decline to not answer) > ", hint)
}

// read takes one typed line as an answer and reports whether the card is settled.
func (k *card) read(ctx context.Context, t *terminal, c *client, line string) (bool, error) {
	line = strings.TrimSpace(line)
	post := func(body map[string]any) (bool, error) {
		_, err := c.answer(ctx, k.row.ID, body)
		var p *problem
		if errors.As(err, &p) && (p.Status == 409 || p.Status == 410) {
			t.say("  %s\n", plain(p.Detail))
			return p.By != "" || p.Status == 410, nil
		}
		return err == nil, err
	}
	if k.row.Kind == jackline.KindQuestion {
		if line == "/decline" {
			return post(map[string]any{"declined": true})
		}
		q := k.row.Ask[len(k.answers)]
		var n int
		if _, err := fmt.Sscanf(line, "%d", &n); err == nil && n >= 1 && n <= len(q.Options) {
			line = q.Options[n-1]
		}
		if line == "" {
			k.question(t)
			return false, nil
		}
		if k.answers = append(k.answers, []string{line}); len(k.answers) < len(k.row.Ask) {
			k.question(t)
			return false, nil
		}
		return post(map[string]any{"answers": k.answers})
	}
	switch k.wait {
	case "reason":
		return post(map[string]any{"approved": false, "reason": line})
	case "args":
		k.wait = ""
		if !json.Valid([]byte(line)) {
			fmt.Fprint(t.err, "  That is not JSON. [y/t/c/e/n/d/s] > ")
			return false, nil
		}
		return post(map[string]any{"approved": true, "scope": "once", "args": json.RawMessage(line)})
	}
	switch line {
	case "y":
		if k.row.Risk == "high" && !k.sure {
			k.sure = true
			fmt.Fprint(t.err, "  High risk: y again to allow > ")
			return false, nil
		}
		return post(map[string]any{"approved": true, "scope": "once"})
	case "t":
		return post(map[string]any{"approved": true, "scope": "task"})
	case "c":
		return post(map[string]any{"approved": true, "scope": "chat"})
	case "n":
		return post(map[string]any{"approved": false})
	case "d":
		k.wait = "reason"
		fmt.Fprint(t.err, "  Why not? > ")
	case "e":
		k.wait = "args"
		fmt.Fprintf(t.err, "  New arguments as JSON > ")
	case "s":
		if k.row.Turn == "" { // a person's own call: there is nothing else to stop
			return post(map[string]any{"approved": false})
		}
		return true, c.stop(ctx, k.row.Session)
	default:
		fmt.Fprint(t.err, "  [y/t/c/e/n/d/s] > ")
	}
	return false, nil
}
