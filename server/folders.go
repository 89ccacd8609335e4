package server

import (
	"context"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/folders"
	"github.com/jackline-ai/jackline/workspace"
)

// administers refuses whoever does not administer the server: its folders, its engines and the keys for them
// belong to all of it.
func (s *Server) administers() error {
	if s.owner == jackline.Local {
		return nil
	}
	return jackline.E("server.administers", jackline.Forbidden, nil, "Only who administers this server may do that.")
}

type trustedBody struct {
	Default string            `json:"default" doc:"the folder of chats that name none; empty if it cannot be used"`
	Trusted []folders.Trusted `json:"trusted" doc:"folders whose AGENTS.md instructs the model"`
}

func (s *Server) listTrusted(ctx context.Context, _ *none) (*body[trustedBody], error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	out := trustedBody{}
	out.Default, _ = s.c.Vet(ctx, "") // who begins a chat in it is told why it cannot be used
	var err error
	out.Trusted, err = s.c.Folders.List(ctx, s.owner)
	return bodyOf(out, err)
}

type browseIn struct {
	Path string `query:"path" maxLength:"4096" doc:"an absolute path; the home folder unless said"`
}

func (s *Server) browse(_ context.Context, in *browseIn) (*body[workspace.Listing], error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	return bodyOf(s.c.Folders.Browse(in.Path))
}

type vetIn struct {
	Body struct {
		Path string `json:"path,omitempty" maxLength:"4096" doc:"an absolute path; the default workspace unless said"`
	}
}

func (s *Server) vet(ctx context.Context, in *vetIn) (*body[folders.Look], error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	path := in.Body.Path
	if path == "" {
		var err error
		if path, err = s.c.Vet(ctx, ""); err != nil {
			return nil, err
		}
	}
	return bodyOf(s.c.Folders.Look(ctx, s.owner, path))
}

type trustIn struct {
	Body struct {
		Path    string `json:"path" minLength:"1" maxLength:"4096" doc:"an absolute path"`
		Trusted bool   `json:"trusted" doc:"follow the folder's AGENTS.md from the next turn on, or no longer"`
	}
}

func (s *Server) trust(ctx context.Context, in *trustIn) (*body[folders.Look], error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	path, err := s.c.Folders.Trust(ctx, s.owner, in.Body.Path, in.Body.Trusted)
	if err != nil {
		return nil, err
	}
	return bodyOf(s.c.Folders.Look(ctx, s.owner, path))
}
