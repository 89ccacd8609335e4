package server

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/archive"
	"github.com/jackline-ai/jackline/store"
)

// lastLength is how much of a chat's last prompt the list shows.
const lastLength = 200

// sessionRow is one line of the list of chats.
type sessionRow struct {
	jackline.Session
	Status string `json:"status" enum:"idle,running,waiting,queued" doc:"waiting: it needs a person"`
	Last   string `json:"last" doc:"the beginning of its last prompt"`
	Open   int    `json:"open" doc:"questions that nobody has answered"`
}

type listSessionsIn struct {
	Search    string    `query:"search" maxLength:"200" doc:"words that all occur in titles, prompts or answers of the chat"`
	Workspace string    `query:"workspace" doc:"only chats of this folder"`
	Before    time.Time `query:"before" doc:"only those last changed before: the updated of the last row of a page"`
	Limit     int       `query:"limit" minimum:"1" maximum:"200" doc:"at most so many; 50 unless said otherwise"`
}

func (s *Server) listSessions(ctx context.Context, in *listSessionsIn) (*body[[]sessionRow], error) {
	q := store.SessionQuery{Search: in.Search, Workspace: in.Workspace, Before: in.Before, Limit: in.Limit}
	if q.Workspace != "" {
		if real, err := s.c.Vet(ctx, q.Workspace); err == nil {
			q.Workspace = real // sessions keep the real path
		}
	}
	list, err := s.c.Store.Sessions(ctx, s.owner, q)
	if err != nil {
		return nil, err
	}
	open, err := s.c.Store.OpenTurns(ctx)
	if err != nil {
		return nil, err
	}
	has := map[jackline.SessionID]map[jackline.Status]bool{}
	for _, t := range open {
		if has[t.Session] == nil {
			has[t.Session] = map[jackline.Status]bool{}
		}
		has[t.Session][t.Status] = true
	}
	rows := make([]sessionRow, 0, len(list))
	for _, v := range list {
		last, err := s.lasts.of(ctx, s, v.Session)
		if jackline.KindOf(err) == jackline.NotFound {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, sessionRow{Session: v.Session, Status: statusOfChat(has[v.ID], v.Open), Last: last, Open: v.Open})
	}
	return bodyOf(rows, nil)
}

// statusOfChat is what a chat is at: what a person has to know comes first.
func statusOfChat(has map[jackline.Status]bool, open int) string {
	switch {
	case has[jackline.Waiting] || open > 0:
		return "waiting"
	case has[jackline.Running]:
		return "running"
	case has[jackline.Queued]:
		return "queued"
	}
	return "idle"
}

// lasts remembers the beginnings of last prompts. The list is asked for after every turn, and most chats in it have not
// changed since.
type lasts struct {
	mu    sync.Mutex
	known map[jackline.SessionID]last
}

type last struct {
	updated time.Time
	text    string
}

// maxLasts bounds what is remembered: more chats than a person pages through.
const maxLasts = 2000

