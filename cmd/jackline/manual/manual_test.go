package manual_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline/cmd/jackline/manual"
)

var update = flag.Bool("update", false, "write testdata")

// tree is a program with everything that a page can hold.
func tree() *cobra.Command {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{
		Use: "boat", Short: "Goes over water", Version: "1.2", Run: run,
		Long: "First \\fBparagraph\\fR, with a -dash.\n\n.so /etc/passwd\n'quoted ~^`\n\n  kept   as it is\n      " +
			strings.Repeat("a long line ", 9) + "\nand on.",
	}
	root.PersistentFlags().StringP("flag", "f", "white", "which flag; it is a `colour`")
	root.PersistentFlags().Bool("secret", false, "not shown")
	_ = root.PersistentFlags().MarkHidden("secret")
	sail := &cobra.Command{Use: "sail", Short: "Sail", Example: "  boat sail set main\n  .br is no request here"}
	set := &cobra.Command{Use: "set SAIL…", Short: "Set a sail", Run: run}
	set.Flags().String("reef", "", "how far")
	set.Flags().Lookup("reef").NoOptDefVal = "1"
	set.Flags().Int("speed", 3, "knots")
	sail.AddCommand(set)
	root.AddCommand(sail, &cobra.Command{Use: "sink", Hidden: true, Run: run}, &cobra.Command{Use: "row", Short: "Row", Run: run})
	root.InitDefaultHelpCmd()
	return root
}

func TestPages(t *testing.T) {
	more := manual.Section{Title: "EXIT STATUS", Text: "  0  \"afloat\"\n"}
	pages := manual.Pages(tree(), "1.2", more)
	var names []string
	for _, p := range pages {
		names = append(names, p.File())
		file := filepath.Join("testdata", p.File())
		if *update {
			if err := os.WriteFile(file, p.Text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(p.Text)); d != "" {
			t.Errorf("%s: %s", p.File(), d)
		}
	}
	if want := []string{"boat.1", "boat-row.1", "boat-sail.1", "boat-sail-set.1"}; !slices.Equal(names, want) {
		t.Errorf("pages %v, want %v", names, want)
	}
	for i, p := range manual.Pages(tree(), "1.2", more) {
		if p.Name != pages[i].Name || !bytes.Equal(p.Text, pages[i].Text) {
			t.Errorf("%s is another one the second time", p.Name)
		}
	}
}

// TestText holds every line of a page to be text, or a request that this package writes.
func TestText(t *testing.T) {
	ours := map[string]bool{".TH": true, ".nh": true, ".ad": true, ".SH": true, ".PP": true, ".TP": true, ".nf": true, ".fi": true, ".br": true, ".in": true}
	for _, p := range manual.Pages(tree(), "1.2") {
		for l := range strings.SplitSeq(string(p.Text), "\n") {
			word, _, _ := strings.Cut(l, " ")
			if strings.HasPrefix(l, "'") || strings.HasPrefix(l, ".") && !ours[word] {
				t.Errorf("%s: a request that nobody wrote: %q", p.Name, l)
			}
		}
	}
}
