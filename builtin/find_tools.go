package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/tool"
)

// maxFound is how many tools one search gives: each of them takes room in the model's window.
const maxFound = 5

// maxWords is how much of a query counts.
const maxWords = 60

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
			var all []tool.Tool
			if in.Tools != nil {
				for t := range in.Tools.All() {
					if t.Facts().Name != "find_tools" {
						all = append(all, t)
					}
				}
			}
			found := rank(all, a.Query)
			if len(found) == 0 { // nothing was asked for, or nothing is like it
				names := make([]string, 0, len(all))
				for _, t := range all {
					names = append(names, t.Facts().Name)
				}
				return tool.Out{Text: "All tools there are, to be called by name: " + strings.Join(names, ", ") + "."}, nil
			}
			var out tool.Out
			var lines []string
			for _, t := range found {
				f := t.Facts()
				line := signature(f.Name, f.Schema) + ": " + f.Summary
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

// rank orders tools by how well their documents answer a query, by the usual weighting of words: rare words count more,
// repeated ones less and less, and long documents are not favoured. Tools that share no word are left out.
func rank(all []tool.Tool, query string) []tool.Tool {
	const k1, b = 1.2, 0.75 // the customary values
	docs := make([]map[string]int, len(all))
	lengths := make([]int, len(all))
	in := map[string]int{} // word → tools
	total := 0
	for i, t := range all {
		docs[i] = map[string]int{}
		words := searchWords(t.Document())
		for _, w := range words {
			if docs[i][w]++; docs[i][w] == 1 {
				in[w]++
			}
		}
		// The name itself is what a model most likely half remembers.
		for _, w := range searchWords(t.Facts().Name) {
			docs[i][w]++
		}
		lengths[i] = len(words)
		total += len(words)
	}
	if total == 0 {
		return nil
	}
	asked := searchWords(query)
	asked = slices.Compact(slices.Sorted(slices.Values(asked[:min(len(asked), maxWords)])))
	type scored struct {
		tool  tool.Tool
		score float64
	}
	var hits []scored
	n, mean := float64(len(all)), float64(total)/float64(len(all))
	for i, t := range all {
		score := 0.0
		for _, w := range asked {
			f := float64(docs[i][w])
			if f == 0 {
				continue
			}
			idf := math.Log(1 + (n-float64(in[w])+0.5)/(float64(in[w])+0.5))
			score += idf * f * (k1 + 1) / (f + k1*(1-b+b*float64(lengths[i])/mean))
		}
		if score > 0 {
			hits = append(hits, scored{t, score})
		}
	}
	slices.SortStableFunc(hits, func(x, y scored) int { return cmp.Compare(y.score, x.score) })
	found := make([]tool.Tool, 0, maxFound)
	for _, h := range hits[:min(len(hits), maxFound)] {
		found = append(found, h.tool)
	}
	return found
}

// searchWords are the words of a text in small letters, without endings that tell nothing apart and without words that
// stand everywhere.
func searchWords(s string) (words []string) {
	for w := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		switch w {
		case "a", "an", "the", "to", "of", "in", "is", "for", "and", "or", "it", "with", "on", "by", "at", "as", "i", "me", "my", "tool", "use", "can",
			"want", "need", "some", "that", "this", "be", "do":
			continue
		}
		words = append(words, stem(w))
	}
	return words
}

func stem(w string) string {
	const least = 4 // what is left must still be a word
	for _, end := range [...]string{"ing", "ies", "es", "s", "ed"} {
		if s, ok := strings.CutSuffix(w, end); ok && len(s) >= least-1 && !strings.HasSuffix(s, "s") {
			if end == "ies" {
				s += "y"
			}
			return strings.TrimSuffix(s, "e")
		}
	}
	return strings.TrimSuffix(w, "e")
}

// signature writes a tool's parameters in one line; those that may be left out have a question mark.
func signature(name string, schema json.RawMessage) string {
	s, err := args.Parse(schema)
	if err != nil {
		return name
	}
	var params []string
	for _, p := range s.Names() {
		opt := "?"
		if s.Required(p) {
			opt = ""
		}
		kind := ""
		if f := s.Field(p); f != nil && f.Type() != "string" && f.Type() != "" {
			kind = " " + f.Type()
		}
		params = append(params, p+opt+kind)
	}
	return fmt.Sprintf("%s(%s)", name, strings.Join(params, ", "))
}
