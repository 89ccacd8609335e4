package runstest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// Settings are the owners' settings, in memory.
type Settings struct {
	mu   sync.Mutex
	p    jackline.Permissions
	a    jackline.AgentSettings
	Keys []string // that a flag or the environment sets; not to be changed while somebody reads
}

// Change changes the permissions.
func (s *Settings) Change(f func(*jackline.Permissions)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.p)
}

// Permissions implements server.Settings.
func (s *Settings) Permissions(context.Context, jackline.Owner) (jackline.Permissions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.p, nil
}

// Agent implements server.Settings.
func (s *Settings) Agent(context.Context, jackline.Owner) (jackline.AgentSettings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.a, nil
}

// Fixed implements server.Settings.
func (s *Settings) Fixed() []string { return s.Keys }

// Put implements server.Settings.
func (s *Settings) Put(_ context.Context, _ jackline.Owner, values map[string]json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	into := map[string]any{
		"permissions.mode": &s.p.Mode, "permissions.rules": &s.p.Rules, "permissions.workspaceRoot": &s.p.WorkspaceRoot,
		"permissions.approvalTimeout": &s.p.ApprovalTimeout, "permissions.onAsk": &s.p.OnAsk, "tools.disabled": &s.p.Disabled,
		"permissions.toggles.readFiles": &s.p.Toggles.ReadFiles, "permissions.toggles.writeFiles": &s.p.Toggles.WriteFiles,
		"permissions.toggles.runShell": &s.p.Toggles.RunShell, "permissions.toggles.network": &s.p.Toggles.Network,
		"agent.maxSteps": &s.a.MaxSteps, "agent.callsPerStep": &s.a.CallsPerStep, "agent.history": &s.a.History,
		"agent.prefetch": &s.a.Prefetch, "agent.persona": &s.a.Persona, "agent.maxTokens": &s.a.MaxTokens, "agent.maxTime": &s.a.MaxTime,
	}
	for k, v := range values {
		if into[k] == nil {
			return fmt.Errorf("no key %s", k)
		}
		if err := json.Unmarshal(v, into[k]); err != nil {
			return err
		}
	}
	return nil
}

// Files are what the test tool writes to, instead of a disk.
type Files struct {
	mu   sync.Mutex
	m    map[string]string
	runs int

	Then func() // is called after each writing, if not nil; set it before anything runs
}

// Get is what was put under a name.
func (f *Files) Get(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.m[name]
}

// Count is how often something was put.
func (f *Files) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs
}

func (f *Files) put(name, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.m[name] = text
	f.runs++
}

type echoArgs struct {
	Text string `json:"text" doc:"what to say back"`
}

type putArgs struct {
	Path string `json:"path" doc:"where"`
	Text string `json:"text" doc:"what"`
}

type quizArgs struct {
	Text string `json:"text" doc:"what to ask"`
}

// tools are three small ones: one that is pure, one that writes, one that asks.
func tools(f *Files) *tool.Set {
	echo := tool.Define(tool.Spec[echoArgs]{
		Name: "say_back", Group: "pure", Summary: "Say something back.", Effect: jackline.Pure, Source: jackline.Ours, Icon: "other",
		Title: func(a echoArgs) string { return "Say " + a.Text },
		Run:   func(_ context.Context, _ tool.In, a echoArgs) (tool.Out, error) { return tool.Out{Text: a.Text}, nil },
	})
	put := tool.Define(tool.Spec[putArgs]{
		Name: "put_text", Aliases: []string{"write_it"}, Group: "files", Summary: "Put text in a file.", Effect: jackline.Write, Source: jackline.Ours, Icon: "edit",
		Title: func(a putArgs) string { return "Put " + a.Path },
		Touches: func(_ tool.In, a putArgs) ([]jackline.Touch, error) {
			t := jackline.Touch{Effect: jackline.Write, Kind: "path", Name: a.Path}
			if strings.HasPrefix(a.Path, ".git") {
				t.Refused = "Nothing is written there."
			}
			return []jackline.Touch{t}, nil
		},
		Preview: func(_ context.Context, _ tool.In, a putArgs) (jackline.View, error) {
			return jackline.View{Shape: jackline.ViewDiff, Files: []jackline.Diff{{Path: a.Path, Change: "edit", Added: 1}}}, nil
		},
		Run: func(ctx context.Context, _ tool.In, a putArgs) (tool.Out, error) {
			if a.Text == "slow" {
				<-ctx.Done()
				return tool.Out{}, ctx.Err()
			}
			f.put(a.Path, a.Text)
			if f.Then != nil {
				f.Then()
			}
			return tool.Out{Text: "written", View: jackline.View{Shape: jackline.ViewList, Rows: [][]string{{a.Path}}}}, nil
		},
	})
	quiz := tool.Define(tool.Spec[quizArgs]{
		Name: "quiz_me", Group: "pure", Summary: "Ask something.", Effect: jackline.Pure, Source: jackline.Ours, Icon: "other",
		Title: func(a quizArgs) string { return "Ask " + a.Text },
		Ask: func(a quizArgs) ([]jackline.Question, error) {
			return []jackline.Question{{Text: a.Text, Options: []string{"yes", "no"}}}, nil
		},
	})
	set, err := tool.NewSet(echo, put, quiz)
	if err != nil {
		panic(err)
	}
	return set
}
