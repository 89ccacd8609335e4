package builtin

import (
	"context"
	"fmt"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/workspace"
)

// maxHits is how many lines one search gives. The result's limit is reached before.
const maxHits = 500

func grep(d Deps) tool.Tool {
	type args struct {
		Pattern string `json:"pattern" doc:"RE2 or text"`
		Path    string `json:"path,omitempty" doc:"default: all"`
		Files   string `json:"files,omitempty" doc:"as *.go"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "grep",
		Aliases: []string{
			"search_text", "search_code", "find_in_files", "grep_search", "search_in_files", "ripgrep", "rg", "content_search", "code_search",
			"text_search", "search_content", "search_file_content", "file_grep",
		},
		Group:   "files",
		Summary: "Search file contents; shows path:line: text.",
		Use:     "To find where something is written.",
		Find:    "find text code regex occurrences usage where defined look for string",
		Effect:  jackline.Read,
		Source:  jackline.Workspace,
		Secret:  true,
		Pin:     tool.PinSmall,
		Cache:   true,
		Icon:    "search",
		Title:   func(a args) string { return "Search for " + short(a.Pattern, 60) },
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) {
			return d.Root.Touch(jackline.Read, here(a.Path)), nil
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			found, err := d.Root.Grep(ctx, here(a.Path), workspace.Search{Pattern: a.Pattern, Files: a.Files, Max: maxHits})
			if err != nil {
				return tool.Out{}, err
			}
			return hits(found, a.Pattern, in.AtMost()), nil
		},
	})
}

// hits writes what a search found.
func hits(f workspace.Found, pattern string, limit int) tool.Out {
	note := ""
	if f.Literal != "" {
		note = "\n[Searched as plain text: " + f.Literal + ".]"
	}
	if f.Skipped > 0 {
		note += fmt.Sprintf("\n[%s too large and not searched.]", count(f.Skipped, "file"))
	}
	if len(f.Hits) == 0 {
		return tool.Out{
			Text:  fmt.Sprintf("No line matches in %s.%s", count(f.Files, "file"), note),
			Label: &tool.Label{Source: jackline.Ours},
		}
	}
	lines := make([]string, 0, len(f.Hits))
	for _, h := range f.Hits {
		if h.Line == 0 {
			lines = append(lines, oneLine(h.Path)+": "+h.Text)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s:%d: %s", oneLine(h.Path), h.Line, h.Text))
	}
	extra := 0
	if f.More {
		extra = 1
	}
	return tool.Out{
		Text:   shown(lines, extra, "hit", "", limit-len(note)) + note,
		View:   listView(lines),
		Origin: "a search in files",
	}
}
