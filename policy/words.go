package policy

import (
	"path"
	"strings"
)

// A wordPattern is the literal pieces of a word pattern, between its stars: one piece is a literal word.
type wordPattern []string

func (w wordPattern) literal() bool { return len(w) == 1 }

// open reports whether the pattern ends in a star.
func (w wordPattern) open() bool { return len(w) > 1 && w[len(w)-1] == "" }

// alone reports whether the pattern is a star and nothing else.
func (w wordPattern) alone() bool { return len(w) == 2 && w[0] == "" && w[1] == "" }

func (w wordPattern) fits(s string) bool {
	if len(w) == 1 {
		return w[0] == s
	}
	s, ok := strings.CutPrefix(s, w[0])
	if !ok {
		return false
	}
	for _, piece := range w[1 : len(w)-1] {
		k := strings.Index(s, piece)
		if k < 0 {
			return false
		}
		s = s[k+len(piece):]
	}
	return strings.HasSuffix(s, w[len(w)-1])
}

// splitPattern reads the words of a command pattern. Quotes and backslashes make characters literal.
func splitPattern(s string) (words []wordPattern, problem string) {
	var (
		word   = wordPattern{""}
		begun  bool
		quote  byte
		finish = func() {
			if begun {
				words = append(words, word)
			}
			word, begun = wordPattern{""}, false
		}
		add = func(k int) { // by bytes: a pattern may hold any text
			word[len(word)-1] += s[k : k+1]
			begun = true
		}
	)
	for k := 0; k < len(s); k++ {
		c := s[k]
		switch {
		case c < ' ' && c != '\t' || c == 0x7f:
			return nil, "it holds a control character."
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'':
			if k++; k == len(s) {
				return nil, "it ends in a backslash."
			}
			add(k)
		case quote != 0:
			add(k)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case c == ' ' || c == '\t':
			finish()
		case c == '*':
			if word = append(word, ""); len(word) > 16 {
				return nil, "it holds too many stars in one word."
			}
			begun = true
		default:
			add(k)
		}
	}
	if quote != 0 {
		return nil, "a quote is not closed."
	}
	finish()
	return words, ""
}

// spread splits a pattern into the words that have a place and whether more may follow.
func spread(pattern []wordPattern) (placed []wordPattern, more bool) {
	last := pattern[len(pattern)-1]
	if last.alone() {
		return pattern[:len(pattern)-1], true
	}
	return pattern, last.open()
}

// fitsNarrowly reports whether all words are known and fit.
func fitsNarrowly(pattern []wordPattern, words []Word) bool {
	placed, more := spread(pattern)
	if len(words) < len(placed) || len(words) > len(placed) && !more {
		return false
	}
	for k, w := range words {
		if !w.Known || k < len(placed) && !placed[k].fits(w.Text) {
			return false
		}
	}
	return true
}

// fitsBroadly reports whether the words fit under some reading. The program fits by its last path element too.
// A word that is not known may become any number of words, so behind it nothing is certain.
func fitsBroadly(pattern []wordPattern, words []Word) fit {
	placed, more := spread(pattern)
	for k, p := range placed {
		if k == len(words) {
			return no
		}
		w := words[k]
		if !w.Known {
			return perhaps
		}
		if !p.fits(w.Text) && (k > 0 || !p.fits(program(w.Text))) {
			return no
		}
	}
	if more || len(words) == len(placed) {
		return yes
	}
	for _, w := range words[len(placed):] {
		if w.Known {
			return no
		}
	}
	return perhaps
}

// program is the name by which a command is known: its last path element, without the endings of Windows.
func program(s string) string {
	s = path.Base(strings.ReplaceAll(s, `\`, "/"))
	for _, end := range []string{".exe", ".com", ".cmd", ".bat"} {
		if len(s) > len(end) && strings.EqualFold(s[len(s)-len(end):], end) {
			return s[:len(s)-len(end)]
		}
	}
	return s
}
