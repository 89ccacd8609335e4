package approval

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
)

// Named limits of what a person may send.
const (
	maxReason  = 2000  // characters of a reason
	maxReply   = 4000  // characters of one answer to a question
	maxReplies = 20    // answers to one question
	maxAnswers = 20000 // characters of all answers of a row

	tries = 5 // how often a record is made anew after another one came in between
)

// An EditedIntent is a call whose arguments a person changed on the card: what it would now do, what the policy says
// about that, and what the card would show.
type EditedIntent struct {
	Intent   jackline.Intent
	Decision jackline.Decision
	View     jackline.View
}

// Answer closes a pending row with what a person said, and returns the row as it then stands. The first answer
// wins: a later one is a Conflict whose sentence says how the row was closed, and comes with that row; so is a scope
// that the row does not offer. An expired row is Gone.
//
// A yes with a scope leaves grants, and closes the pending rows of the same turn that they cover. A no closes the
// pending rows of the same turn that ask for exactly the same. Edited arguments need edited, made anew from them.
func (d *Desk) Answer(ctx context.Context, o jackline.Owner, id jackline.ApprovalID, ans jackline.Answer,
	edited *EditedIntent) (jackline.Approval, error) {
	ans.At = d.now().UTC()
	if ans.By == "" {
		ans.By = "api"
	}
	for try := 0; ; try++ {
		a, err := d.ledger.Approval(ctx, o, id)
		if err != nil {
			return jackline.Approval{}, err
		}
		if err := d.open(a); err != nil {
			return a, err
		}
		closed, grants, err := d.close(a, ans, edited)
		if err != nil {
			return a, err
		}
		rows := []jackline.Approval{closed}
		if try < tries-1 { // the last try leaves the others to themselves
			others, err := d.alike(ctx, closed, grants)
			if err != nil {
				return a, err
			}
			rows = append(rows, others...)
		}
		err = d.move(ctx, o, a.Session, rows, grants)
		if err == nil {
			return closed, nil
		}
		if jackline.KindOf(err) != jackline.Conflict || try == tries-1 {
			return a, err
		}
	}
}

// open says why a row can no longer be answered, if so.
func (d *Desk) open(a jackline.Approval) error {
	at := a.Answer.At.Format("2006-01-02 15:04 MST")
	by := a.Answer.By
	if by == "" {
		by = "somebody"
	}
	switch a.State {
	case jackline.Pending:
		if d.now().Before(a.Expires) {
			return nil
		}
		return reject(jackline.Gone, "This question expired unanswered.")
	case jackline.Lapsed:
		return reject(jackline.Gone, "This question expired unanswered.")
	case jackline.Withdrawn:
		return reject(jackline.Conflict, "This question was withdrawn: the task went on without it or was stopped.")
	case jackline.Refused:
		return reject(jackline.Conflict, "This was already answered with no, by %s at %s.", by, at)
	case jackline.Approved, jackline.Used:
		return reject(jackline.Conflict, "This was already answered with yes, by %s at %s.", by, at)
	}
	return reject(jackline.Internal, "This question is in a state that this program does not know.")
}

// close is the row after the answer, and the grants that it leaves.
func (d *Desk) close(a jackline.Approval, ans jackline.Answer,
	edited *EditedIntent) (jackline.Approval, []jackline.Grant, error) {
	if utf8.RuneCountInString(ans.Reason) > maxReason {
		return a, nil, reject(jackline.Unprocessed, "A reason has at most %d characters.", maxReason)
	}
	if !ans.Yes {
		ans.Scope, ans.Args, ans.Answers, ans.Pattern = "", nil, nil, ""
		a.State, a.Answer = jackline.Refused, ans
		return a, nil, nil
	}
	if !d.sealed(a) {
		return a, nil, reject(jackline.Conflict, "This question is not as it was asked, so it can only be answered with no.")
	}
	if a.Kind == jackline.KindQuestion {
		if ans.Args != nil || edited != nil {
			return a, nil, reject(jackline.Unprocessed, "A question has no arguments to change.")
		}
		if err := replies(a, &ans); err != nil {
			return a, nil, err
		}
		ans.Scope = jackline.Once
		a.State, a.Answer = jackline.Approved, ans
		d.seal(&a)
		return a, nil, nil
	}
	if len(ans.Answers) > 0 {
		return a, nil, reject(jackline.Unprocessed, "This asks for a yes or a no, not for answers.")
	}
	if ans.Args != nil && edited == nil {
		return a, nil, reject(jackline.Invalid, "Changed arguments have to be judged before they are answered.")
	}
	if edited != nil {
		if err := d.edit(&a, &ans, *edited); err != nil {
			return a, nil, err
		}
	}
	if ans.Scope == "" {
		ans.Scope = jackline.Once
	}
	if !slices.Contains(a.Scopes, ans.Scope) {
		return a, nil, reject(jackline.Conflict, "This can be allowed %s, not for more than that.", offered(a.Scopes))
	}
	if err := d.widened(a, &ans); err != nil {
		return a, nil, err
	}
	a.State, a.Answer = jackline.Approved, ans
	d.seal(&a)
	return a, d.grantsOf(a, ans), nil
}

