package server

import (
	"context"
	"net/http"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
)

// Probes are models that are tried out.
type Probes interface {
	// Probe begins to try a model out, in one way of calling tools or in all of them. It goes on whoever watches.
	Probe(ctx context.Context, ref, mode string, times int) (model.Probe, error)

	// Probes are those under way, and those that ended a short while ago.
	Probes() []model.Probe

	// CancelProbe ends one, or takes one that has ended off the list.
	CancelProbe(ctx context.Context, id string) error
}

type probeIn struct {
	Body struct {
		Ref   string `json:"ref,omitempty" maxLength:"1024" doc:"the model; left out, it is that of new chats"`
		Mode  string `json:"mode,omitempty" enum:"auto,native,envelope,text" doc:"the way of calling tools that is tried; left out, all of them, until one has full marks"`
		Times int    `json:"times,omitempty" minimum:"0" maximum:"5" doc:"how often each check is made; left out, once"`
	}
}

// probeModel lets an engine work for minutes, and may cost money where that is a service: it is an administrator's.
func (s *Server) probeModel(ctx context.Context, in *probeIn) (*body[model.Probe], error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	return bodyOf(s.c.Probes.Probe(ctx, in.Body.Ref, in.Body.Mode, in.Body.Times))
}

func (s *Server) listProbes(context.Context, *none) (*body[[]model.Probe], error) {
	return bodyOf(s.c.Probes.Probes(), nil)
}

type oneProbeIn struct {
	ID string `path:"id" maxLength:"120" doc:"the probe"`
}

func (s *Server) getProbe(_ context.Context, in *oneProbeIn) (*body[model.Probe], error) {
	for _, p := range s.c.Probes.Probes() {
		if p.ID == in.ID {
			return bodyOf(p, nil)
		}
	}
	return nil, jackline.E("server.getProbe", jackline.NotFound, nil, "No model is being probed under this id.")
}

func (s *Server) cancelProbe(ctx context.Context, in *oneProbeIn) (*nothing, error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	return nothingBut(s.c.Probes.CancelProbe(ctx, in.ID))
}

// probeRoutes are the routes of models that are tried out.
func (s *Server) probeRoutes(r *router) {
	route(r, http.MethodPost, "/api/models/probe", "probe-model", "Try a model out", s.probeModel, status(http.StatusAccepted))
	route(r, http.MethodGet, "/api/models/probes", "list-probes", "The models that are being tried out", s.listProbes)
	route(r, http.MethodGet, "/api/models/probes/{id}", "get-probe", "How a model does", s.getProbe)
	routeOf(r, http.MethodDelete, "/api/models/probes/{id}", "cancel-probe", "Stop trying a model out", s.cancelProbe, status(http.StatusNoContent))
}
