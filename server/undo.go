package server

import (
	"context"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/undo"
)

type changesIn struct {
	ID   jackline.SessionID `path:"id" doc:"the chat"`
	Turn string             `query:"turn" maxLength:"64" doc:"whose changes: a turn, a call made by hand, or an undo; the last turn unless said"`
}

type changesBody struct {
	Turn  string             `json:"turn"`
	Files []jackline.Undoing `json:"files" doc:"what it changed, and what an undo of each file would do now"`
}

// listChanges says what a turn changed, and what an undo would do now.
func (s *Server) listChanges(ctx context.Context, in *changesIn) (*body[changesBody], error) {
	if in.Turn == "" {
		turns, err := s.c.Store.Turns(ctx, s.owner, in.ID)
		if err != nil {
			return nil, err
		}
		for _, t := range turns {
			if t.Parent == "" && t.Status != jackline.Queued {
				in.Turn = string(t.ID)
			}
		}
		if in.Turn == "" {
			return bodyOf(changesBody{Files: []jackline.Undoing{}}, nil)
		}
	}
	keeper, who, err := s.keeper(ctx, in.ID, in.Turn)
	if err != nil {
		return nil, err
	}
	files, err := keeper.Changes(ctx, who, in.Turn)
	return bodyOf(changesBody{in.Turn, notNil(files)}, err)
}

type undoIn struct {
	ID   jackline.SessionID `path:"id" doc:"the chat"`
	By   caller
	Body struct {
		Turn  string   `json:"turn" minLength:"1" maxLength:"64" doc:"what is taken back: a turn, a call made by hand, or an undo"`
		Paths []string `json:"paths,omitempty" maxItems:"5000" doc:"only these files; all unless said"`
		Force bool     `json:"force,omitempty" doc:"files that were changed since, too: what came later is replaced, and kept for an undo of this undo"`
		Dry   bool     `json:"dry,omitempty" doc:"say what would be done, and do nothing"`
	}
}

type undoneBody struct {
	ID    string             `json:"id" doc:"by which this undo can be undone; empty where nothing was done"`
	Turn  string             `json:"turn"`
	Files []jackline.Undoing `json:"files"`
}

// undoTurn takes back what a turn did to files. It is a person's act: no tool leads here.
func (s *Server) undoTurn(ctx context.Context, in *undoIn) (*body[undoneBody], error) {
	b := in.Body
	keeper, who, err := s.keeper(ctx, in.ID, b.Turn)
	if err != nil {
		return nil, err
	}
	var r undo.Report
	do := func(ctx context.Context) error {
		r, err = keeper.Undo(ctx, who, b.Turn, undo.Options{Paths: b.Paths, Force: b.Force, Dry: b.Dry, By: in.By.name})
		return err
	}
	if b.Dry {
		err = do(ctx)
	} else {
		err = s.c.Turns.Alone(ctx, s.owner, in.ID, do)
	}
	return bodyOf(undoneBody{r.ID, b.Turn, notNil(r.Files)}, err)
}

// keeper finds what keeps the files of a chat's workspace, for a unit of that chat.
func (s *Server) keeper(ctx context.Context, id jackline.SessionID, unit string) (*undo.Keeper, jackline.Actor, error) {
	const op = "server.keeper"
	session, err := s.c.Store.Session(ctx, s.owner, id)
	if err != nil {
		return nil, jackline.Actor{}, err
	}
	var of jackline.SessionID
	switch {
	case strings.HasPrefix(unit, "t_"):
		var t jackline.Turn
		t, err = s.c.Store.Turn(ctx, s.owner, jackline.TurnID(unit))
		of = t.Session
	case strings.HasPrefix(unit, "c_"):
		var c jackline.Call
		c, err = s.c.Store.Call(ctx, s.owner, jackline.CallID(unit))
		of = c.Session
	default:
		of, err = s.c.Store.UnitSession(ctx, s.owner, unit)
	}
	if err != nil && jackline.KindOf(err) != jackline.NotFound {
		return nil, jackline.Actor{}, err
	}
	if of != id || err != nil {
		return nil, jackline.Actor{}, jackline.E(op, jackline.NotFound, nil, "There is no such turn, call or undo in this chat.")
	}
	keeper, err := s.c.Undo(session)
	return keeper, jackline.Actor{Owner: s.owner, Admin: true, Session: session, Source: jackline.FromUser}, err
}

type ofChange struct {
	Turn string `path:"turn" maxLength:"64" doc:"a turn, a call made by hand, or an undo"`
}

type ofChangeBody struct {
	Session jackline.SessionID `json:"session"`
}

// findChanges tells in which chat something changed files.
func (s *Server) findChanges(ctx context.Context, in *ofChange) (*body[ofChangeBody], error) {
	id, err := s.c.Store.UnitSession(ctx, s.owner, in.Turn)
	if jackline.KindOf(err) == jackline.NotFound && err != nil {
		err = jackline.E("server.findChanges", jackline.NotFound, nil, "Nothing of that name changed any files.")
	}
	return bodyOf(ofChangeBody{id}, err)
}

// notNil is a list that is written as one even where it is empty.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
