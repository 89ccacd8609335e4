package tool

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/jackline-ai/jackline"
)

// observe puts into the intent what is true now of all that the call would use: what the gate was told to look at for every call, and
// what the tool says of itself.
func (g *Gate) observe(ctx context.Context, i jackline.Intent, b bound, in In) (facts []jackline.Fact, err error) {
	if refused(i.Touches) != "" {
		return nil, nil // it is not looked at what nobody may touch
	}
	err = safely(func() error {
		if g.Observe != nil {
			if facts, err = g.Observe(ctx, i); err != nil {
				return err
			}
		}
		if b.facts == nil {
			return nil
		}
		own, err := b.facts(ctx, in)
		facts = append(facts, own...)
		return err
	})
	return facts, err
}

// tries is how often a card is made anew because something changed while it was made.
const tries = 3

// question is the card together with the facts that it shows: they were true before it was made and after.
func (g *Gate) question(ctx context.Context, p *passage) (card Card, err error) {
	for range tries {
		if p.i.Facts, err = g.observe(ctx, p.i, p.b, p.in); err != nil {
			return card, err
		}
		if card, err = g.card(ctx, p); err != nil {
			return card, err
		}
		now, err := g.observe(ctx, p.i, p.b, p.in)
		if err != nil || slices.Equal(now, p.i.Facts) {
			return card, err
		}
	}
	return card, jackline.E("tool.question", jackline.Conflict, nil,
		"What this would touch keeps changing, so nobody can be asked about it. Try again when nothing else works on it.")
}

// stands reports whether the answer of the row lets the call run as it and the world now are. Where the world has changed since the
// person was asked, the reason of the new question says what.
func (g *Gate) stands(ctx context.Context, p *passage) (bool, error) {
	var err error
	if p.i.Facts, err = g.observe(ctx, p.i, p.b, p.in); err != nil {
		return false, err
	}
	if g.Desk.Holds(p.row, p.i) {
		p.in.Facts = p.row.Facts
		return true, nil
	}
	if what := changed(p.row.Facts, p.i.Facts); what != "" {
		p.decision.Reason = "You allowed this, but then " + what + ". " + p.decision.Reason
	}
	return false, nil
}

// recheck looks once more, when the call is about to run by a person's leave: between the answer and this moment the intent was
// written to the disk.
func (g *Gate) recheck(ctx context.Context, p *passage) *ending {
	if p.used == nil {
		return nil
	}
	now, err := g.observe(ctx, p.i, p.b, p.in)
	if err != nil {
		return &ending{outcome: jackline.Errored, text: g.failed(ctx, p, err), used: p.used}
	}
	if what := changed(p.used.Facts, now); what != "" {
		return &ending{outcome: jackline.Errored, text: "FAILED: in the moment before this ran " + what +
			", so nothing was done. Look again, and make the call anew if it is still wanted.", used: p.used}
	}
	return nil
}

// changed says in words what differs between two times; "" where nothing does.
func changed(then, now []jackline.Fact) string {
	const most = 3 // names in the sentence
	before := map[string]jackline.Fact{}
	for _, f := range then {
		before[f.Name+"\x00"+kindOfFact(f)] = f
	}
	var names, said []string
	add := func(f jackline.Fact, how string) {
		// A file of the workspace is known by its path there, and by its whole path to what runs it.
		again := func(have string) bool { return have == f.Name+how || strings.HasSuffix(f.Name+how, "/"+have) }
		if len(names) < most && !slices.ContainsFunc(said, again) {
			said, names = append(said, f.Name+how), append(names, brief(f.Name)+" "+how)
		}
	}
	same := map[string]bool{}
	for _, f := range now {
		key := f.Name + "\x00" + kindOfFact(f)
		was, ok := before[key]
		same[key] = true
		switch {
		case ok && was == f:
		case ok && f.ID == "" && was.ID != "":
			add(f, "was removed")
		case ok && was.ID == "" && f.ID != "":
			add(f, "was made")
		case ok && was.Digest == f.Digest && f.Digest != "":
			add(f, "was replaced by another")
		default:
			add(f, "changed")
		}
	}
	for _, f := range then {
		if !same[f.Name+"\x00"+kindOfFact(f)] {
			add(f, "changed")
		}
	}
	if len(names) == 0 && !slices.Equal(then, now) {
		return "what it uses changed"
	}
	return strings.Join(names, " and ")
}

// kindOfFact keeps facts of one name apart that are about different things: a file and the settings.
func kindOfFact(f jackline.Fact) string {
	if f.ID == "" && f.Digest != "" {
		return "value"
	}
	return "thing"
}

// brief is a name from outside, fit for a sentence.
func brief(name string) string {
	const longest = 80
	r := []rune(name)
	if len(r) > longest {
		r = append([]rune("…"), r[len(r)-longest:]...)
	}
	for k, c := range r {
		if !unicode.IsPrint(c) {
			r[k] = unicode.ReplacementChar
		}
	}
	return string(r)
}
