package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
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

func noSuchTool(asked string, names []string) string {
	return fmt.Sprintf("FAILED: there is no tool called %q.", asked) + Names(asked, names)
}

const (
	// mostNear is how many tools are named first to a model that called one that there is not. What it wants is among them, or
	// it looks through the others.
	mostNear = 5
	// mostNames is how many are named at all: a longer list is not read by a small model, and costs its window.
	mostNames = 40
)

// Names tells a model that called a tool that there is not which there are: first the one that it must have meant, if that is
// plain, then those that look like it. It begins with a blank.
func Names(asked string, names []string) string {
	if len(names) == 0 {
		return " There are no tools now: answer in words."
	}
	text := ""
	list := names
	if asked != "" {
		if meant := args.Meant(asked, names); meant != "" {
			text = " Did you mean " + meant + "?"
		}
		near := args.Near(asked, names, mostNear)
		list = append(slices.Clone(near), slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(near, n) })...)
	}
	rest := ""
	if over := len(list) - mostNames; over > 0 {
		list, rest = list[:mostNames], fmt.Sprintf(" and %d more", over)
	}
	return text + " The tools are: " + strings.Join(list, ", ") + rest + "."
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
