package approval

import (
	"strings"

	"github.com/jackline-ai/jackline"
)

// describe fills all of a row that follows from the intent: what is sealed and what the card shows.
func (d *Desk) describe(a *jackline.Approval, i jackline.Intent, reason string, v jackline.View) {
	facts(a, i)
	a.Title, a.View = i.Title, v
	word, why := d.risk(i)
	a.Risk, a.Why = word, strings.TrimSpace(reason+" "+why)
	a.Undo = undo(*a)
	a.Scopes, a.Covers, a.Pattern = []jackline.Scope{jackline.Once}, "", ""
	if !grantable(a.Mode, i.Actor.Turn.Options) {
		return // a grant would not count
	}
	r := reachOf(*a)
	if a.Turn != "" {
		a.Scopes = append(a.Scopes, jackline.Task)
	}
	if !r.narrow && a.Session != "" && !a.Labels.Tainted {
		a.Scopes = append(a.Scopes, jackline.Chat)
		if d.lasting(*a, r) {
			a.Scopes = append(a.Scopes, jackline.Lasting)
		}
	}
	if len(a.Scopes) > 1 {
		a.Covers, a.Pattern = r.words(), strings.Join(r.patterns(a.Tool), ", ")
	}
}

// lasting reports whether rules can say what a grant would cover, no more and no less.
func (d *Desk) lasting(a jackline.Approval, r reach) bool {
	list := r.patterns(a.Tool)
	if len(list) == 0 || a.Folder == "" {
		return false
	}
	for _, v := range r.values {
		if strings.ContainsAny(v, "*?[]{}\\\n") {
			return false // it would be read as more than itself
		}
	}
	for _, p := range list {
		if d.pattern(p, intentOf(a)) != nil {
			return false
		}
	}
	return true
}

// Rules are what an answered row adds to the owner's rules: nothing, unless the answer was to last.
func Rules(a jackline.Approval) []jackline.Rule {
	if a.State != jackline.Approved || !a.Answer.Yes || a.Answer.Scope != jackline.Lasting {
		return nil
	}
	list := reachOf(a).patterns(a.Tool)
	if a.Answer.Pattern != "" {
		list = []string{a.Answer.Pattern}
	}
	var rules []jackline.Rule
	for _, p := range list {
		rules = append(rules, jackline.Rule{Do: jackline.Allow, Pattern: p, Workspace: a.Folder})
	}
	return rules
}

// words says what a grant would cover.
func (r reach) words() string {
	switch r.kind {
	case jackline.GrantFolder:
		var folders []string
		for _, f := range r.values {
			if f == "." {
				f = "the workspace folder itself"
			}
			folders = append(folders, f)
		}
		return "changes to files directly in " + strings.Join(folders, " and ") + ", not in folders below"
	case jackline.GrantCommand:
		return "this exact command only"
	case jackline.GrantHost:
		return "reading from " + strings.Join(r.values, " and ")
	case jackline.GrantExact, jackline.GrantPattern: // a reach is no pattern: a person writes one
	}
	return "this call with exactly these arguments"
}

// patterns say it as rules would.
func (r reach) patterns(tool string) []string {
	var list []string
	for _, v := range r.values {
		switch r.kind {
		case jackline.GrantFolder:
			if v == "." {
				v = "*"
			} else {
				v += "/*"
			}
		case jackline.GrantHost:
			v = "host:" + v
		case jackline.GrantCommand:
		case jackline.GrantExact, jackline.GrantPattern:
			return nil
		}
		list = append(list, tool+"("+v+")")
	}
	return list
}

// undo says what can be taken back afterwards, in the worst case of what the call touches.
func undo(a jackline.Approval) string {
	e := a.Effect
	replaces := false
	for _, t := range a.Touches {
		e |= t.Effect
		replaces = replaces || t.Exists
	}
	switch {
	case a.Effect == 0 || e&^known != 0:
		return "What it does is not known, so neither is whether it can be undone."
	case e.Has(jackline.Outward):
		return "What is sent cannot be taken back."
	case e.Has(jackline.Exec):
		return "What a command does cannot be taken back."
	case e.Has(jackline.Delete):
		return "What is deleted is gone, unless version control has it."
	case e.Has(jackline.Configure):
		return "Settings can be set back by hand."
	case e.Has(jackline.Write) && replaces:
		return "What is replaced is gone, unless version control has it."
	case e.Has(jackline.Write):
		return "New files can be deleted again."
	}
	return "Nothing is changed."
}
