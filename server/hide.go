package server

import (
	"encoding/json"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/redact"
)

// hiding makes the huma transformer that hides secrets in answers.
func hiding(r *redact.Redactor) huma.Transformer {
	return func(_ huma.Context, _ string, v any) (any, error) { return hidden(r, v), nil }
}

// hidden is an answer without secrets: of turns, calls, exports, and of errors. Questions to people are shown exactly, for they
// answer for what runs; events are hidden as they are written.
func hidden(r *redact.Redactor, v any) any {
	switch v := v.(type) {
	case jackline.Turn:
		return hiddenTurn(r, v)
	case []jackline.Turn:
		return hiddenTurns(r, v)
	case takenBody:
		v.Turn = hiddenTurn(r, v.Turn)
		return v
	case begunBody:
		v.Turn = hiddenTurn(r, v.Turn)
		return v
	case exportBody:
		v.Turns = hiddenTurns(r, v.Turns)
		v.Session.Title = r.Text(v.Session.Title)
		v.Events = slices.Clone(v.Events) // hidden when they were written, but perhaps before a value was known to be secret
		for k := range v.Events {
			v.Events[k].Data = r.JSON(v.Events[k].Data)
		}
		return v
	case jackline.Call:
		return hiddenCall(r, v)
	case *problem:
		p := *v
		p.Detail = r.Text(p.Detail)
		return &p
	}
	return v
}

func hiddenTurn(r *redact.Redactor, t jackline.Turn) jackline.Turn {
	t.Prompt, t.Answer, t.Reason = r.Text(t.Prompt), r.Text(t.Answer), r.Text(t.Reason)
	return t
}

func hiddenTurns(r *redact.Redactor, turns []jackline.Turn) []jackline.Turn {
	turns = slices.Clone(turns)
	for k := range turns {
		turns[k] = hiddenTurn(r, turns[k])
	}
	return turns
}

func hiddenCall(r *redact.Redactor, c jackline.Call) jackline.Call {
	if json.Valid(c.Args) {
		c.Args = r.JSON(c.Args)
	} else {
		c.Args, _ = json.Marshal(r.Text(string(c.Args))) // a string: it cannot fail
	}
	c.Text, c.Title, c.Origin, c.Reason = r.Text(c.Text), r.Text(c.Title), r.Text(c.Origin), r.Text(c.Reason)
	return c
}
