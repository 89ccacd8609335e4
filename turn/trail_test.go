package turn

import (
	"fmt"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
)

// The first block that is not as it was has its name, whatever is behind it.
func TestTrails(t *testing.T) {
	base := func() model.Request {
		return model.Request{
			System:   []string{"rules", "workspace", "instructions", summaryHead + "all"},
			Tools:    []model.Tool{{Name: "a", Summary: "A."}},
			Known:    []model.Tool{{Name: "a"}, {Name: "b"}},
			Messages: []model.Message{{Role: model.User, Text: "hello"}, {Role: model.Assistant, Text: "hi", Calls: []model.Call{{ID: "1", Name: "a"}}}},
		}
	}
	for want, change := range map[string]func(*model.Request){
		"":                      func(r *model.Request) { r.Messages = append(r.Messages, model.Message{Role: model.User, Text: "more"}) },
		"rules":                 func(r *model.Request) { r.System[0], r.Messages[0].Text = "other rules", "hallo" },
		"workspace":             func(r *model.Request) { r.System[1] += " Mode: plan." },
		"instructions":          func(r *model.Request) { r.System[2] = "other" },
		"summary":               func(r *model.Request) { r.System[3] += " and more" },
		"tools":                 func(r *model.Request) { r.Known = r.Known[:1] },
		"message 1 (user)":      func(r *model.Request) { r.Messages[0].Text = "hallo" },
		"message 2 (assistant)": func(r *model.Request) { r.Messages[1].Calls[0].ID = "2" },
	} {
		var ts trails
		if differs, same, of := ts.follow("s", base()); differs != "" || same != 0 || of != 0 {
			t.Errorf("at first %q, %d of %d", differs, same, of)
		}
		r := base()
		change(&r)
		differs, same, of := ts.follow("s", r)
		if differs != want || (want == "") != (same == of) || same > of {
			t.Errorf("%q differs, want %q; %d of %d", differs, want, same, of)
		}
	}
	var ts trails
	short := base()
	short.Messages = short.Messages[:1]
	ts.follow("s", base())
	if differs, _, _ := ts.follow("s", short); differs != "message 2 (assistant)" {
		t.Errorf("what is left out: %q", differs)
	}
	for k := range mostTrails * 3 {
		ts.follow(jackline.SessionID(fmt.Sprint(k)), short)
	}
	if len(ts.of) > mostTrails {
		t.Errorf("%d sessions are followed", len(ts.of))
	}
}
