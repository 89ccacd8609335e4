package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/retrieve"
)

// What the gate tells the model, where the tool itself has nothing to say.
const (
	cutText       = "FAILED: error: cut off. The call did not arrive whole, so it was not run. Send it again, complete; split long content into smaller calls."
	expiredText   = "EXPIRED: nobody answered the question about this call in time, so it was not run."
	withdrawnText = "CANCELLED: the owner went on with something else, so this call was not run."
	stoppedText   = "CANCELLED: the run was stopped while this call ran."
	haltedText    = "The kill switch is on: nothing that could act or reach the network is run until a person lifts it."
	slowText      = "FAILED: it did not end in the time that it was given."
)

// UnknownText is the result of a call that was running when the program died.
const UnknownText = "UNKNOWN: the program was interrupted while this call ran. It may have taken effect or not. Check before you go on, and do not simply repeat it."

// CancelText is the result of a call that a stop kept from running.
const CancelText = "CANCELLED: the run was stopped before this call."

// noSuchTool lists what there is instead, those first that the name is like, as far as a short list goes.
func noSuchTool(asked string, set *Set) string {
	const most = 600 // characters
	var names []string
	chars, more := 0, 0
	add := func(t Tool) {
		switch name := t.facts.Name; {
		case slices.Contains(names, name):
		case chars+len(name) > most:
			more++
		default:
			names, chars = append(names, name), chars+len(name)
		}
	}
	for _, m := range set.Search(retrieve.Words(asked, retrieve.QueryWords), nil) {
		if m.Named > 0 && chars < most/2 {
			add(m.Tool)
		}
	}
	for t := range set.All() {
		add(t)
	}
	list := strings.Join(names, ", ")
	if more > 0 {
		list += fmt.Sprintf(", and %d more", more)
	}
	return fmt.Sprintf("FAILED: there is no tool called %q. The tools are: %s.", asked, list)
}

func deniedByRule(d jackline.Decision) string {
	return "DENIED (" + d.Rule + "): " + d.Reason + " Do not try to get around this; find another way or tell the owner."
}

func deniedByPerson(row jackline.Approval) string {
	if row.Kind == jackline.KindQuestion {
		return "The owner declined to answer. Go on without it, and say what you assumed."
	}
	if row.Answer.Reason != "" {
		return "DENIED by the owner, who says: " + row.Answer.Reason
	}
	return "DENIED by the owner. Do not try this call again; find another way or stop and say why it is needed."
}

func deniedBefore(question bool, reason string) string {
	if question {
		return "The owner has already declined to answer exactly this in this task. Go on without it, and say what you assumed."
	}
	s := "DENIED: the owner has already denied exactly this call in this task."
	if reason != "" {
		s += " Their words: " + reason
	}
	return s
}

func nobodyText(question bool) string {
	if question {
		return "Nobody is there to answer. Decide for yourself what is most sensible, and say in your answer what you assumed."
	}
	return "DENIED: this call needs a person's permission, and nobody is there to give it. Do what you can without it, and say in your answer what was not done."
}

func answers(row jackline.Approval) string {
	var b strings.Builder
	for i, q := range row.Ask {
		var a []string
		if i < len(row.Answer.Answers) {
			a = row.Answer.Answers[i]
		}
		fmt.Fprintf(&b, "Question: %s\nThe owner's answer: %s\n", q.Text, strings.Join(a, "; "))
	}
	return strings.TrimRight(b.String(), "\n")
}
