package server

import (
	"context"
	"net/http"
	"runtime"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/guard"
)

// callerOf says who sent a request: the page, the command line, or another program.
func callerOf(fetchMode, agent string) string {
	switch {
	case strings.HasPrefix(agent, "jackline/"):
		return "cli"
	case fetchMode != "":
		return "page"
	}
	return "api"
}

type healthIn struct {
	Nonce string `query:"nonce" maxLength:"128" doc:"a text that was never sent before: the answer then has a proof"`
}

type healthBody struct {
	Status  string `json:"status"`
	Version string `json:"version"`
	Proof   string `json:"proof,omitempty" doc:"in hex, HMAC-SHA256 of 'jackline healthz ' and the nonce, with the bearer token as its key: whoever made it has the token"`
}

func (s *Server) health(_ context.Context, in *healthIn) (*body[healthBody], error) {
	out := healthBody{Status: "ok", Version: s.c.Version}
	if in.Nonce != "" {
		out.Proof = guard.Proof(s.c.Token, in.Nonce)
	}
	return bodyOf(out, nil)
}

type loginIn struct {
	Body struct {
		Code string `json:"code" maxLength:"100" doc:"from the address that the server printed"`
	}
}

type loginBody struct {
	Token string `json:"token"`
}

func (s *Server) login(_ context.Context, in *loginIn) (*body[loginBody], error) {
	if !s.logins.Allow() {
		return nil, newProblem(http.StatusTooManyRequests, guard.TooMany, "Too many logins; wait a minute, or paste the token.")
	}
	if !s.codes.Use(strings.TrimSpace(in.Body.Code)) {
		return nil, newProblem(http.StatusUnauthorized, guard.Unauthorized, "This link was used already, or is too old: `jackline web` opens a new one.")
	}
	return bodyOf(loginBody{s.c.Token}, nil)
}

type codeBody struct {
	Code string `json:"code" doc:"for the fragment of the page's address: #code=CODE; it works once, for ten minutes"`
}

// newCode lets whoever has the token open a page, as `jackline web` does where a server runs already.
func (s *Server) newCode(context.Context, *emptyIn) (*body[codeBody], error) {
	return bodyOf(codeBody{s.NewCode()}, nil)
}

type statusBody struct {
	Version   string      `json:"version"`
	Model     ModelStatus `json:"model"`
	Killed    bool        `json:"killed" doc:"the kill switch is on"`
	Sandbox   string      `json:"sandbox" doc:"what commands are confined by"`
	Workspace string      `json:"workspace" doc:"the folder of chats that name none; empty if it cannot be used"`
	Modes     []string    `json:"modes"`
	System    system      `json:"system"`
}

// system is the machine that the server runs on, for advice on what to install there.
type system struct {
	OS     string `json:"os" doc:"linux, darwin, windows or another"`
	Arch   string `json:"arch"`
	Memory int64  `json:"memory" doc:"bytes; 0 is unknown"`
}

func (s *Server) status(ctx context.Context, _ *none) (*body[statusBody], error) {
	folder, err := s.c.Vet(ctx, "")
	if err != nil {
		folder = "" // who begins a chat in it is told why
	}
	return bodyOf(statusBody{
		Version: s.c.Version, Model: s.c.Model(ctx), Killed: s.c.Turns.Halted(), Sandbox: s.c.Sandbox().String(), Workspace: folder, Modes: jackline.Modes(),
		System: system{OS: runtime.GOOS, Arch: runtime.GOARCH, Memory: s.c.Memory},
	}, nil)
}

type stopAllIn struct {
	By   caller
	Body struct {
		Lift bool `json:"lift,omitempty" doc:"take the kill switch back"`
	}
}

type stopAllBody struct {
	Killed  bool              `json:"killed"`
	Stopped []jackline.TurnID `json:"stopped"`
}

func (s *Server) stopAll(ctx context.Context, in *stopAllIn) (*body[stopAllBody], error) {
	ctx = context.WithoutCancel(ctx) // a switch that a lost client leaves half thrown is none
	if in.Body.Lift {
		return bodyOf(stopAllBody{false, []jackline.TurnID{}}, s.c.Turns.Lift(ctx, s.owner, in.By.name))
	}
	stopped, err := s.c.Turns.StopAll(ctx, s.owner, in.By.name)
	return bodyOf(stopAllBody{true, stopped}, err)
}