func (l *lasts) of(ctx context.Context, s *Server, v jackline.Session) (string, error) {
	l.mu.Lock()
	have, ok := l.known[v.ID]
	l.mu.Unlock()
	if ok && have.updated.Equal(v.Updated) {
		return have.text, nil
	}
	turns, err := s.c.Store.Turns(ctx, s.owner, v.ID)
	if err != nil {
		return "", err
	}
	now := last{updated: v.Updated}
	for _, t := range turns {
		if t.Parent == "" && t.Prompt != "" {
			now.text = cut(s.c.Hider.Text(t.Prompt), lastLength)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= maxLasts {
		l.known = map[jackline.SessionID]last{}
	}
	l.known[v.ID] = now
	return now.text, nil
}

// cut is the beginning of s, at most n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

// SessionBody is what a new chat is to be.
type SessionBody struct {
	Workspace string         `json:"workspace,omitempty" doc:"an absolute path; the default workspace unless said"`
	Mode      *jackline.Mode `json:"mode,omitempty" enum:"plan,ask,allow-reads,allow-edits,allow-all" doc:"the mode of the settings unless said"`
	Model     string         `json:"model,omitempty" maxLength:"200"`
	Title     string         `json:"title,omitempty" maxLength:"200"`
}

type createSessionIn struct{ Body SessionBody }

func (s *Server) createSession(ctx context.Context, in *createSessionIn) (*body[jackline.Session], error) {
	v, err := s.newSession(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return bodyOf(s.c.Store.CreateSession(ctx, s.owner, v))
}

// newSession is the chat that a request is for. It is not stored yet.
func (s *Server) newSession(ctx context.Context, b SessionBody) (v jackline.Session, err error) {
	v = jackline.Session{Model: strings.TrimSpace(b.Model), Title: strings.TrimSpace(b.Title)}
	if v.Workspace, err = s.c.Vet(ctx, b.Workspace); err != nil {
		return v, err
	}
	if b.Mode != nil {
		v.Mode = *b.Mode
		return v, nil
	}
	p, err := s.c.Settings.Permissions(ctx, s.owner)
	v.Mode = p.Mode
	return v, err
}

func (s *Server) getSession(ctx context.Context, in *ofSession) (*body[jackline.Session], error) {
	return bodyOf(s.c.Store.Session(ctx, s.owner, in.ID))
}

type patchSessionIn struct {
	ID   jackline.SessionID `path:"id" doc:"the chat"`
	By   caller
	Body struct {
		Title   *string        `json:"title,omitempty" minLength:"1" maxLength:"200"`
		Mode    *jackline.Mode `json:"mode,omitempty" enum:"plan,ask,allow-reads,allow-edits,allow-all"`
		Model   *string        `json:"model,omitempty" maxLength:"200" doc:"the model from the next turn on; empty is the server's own"`
		Ungated *bool          `json:"ungated,omitempty" doc:"switch the taint gate off for this chat: what it has read no longer makes calls ask"`
	}
}

func (s *Server) patchSession(ctx context.Context, in *patchSessionIn) (*body[jackline.Session], error) {
	v, err := s.c.Store.Session(ctx, s.owner, in.ID)
	if err != nil {
		return nil, err
	}
	rec := jackline.Record{Session: in.ID, Mode: in.Body.Mode, Ungated: in.Body.Ungated, Sync: in.Body.Mode != nil || in.Body.Ungated != nil}
	if in.Body.Title != nil {
		if rec.Title = strings.TrimSpace(*in.Body.Title); rec.Title == "" {
			return nil, jackline.E("server.patchSession", jackline.Unprocessed, nil, "The title is empty.")
		}
	}
	if m := in.Body.Mode; m != nil && *m != v.Mode {
		rec.Events = append(rec.Events, jackline.NewEvent(in.ID, "", jackline.ModeChanged{Mode: *m, By: in.By.name}))
	}
	if u := in.Body.Ungated; u != nil && *u != v.Ungated {
		why := "The taint gate was switched on, by " + in.By.name + "."
		if *u {
			why = "The taint gate was switched off, by " + in.By.name + "."
		}
		rec.Events = append(rec.Events, jackline.NewEvent(in.ID, "", jackline.LabelChanged{Labels: v.Labels, Ungated: *u, Why: why}))
	}
	if m := in.Body.Model; m != nil {
		if strings.HasPrefix(*m, "script:") {
			return nil, jackline.E("server.patchSession", jackline.Unprocessed, nil, "A chat cannot choose a transcript file.")
		}
		name := strings.TrimSpace(*m)
		rec.Model = &name
	}
	if rec.Title != "" || rec.Mode != nil || rec.Model != nil || rec.Ungated != nil {
		if _, err := s.c.Store.Append(ctx, s.owner, rec); err != nil {
			return nil, err
		}
	}
	return bodyOf(s.c.Store.Session(ctx, s.owner, in.ID))
}

func (s *Server) deleteSession(ctx context.Context, in *ofSession) (*nothing, error) {
	return nothingBut(s.c.Turns.Delete(ctx, s.owner, in.ID))
}

type exportBody struct {
	Session jackline.Session `json:"session"`
	Turns   []jackline.Turn  `json:"turns"`
	Events  []jackline.Event `json:"events"`
}

func (s *Server) exportSession(ctx context.Context, in *ofSession) (*body[exportBody], error) {
	v, err := s.c.Store.Session(ctx, s.owner, in.ID)
	if err != nil {
		return nil, err
	}
	turns, err := s.c.Store.Turns(ctx, s.owner, in.ID)
	if err != nil {
		return nil, err
	}
	events, err := archive.Log(ctx, s.c.Store, s.owner, in.ID)
	return bodyOf(exportBody{v, turns, events}, err)
}

type forkIn struct {
	ID   jackline.SessionID `path:"id" doc:"the chat"`
	Body struct {
		Turn jackline.TurnID `json:"turn,omitempty" doc:"copy up to and with this turn; all that have ended unless said"`
	}
}

func (s *Server) forkSession(ctx context.Context, in *forkIn) (*body[jackline.Session], error) {
	from, err := s.c.Store.Session(ctx, s.owner, in.ID)
	if err != nil {
		return nil, err
	}
	title := from.Title
	if title != "" {
		title = cut(title, 190) + " (copy)"
	}
	return bodyOf(archive.Copy(ctx, s.c.Store, s.owner, from, title, in.Body.Turn))
}

type ofCall struct {
	ID   jackline.SessionID `path:"id" doc:"the chat"`
	Call jackline.CallID    `path:"call" doc:"the call"`
}

func (s *Server) getCall(ctx context.Context, in *ofCall) (*body[jackline.Call], error) {
	c, err := s.c.Store.Call(ctx, s.owner, in.Call)
	if err == nil && c.Session != in.ID {
		err = jackline.E("server.getCall", jackline.NotFound, nil, "There is no such call in this chat.")
	}
	return bodyOf(c, err)
}
