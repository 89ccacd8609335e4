package server

import (
	"context"
	"errors"
	"runtime"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/redact"
	"github.com/jackline-ai/jackline/server/runs"
)

func (s *Server) listTurns(ctx context.Context, in *ofSession) (*body[[]jackline.Turn], error) {
	return bodyOf(s.c.Store.Turns(ctx, s.owner, in.ID))
}

func (s *Server) listQueue(ctx context.Context, in *ofSession) (*body[[]jackline.Turn], error) {
	turns, err := s.c.Store.Turns(ctx, s.owner, in.ID)
	queue := []jackline.Turn{}
	for _, t := range turns {
		if t.Status == jackline.Queued {
			queue = append(queue, t)
		}
	}
	return bodyOf(queue, err)
}

// PromptBody is a prompt and how it is to be answered.
type PromptBody struct {
	Prompt   string         `json:"prompt,omitempty"`
	Plan     bool           `json:"plan,omitempty" doc:"look, do not change"`
	Guide    bool           `json:"guide,omitempty" doc:"answer in words: no tools"`
	AskFirst bool           `json:"ask_first,omitempty" doc:"ask before every tool"`
	Offline  bool           `json:"offline,omitempty" doc:"no tools that reach the network"`
	OnAsk    jackline.OnAsk `json:"onAsk,omitempty" enum:"deny,fail,wait" doc:"what becomes of a question; the setting unless said"`
	TZ       string         `json:"tz,omitempty" maxLength:"64" doc:"the client's time zone, as in Europe/Berlin"`

	MaxSteps  int   `json:"max_steps,omitempty" minimum:"1" maximum:"2000"`
	MaxTokens int   `json:"max_tokens,omitempty" minimum:"1" maximum:"1073741824"`
	MaxTimeMS int64 `json:"max_time_ms,omitempty" minimum:"1" maximum:"2592000000"`

	Allow []string `json:"allow,omitempty" maxItems:"50" doc:"patterns of rules that allow, for this turn only"`
}

type submitBody struct {
	PromptBody
	Continue jackline.TurnID `json:"continue,omitempty" doc:"instead of a prompt: carry on the last turn, which reached its limit, was interrupted or failed"`
	When     string          `json:"when,omitempty" enum:"queue,steer" doc:"while a turn is under way: after it, or into it at its next step"`

	// Ten: each of them gets a share of a window that is small.
	Attachments []jackline.AttachmentID `json:"attachments,omitempty" maxItems:"10" doc:"files of this chat that go with the prompt, in this order"`
}

type submitIn struct {
	ID   jackline.SessionID `path:"id" doc:"the chat"`
	By   caller
	Body submitBody
}

type takenBody struct {
	Turn    jackline.Turn `json:"turn"`
	Queued  bool          `json:"queued"`
	Steered bool          `json:"steered" doc:"the words went to the turn under way, which is turn"`
}

func (s *Server) submitTurn(ctx context.Context, in *submitIn) (*body[takenBody], error) {
	const op = "server.submitTurn"
	b := in.Body
	if err := s.attached(ctx, in.ID, b.Attachments); err != nil {
		return nil, err
	}
	opt, err := s.options(ctx, in.By, b.PromptBody, b.Continue != "")
	if err != nil {
		return nil, err
	}
	opt.Attachments = b.Attachments
	var taken runs.Taken
	switch {
	case len(b.Attachments) > 0 && (b.Continue != "" || b.When == "steer"):
		return nil, jackline.E(op, jackline.Unprocessed, nil, "Files go with a prompt of its own: queue it instead.")
	case b.Continue != "" && (b.Prompt != "" || b.When != ""):
		return nil, jackline.E(op, jackline.Unprocessed, nil, "Send a prompt or continue a turn, not both.")
	case b.Continue != "":
		taken, err = s.c.Turns.Continue(ctx, s.owner, in.ID, b.Continue, opt)
	case b.When == "steer":
		taken, err = s.c.Turns.Steer(ctx, s.owner, in.ID, b.Prompt, opt)
	default:
		taken, err = s.c.Turns.Submit(ctx, s.owner, in.ID, b.Prompt, opt)
	}
	return bodyOf(takenBody(taken), err)
}

