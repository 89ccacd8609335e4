package engine

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	jackline "github.com/jackline-ai/jackline"
)

// unnamed is the error for a request without a model's name.
func (c *Client) unnamed(ctx context.Context, op string, list List) error {
	names, err := list(ctx)
	if err != nil {
		return err
	}
	if len(names) == 0 && c.hosted() {
		return jackline.E(op, jackline.NoModel, nil, "No model is named, and %s offers none to this key.", c.Address())
	}
	if len(names) == 0 {
		return jackline.E(op, jackline.NoModel, nil,
			"No model is named, and the engine at %s has none: fetch one first (with Ollama: \"ollama pull NAME\").", c.Address())
	}
	return jackline.E(op, jackline.NoModel, nil,
		"No model is named: choose one with --model. The engine at %s offers %s.", c.Address(), offer(names))
}

// missing makes the error for a model that the engine does not know more helpful: it names those that it knows.
func (c *Client) missing(ctx context.Context, op string, list List, cause error) error {
	say := fmt.Sprintf("The engine at %s has no model %q.", c.Address(), c.o.Model)
	names, err := list(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case c.hosted():
		say = fmt.Sprintf("There is no model %q at %s, or not for this key. Choose another with --model", c.o.Model, c.Address())
		if err == nil && len(names) > 0 {
			say += ": it offers " + offer(names)
		}
		return jackline.E(op, jackline.NoModel, cause, "%s.", say)
	case err == nil && len(names) > 0:
		say += " It offers " + offer(names) + ": choose one with --model, or fetch this one"
	default:
		say += " Choose another with --model, or fetch this one"
	}
	return jackline.E(op, jackline.NoModel, cause, "%s (with Ollama: \"ollama pull %s\").", say, c.o.Model)
}

// hosted reports whether the engine is most likely a provider's: nobody here can start it, or fetch a model for it. Engines
// of one's own rarely speak https.
func (c *Client) hosted() bool { return c.base.Scheme == "https" }

// offer lists names for a sentence: not all of many, and nothing that does not print.
func offer(names []string) string {
	var shown []string
	for _, n := range names[:min(len(names), maxOffered)] {
		shown = append(shown, Printable(n, maxNameShown))
	}
	s := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// Printable is what prints of a text from outside, at most limit bytes of it.
func Printable(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, ""))
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
