package retrieve

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Words are the words of a text by which it is found, in small letters and without accents and the endings that tell nothing apart.
// Names are split where people see a border: file_read and HTTPServer are two words each. What is written in one, as GitHub,
// is a word as well. Scripts that are written without
// blanks give each pair of letters that stand together. Words that stand everywhere are left out. At most most are given, in
// order; the same one may come again.
func Words(text string, most int) []string {
	var words []string
	var w, whole strings.Builder // the word, and what it is a part of
	add := func(s string) {
		if s != "" && !common(s) && len(words) < most {
			words = append(words, stem(s))
		}
	}
	end := func() {
		add(w.String())
		w.Reset()
	}
	over := func() {
		parts := w.Len() < whole.Len()
		end()
		if parts {
			add(whole.String())
		}
		whole.Reset()
	}
	var before, lead rune // lead is the one before the last of a run of large letters
	for _, r := range fold(text) {
		if len(words) >= most {
			break
		}
		switch {
		case dense(r):
			over()
			if dense(before) {
				words = append(words, string([]rune{before, r}))
			}
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			over()
		default:
			if unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsDigit(before)) {
				end()
			}
			if unicode.IsLower(r) && unicode.IsUpper(before) && unicode.IsUpper(lead) {
				// The last of several large letters begins the next word.
				last := unicode.ToLower(before)
				s := strings.TrimSuffix(w.String(), string(last))
				w.Reset()
				w.WriteString(s)
				end()
				w.WriteRune(last)
			}
			if w.Len() < longestWord {
				w.WriteRune(unicode.ToLower(r))
			}
			if whole.Len() < longestWord {
				whole.WriteRune(unicode.ToLower(r))
			}
		}
		before, lead = r, before
	}
	over()
	return words
}

// longestWord bounds one word, in bytes: longer ones are data.
const longestWord = 48

// fold takes the accents off, and writes letters that are the same in one way.
func fold(text string) string {
	ascii := true
	for i := range len(text) {
		ascii = ascii && text[i] < 0x80
	}
	if ascii {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ReplaceAll(text, "ß", "ss")))
}

// dense reports whether a letter is of a script that is written without blanks between words.
func dense(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// common reports whether a word stands everywhere. They are those of the languages that Jackline's own phrases are in.
func common(w string) bool {
	switch w {
	case "a", "an", "the", "to", "of", "in", "is", "for", "and", "or", "it", "with", "on", "by", "at", "as", "i", "me", "my", "tool", "use", "can",
		"want", "need", "some", "that", "this", "be", "do", "you", "your", "are", "was", "from", "into", "if", "not", "no", "so", "then", "there",
		"please", "have", "has", "all", "any", "what", "which", "how", "will", "would", "should", "could", "its", "we", "us", "our", "one",
		"der", "die", "das", "und", "oder", "ein", "eine", "einen", "ich", "du", "mir", "mich", "ist", "sind", "mit", "auf", "im", "den", "dem",
		"zu", "fur", "von", "bitte", "nicht", "alle", "wie":
		return true
	}
	return false
}

func stem(w string) string {
	const least = 4 // what is left must still be a word
	if len(w) < least {
		return w
	}
	for _, end := range [...]string{"ing", "ies", "es", "s", "ed"} {
		if s, ok := strings.CutSuffix(w, end); ok && len(s) >= least-1 && !strings.HasSuffix(s, "s") {
			if end == "ies" {
				s += "y"
			}
			return strings.TrimSuffix(s, "e")
		}
	}
	return strings.TrimSuffix(w, "e")
}
