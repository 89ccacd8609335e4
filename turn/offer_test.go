package turn_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

var (
	describedTools = regexp.MustCompile(`(?m)^- ([a-z0-9_]+)\(`)
	offeredTools   = regexp.MustCompile(`(?m)^tools: ([^;]*);`)
)

// told is what the nth request says of tools: those that are offered, and those that its last prompt describes.
func told(t *testing.T, b *bench, n int) (offered, described []string) {
	t.Helper()
	sent := b.sent(t, n)
	offered = strings.Fields(offeredTools.FindAllStringSubmatch(sent, -1)[0][1])
	last := sent[strings.LastIndex(sent, "\nuser: "):]
	for _, m := range describedTools.FindAllStringSubmatch(last, -1) {
		described = append(described, m[1])
	}
	return offered, described
}

// A prompt points at tools by naming what they do, and most prompts at none.
func TestPromptsPointAtTools(t *testing.T) {
	for prompt, want := range map[string]string{
		"hello":      "",
		"Thank you!": "",
		"Fix the failing test in main.go and run it again":                          "",
		"What does the configuration say about the port?":                           "",
		"Read a.txt, then write what it says into b.txt":                            "",
		"Explain how to copy a file in Go":                                          "",
		"What is the difference between copying and moving?":                        "",
		"Copy a.txt to b.txt":                                                       "file_copy",
		"please rename the folder drafts":                                           "file_move",
		"Delete old.txt":                                                            "file_delete",
		"Was ist mit dem Ordner? Er heißt \"delete me\"":                            "",
		"Open an issue on GitHub about the broken link":                             "mcp__github__",
		"comment on the Jira project":                                               "mcp__jira__",
		strings.Repeat("some pasted words without meaning ", 80) + "delete old.txt": "",
	} {
		b := newBench(t, options{Mode: jackline.ModeAllowReads, Tools: 300}, "=== *\nDone.\n")
		b.turn(t, prompt, nil)
		_, got := told(t, b, 1)
		fits := len(got) > 0 && strings.HasPrefix(got[0], want)
		if want == "" {
			fits = len(got) == 0
		}
		if !fits || len(got) > 4 {
			t.Errorf("%.60q describes %v, want %q", prompt, got, want)
		}
	}
}

// What stands in front of the conversation stays as a session's first prompt left it, also over restarts; what was described once is not
// described again.
func TestOffersStay(t *testing.T) {
	for _, native := range []bool{false, true} {
		b := newBench(t, options{Mode: jackline.ModeAllowReads, Native: native, Window: 16384, Reload: true}, "=== *\nDone.\n")
		var first []string
		for n, c := range []struct{ prompt, offers, describes string }{
			{"Copy a.txt to b.txt", "file_copy", ""},
			{"Delete b.txt", "file_copy", "file_delete"},
			{"Delete c.txt, and copy it", "file_copy", ""},
			{"Rename d.txt", "file_copy", "file_move"},
		} {
			b.turn(t, c.prompt, nil)
			offered, described := told(t, b, n+1)
			if n == 0 {
				first = offered
			}
			if !slices.Equal(offered, first) || !slices.Contains(offered, c.offers) {
				t.Errorf("native %v, %s: offered are %v, at first %v", native, c.prompt, offered, first)
			}
			if got := strings.Join(described, " "); got != c.describes {
				t.Errorf("native %v, %s: described are %q, want %q", native, c.prompt, got, c.describes)
			}
		}
	}
}

// A session that begins without tools chooses once it has some.
func TestOffersBeginWithTools(t *testing.T) {
	b := newBench(t, options{Mode: jackline.ModeAllowReads, Window: 16384}, "=== *\nDone.\n")
	b.o.Turn.Guide = true
	b.turn(t, "Delete b.txt", nil)
	b.o.Turn.Guide = false
	b.turn(t, "Copy a.txt to b.txt", nil)
	if none, _ := told(t, b, 1); len(none) != 0 {
		t.Errorf("offered without tools: %v", none)
	}
	if offered, _ := told(t, b, 2); !slices.Contains(offered, "file_copy") || slices.Contains(offered, "file_delete") {
		t.Errorf("offered are %v", offered)
	}
}

// What is switched off is neither described nor found.
func TestOffIsNotFound(t *testing.T) {
	b := newBench(t, options{Mode: jackline.ModeAllowReads, Window: 16384, Disabled: []string{"file_copy"}}, "=== 1\n--- call find_tools {\"query\": \"copy a file\"}\n=== 2\nDone.\n")
	b.turn(t, "Copy a.txt to b.txt", nil)
	for n := range 2 {
		if sent := b.sent(t, n+1); strings.Contains(sent, "file_copy") {
			t.Errorf("request %d names it:\n%s", n+1, sent)
		}
	}
}

// A model that asks for what does not exist is told a few names, and not those of three hundred tools.
func TestUnknownToolAmongMany(t *testing.T) {
	b := newBench(t, options{Mode: jackline.ModeAllowReads, Native: true, Tools: 300}, "=== 1\n--- call github_issue_maker {}\n=== 2\nDone.\n")
	b.turn(t, "Make one", nil)
	_, result, _ := strings.Cut(b.sent(t, 2), "there is no tool called")
	if len(result) > 1500 || !strings.Contains(result, "mcp__github__") || !strings.Contains(result, " more") {
		t.Errorf("it is told:\n%s", result)
	}
}
