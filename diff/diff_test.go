package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/diff"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name, before, after, patch string
		added, gone                int
	}{
		{"nothing", "a\n", "a\n", "", 0, 0},
		{"new", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n", 2, 0},
		{"gone", "a\n", "", "@@ -1 +0,0 @@\n-a\n", 0, 1},
		{"no line end", "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", 1, 1},
		{"far apart", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x\n2\n3\n4\n5\n6\n7\n8\ny\n",
			"@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+y\n", 2, 2},
		{"bytes that are no text", "a\n", "\xff\n", "@@ -1 +1 @@\n-a\n+\ufffd\n", 1, 1},
	} {
		d := diff.Of("f", "edit", c.before, c.after)
		if d.Patch != c.patch || d.Added != c.added || d.Gone != c.gone || d.Path != "f" || d.Change != "edit" {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}

func TestLargeTextsEnd(t *testing.T) {
	var a, b strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&a, "a%d\n", i)
		fmt.Fprintf(&b, "b%d\n", i)
	}
	d := diff.Of("f", "edit", a.String(), b.String())
	if d.Added != 50_000 || d.Gone != 50_000 || len(d.Patch) > diff.MaxPatch+100 {
		t.Errorf("+%d -%d, %d bytes", d.Added, d.Gone, len(d.Patch))
	}
}
