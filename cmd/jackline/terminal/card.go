package terminal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
)

// A card is an approval or question that stands on the terminal.
type card struct {
	row     jackline.Approval
	wait    string     // what the next line is: "reason", "args", "" for a key
	answers [][]string // of a question row, so far
	sure    string     // what was said once and has to be said again: a yes to high risk, or a rule
	pattern string     // what a yes beyond once is to cover instead
}

// print shows the row: the exact action first, nothing left out.
func (k *card) print(t *Terminal) {
	a := k.row
	if a.Kind == jackline.KindQuestion {
		fmt.Fprintf(t.Err, "\n%s\n", t.Paint("1;33", "? The model asks"))
		k.question(t)
		return
	}
	fmt.Fprintf(t.Err, "\n%s\n", t.Paint("1;33", fmt.Sprintf("! Allow this? %s risk", inset(a.Risk))))
	switch {
	case a.View.Shape == jackline.ViewDiff:
		for _, f := range a.View.Files {
			fmt.Fprintf(t.Err, "  %s %s  +%d -%d\n", inset(f.Change), inset(f.Path), f.Added, f.Gone)
			for _, l := range strings.Split(strings.TrimRight(f.Patch, "\n"), "\n") {
				code := "0"
				if strings.HasPrefix(l, "+") {
					code = "32"
				} else if strings.HasPrefix(l, "-") {
					code = "31"
				}
				fmt.Fprintf(t.Err, "  | %s\n", t.Paint(code, Bare(l)))
			}
		}
	default:
		fmt.Fprintf(t.Err, "  %s\n  %s\n", inset(a.Title), inset(string(a.Args)))
	}
	for _, text := range Decoded(string(a.Args)) {
		fmt.Fprintf(t.Err, "  decoded %s\n", inset(text))
	}
	for _, touch := range a.Touches {
		fmt.Fprintf(t.Err, "  %s %s: %s\n", touch.Effect, inset(touch.Kind), inset(touch.Name))
	}
	if a.Effect.Has(jackline.Exec) {
		fmt.Fprintf(t.Err, "  held by %s\n", inset(holder(a.Sandbox)))
	}
	fmt.Fprintf(t.Err, "  runs in %s\n  why     %s\n", inset(a.Folder), inset(a.Why))
	asker := fmt.Sprintf("step %d", a.Step)
	if a.Turn == "" {
		asker = "a call by hand"
	}
	fmt.Fprintf(t.Err, "  asks    %s\n  undo    %s\n", asker, inset(cmp.Or(a.Undo, "Nothing is known about undoing this.")))
	if !a.Expires.IsZero() {
		fmt.Fprintf(t.Err, "  waits   until %s\n", a.Expires.Local().Format("2006-01-02 15:04"))
	}
	choices := "[y] once"
	for _, s := range a.Scopes {
		switch s {
		case jackline.Task:
			choices += "  [t] this task"
		case jackline.Chat:
			choices += "  [c] this chat"
		case jackline.Lasting:
			choices += "  [w] always in this workspace"
		case jackline.Once:
		}
	}
	if a.Covers != "" {
		fmt.Fprintf(t.Err, "  beyond once it covers: %s\n", inset(a.Covers))
	}
	if a.Pattern != "" && len(a.Scopes) > 2 {
		fmt.Fprintf(t.Err, "  as a pattern, which  p PATTERN  changes: %s\n", inset(a.Pattern))
	}
	fmt.Fprintf(t.Err, "  %s  [e] edit  [n] deny  [d] deny and say why  [s] stop > ", choices)
}

// holder says what holds a command.
func holder(s jackline.Sandbox) string {
	if s.Level == jackline.SandboxNone {
		return "nothing: it runs WITHOUT a sandbox, with all your rights"
	}
	open := s.Opens()
	switch {
	case open == "":
		open = "no network, and no files outside the workspace"
	case len(s.Hosts) == 0:
		open = "no network; open is " + open
	default:
		open = "open is " + open
	}
	if s.Leaks != "" {
		open += ". " + s.Leaks
	}
	return "the sandbox: " + open
}

