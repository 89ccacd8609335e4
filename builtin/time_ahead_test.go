package builtin

import "testing"

func TestTimeAsked(t *testing.T) {
	const here, no = "", "-"
	for sentence, want := range map[string]string{
		"What time is it":                            here,
		"what's the time":                            here,
		"What’s the time right now, please":          here,
		"Hey, can you tell me what time it is":       here,
		"What is the date today":                     here,
		"What's today's date":                        here,
		"What day is it today":                       here,
		"Which weekday is it":                        here,
		"What time is it in Tokyo right now":         "Tokyo",
		"what is the current time in new york":       "new york",
		"Current time in Europe/Berlin":              "Europe/Berlin",
		"Wie spät ist es":                            here,
		"Wie viel Uhr ist es in Lissabon":            no, // the zone is called Lisbon
		"Wie viel Uhr ist es in Paris":               "Paris",
		"Kannst du mir bitte sagen, wie spät es ist": here,
		"Welches Datum haben wir heute":              here,
		"Welcher Tag ist heute":                      here,
		"Der wievielte ist heute":                    here,
		"Den wievielten haben wir":                   here,

		"How do I print the time in Go":                no,
		"What is the time in Go":                       no,
		"What is the time complexity of quicksort":     no,
		"What time does the shop open":                 no,
		"What is the date of Easter":                   no,
		"What is the time in the log file":             no,
		"What is the time zone of Berlin":              no,
		"What day is it due":                           no,
		"What does time mean":                          no,
		"The current time is wrong in the log":         no,
		"It is time":                                   no,
		"Fix what time is it":                          no,
		"What is the day":                              here,
		"Wie spät kommt der Zug":                       no,
		"Wie viel Uhr ist es, wenn der Laden schließt": no,
		"Was ist Zeit":                                 no,
		"Welcher Tag passt dir":                        no,
		"":                                             no,
	} {
		zone, ok := timeAsked(sentence)
		if ok != (want != no) || ok && zone != want {
			t.Errorf("%q asks for the time in %q (%v), want %q", sentence, zone, ok, want)
		}
	}
}
