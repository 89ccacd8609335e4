package args

import (
	"slices"
	"sync/atomic"
)

// A Lexicon is a list of words, of three bytes or more, of which the one that stands at some place is found at once.
type Lexicon struct {
	Words []string // must not be changed

	made atomic.Pointer[words] // when it is needed first: many programs that have lexicons read nothing
}

type words struct {
	first  [256]bool
	second [256]bool
	byHash [256][]string // by the second and the third byte
}

// NewLexicon makes a lexicon of lists. Where one word begins with another, the one that comes first is found.
func NewLexicon(lists ...[]string) *Lexicon { return &Lexicon{Words: slices.Concat(lists...)} }

// make makes the words ready to be found. Two that do so at once make the same.
func (l *Lexicon) make() *words {
	made := &words{}
	for _, w := range l.Words {
		made.first[w[0]], made.second[w[1]] = true, true
		h := hash(w[1], w[2])
		made.byHash[h] = append(made.byHash[h], w)
	}
	l.made.Store(made)
	return made
}

func hash(a, b byte) byte { return a*31 + b }

// Word returns the end of the first word of the lexicon that stands at i, or 0. It asks for no byte more than it takes to tell.
func (in *Input) Word(i int, l *Lexicon) int {
	made := l.made.Load()
	if made == nil {
		made = l.make()
	}
	c := in.At(i)
	if c < 0 || !made.first[c] {
		return 0
	}
	c = in.At(i + 1)
	if c < 0 || !made.second[c] {
		return 0
	}
	d := in.At(i + 2)
	if d < 0 {
		return 0
	}
	for _, w := range made.byHash[hash(byte(c), byte(d))] {
		if in.Has(i, w) {
			return i + len(w)
		}
	}
	return 0
}