func (k *card) question(t *Terminal) {
	q := k.row.Ask[len(k.answers)]
	fmt.Fprintf(t.Err, "  %s\n", inset(q.Text))
	for i, o := range q.Options {
		fmt.Fprintf(t.Err, "    %d) %s\n", i+1, inset(o))
	}
	hint := "your answer"
	if len(q.Options) > 0 {
		hint = "a number, or your own words"
	}
	fmt.Fprintf(t.Err, "  (%s; /decline to not answer) > ", hint)
}

// read takes one typed line as an answer and reports whether the card is settled.
func (k *card) read(ctx context.Context, t *Terminal, c *client.Client, line string) (bool, error) {
	line = strings.TrimSpace(line)
	post := func(body map[string]any) (bool, error) {
		_, err := c.Answer(ctx, k.row.ID, body)
		var p *client.Problem
		if errors.As(err, &p) && (p.Status == 409 || p.Status == 410) {
			t.Say("  %s\n", Plain(p.Detail))
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
			fmt.Fprint(t.Err, "  That is not JSON. [y/t/c/w/e/n/d/s] > ")
			return false, nil
		}
		return post(map[string]any{"approved": true, "scope": "once", "args": json.RawMessage(line)})
	}
	if p, ok := strings.CutPrefix(line, "p "); ok {
		k.pattern, k.sure = strings.TrimSpace(p), ""
		fmt.Fprintf(t.Err, "  It would cover %s: t, c or w to allow > ", inset(k.pattern))
		return false, nil
	}
	if scope, ok := scopes[line]; ok {
		return k.allow(t, line, scope, post)
	}
	switch line {
	case "n":
		return post(map[string]any{"approved": false})
	case "d":
		k.wait = "reason"
		fmt.Fprint(t.Err, "  Why not? > ")
	case "e":
		k.wait = "args"
		fmt.Fprintf(t.Err, "  New arguments as JSON > ")
	case "s":
		if k.row.Turn == "" { // a person's own call: there is nothing else to stop
			return post(map[string]any{"approved": false})
		}
		return true, c.Stop(ctx, k.row.Session)
	default:
		fmt.Fprint(t.Err, "  [y/t/c/w/e/n/d/s] > ")
	}
	return false, nil
}

// scopes are how far the keys of a yes reach.
var scopes = map[string]jackline.Scope{"y": jackline.Once, "t": jackline.Task, "c": jackline.Chat, "w": jackline.Lasting}

// allow says yes with a scope. High risk and what lasts are said twice.
func (k *card) allow(t *Terminal, line string, scope jackline.Scope, post func(map[string]any) (bool, error)) (bool, error) {
	body := map[string]any{"approved": true, "scope": scope}
	if k.pattern != "" && scope != jackline.Once {
		body["pattern"] = k.pattern
	}
	if high := k.row.Risk != "low" && k.row.Risk != "medium"; (high || scope == jackline.Lasting) && k.sure != line {
		k.sure = line
		if scope == jackline.Lasting {
			pattern := k.row.Pattern
			if k.pattern != "" {
				pattern = k.pattern
			}
			fmt.Fprintf(t.Err, "  This adds the rule  allow %s  for every chat in %s: %s again to add it > ", inset(pattern), inset(k.row.Folder), line)
			return false, nil
		}
		fmt.Fprintf(t.Err, "  High risk: %s again to allow > ", line)
		return false, nil
	}
	if scope == jackline.Lasting {
		body["confirm"] = true
	}
	return post(body)
}

// Show puts a card on the terminal, to look at.
func (t *Terminal) Show(a jackline.Approval) { (&card{row: a}).print(t) }

// Settle puts a card on the terminal and takes a person's lines until it is settled, in whichever way. It reports false where the
// lines ended before, or nobody types.
func (t *Terminal) Settle(ctx context.Context, c *client.Client, a jackline.Approval) bool {
	k := &card{row: a}
	k.print(t)
	if t.Lines == nil {
		return false
	}
	for line := range t.Lines {
		done, err := k.read(ctx, t, c, line)
		if err != nil {
			fmt.Fprintln(t.Err, Sentence(err))
		}
		if done {
			return true
		}
	}
	return false
}
