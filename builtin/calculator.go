package builtin

import (
	"context"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/builtin/sum"
	"github.com/jackline-ai/jackline/tool"
)

func calculator() tool.Tool {
	type args struct {
		Expression string `json:"expression" doc:"as 2*(3+4)^2 or sqrt(2)"`
	}
	return tool.Define(tool.Spec[args]{
		Name:    "calculator",
		Aliases: []string{"calc", "calculate", "math", "compute", "evaluate", "eval_math", "arithmetic"},
		Group:   "pure",
		Summary: "Calculate exactly.",
		Use:     "For any arithmetic beyond small numbers.",
		Find:    "math arithmetic sum percent square root sine power factorial divide multiply number",
		Effect:  jackline.Pure,
		Source:  jackline.Ours,
		Cache:   true,
		Icon:    "think",
		Title:   func(a args) string { return "Calculate " + short(a.Expression, 80) },
		Run: func(_ context.Context, _ tool.In, a args) (tool.Out, error) {
			n, err := sum.Evaluate(a.Expression)
			if err != nil {
				return tool.Out{}, err
			}
			return tool.Out{Text: short(a.Expression, 200) + " = " + n.String()}, nil
		},
	})
}
