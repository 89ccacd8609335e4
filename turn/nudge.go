package turn

import (
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/phrase"
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
		return "realtime", "This asks about the present. State live values only from a tool result or a Context block. If no tool can check it, " + sayCannot
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
	announcement = phrase.New(`(?i)^(?:ok(?:ay)?[,.!]? |sure[,.!]? |now[,]? |first[,]? |next[,]? |then[,]? )*` +
		`(?:i will|i'll|i’ll|let me|let's|let’s|i am going to|i'm going to|i’m going to|ich werde|lass mich) (?:now |first |next |then |start by |begin by |jetzt |zuerst )*` +
		`(?:read|open|look|check|list|search|find|run|create|write|edit|update|change|fix|inspect|examine|start|begin|execute|use|call|view|see|lesen|prüfen|nachsehen|suchen|ausführen)`)
	// German keeps its verb for the end.
	announcementDE = phrase.New(`(?i)^(?:ok(?:ay)?[,.!]? |gut[,.!]? |nun |jetzt |zuerst |dann )*(?:` +
		`(?:(?:ich )?werde(?: ich)?|lass(?:t)? (?:mich|uns))\b[^.!?]*(?:lesen|öffnen|prüfen|nachsehen|ansehen|anschauen|suchen|ausführen|schreiben|ändern|anlegen|erstellen|starten)\W*$|` +
		`ich (?:lese|öffne|prüfe|suche|schaue|sehe|führe|schreibe|ändere|erstelle|starte) (?:jetzt|nun|zuerst|mir)\b)`)
	offers = phrase.New(`(?i)\b(?:if you|would you|do you want|should i|shall i|let me know|want me to|once you|when you|` +
		`wenn du|falls du|sobald du|soll ich|möchtest du|sag(?:e)? (?:mir )?bescheid|wenn sie|falls sie|möchten sie)\b`)

	live = phrase.New(`(?i)\b(?:right now|currently|at the moment|at present|today|tonight|this (?:week|morning|evening)|latest|newest|live|up[- ]to[- ]date|` +
		`weather|forecast|temperature (?:in|outside)|exchange rate|stock price|share price|price of|score of|news|wetter|aktuell(?:e|er|es|en)?|heute|gerade|neueste[nrs]?|` +
		`(?:what|which) (?:time|day|date) (?:is it|it is)|current (?:time|date)|what(?:'s|’s| is) the (?:time|date)(?: in [\p{L}/_ -]+)?\s*(?:\?|$)|wie spät (?:ist es|es ist)|wie ?viel uhr)(?:\b|\?|$)`)
	question = phrase.New(`(?i)(?:\?|^\s*(?:what|who|when|where|which|how|is|are|does|do|has|have|will|tell me|give me|check|wie|was|wer|wann|wo|welche[rns]?|ist|sind)\b)`)
	explains = phrase.New(`(?i)\b(?:means?|meaning|define|definition|difference between|explain|history of|what (?:is|are) an?|how (?:do|can|could|would|should) (?:i|we|you|one)|how to|bedeutet|bedeuten|`+
		`unterschied|was ist eine?|wie (?:sage|schreibe|mache|zeige) ich)\b|\b(?:erklär|funktionier)|^\s*(?:why|warum|wieso)\b|`+
		`\bhow (?:do|does|did|is|are) [^?]*\b(?:work|made|computed|calculated|measured)\b`, "mean", "defin", "difference", "explain", "history", "what", "how", "bedeut", "unterschied", "was ist", "wie", "erklär", "funktionier", "why", "warum", "wieso")
	admitted = phrase.New(`(?i)(?:\bcan(?:no|')?t\b|can’t|cannot|could(?:n't| not)|unable to|not able to|don't have|don’t have|do not have|no access|no way to|without (?:access|a tool)|` +
		`kann (?:ich )?(?:das |es )?(?:gerade |derzeit )?nicht|habe keinen zugriff)`)
	aboutFiles = phrase.New(`(?i)\b(?:file|folder|code|function|repo|project|workspace|directory|script|test)s?\b`)
)

