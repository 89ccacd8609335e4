package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/retrieve"
	"github.com/jackline-ai/jackline/tool"
)

// maxFound is how many tools one search gives: each of them takes room in the model's window.
const maxFound = 5

// maxNames bounds the list of all tools, in characters: some servers bring hundreds.
const maxNames = 1500

func findTools() tool.Tool {
	type query struct {
		Query string `json:"query,omitempty" doc:"what it should do"`
	}
	return tool.Define(tool.Spec[query]{
		Name:    "find_tools",
		Aliases: []string{"search_tools", "tool_search", "list_tools", "discover_tools", "get_tools", "tools", "available_tools", "find_tool"},
		Group:   "pure",
		Summary: "Search for tools that are not listed here.",
		Use:     "When no listed tool fits.",
		Effect:  jackline.Pure,
		Source:  jackline.Ours,
		Pin:     tool.PinSmall,
		Icon:    "search",
		Title:   func(a query) string { return "Find tools: " + short(a.Query, 60) },
		Run: func(_ context.Context, in tool.In, a query) (tool.Out, error) {
			if in.Tools == nil {
				return tool.Out{Text: "There are no other tools."}, nil
			}
			off := func(t tool.Tool) bool { return t.Facts().Name == "find_tools" || in.Off != nil && in.Off(t) }
			found := in.Tools.Search(retrieve.Words(a.Query, retrieve.QueryWords), off)
			if len(found) == 0 { // nothing was asked for, or nothing is like it
				return tool.Out{Text: allNames(in.Tools, off)}, nil
			}
			var out tool.Out
			var lines []string
			for _, m := range found[:min(len(found), maxFound)] {
				f := m.Tool.Facts()
				line := f.Name + ": " + f.Summary
				if f.WhyNot != "" {
					line += " NOT AVAILABLE NOW: " + f.WhyNot
				} else {
					out.Found = append(out.Found, f.Name)
				}
				lines = append(lines, line)
			}
			out.Text, out.View = strings.Join(lines, "\n"), listView(lines)
			return out, nil
		},
	})
}

// allNames lists what there is, as far as there is room.
func allNames(set *tool.Set, off func(tool.Tool) bool) string {
	var b strings.Builder
	more := 0
	for t := range set.All() {
		switch name := t.Facts().Name; {
		case off(t):
		case b.Len() > 0 && b.Len()+len(name) > maxNames:
			more++
		default:
			b.WriteString(", " + name)
		}
	}
	if b.Len() == 0 {
		return "There are no other tools."
	}
	rest := "."
	if more > 0 {
		rest = fmt.Sprintf(", and %d more: search in words for what it should do.", more)
	}
	return "All tools there are, to be called by name: " + strings.TrimPrefix(b.String(), ", ") + rest
}
