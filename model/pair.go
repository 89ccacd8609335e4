package model

import "slices"

// NoResult stands for the result of a call that has none: most providers take no call without one.
const NoResult = "[There is no result of this call.]"

// A Made is a call of the latest answer, as an adapter wrote it into a request.
type Made struct {
	ID   string // the one that the conversation has for it, or ""
	Sent string // the one that was written, or ""
	Name string // in the conversation's words
}

// Pair finds the one result of each call among the results that follow an answer, in the order of the calls. A call that
// has none gets [NoResult]. Rest are the results that answer none of the calls, or one that has a result already: providers
// refuse these, and an adapter writes them behind the others as a user message. Whole says that no call is without.
//
// A result is known by its ID. One without an ID, or to a call without one, is known by its name; if it has no name
// either, by its place.
func Pair(calls []Made, results []Message) (texts []string, rest []Message, whole bool) {
	texts = make([]string, len(calls))
	open := make([]bool, len(calls))
	for i := range calls {
		texts[i], open[i] = NoResult, true
	}
	take := func(msg Message, is func(Made) bool) bool {
		for i, c := range calls {
			if open[i] && is(c) {
				texts[i], open[i] = msg.Text, false
				return true
			}
		}
		return false
	}
	// Those with an ID first: a result without one must not take the place of another.
	var vague []Message
	for _, msg := range results {
		if msg.CallID == "" || !take(msg, func(c Made) bool { return c.ID == msg.CallID }) {
			vague = append(vague, msg)
		}
	}
	for _, msg := range vague {
		fits := func(c Made) bool { return msg.CallID == "" || c.ID == "" }
		switch {
		case msg.Name != "" && take(msg, func(c Made) bool { return fits(c) && c.Name == msg.Name }):
		case msg.Name == "" && take(msg, fits):
		default:
			rest = append(rest, msg)
		}
	}
	return texts, rest, !slices.Contains(open, true)
}
