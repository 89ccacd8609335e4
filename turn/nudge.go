package turn

import (
	"regexp"
	"strings"

	"github.com/jackline-ai/jackline"
)

// nudge says what a reply without calls is missing: its kind, and the words that remind the model. Both are empty when
// the reply is an answer. Each reminder comes once, the one about announcements twice.
func (r *run) nudge(text string, thought bool) (kind, note string) {
	p := &r.t.Progress
	switch {
	case text == "" && !p.Thought:
		p.Thought = true
		if thought {
			return "thought", "You thought about it but did not answer. Give your final answer now, or call a tool."
		}
		return "thought", "Your answer was empty. Give your final answer now, or call a tool."
	case text == "":
		return "", ""
	case len(r.known) > 0 && p.Announced < announcements && announces(text):
		p.Announced++
		return "announced", "You said what you would do but called no tool. Call it now, or say that you are done."
	case !p.Nudged && asksForLive(r.t.Prompt) && !r.sawResult() && !admits(text):
		p.Nudged = true
		return "realtime", "This asks about the present. State live values only from a tool result; if no tool can check it, say that it cannot be checked right now and give no values from memory."
	}
	return "", ""
}

// sawResult reports whether some tool of this turn gave a result.
func (r *run) sawResult() bool {
	for _, c := range r.prior {
		if c.Outcome == jackline.OK && c.State == jackline.CallEnded {
			return true
		}
	}
	return false
}

// The phrase lists below are small on purpose: a miss costs a reminder, a false hit costs one request. All
// patterns run in linear time.
var (
	announcement = regexp.MustCompile(`(?i)^(?:ok(?:ay)?[,.!]? |sure[,.!]? |now[,]? |first[,]? |next[,]? |then[,]? )*` +
		`(?:i will|i'll|i’ll|let me|let's|let’s|i am going to|i'm going to|i’m going to|ich werde|lass mich) (?:now |first |next |then |start by |begin by |jetzt |zuerst )*` +
		`(?:read|open|look|check|list|search|find|run|create|write|edit|update|change|fix|inspect|examine|start|begin|execute|use|call|view|see|lesen|prüfen|nachsehen|suchen|ausführen)`)
	offers = regexp.MustCompile(`(?i)\b(?:if you|would you|do you want|should i|shall i|let me know|want me to|once you|when you)\b`)

	live = regexp.MustCompile(`(?i)\b(?:right now|currently|at the moment|at present|today|tonight|this (?:week|morning|evening)|latest|newest|live|up[- ]to[- ]date|` +
		`weather|forecast|temperature (?:in|outside)|exchange rate|stock price|share price|price of|score of|news|wetter|aktuell(?:e|er|es|en)?|heute|gerade|neueste[nrs]?)\b`)
	question = regexp.MustCompile(`(?i)(?:\?|^\s*(?:what|who|when|where|which|how|is|are|does|do|has|have|will|tell me|give me|check|wie|was|wer|wann|wo|welche[rns]?|ist|sind)\b)`)
	admitted = regexp.MustCompile(`(?i)(?:can(?:no|')?t|can’t|cannot|could(?:n't| not)|unable to|not able to|don't have|don’t have|do not have|no access|no way to|without (?:access|a tool)|` +
		`kann (?:ich )?(?:das |es )?(?:gerade |derzeit )?nicht|habe keinen zugriff)`)
	aboutFiles = regexp.MustCompile(`(?i)\b(?:file|folder|code|function|repo|project|workspace|directory|script|test)s?\b`)
)

// announces reports whether the last sentence of a reply promises a deed.
func announces(text string) bool {
	if strings.HasSuffix(strings.TrimSpace(text), "?") || offers.MatchString(text) {
		return false
	}
	last := strings.TrimSpace(text)
	if i := strings.LastIndexByte(last, '\n'); i >= 0 {
		last = strings.TrimSpace(last[i+1:])
	}
	for _, end := range []string{". ", "! ", ": "} {
		if i := strings.LastIndex(strings.TrimRight(last, ".:!… "), end); i >= 0 {
			last = strings.TrimSpace(last[i+len(end):])
		}
	}
	return announcement.MatchString(last)
}

// asksForLive reports whether a prompt asks about something that changes while nobody looks.
func asksForLive(prompt string) bool {
	const longest = 400 // a long prompt is a task, and a word of it proves nothing
	return len(prompt) <= longest && live.MatchString(prompt) && question.MatchString(prompt) && !aboutFiles.MatchString(prompt)
}

// admits reports whether a reply says that it cannot know.
func admits(text string) bool { return admitted.MatchString(text) }

// opens is what stands before a wish that begins a sentence or a clause: in the middle of one the same words tell of something
// else, as in "the page shows no tools" or "don't just explain".
const opens = `(?:^|[.,;:!?(\n]|\bplease|\bbitte)\s*`

var (
	noTools = regexp.MustCompile(`(?i)(?:\b(?:do not|don't|don’t) (?:use|call|run) (?:any )?tools?\b|\bwithout (?:using |calling )?(?:any )?tools?\b|\bguide[- ]only\b|` +
		`\bohne (?:werkzeuge|tools)\b|` + opens + `(?:(?:use |run )?no tools|just (?:explain|guide me|tell me how)|only explain|keine (?:werkzeuge|tools))\b)`)
	planOnly = regexp.MustCompile(`(?i)(?:\b(?:plan only|only (?:make )?a plan|(?:just|first) (?:make )?a plan|make a plan (?:first|only)|nur (?:ein(?:en)? )?plan)\b|` +
		`\bdo(?: not|n't|n’t) change anything(?: yet)?\s*(?:[.,;:!?)\n]|$)|` + opens + `nichts (?:ver)?ändern\b)`)
	askFirst = regexp.MustCompile(`(?i)\b(?:ask (?:me )?(?:before|first)|ask for (?:my )?permission|frag(?:e)? (?:mich )?(?:vorher|zuerst))\b`)
)

// directives sets the switches that the prompt's own words ask for, and says so. It can only take rights away.
func (r *run) directives() string {
	const longest = 2000 // further down it is most likely pasted text
	p, o := r.t.Prompt, &r.t.Options
	if len(p) > longest {
		p = strings.ToValidUTF8(p[:longest], "")
	}
	switch {
	case !o.Guide && noTools.MatchString(p):
		o.Guide = true
		return "Your words asked for an answer without tools, so none will run in this turn."
	case !o.Plan && !o.Guide && planOnly.MatchString(p):
		o.Plan = true
		return "Your words asked for a plan only, so nothing will be changed in this turn."
	case !o.AskFirst && !o.Plan && askFirst.MatchString(p):
		o.AskFirst = true
		return "Your words asked to be asked first, so every call of this turn asks."
	}
	return ""
}