// announces reports whether the last sentence of a reply promises a deed.
func announces(text string) bool {
	const fence = "```"
	if strings.HasSuffix(strings.TrimSpace(text), "?") || offers.MatchString(text) || strings.Count(text, fence)%2 == 1 {
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
	return announcement.MatchString(last) || announcementDE.MatchString(last)
}

// asksForLive reports whether a prompt asks about something that changes while nobody looks.
func asksForLive(prompt string) bool {
	if len(prompt) > longestAsk {
		return false
	}
	p := own(prompt)
	return live.MatchString(p) && question.MatchString(p) && !aboutFiles.MatchString(p) && !explains.MatchString(p)
}

// admits reports whether a reply says that it cannot know.
func admits(text string) bool { return admitted.MatchString(text) }

var (
	// What is quoted, and code, are not the owner's own words.
	quoted = phrase.New("(?s)```.*?(?:```|$)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|(?m:^>.*$)", "`", "\"", "“", "„", "«", ">")
	// A question about how things are asks for no switch. "Can you make a plan first?" is none of these.
	about     = phrase.New(`(?i)^\s*(?:what|why|how|when|where|which|who|does|did|is|are|was|were|should|has|have|wie|warum|wieso|wann|wo|wer|welche[rns]?|ist|sind|hat|soll|sollte)\b.*\?`, "?")
	sentences = phrase.New(`(?:[^.!?\n]|[.!?]\S)*(?:[.!?]+|\n|$)`)
	// These look like one of the phrases below and mean something else.
	exempt = phrase.New(`(?i)(?:do not|don't|don’t) change anything (?:else|other|except|outside|besides|but|apart|more|beyond|in)\b|`+
		`\b(?:sonst|ansonsten|weiter)\b[^.!?]*nichts (?:ver)?ändern|nichts (?:ver)?ändern,? (?:außer|ausser|bis auf|was)\b|`+
		`(?:do not|don't|don’t) (?:use|call|run) (?:any )?tools? (?:other|except|besides|but)\b|`+
		`just tell me how (?:many|much|long|often|big|large|old|far|fast|high|deep|well|few)\b|(?:not|don't|don’t) (?:just|only) explain`, "change anything", "ändern", "tool", "tell me how", "explain")

	noTools = phrase.New(`(?i)(?:do not|don't|don’t) (?:use|call|run) (?:any )?tools?\b|(?:^|[,;:(–-])\s*(?:please,? )?(?:no|without (?:using |calling |running )?(?:any )?) ?tools?\b|`+
		`\b(?:answer|reply|respond|explain|tell me|do (?:it|this|that))\b[^,;:]*\bwithout (?:using |calling |running )?(?:any )?tools?\b|`+
		`\b(?:just (?:explain|guide me|tell me how)|guide[- ]only|only explain)\b|`+
		`(?:^|[,;:(–-])\s*(?:bitte )?(?:ohne|keine) (?:werkzeuge|tools)\b|\b(?:antworte|beantworte|erkläre?)\b[^,;:]*\bohne (?:werkzeuge|tools)\b|`+
		`\b(?:benutze?|verwende?|nutze?)\b[^,;:]*\bkeine (?:werkzeuge|tools)\b`, "tool", "werkzeug", "explain", "guide", "tell me how")
	planOnly = phrase.New(`(?i)\b(?:plan only|only (?:make )?a plan|(?:just|first) (?:make )?a plan|make a plan (?:first|only)|do(?: not|n't|n’t) change anything|nur (?:ein(?:en)? )?plan|nichts (?:ver)?ändern)\b`, "plan", "change anything", "ändern")
	askFirst = phrase.New(`(?i)\bask me (?:before|first)\b|\bask (?:for )?my permission\b|(?:^|[,;:(–-]|\b(?:but|and|please|then))\s*ask (?:before|first|for permission)\b|`+
		`\bfrage? (?:mich )?(?:vorher|zuerst)\b`, "ask", "frag")
)

// noWeb is a wish to do without the web. What says where not to search, or what should work offline, is none.
var noWeb = phrase.New(`(?i)(?:do not|don't|don’t|never) (?:web[- ]?search|google(?: (?:it|this|that|anything))?|go online|(?:use|access) the (?:web|internet)|`+
	`(?:search|browse)(?: (?:it|this|that|for (?:it|this|that|anything)|anything))?(?: (?:on |in )?(?:the )?(?:web|internet|net|online))?)`+clauseEnd+
	`|(?:^|[,;:(–-])\s*(?:please,? )?(?:(?:no|without) (?:the |any )?(?:web|internet|online)(?:[ -](?:search(?:es|ing)?|access|look-?ups?|tools?))?|(?:no|without) search(?:es|ing)?|`+
	`without going online|(?:stay |work |answer )?offline(?: only)?)`+clauseEnd+
	`|\b(?:answer|reply|respond|do)(?: (?:me|this|that|it))? (?:offline|(?:without|with no) (?:(?:using )?(?:the |any )?(?:web|internet)(?:[ -](?:search(?:es)?|access|tools?))?|searching(?: the (?:web|internet))?|going online))`+clauseEnd+
	`|(?:^|[,;:(–-])\s*(?:bitte )?(?:(?:ohne|kein(?:e)?) (?:das )?(?:internet|netz|web|websuche|internetsuche|suche im (?:netz|web|internet))|bleib(?:e)? offline|offline)`+clauseEnd+
	`|\b(?:such|suche|google|googel|googl)(?:e)? (?:bitte )?(?:das )?nicht(?: (?:im (?:netz|web|internet)|online))?`+clauseEnd+
	`|\bnicht (?:im (?:netz|web|internet) (?:suchen|nachsehen|nachschauen)|googeln|online (?:suchen|gehen))`+clauseEnd+
	`|\b(?:antworte|beantworte)\b[^,;:]*\bohne (?:das )?(?:internet|netz|web|websuche|internetsuche)`+clauseEnd, "search", "google", "googel", "googl", "online", "internet", "web", "netz", "browse", "offline", "such")

// clauseEnd is where a wish ends: what follows it would say what it is about.
const clauseEnd = `(?:\s+(?:please|bitte|for (?:this|that)|this time|here))?\s*(?:$|[.,;:!?)–-]|\b(?:and|just|but|und|aber|sondern)\b)`

// own is what is left of a text without what it quotes.
func own(text string) string { return quoted.ReplaceAllString(text, " ") }

// directives sets the switches that the prompt's own words ask for, and says so. It can only take rights away.
func (r *run) directives() string {
	const longest = 2000 // further down it is most likely pasted text
	p, o := r.t.Prompt, &r.t.Options
	if len(p) > longest {
		p = strings.ToValidUTF8(p[:longest], "")
	}
	var said strings.Builder
	for _, s := range sentences.FindAllString(own(p), -1) {
		if s = strings.TrimSpace(s); !about.MatchString(s) {
			said.WriteString(exempt.ReplaceAllString(s, " ") + "\n")
		}
	}
	asks := func(words *phrase.Phrase) bool {
		for line := range strings.Lines(said.String()) {
			if words.MatchString(line) {
				return true
			}
		}
		return false
	}
	var set []string
	switch {
	case !o.Guide && asks(noTools):
		o.Guide = true
		set = append(set, "Your words asked for an answer without tools, so none will run in this turn.")
	case !o.Plan && !o.Guide && asks(planOnly):
		o.Plan = true
		set = append(set, "Your words asked for a plan only, so nothing will be changed in this turn.")
	case !o.AskFirst && !o.Plan && asks(askFirst):
		o.AskFirst = true
		set = append(set, "Your words asked to be asked first, so every call of this turn asks.")
	}
	if !o.Offline && !o.Guide && asks(noWeb) {
		o.Offline = true
		set = append(set, "Your words asked to do without the web, so no tool will reach it in this turn.")
	}
	return strings.Join(set, " ")
}
