package settings

import "strings"

// Nearest is the one of some words that takes the fewest changes of letters to become word, or "" where there are none. Upper and
// lower case are the same.
func Nearest(word string, among []string) string {
	const longest = 100 // of a name; more is no slip of the finger
	if len(word) > longest {
		word = word[:longest]
	}
	best, least := "", 1<<30
	for _, w := range among {
		if d := distance(strings.ToLower(word), strings.ToLower(w)); d < least {
			best, least = w, d
		}
	}
	return best
}

func nearestKey(path string) string {
	var all []string
	for _, k := range Keys() {
		all = append(all, k.Path)
	}
	return Nearest(path, all)
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diag, row[j] = row[j], min(row[j]+1, row[j-1]+1, diag+cost)
		}
	}
	return row[len(b)]
}