// widened checks the pattern that a person wrote in the place of the one on the card. Where it is the same, nothing was written.
func (d *Desk) widened(a jackline.Approval, ans *jackline.Answer) error {
	if ans.Pattern = strings.TrimSpace(ans.Pattern); ans.Pattern == "" || ans.Pattern == a.Pattern {
		ans.Pattern = ""
		return nil
	}
	switch {
	case ans.Scope == jackline.Once:
		return reject(jackline.Unprocessed, "A pattern says what else a yes covers, so it goes with more than once.")
	case reachOf(a).narrow:
		return reject(jackline.Conflict, "This can be allowed for exactly these arguments only.")
	}
	return d.pattern(ans.Pattern, intentOf(a))
}

// edit puts a changed call in the place of the one that was asked about. All else that binds the row stays.
func (d *Desk) edit(a *jackline.Approval, ans *jackline.Answer, e EditedIntent) error {
	i := e.Intent
	if e.Decision.Verdict == jackline.Deny {
		return reject(jackline.Forbidden, "%s", e.Decision.Reason)
	}
	if t, ok := refused(i); ok {
		return reject(jackline.Forbidden, "%s", t.Refused)
	}
	if i.Actor.Owner != a.Owner || i.Actor.Session.ID != a.Session || i.Actor.Session.Workspace != a.Folder ||
		i.Actor.Turn.ID != a.Turn || i.Call != a.Call || i.Tool != a.Tool || i.Digest != a.Digest {
		return reject(jackline.Conflict, "Only the arguments of a call can be changed.")
	}
	rule, why := a.Rule, e.Decision.Reason
	if e.Decision.Verdict == jackline.Ask {
		rule = e.Decision.Rule
	}
	d.describe(a, i, why, e.View)
	a.Rule = rule
	ans.Args = i.Args
	return nil
}

// replies checks the answers to a question row and trims them.
func replies(a jackline.Approval, ans *jackline.Answer) error {
	if len(ans.Answers) != len(a.Ask) {
		return reject(jackline.Unprocessed, "There are %d questions and %d answers.", len(a.Ask), len(ans.Answers))
	}
	total := 0
	checked := make([][]string, 0, len(a.Ask))
	for k, list := range ans.Answers {
		switch {
		case len(list) == 0:
			return reject(jackline.Unprocessed, "Question %d has no answer.", k+1)
		case len(list) > 1 && !a.Ask[k].Many:
			return reject(jackline.Unprocessed, "Question %d takes one answer.", k+1)
		case len(list) > maxReplies:
			return reject(jackline.Unprocessed, "Question %d takes at most %d answers.", k+1, maxReplies)
		}
		var kept []string
		for _, s := range list {
			s = strings.TrimSpace(s)
			n := utf8.RuneCountInString(s)
			if total += n; n > maxReply || total > maxAnswers {
				return reject(jackline.Unprocessed, "An answer has at most %d characters, all together %d.",
					maxReply, maxAnswers)
			}
			if s == "" {
				return reject(jackline.Unprocessed, "An answer to question %d is empty.", k+1)
			}
			kept = append(kept, s)
		}
		checked = append(checked, kept)
	}
	ans.Answers = checked
	return nil
}

// alike finds the pending rows of the same turn that the answer to a also answers, and closes them.
func (d *Desk) alike(ctx context.Context, a jackline.Approval, grants []jackline.Grant) ([]jackline.Approval, error) {
	if a.Kind != jackline.KindCall || a.Turn == "" || a.Answer.Yes && len(grants) == 0 {
		return nil, nil
	}
	rows, err := d.ledger.Approvals(ctx, a.Owner, pending(a.Session, a.Turn))
	if err != nil {
		return nil, err
	}
	var closed []jackline.Approval
	for _, b := range rows {
		if b.ID == a.ID || b.Kind != jackline.KindCall || b.Turn != a.Turn || d.open(b) != nil || !d.sealed(b) {
			continue
		}
		same := b.Tool == a.Tool && b.Digest == a.Digest && b.Folder == a.Folder && string(b.Args) == string(a.Args)
		if a.Answer.Yes && !d.covered(b, grants) || !a.Answer.Yes && !same {
			continue
		}
		b.Answer = a.Answer
		b.Answer.Args = nil
		b.State = a.State
		if a.Answer.Yes {
			b.Answer.Scope, b.Answer.Pattern = jackline.Once, "" // the grant is the other row's
			d.seal(&b)
		}
		closed = append(closed, b)
	}
	return closed, nil
}

// move writes rows that were pending, with the events that say so.
func (d *Desk) move(ctx context.Context, o jackline.Owner, s jackline.SessionID, rows []jackline.Approval,
	grants []jackline.Grant) error {
	r := jackline.Record{Session: s, Approvals: rows, From: jackline.Pending, Grants: grants, Sync: true}
	for _, a := range rows {
		r.Events = append(r.Events, jackline.NewEvent(s, a.Turn, jackline.ApprovalClosed{
			Approval: a.ID, Call: a.Call, State: a.State, Scope: a.Answer.Scope, By: a.Answer.By,
			Reason: jackline.Brief(a.Answer.Reason),
		}))
	}
	_, err := d.ledger.Append(ctx, o, r)
	return err
}

// offered says how far a yes may reach.
func offered(scopes []jackline.Scope) string {
	var list []string
	for _, s := range scopes {
		switch s {
		case jackline.Once:
			list = append(list, "once")
		case jackline.Task:
			list = append(list, "for this task")
		case jackline.Chat:
			list = append(list, "for this chat")
		case jackline.Lasting:
			list = append(list, "always in this workspace")
		}
	}
	return strings.Join(list, " or ")
}

func reject(k jackline.Kind, say string, a ...any) error {
	return jackline.E("approval.Answer", k, nil, say, a...)
}
