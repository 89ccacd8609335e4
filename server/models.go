package server

import (
	"context"
	"net/http"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
)

// Models are the engines and models that there are to choose from. None of what they give holds a key.
type Models interface {
	// Catalogue is what there is; again looks anew in place of what was seen a short while ago.
	Catalogue(ctx context.Context, again bool) (model.Catalogue, error)

	// Try looks at an address, or, where id is not empty, at a known engine. What is the matter with it is its state.
	Try(ctx context.Context, id string, a model.Address) (model.Engine, error)

	// Add keeps an engine, and Drop forgets one that was added.
	Add(ctx context.Context, a model.Address) (model.Engine, error)
	Drop(ctx context.Context, id string) error

	// Use makes a model that of new chats, and gives its whole reference. "" takes the choice back.
	Use(ctx context.Context, ref string) (string, error)
}

// Pulls are models on their way into engines, and out of them.
type Pulls interface {
	// Fetch has an engine fetch a model. It goes on whoever watches, and ends with the server.
	Fetch(ctx context.Context, engine, model string) (model.Pull, error)

	// Pulls are those under way, and those that ended a short while ago.
	Pulls() []model.Pull

	// Cancel stops one, or takes one that has ended off the list.
	Cancel(ctx context.Context, id string) error

	// Delete has the engine of a model delete it.
	Delete(ctx context.Context, ref string) error
}

type listModelsIn struct {
	Refresh bool `query:"refresh" doc:"look again now"`
}

func (s *Server) listModels(ctx context.Context, in *listModelsIn) (*body[model.Catalogue], error) {
	return bodyOf(s.c.Models.Catalogue(ctx, in.Refresh))
}

type testModelsIn struct {
	Body struct {
		model.Address
		ID string `json:"id,omitempty" maxLength:"120" doc:"an engine that is known, in place of an address"`
	}
}

// testModels connects to where its caller says, so it is an administrator's.
func (s *Server) testModels(ctx context.Context, in *testModelsIn) (*body[model.Engine], error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	if (in.Body.ID == "") == (in.Body.BaseURL == "") || in.Body.ID != "" && in.Body.Address != (model.Address{}) {
		return nil, jackline.E("server.testModels", jackline.Unprocessed, nil, "Give either id or base_url.")
	}
	return bodyOf(s.c.Models.Try(ctx, in.Body.ID, in.Body.Address))
}

type addEngineIn struct{ Body model.Address }

func (s *Server) addEngine(ctx context.Context, in *addEngineIn) (*body[model.Engine], error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	return bodyOf(s.c.Models.Add(ctx, in.Body))
}

type engineIn struct {
	ID string `path:"id" maxLength:"120" doc:"the engine"`
}

func (s *Server) dropEngine(ctx context.Context, in *engineIn) (*nothing, error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	return nothingBut(s.c.Models.Drop(ctx, in.ID))
}

type defaultModel struct {
	Ref string `json:"ref" maxLength:"1024" doc:"the model of new chats; empty takes the choice back"`
}

type useModelIn struct{ Body defaultModel }

func (s *Server) useModel(ctx context.Context, in *useModelIn) (*body[defaultModel], error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	ref, err := s.c.Models.Use(ctx, in.Body.Ref)
	return bodyOf(defaultModel{ref}, err)
}

type pullIn struct {
	Body struct {
		Engine string `json:"engine,omitempty" maxLength:"120" doc:"the engine's id; left out where there is only one that fetches"`
		Model  string `json:"model" minLength:"1" maxLength:"256"`
	}
}

func (s *Server) pullModel(ctx context.Context, in *pullIn) (*body[model.Pull], error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	return bodyOf(s.c.Pulls.Fetch(ctx, in.Body.Engine, in.Body.Model))
}

func (s *Server) listPulls(context.Context, *none) (*body[[]model.Pull], error) {
	return bodyOf(s.c.Pulls.Pulls(), nil)
}

type onePullIn struct {
	ID string `path:"id" maxLength:"120" doc:"the pull"`
}

func (s *Server) getPull(_ context.Context, in *onePullIn) (*body[model.Pull], error) {
	for _, p := range s.c.Pulls.Pulls() {
		if p.ID == in.ID {
			return bodyOf(p, nil)
		}
	}
	return nil, jackline.E("server.getPull", jackline.NotFound, nil, "No model is being fetched under this id.")
}

func (s *Server) cancelPull(ctx context.Context, in *onePullIn) (*nothing, error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	return nothingBut(s.c.Pulls.Cancel(ctx, in.ID))
}

type removeModelIn struct {
	Body struct {
		Ref string `json:"ref" minLength:"1" maxLength:"1024"`
	}
}

func (s *Server) removeModel(ctx context.Context, in *removeModelIn) (*nothing, error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	return nothingBut(s.c.Pulls.Delete(ctx, in.Body.Ref))
}

func (s *Server) doctor(ctx context.Context, _ *none) (*body[jackline.Health], error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	return bodyOf(jackline.HealthOf(s.c.Doctor(ctx)), nil)
}

// modelRoutes are the routes of engines and models.
func (s *Server) modelRoutes(r *router) {
	route(r, http.MethodGet, "/api/models", "list-models", "The engines and their models", s.listModels)
	route(r, http.MethodPost, "/api/models", "add-engine", "Add an engine", s.addEngine, status(http.StatusCreated))
	route(r, http.MethodPost, "/api/models/test", "test-engine", "Look at an engine, and keep nothing", s.testModels)
	route(r, http.MethodPut, "/api/models/default", "use-model", "Choose the model of new chats", s.useModel)
	route(r, http.MethodPost, "/api/models/pull", "pull-model", "Have an engine fetch a model", s.pullModel, status(http.StatusAccepted))
	route(r, http.MethodGet, "/api/models/pulls", "list-pulls", "The models that are being fetched", s.listPulls)
	route(r, http.MethodGet, "/api/models/pulls/{id}", "get-pull", "How far a model has come", s.getPull)
	routeOf(r, http.MethodDelete, "/api/models/pulls/{id}", "cancel-pull", "Stop fetching a model", s.cancelPull, status(http.StatusNoContent))
	s.probeRoutes(r)
	routeOf(r, http.MethodPost, "/api/models/remove", "remove-model", "Have an engine delete a model", s.removeModel, status(http.StatusNoContent))
	routeOf(r, http.MethodDelete, "/api/models/{id}", "drop-engine", "Forget an engine that was added", s.dropEngine, status(http.StatusNoContent))
}

// doctorRoutes is the route of the doctor.
func (s *Server) doctorRoutes(r *router) {
	route(r, http.MethodGet, "/api/doctor", "doctor", "How the program and what it stands on are doing", s.doctor)
}
