package web

import (
	"strings"
	"testing"
	"time"
)

func TestWeatherAsked(t *testing.T) {
	for sentence, want := range map[string]string{
		"What is the weather in Oslo":                            "Oslo",
		"what's the weather like in new york right now":          "new york",
		"What’s the weather today in Paris, Texas":               "Paris, Texas",
		"How is the weather in Rio de Janeiro":                   "Rio de Janeiro",
		"Tell me the weather forecast for Bergen this week":      "Bergen",
		"Will it rain in Hamburg tomorrow":                       "Hamburg",
		"Is it going to snow tonight in Zürich":                  "Zürich",
		"Hi, can you please tell me the weather in Rome, please": "Rome",
		"How cold is it in Tromsø at the moment":                 "Tromsø",
		"Do I need an umbrella in London today":                  "London",
		"weather in Oslo and should I take a coat":               "Oslo",
		"Weather for Aix-en-Provence":                            "Aix-en-Provence",
		"temperature in Cairo":                                   "Cairo",
		"Wie ist das Wetter in Berlin":                           "Berlin",
		"Wie wird das Wetter morgen in Köln":                     "Köln",
		"Wie ist das Wetter heute in Frankfurt":                  "Frankfurt",
		"Regnet es gerade in Hamburg":                            "Hamburg",
		"Wird es morgen in Köln regnen":                          "Köln",
		"Wie warm ist es in Rom":                                 "Rom",
		"Wie sieht das Wetter am Wochenende in München aus":      "München",
		"Wetter in Graz":                                         "Graz",

		"What is the weather":                                       "", // where?
		"What does weather mean":                                    "",
		"Write a poem about the weather in Oslo":                    "",
		"What was the weather in Oslo yesterday":                    "",
		"What is the weather like in summer":                        "",
		"How is the weather in general":                             "",
		"What is the temperature in the server room":                "",
		"What is the temperature in Fahrenheit":                     "",
		"What is the weather in my city":                            "",
		"What is the weather API in Go called":                      "",
		"How do I print the weather in Python":                      "",
		"How do I say the weather is nice in French":                "",
		"Will it be in production tomorrow":                         "",
		"Is it in the file":                                         "",
		"Does it rain in Macondo in the novel by García Márquez":    "",
		"Fix the weather module for Oslo":                           "",
		"The weather in Oslo was nice, we went out":                 "",
		"Is it hot in here":                                         "",
		"Was bedeutet Wetter in der Informatik":                     "",
		"Schreib ein Gedicht über das Wetter in Berlin":             "",
		"Wie ist das Wetter in meinem Ort":                          "",
		"Wie war das Wetter in Rom gestern":                         "",
		"Wird es in der Datei stehen":                               "",
		"weather in " + strings.Repeat("x", 50) + " 2020 " + "Oslo": "",
	} {
		place, days, ok := weatherAsked(sentence)
		if place != want || ok != (want != "") {
			t.Errorf("%q asks for the weather in %q (%v), want %q", sentence, place, ok, want)
		}
		week := strings.Contains(sentence, "week") || strings.Contains(sentence, "Wochenende")
		if ok && (days == maxDays) != week {
			t.Errorf("%q asks for %d days", sentence, days)
		}
	}
}

