package args

// A Lexicon is a list of words, of three bytes or more, of which the one that stands at some place is found at once.
type Lexicon struct {
	Words []string // must not be changed

	first  [256]bool
	second [256]bool
	byHash [256][]string // by the second and the third byte
}

// NewLexicon makes a lexicon of lists. Where one word begins with another, the one that comes first is found.
func NewLexicon(lists ...[]string) *Lexicon {
	l := &Lexicon{}
	for _, words := range lists {
		for _, w := range words {
			l.Words = append(l.Words, w)
			l.first[w[0]], l.second[w[1]] = true, true
			h := hash(w[1], w[2])
			l.byHash[h] = append(l.byHash[h], w)
		}
	}
	return l
}

func hash(a, b byte) byte { return a*31 + b }

// Word returns the end of the first word of the lexicon that stands at i, or 0. It asks for no byte more than it takes to tell.
func (in *Input) Word(i int, l *Lexicon) int {
	c := in.At(i)
	if c < 0 || !l.first[c] {
		return 0
	}
	c = in.At(i + 1)
	if c < 0 || !l.second[c] {
		return 0
	}
	d := in.At(i + 2)
	if d < 0 {
		return 0
	}
	for _, w := range l.byHash[hash(byte(c), byte(d))] {
		if in.Has(i, w) {
			return i + len(w)
		}
	}
	return 0
}
