package web

import (
	"strings"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/phrase"
)

// The sentences that surely ask for the weather at a place or for a search, in English and German. Each is matched from its
// first word to its last, and what is not surely a place or a query is left to the model. All patterns take linear time.

const (
	polite = `^(?:(?:hi|hello|hey|hallo|please|bitte|ok|okay|so|and|und)[,! ]+)*(?:(?:can|could|would) you (?:please )?|(?:kannst|könntest) du (?:mir )?(?:bitte )?)?(?:tell me |sag mir |show me |zeig mir |please )?(?:bitte )?`
	// when is a time that a forecast covers.
	when = `(?:right now|now|at the moment|currently|outside|today|tonight|tomorrow|this (?:morning|afternoon|evening|week|weekend)|next week|(?:over|on|at) the weekend|` +
		`jetzt|gerade|im moment|aktuell|draußen|heute(?: abend| nacht| morgen)?|morgen|übermorgen|diese woche|dieses wochenende|am wochenende|nächste woche)`
	// spotWords is a place: up to four words of letters, and the region behind a comma. What else follows is cut off.
	spotWords = `(?P<place>[\p{L}][\p{L}\p{M}'’-]{2,}(?: [\p{L}][\p{L}\p{M}'’-]*){0,3}?(?:, ?[\p{L}][\p{L}\p{M}'’ -]{1,30}?)?)`
	rest      = `(?:,? (?:and|or|so|because|und|oder|weil)\b.*)?$`
)

var (
	asksWeather = phrase.New(`(?i)`+polite+`(?:`+
		`(?:what(?:'s|’s| is| will) |how(?:'s|’s| is| will) )?(?:the )?(?:current )?(?:weather|temperature)(?: forecast| like| be like| be)?|(?:the )?weather forecast|`+
		`(?:is it|will it|does it|will it be|is it going to)(?: be)? (?:rain(?:ing|y)?|snow(?:ing|y)?|sunny|cloudy|windy|cold|hot|warm|freezing|storm(?:ing|y)?)|how (?:warm|cold|hot|windy) (?:is it|will it be)|`+
		`(?:what(?:'s|’s| is) it like|do i need (?:an umbrella|a jacket|a coat))|`+
		`wie (?:ist|wird|sieht)(?: es mit)?(?: denn)?(?: das| dem)? wetter(?: aus)?|(?:das )?wetter|(?:die )?wettervorhersage|wie (?:warm|kalt|heiß|windig) (?:ist|wird)(?: es)?|`+
		`(?:regnet|schneit|stürmt|friert) es|wird es|scheint die sonne|brauche ich einen (?:schirm|regenschirm))`+
		`(?: `+when+`)*(?: like)?(?: `+when+`)* (?:in|at|for|near|für|bei) `+spotWords+`(?: `+when+`)*(?: (?:regnen|schneien|stürmen|warm|kalt|heiß|aus|werden|sein))?(?: `+when+`)*`+rest, "weath", "temperature", "forecast", "rain", "snow", "sunny", "cloud", "wind", "cold", "hot", "warm", "freez", "storm", "it like", "umbrella", "jacket", "coat", "wetter", "regn", "schnei", "friert", "sonne", "schirm", "kalt", "heiß", "wird es", "stürm")
	// noPlace is what stands behind "in" and is on no map of the weather.
	noPlace = phrase.New(`(?i)^(?:the|my|your|our|his|her|their|this|that|these|those|an?|general|me|here|there|it|english|german|french|spanish|italian|python|rust|java|javascript|typescript|bash|html|` +
		`summer|winter|spring|autumn|january|february|march|april|may|june|july|august|september|october|november|december|detail|short|one|mein\w*|dein\w*|unser\w*|der|die|das|dem|den|dies\w*|eine?[rmn]?|` +
		`allgemein\w*|mir|deutsch|englisch|sommer|frühling|herbst|januar|februar|märz|juni|juli|oktober|dezember|which|what|welche[rnms]?|kilometers?|celsius|fahrenheit|degrees|grad|` +
		`case|order|time|app|apps|file|files|code|tests?|production|space|mars|venus|jupiter)\b`)
	// clause is what makes of words behind "in" another sentence.
	clause    = phrase.New(`(?i)\b(?:was|were|is|are|will|would|has|had|we|i|you|he|she|they|it|not|that|when|if|how|what|why|who|war|waren|ist|sind|wird|wir|ich|du|er|sie|es|nicht|wenn|was|warum)\b`)
	please    = phrase.New(`(?i),? (?:please|bitte)$`, "please", "bitte")
	wholeWeek = phrase.New(`(?i)\b(?:week|weekend|woche|wochenende)\b`)
)

// weatherAsked reads from a sentence the place whose weather it asks for, and for how many days; 0 are the usual ones.
func weatherAsked(sentence string) (place string, days int, ok bool) {
	m := asksWeather.FindStringSubmatch(please.ReplaceAllString(strings.TrimSpace(sentence), ""))
	if m == nil {
		return "", 0, false
	}
	place = m[asksWeather.SubexpIndex("place")]
	if noPlace.MatchString(place) || clause.MatchString(place) {
		return "", 0, false
	}
	if wholeWeek.MatchString(sentence) {
		days = maxDays
	}
	return place, days, true
}

// longestQuery bounds what is searched for unasked, in characters: more than a question is a text of the owner's own.
const longestQuery = 200

