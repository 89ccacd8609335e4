// Package crowd makes up tools as connected servers bring them, for measuring what many tools cost. They do nothing.
package crowd

import (
	"context"
	"fmt"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// Most is how many tools are made at most: more than a dozen servers bring.
const Most = 1000

// Fill gives exactly n tools: of own those that are pinned from the smallest window on first, then made-up ones. n is at most [Most].
func Fill(own []tool.Tool, n int) []tool.Tool {
	n = min(max(n, 0), Most)
	var all []tool.Tool
	for _, pin := range []int{tool.PinSmall, tool.PinMiddle, tool.PinLarge, 0} {
		for _, t := range own {
			if t.Facts().Pin == pin {
				all = append(all, t)
			}
		}
	}
	for i := 0; len(all) < n; i++ {
		all = append(all, connected(i))
	}
	return all[:n]
}

// connected is the nth made-up tool. The names and the length of what is said follow the servers that people connect.
func connected(n int) tool.Tool {
	servers := []string{"github", "jira", "mail", "calendar", "drive", "postgres", "cloud", "tickets", "billing", "chat", "wiki", "metrics"}
	verbs := []string{"create", "list", "update", "get", "search", "archive", "comment_on", "assign"}
	things := []string{"issue", "project", "message", "event", "document", "record", "instance", "invoice", "channel", "page", "report"}
	server, verb, thing := servers[n%len(servers)], verbs[n/len(servers)%len(verbs)], things[(n+n/len(servers)/len(verbs))%len(things)]
	name := fmt.Sprintf("mcp__%s__%s_%s_%d", server, verb, thing, n)
	say := fmt.Sprintf("%s one %s of the connected %s account, with all of its fields, and give it back as JSON.", verb, thing, server)
	switch n % 3 {
	case 0:
		return made(name, say, func(a one) string { return a.ID })
	case 1:
		return made(name, say, func(a many) string { return a.Query })
	default:
		return made(name, say, func(a whole) string { return a.Title })
	}
}

// What made-up tools take.
type (
	one struct {
		ID      string `json:"id" doc:"the identifier, as the list gives it"`
		Verbose bool   `json:"verbose,omitempty" doc:"also give what is rarely needed"`
	}
	many struct {
		Query  string `json:"query,omitempty" doc:"words to look for; all of them must be there"`
		Limit  int    `json:"limit,omitempty" doc:"how many to give, 1 to 100"`
		Cursor string `json:"cursor,omitempty" doc:"where the last page ended"`
	}
	whole struct {
		Title  string   `json:"title" doc:"one line that says what it is about"`
		Body   string   `json:"body,omitempty" doc:"the text, in Markdown"`
		Labels []string `json:"labels,omitempty" doc:"names of labels that exist"`
		Parent string   `json:"parent,omitempty" doc:"the identifier of what it belongs to"`
	}
)

func made[A any](name, summary string, title func(A) string) tool.Tool {
	return tool.Define(tool.Spec[A]{
		Name: name, Group: "connected", Summary: summary, Effect: jackline.Pure, Source: jackline.Outside, Icon: "other", Title: title,
		Run: func(context.Context, tool.In, A) (tool.Out, error) { return tool.Out{Text: "Done."}, nil },
	})
}
