package constraint

import (
	"fmt"
	"strconv"
	"strings"
)

// integer writes the whole numbers of a range.
func (g *grammarWriter) integer(n *node) string {
	low, high, ok := n.whole()
	if n.low == nil && n.high == nil || !ok {
		return g.use("integer")
	}
	return either(wholes(low, high))
}

// wholes writes low to high as expressions of which one has to fit.
func wholes(low, high int64) []string {
	var all []string
	if low < 0 {
		for _, each := range positives(max(1, -high), -low) {
			all = append(all, `"-" `+each)
		}
	}
	if high >= 0 {
		all = append(all, positives(max(0, low), high)...)
	}
	return all
}

// number writes the numbers of a range: whole ones, and those whose whole part lies in it together with the one after
// it. Of a range that has no whole number it takes steps.
func (g *grammarWriter) number(n *node) string {
	if n.low == nil && n.high == nil {
		return g.use("number")
	}
	low, high, ok := n.whole()
	if !ok {
		each := n.steps()
		for i := range each {
			each[i] = quoted(each[i])
		}
		return either(each)
	}
	all := wholes(low, high)
	const fraction = ` "." [0-9]{1,15}`
	if from, to := max(0, low), high-1; from <= to {
		all = append(all, either(positives(from, to))+fraction)
	}
	if from, to := max(0, -high), -low-1; from <= to {
		all = append(all, `"-" `+either(positives(from, to))+fraction)
	}
	return either(all)
}

// positives writes the whole numbers from low to high, which are not negative, without zeros in front.
func positives(low, high int64) []string {
	var all []string
	a, b := strconv.FormatInt(low, 10), strconv.FormatInt(high, 10)
	if low == 0 && high > 0 && len(b) > 1 { // 0 is the one number that begins with it
		all = append(all, `"0"`)
		a = "1"
	}
	fullFrom, fullTo := 0, 0 // numbers of so many digits are all in it
	full := func() {
		if fullTo == 0 {
			return
		}
		all = append(all, strings.TrimSuffix(`[1-9] [0-9]`+repeat(fullFrom-1, fullTo-1), ` [0-9]{0}`))
		fullFrom, fullTo = 0, 0
	}
	for n := len(a); n <= len(b); n++ {
		from, to := "1"+strings.Repeat("0", n-1), strings.Repeat("9", n)
		if n == len(a) {
			from = a
		}
		if n == len(b) {
			to = b
		}
		if from == "1"+strings.Repeat("0", n-1) && to == strings.Repeat("9", n) {
			if fullFrom == 0 {
				fullFrom = n
			}
			fullTo = n
			continue
		}
		full()
		all = append(all, between(from, to))
	}
	full()
	return all
}

// between writes the texts of digits from a to b, which are of one length.
func between(a, b string) string {
	if a == b {
		return quoted(a)
	}
	if strings.Trim(a, "0") == "" && strings.Trim(b, "9") == "" {
		return "[0-9]" + strings.TrimSuffix(fmt.Sprintf("{%d}", len(a)), "{1}")
	}
	if len(a) == 1 {
		return fmt.Sprintf("[%s-%s]", a, b)
	}
	if a[0] == b[0] {
		return `"` + a[:1] + `" ` + between(a[1:], b[1:])
	}
	k := len(a) - 1
	nines, zeros := strings.Repeat("9", k), strings.Repeat("0", k)
	var all []string
	from, to := a[0], b[0]
	if a[1:] != zeros {
		all = append(all, `"`+a[:1]+`" `+between(a[1:], nines))
		from++
	}
	last := ""
	if b[1:] != nines {
		last = `"` + b[:1] + `" ` + between(zeros, b[1:])
		to--
	}
	if from <= to {
		all = append(all, fmt.Sprintf("[%c-%c] ", from, to)+between(zeros, nines))
	}
	if last != "" {
		all = append(all, last)
	}
	return either(all)
}
