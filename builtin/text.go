package builtin

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/tool"
)

// count writes a number of things.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if strings.HasSuffix(one, "y") {
		return strconv.Itoa(n) + " " + strings.TrimSuffix(one, "y") + "ies"
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// bytesOf writes a size as people read it.
func bytesOf(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MB", float64(n)/(unit*unit))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(unit*unit*unit))
}

// fit takes as many lines as limit characters hold, each by its weight, and returns how many it took. At least one line is taken, cut if
// need be.
func fit(lines []string, limit int) (string, int) {
	var b strings.Builder
	used := 0
	for i, l := range lines {
		n := contract.Weight(l) + 1
		if used+n > limit {
			if i == 0 {
				r := []rune(l)
				return string(r[:min(len(r), max(1, contract.Letters(l, limit-1)))]) + "…\n", 1
			}
			return b.String(), i
		}
		used += n
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return b.String(), len(lines)
}

// here is a path that may be left out.
func here(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// ownText labels a failure that shows some of a file.
func ownText() *tool.Label { return &tool.Label{Source: jackline.Workspace, Secret: true} }

// short cuts a text for a title.
func short(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
