package builtin

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/tool"
)

func readResult(d Deps) tool.Tool {
	type args struct {
		Call string `json:"call" doc:"id given where it was cut"`
		Page int    `json:"page,omitempty" doc:"from 1"`
	}
	return tool.Define(tool.Spec[args]{
		Name:    "read_result",
		Aliases: []string{"read_output", "get_result", "result", "read_more", "more", "next_page", "page_result"},
		Group:   "pure",
		Summary: "Read on in a result that was cut.",
		Find:    "page more output rest continue long",
		Effect:  jackline.Pure,
		Source:  jackline.Outside,
		Icon:    "read",
		Pager:   true,
		Title: func(a args) string {
			return fmt.Sprintf("Read on in a result, page %d", max(a.Page, 1))
		},
		Missing: func() string {
			if d.Result == nil || d.Spill == nil {
				return "Results are not kept here."
			}
			return ""
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			id := jackline.CallID(strings.Trim(strings.TrimSpace(a.Call), `"'`))
			c, err := d.Result(ctx, in.Actor.Owner, id)
			// A call of another chat is none: what its text may do to this one was never judged.
			if err == nil && c.Session != in.Actor.Session.ID {
				err = jackline.E("builtin.result", jackline.NotFound, nil, "other session")
			}
			if err != nil {
				if jackline.KindOf(err) == jackline.NotFound {
					return tool.Out{}, jackline.E("builtin.result", jackline.NotFound, err,
						"There is no result %q; copy the id from where the result was cut.", short(a.Call, 40))
				}
				return tool.Out{}, err
			}
			// The text is as trustworthy as it was the first time. That it is the owner's own, the session knows since then.
			out := tool.Out{Label: &tool.Label{Source: c.Source}, Origin: c.Origin}
			const room = 100 // characters, for the first line
			size := max(pageSize(c.Text, in.AtMost()-room), 200)
			const mostPages = 1 << 16 // no text has so many, and no offset overflows before them
			page := min(max(a.Page, 1), mostPages)
			from := (page - 1) * size
			text, total, err := d.Spill(ctx, in.Actor.Owner, id, from, size)
			if jackline.KindOf(err) == jackline.NotFound && err != nil {
				r := []rune(c.Text)
				total, err = len(r), nil
				text = string(r[min(from, total):min(from+size, total)])
			}
			if err != nil {
				return tool.Out{}, err
			}
			pages := max(1, (total+size-1)/size)
			if from >= total && page > 1 {
				return tool.Out{}, jackline.E("builtin.result", jackline.Unprocessed, nil,
					"The result has only %s.", count(pages, "page"))
			}
			out.Text = fmt.Sprintf("[page %d of %d, characters %d-%d of %d]\n%s", page, pages, from+1, from+utf8.RuneCountInString(text), total, text)
			return out, nil
		},
	})
}

// pageSize is how many letters of a text like the sample weigh as much as limit. It is the same for each page of a result.
func pageSize(sample string, limit int) int {
	const few = 20 // one heavy letter among so many changes nothing
	n, weight := utf8.RuneCountInString(sample), contract.Weight(sample)
	if weight-n <= n/few {
		return limit
	}
	return int(int64(limit) * int64(n) / int64(weight))
}