type beginBody struct {
	SessionBody
	PromptBody
}

type beginIn struct {
	By   caller
	Body beginBody
}

type begunBody struct {
	Session jackline.Session `json:"session"`
	Turn    jackline.Turn    `json:"turn"`
	Queued  bool             `json:"queued"`
}

func (s *Server) begin(ctx context.Context, in *beginIn) (*body[begunBody], error) {
	opt, err := s.options(ctx, in.By, in.Body.PromptBody, false)
	if err != nil {
		return nil, err
	}
	v, err := s.newSession(ctx, in.Body.SessionBody)
	if err != nil {
		return nil, err
	}
	v, taken, err := s.c.Turns.Begin(ctx, s.owner, v, in.Body.Prompt, opt)
	runtime.Gosched() // the turn is more urgent than the answer, and would wait for it on a machine with few cores
	return bodyOf(begunBody{Session: v, Turn: taken.Turn, Queued: taken.Queued}, err)
}

// options are a turn's options as the request gives them. One that is carried on keeps some of its own.
func (s *Server) options(ctx context.Context, by caller, b PromptBody, carriedOn bool) (jackline.TurnOptions, error) {
	opt := jackline.TurnOptions{
		Plan: b.Plan, Guide: b.Guide, AskFirst: b.AskFirst, Offline: b.Offline, OnAsk: b.OnAsk, TZ: b.TZ,
		MaxSteps: b.MaxSteps, MaxTokens: b.MaxTokens, MaxTimeMS: b.MaxTimeMS, Source: by.name,
	}
	if opt.OnAsk == "" && !carriedOn {
		p, err := s.c.Settings.Permissions(ctx, s.owner)
		if err != nil {
			return opt, err
		}
		opt.OnAsk = p.OnAsk
	}
	for _, pattern := range b.Allow {
		opt.Allow = append(opt.Allow, jackline.Rule{Do: jackline.Allow, Pattern: pattern})
	}
	return opt, s.checkRules(opt.Allow)
}

// checkRules says what is wrong with rules, all of it.
func (s *Server) checkRules(rules []jackline.Rule) error {
	if len(rules) == 0 {
		return nil
	}
	faults := s.c.CheckRules(rules)
	if len(faults) == 0 {
		return nil
	}
	say := ""
	for _, f := range faults {
		say += " " + jackline.Say(f)
	}
	return jackline.E("server.checkRules", jackline.Unprocessed, errors.Join(faults...), "%s", say[1:])
}

type ofQueued struct {
	ID   jackline.SessionID `path:"id" doc:"the chat"`
	Turn jackline.TurnID    `path:"turn" doc:"the turn"`
}

type editQueuedIn struct {
	ID   jackline.SessionID `path:"id" doc:"the chat"`
	Turn jackline.TurnID    `path:"turn" doc:"the turn"`
	Body struct {
		Prompt string `json:"prompt"`
	}
}

func (s *Server) editQueued(ctx context.Context, in *editQueuedIn) (*body[jackline.Turn], error) {
	if redact.Holds(in.Body.Prompt) {
		return nil, jackline.E("server.editQueued", jackline.Unprocessed, nil,
			"The prompt holds a placeholder such as [hidden:token], which would take the place of what it hides: write the secret again, or leave the prompt as it is.")
	}
	return bodyOf(s.c.Turns.EditQueued(ctx, s.owner, in.ID, in.Turn, in.Body.Prompt))
}

func (s *Server) dropQueued(ctx context.Context, in *ofQueued) (*nothing, error) {
	return nothingBut(s.c.Turns.DropQueued(ctx, s.owner, in.ID, in.Turn))
}

type stopIn struct {
	ID   jackline.SessionID `path:"id" doc:"the chat"`
	Body *struct{}          `doc:"may be left out"`
}

type stopBody struct {
	Stopped []jackline.TurnID `json:"stopped"`
}

func (s *Server) stopSession(ctx context.Context, in *stopIn) (*body[stopBody], error) {
	stopped, err := s.c.Turns.Stop(context.WithoutCancel(ctx), s.owner, in.ID)
	return bodyOf(stopBody{stopped}, err)
}
