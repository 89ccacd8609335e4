package builtin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

// A pattern's files are found as a shell finds them, and one that leads through too much is refused soon.
func TestMatches(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"a.sh", "b.sh", "c.txt", "sub/d.sh", "sub/e[1].sh", "other/d.sh"} {
		p := filepath.Join(dir, filepath.FromSlash(f))
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{
		"*.sh": "a.sh b.sh", "?.sh": "a.sh b.sh", "*/d.sh": "other/d.sh sub/d.sh", "sub/e[1]*": "sub/e[1].sh", "*/none*": "", "a.sh/*": "", "c*": "c.txt",
	} {
		left := maxLooked
		found, all := matches(t.Context(), filepath.Join(dir, filepath.FromSlash(pattern)), &left)
		var names []string
		for _, f := range found {
			rel, err := filepath.Rel(dir, f)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, filepath.ToSlash(rel))
		}
		if got := strings.Join(names, " "); got != want || !all {
			t.Errorf("%s: %q, %v, want %q", pattern, got, all, want)
		}
	}
	left := 3
	if found, all := matches(t.Context(), filepath.Join(dir, "*"), &left); all || found != nil {
		t.Errorf("more names than may be looked at: %q", found)
	}
	if _, err := patternFacts(t.Context(), []string{"/*/*/*/*/*/*"}); jackline.KindOf(err) != jackline.Unprocessed {
		t.Errorf("the whole disk: %v", err)
	}
	many := filepath.Join(dir, "many")
	if err := os.Mkdir(many, 0o755); err != nil {
		t.Fatal(err)
	}
	for k := range maxMatches + 1 {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprint(k)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := patternFacts(t.Context(), []string{filepath.Join(many, "*")}); jackline.KindOf(err) != jackline.Unprocessed {
		t.Errorf("too many files: %v", err)
	}
}