var (
	// searching are the words of which each wish holds one.
	searching = []string{"web", "internet", "netz", "net", "online", "goog"}
	// wishes are the words that ask for a search, each with what is searched for.
	wishes = []*phrase.Phrase{
		phrase.New(`(?i)`+polite+`(?:do a |run a )?(?:(?:search|browse|check) (?:on |in )?(?:the )?(?:web|internet|net|online)|(?:web|internet|online) search|search online|google)(?: for| about|:) (.+)$`, searching...),
		phrase.New(`(?i)`+polite+`(?:search(?: for)?|look up|look for|find|google) (.+?) (?:on the (?:web|internet|net)|online|on google)(?P<tail>[ ,].*)?$`, searching...),
		phrase.New(`(?i)`+polite+`look (.+?) up (?:on the (?:web|internet)|online)(?P<tail>[ ,].*)?$`, searching...),
		phrase.New(`(?i)`+polite+`(?:such(?:e)?|recherchier(?:e)?|schau(?:e)?)(?: mir| mal| bitte)* (?:im (?:netz|web|internet)|online|bei google)(?: nach| zu|,|:) (.+)$`, searching...),
		phrase.New(`(?i)`+polite+`google?(?:le)?(?: mal| bitte)* nach (.+)$`, searching...),
		phrase.New(`(?i)`+polite+`(?:such(?:e)?|finde)(?: mir| mal| bitte)* (?:nach )?(.+?) (?:im (?:netz|web|internet)|online)(?P<tail>[ ,].*)?$`, searching...),
	}
	// more is where another wish begins: it is not searched for.
	more = phrase.New(`(?i),? (?:and|then|und|dann) (?:then |dann )?(?:write|save|put|tell|give|summari[sz]e|make|list|show|create|send|compare|explain|add|schreib|speicher|sag|gib|fass|mach|zeig|erstell|liste|vergleich)\w*\b.*$`)

	asksWhat = phrase.New(`(?i)` + polite + `(?:what(?:'s|’s| is| are| does| do)|who(?:'s|’s| is| are| won)|how (?:much|high)|which|are there|is there|(?:the |any )?(?:latest|current|today(?:'s|’s)|recent|breaking) (?:news|headlines)\b|give me|` +
		`was (?:ist|sind|kostet|kosten|gibt)|wer (?:ist|sind|hat)|wie (?:hoch|viel|steht|stehen)|welche[rns]?|gibt es|(?:die )?(?:aktuelle|neueste|heutige)n? (?:nachrichten|schlagzeilen)\b)`)
	// changing is what nobody knows who has not looked today.
	changing = phrase.New(`(?i)\b(?:latest|current|newest|today(?:'s|’s)|recent|breaking) (?:[\p{L}\p{N}.-]+ ){0,3}?(?:news|headlines|prices?|rates?|scores?|versions?|releases?|standings|results?|president|chancellor|ceo|minister)\b|`+
		`\b(?:news|headlines) (?:about|on|from|of|in|today|right now)\b|\b(?:exchange rate|stock price|share price|(?:bitcoin|gold|silver|oil|gas) price|price of (?:bitcoin|gold|silver|oil|gas))\b|`+
		`\b(?:price|cost|score|value|rate)s? (?:of|for) .+ (?:now|today|currently|at the moment)$|\bwho(?:'s|’s| is) (?:currently|now) |\bwho won .+ (?:today|yesterday|last night|this week)$|\bdoes .+ cost (?:now|today|right now|currently|at the moment)$|`+
		`\b(?:aktuelle|neueste|heutige|jetzige)[rns]? (?:[\p{L}\p{N}.-]+ ){0,3}?(?:nachrichten|schlagzeilen|preise?|kurse?|spielstand|versione?n?|ergebnisse?|präsident(?:in)?|kanzler(?:in)?)\b|`+
		`\bwas gibt es neues (?:zu|über|von|aus|in)\b|\b(?:wechselkurs|aktienkurs|goldpreis|ölpreis|bitcoinkurs|börsenkurs)\b|\b(?:wer ist|wer hat) .*\b(?:gerade|aktuell|derzeit|gestern)\b|\bkoste(?:t|n) .+ (?:gerade|aktuell|heute|derzeit|jetzt)$`, "latest", "current", "newest", "today", "recent", "breaking", "news", "headline", "rate", "price", "cost", "score", "value", "who", "aktuell", "neueste", "heutige", "jetzige", "neues", "kurs", "preis", "wer ", "koste")
	// athome is what a search of the web knows nothing about.
	athome = phrase.New(`(?i)\b(?:this|these|my|our|your|mein\w*|unser\w*|dein\w*|dies\w*)\b|\b(?:files?|folders?|director(?:y|ies)|functions?|repo(?:s|sitor(?:y|ies))?|projects?|workspaces?|scripts?|tests?|branch(?:es)?|commits?|code|datei(?:en)?|ordner|verzeichnis|projekt|skript)\b|[\\/~]\S`)
)

// searchAsked reads from a sentence what it wants searched for: by its own words, or because it asks for what changes from day to day.
func searchAsked(sentence string) (query string, ok bool) {
	s := strings.TrimSpace(sentence)
	for _, w := range wishes {
		if m := w.FindStringSubmatch(s); m != nil {
			return queried(more.ReplaceAllString(m[1], ""))
		}
	}
	if changing.MatchString(s) && asksWhat.MatchString(s) && !athome.MatchString(s) {
		return queried(s)
	}
	return "", false
}

func queried(s string) (string, bool) {
	s = strings.Trim(s, " \t,;:")
	return s, s != "" && utf8.RuneCountInString(s) <= longestQuery
}
