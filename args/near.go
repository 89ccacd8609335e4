package args

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// longestWord bounds what names are compared by: further letters tell no name from another.
const longestWord = 64

// unlike is further than any two words can be.
const unlike = 2 * longestWord

// Near puts the names that look most like word first, at most n of them. What models get wrong in a name counts little: case,
// separators, the order of its words, a part too many. Those that do not look like it at all stay in their order.
func Near(word string, names []string, n int) []string {
	sorted := slices.Clone(names)
	far := make(map[string]int, len(names))
	for _, name := range names {
		if far[name] = distance(word, name); 2*far[name] > max(len(plainWord(word)), len(plainWord(name))) {
			far[name] = unlike
		}
	}
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(far[a], far[b]) })
	return sorted[:min(n, len(sorted))]
}

// Meant returns the name that word must have been meant to be, or "" if none looks like it.
func Meant(word string, names []string) string {
	near := Near(word, names, 1)
	if len(near) == 0 || distance(word, near[0]) > max(1, len(plainWord(word))/3) {
		return ""
	}
	return near[0]
}

// distance is how many letters are wrong, missing or too many; where one name holds the words of the other, it is 1.
func distance(a, b string) int {
	x, y := plainWord(a), plainWord(b)
	if slices.Equal(x, y) {
		return 0
	}
	if holds(a, b) || holds(b, a) {
		return 1
	}
	// The usual table, of which the last three rows are kept; the third is for letters that changed places.
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

// holds reports whether all words of b are among those of a.
func holds(a, b string) bool {
	words, wanted := wordsOf(a), wordsOf(b)
	if len(wanted) == 0 {
		return false
	}
	for _, w := range wanted {
		same := func(word string) bool { return strings.TrimSuffix(word, "s") == strings.TrimSuffix(w, "s") }
		if len(w) < 3 || !slices.ContainsFunc(words, same) {
			return false
		}
	}
	return true
}

// wordsOf splits a name at its separators and capitals.
func wordsOf(name string) []string {
	name = name[:min(len(name), 4*longestWord)]
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// plainWord is a name without case and separators, as far as it is compared.
func plainWord(name string) []rune {
	word := []rune(strings.Join(wordsOf(name), ""))
	return word[:min(len(word), longestWord)]
}