func TestSearchAsked(t *testing.T) {
	for sentence, want := range map[string]string{
		"Search the web for the best hiking boots":                     "the best hiking boots",
		"Please search online for train strikes":                       "train strikes",
		"Can you do a web search for Go generics talks":                "Go generics talks",
		"search for cheap flights online":                              "cheap flights",
		"Look up Ada Lovelace on the internet":                         "Ada Lovelace",
		"look the opening hours of the Louvre up online":               "the opening hours of the Louvre",
		"Search the web for jackline knots and write them to knots.md": "jackline knots",
		"google for sourdough recipes":                                 "sourdough recipes",
		"Suche im Netz nach Wanderwegen am Harz":                       "Wanderwegen am Harz",
		"Bitte such mal online nach Zugausfällen":                      "Zugausfällen",
		"Such mir Rezepte für Brot im Internet und fass sie zusammen":  "Rezepte für Brot",
		"What is the latest version of Go":                             "What is the latest version of Go",
		"What are the latest news about the election":                  "What are the latest news about the election",
		"Who is currently the president of France":                     "Who is currently the president of France",
		"Who is the current president of France":                       "Who is the current president of France",
		"What is the price of gold":                                    "What is the price of gold",
		"What does a barrel of oil cost right now":                     "What does a barrel of oil cost right now",
		"What is the exchange rate of the euro to the yen":             "What is the exchange rate of the euro to the yen",
		"Who won the match last night":                                 "Who won the match last night",
		"Latest news in Norway":                                        "Latest news in Norway",
		"Wie hoch ist der Goldpreis":                                   "Wie hoch ist der Goldpreis",
		"Was gibt es Neues aus Wien":                                   "Was gibt es Neues aus Wien",
		"Wer ist gerade Kanzler":                                       "Wer ist gerade Kanzler",
		"Was kostet Gold aktuell":                                      "Was kostet Gold aktuell",
		"Was ist die neueste Version von Python":                       "Was ist die neueste Version von Python",

		"Search for TODO":                                          "",
		"Search the file for errors":                               "",
		"Search the code for the function":                         "",
		"Suche nach TODO":                                          "",
		"Google was founded in 1998":                               "",
		"Google is a company":                                      "",
		"Find the bug":                                             "",
		"Look up the function in main.go":                          "",
		"What is the latest version of this file":                  "",
		"What is the current version of our project":               "",
		"What is the latest commit":                                "",
		"What are the test results":                                "",
		"What is the latest result of the tests":                   "",
		"What is the capital of France":                            "",
		"What is the value of pi":                                  "",
		"What is the price in the file prices.csv":                 "",
		"Write a summary of the latest news":                       "",
		"Who is the author of Faust":                               "",
		"The latest version is broken":                             "",
		"Don't search the web for it":                              "",
		"Make the search online":                                   "",
		"Was ist der aktuelle Stand in meinem Projekt":             "",
		"Wie steht es um die Datei":                                "",
		"Search the web for " + strings.Repeat("a long text ", 20): "",
		"": "",
	} {
		query, ok := searchAsked(sentence)
		if ok != (want != "") || ok && query != want {
			t.Errorf("%q asks for a search for %q (%v), want %q", sentence, query, ok, want)
		}
	}
}

// What is written to be slow to read is read at once.
func FuzzAsked(f *testing.F) {
	for _, s := range []string{
		"What is the weather in Oslo", "search the web for " + strings.Repeat("and write ", 30), strings.Repeat("hi ", 130), strings.Repeat("weather in a ", 30),
		"what are the latest " + strings.Repeat("a ", 180), "Wird es in \u202e\x00", "weather in ,,,,",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 400 {
			s = s[:400]
		}
		began := time.Now()
		place, days, ok := weatherAsked(s)
		if ok && (place == "" || len([]rune(place)) > maxPlace || days < 0 || days > maxDays) {
			t.Errorf("%q: place %q, %d days", s, place, days)
		}
		if query, ok := searchAsked(s); ok {
			if _, err := wanted(query, ""); err != nil && strings.TrimSpace(query) != "" && short(query, maxQuery) != "" {
				t.Errorf("%q: query %q: %v", s, query, err)
			}
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("%q took %v", s, d)
		}
	})
}

func BenchmarkAsked(b *testing.B) {
	for _, s := range []string{"What is the weather in Oslo", "Fix the typo in the file main.go and run the tests, then tell me what you changed", strings.Repeat("what are the latest ", 20)} {
		b.Run(s[:10], func(b *testing.B) {
			for b.Loop() {
				weatherAsked(s)
				searchAsked(s)
			}
		})
	}
}
