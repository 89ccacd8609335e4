package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/turn"
	"github.com/jackline-ai/jackline/web"
)

var contractWindows = []int{contract.Small, contract.Middle, contract.Large, contract.Huge}

// used is how a window is used by hello, with so many tools.
func used(window int, mode string, tools int) (*windowUse, error) {
	set, err := tool.NewSet(allTools(builtin.Deps{}, web.Deps{})...)
	if err != nil {
		return nil, err
	}
	u := &windowUse{Window: window, Mode: mode}
	return u, u.count(turn.Outline{Tools: set, Workspace: "/home/ann/jackline", Mode: jackline.ModeAllowReads, Prompt: "hello"}, tools)
}

func block(u *windowUse, name string) turn.Line {
	for _, l := range u.Blocks {
		if l.Block == name {
			return l
		}
	}
	return turn.Line{}
}

// budgetTable is what each part may take, for the page about windows.
func budgetTable() string {
	var b strings.Builder
	b.WriteString("\n| part | 4k | 8k | 16k | 32k | |\n|---|---|---|---|---|---|\n")
	var all []*windowUse
	for _, window := range contractWindows {
		u, err := used(window, "text", 0)
		if err != nil {
			return err.Error()
		}
		all = append(all, u)
	}
	for k, l := range all[0].Blocks {
		fmt.Fprintf(&b, "| %s |", l.Block)
		for _, u := range all {
			fmt.Fprintf(&b, " %d |", u.Blocks[k].Budget)
		}
		fmt.Fprintf(&b, " %s; %s |\n", l.Unit, boxed(note(l)))
	}
	return b.String() + "\n"
}

func note(l turn.Line) string {
	if l.Block == "tools" {
		return "how to call tools, and those that are offered"
	}
	return l.Note
}

// usedTable is what hello takes with many tools.
func usedTable() string {
	var b strings.Builder
	b.WriteString("\n| calls | window | bound | 10 tools | 50 tools | 300 tools |\n|---|---|---|---|---|---|\n")
	for _, mode := range []string{"text", "native"} {
		for _, window := range contractWindows {
			row := ""
			var fixed turn.Line
			for _, n := range []int{10, 50, 300} {
				u, err := used(window, mode, n)
				if err != nil {
					return err.Error()
				}
				fixed = block(u, "fixed")
				row += fmt.Sprintf(" %d |", *fixed.Used)
			}
			fmt.Fprintf(&b, "| %s | %dk | %d |%s\n", mode, window/1024, fixed.Budget, row)
		}
	}
	return b.String() + "\n"
}

// Every part of a first request keeps to its budget, in each window, however many tools there are. TestDocs holds the figures.
func TestContextKeepsToTheContract(t *testing.T) {
	for _, mode := range []string{"text", "native"} {
		for _, window := range append(contractWindows, 6000, 12_000, 131_072) {
			for _, tools := range []int{10, 50, 300, 1000} {
				u, err := used(window, mode, tools)
				if err != nil {
					t.Fatal(err)
				}
				if u.Tools != tools || len(u.Blocks) < 10 {
					t.Errorf("%d tools, %d blocks", u.Tools, len(u.Blocks))
				}
				for _, l := range u.Blocks {
					if l.Used != nil && (*l.Used > l.Budget || *l.Used < 0) {
						t.Errorf("%s, %d, %d tools: %s takes %d of %d", mode, window, tools, l.Block, *l.Used, l.Budget)
					}
				}
			}
		}
	}
	if _, err := used(2048, "text", 10); jackline.KindOf(err) != jackline.Invalid || !strings.Contains(jackline.Say(err), "window of 2048 tokens; Jackline needs at least 4096") {
		t.Errorf("a window of 2048: %v", err)
	}
}
