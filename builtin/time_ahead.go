package builtin

import (
	"strings"

	"github.com/jackline-ai/jackline/phrase"
)

// The sentences that ask for the time or the day, and for nothing else. They are whole sentences, because a word of one proves
// nothing: "what time does the shop open" asks for something that no clock tells.
var asksTime = phrase.New(`(?i)^(?:(?:hi|hello|hey|hallo|please|bitte|ok|okay|so|and|und)[,! ]+)*(?:(?:can|could) you (?:please )?tell me |(?:kannst|könntest) du mir (?:bitte )?sagen,? |tell me |sag mir |do you know |weißt du,? )?(?:bitte,? )?(?:`+
	`what(?:'s|’s| is)? the (?:current |exact |local )?(?:date and time|time and date|time|date|day)(?: is)?(?: it)?|what time (?:is it|it is)|(?:what|which) (?:day|date|weekday|year|month|week) (?:is (?:it|today)|it is)|`+
	`what(?:'s|’s| is) today(?:'s|’s) date|(?:the )?current (?:date and time|time|date)|what(?:'s|’s| is) today|`+
	`wie spät(?: ist es| es ist)?|wie ?viel uhr(?: ist es| es ist| haben wir)?|welche[rns]? (?:datum|tag|wochentag|monat|jahr|kalenderwoche|woche) (?:ist|haben wir)(?: es)?|`+
	`(?:der|den) wievielte[rn]? (?:ist|haben wir)|was für ein (?:tag|datum|wochentag) ist|(?:die )?aktuelle uhrzeit|was ist das heutige datum)`+
	`(?: (?:today|right now|now|at the moment|currently|here|heute|jetzt|gerade|aktuell|denn))*(?: (?:in|für) (?P<zone>[\p{L}][\p{L}\p{M}'’/_ -]{1,40}?))?(?: (?:today|right now|now|at the moment|currently|heute|jetzt|gerade|aktuell))*(?:,? (?:please|bitte))?$`, "tim", "date", "day", "week", "month", "year", "today", "spät", "uhr", "datum", "tag", "monat", "jahr", "woche", "wievielte")

// timeAsked reads from a sentence that it asks for the time, and in which zone; "" is the owner's own. A place that is no zone
// makes it another question.
func timeAsked(sentence string) (zone string, ok bool) {
	m := asksTime.FindStringSubmatch(strings.TrimSpace(sentence))
	if m == nil {
		return "", false
	}
	if zone = m[asksTime.SubexpIndex("zone")]; zone != "" {
		if _, ok := zoneOf(zone); !ok {
			return "", false
		}
	}
	return zone, true
}
