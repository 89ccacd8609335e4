package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/guard"
)

// A problem is an error as a client sees it: RFC 9457, with what a client needs to go on. It never holds a cause.
type problem struct {
	Kind     string              `json:"type" doc:"always about:blank: the title tells the kinds apart"`
	Title    string              `json:"title" doc:"the kind of error, one word"`
	Status   int                 `json:"status" doc:"the HTTP status"`
	Detail   string              `json:"detail" doc:"a sentence for a person: what is wrong and what to do"`
	Decision string              `json:"decision,omitempty" doc:"403: whether a person could still allow it" enum:"ask,deny"`
	Rule     string              `json:"rule,omitempty" doc:"403: the rule that decided"`
	Approval jackline.ApprovalID `json:"approval,omitempty" doc:"403 with decision ask: the row to be answered"`
	By       string              `json:"by,omitempty" doc:"409: who answered first"`
}

// Error is the sentence; with it a problem is what huma takes for an error with a status.
func (p *problem) Error() string { return p.Detail }

// GetStatus is the HTTP status.
func (p *problem) GetStatus() int { return p.Status }

// ContentType makes it problem JSON.
func (*problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

func newProblem(status int, title, detail string) *problem {
	return &problem{Kind: "about:blank", Title: title, Status: status, Detail: detail}
}

// write answers with the problem, outside of huma.
func (p *problem) write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte(`{"type":"about:blank","title":"internal","status":500}`) // a struct of strings: it cannot fail
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n'))
}

// statusOf is the HTTP status of a kind of error.
func statusOf(k jackline.Kind) int {
	switch k {
	case jackline.Invalid:
		return http.StatusBadRequest
	case jackline.Unprocessed:
		return http.StatusUnprocessableEntity
	case jackline.NotFound:
		return http.StatusNotFound
	case jackline.Forbidden:
		return http.StatusForbidden
	case jackline.Conflict:
		return http.StatusConflict
	case jackline.Gone:
		return http.StatusGone
	case jackline.Unavailable, jackline.NoModel:
		return http.StatusServiceUnavailable
	case jackline.Timeout:
		return http.StatusGatewayTimeout
	case jackline.Internal:
	}
	return http.StatusInternalServerError
}

// problemOf turns an error into what its client may know. The whole story of an internal one goes to the log, under
// a number that the client is told.
func problemOf(ctx context.Context, log *slog.Logger, method, path string, err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	if errors.Is(err, context.DeadlineExceeded) && jackline.KindOf(err) == jackline.Internal {
		err = jackline.E("server", jackline.Timeout, err, "This took too long; try again.")
	}
	kind := jackline.KindOf(err)
	p = newProblem(statusOf(kind), kind.String(), jackline.Say(err))
	if kind == jackline.Internal {
		id := jackline.NewID[string]("r_")
		p.Detail += " Look for " + id + "."
		log.ErrorContext(ctx, "request failed", "request", id, "method", method, "path", path, "err", err)
	}
	return p
}

// translate is the huma transformer that turns huma's own complaints about a request into problems. It leaves out the
// values that huma quotes: they may be long, and the client knows them.
func translate(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	var lines []string
	for _, e := range m.Errors {
		where := strings.TrimPrefix(strings.TrimPrefix(e.Location, "body"), ".")
		if where == "" {
			lines = append(lines, e.Message)
		} else {
			lines = append(lines, where+": "+e.Message)
		}
	}
	detail := strings.Join(lines, "; ")
	switch m.Status {
	case http.StatusBadRequest:
		if detail == "" {
			detail = m.Detail
		}
		return newProblem(m.Status, jackline.Invalid.String(), "The body is not the JSON that belongs here: "+detail+"."), nil
	case http.StatusUnprocessableEntity:
		return newProblem(m.Status, jackline.Unprocessed.String(), "The request does not fit: "+detail+"."), nil
	case http.StatusRequestEntityTooLarge:
		return newProblem(m.Status, guard.TooLarge, "The body is larger than 1 MiB."), nil
	case http.StatusUnsupportedMediaType:
		return newProblem(m.Status, guard.MediaType, "Bodies must be application/json."), nil
	case http.StatusRequestTimeout:
		return newProblem(m.Status, jackline.Timeout.String(), "The body did not arrive in time."), nil
	}
	return newProblem(m.Status, jackline.Internal.String(), jackline.Say(nil)), nil
}

func closingProblem() *problem {
	return newProblem(http.StatusServiceUnavailable, jackline.Unavailable.String(), "Jackline is shutting down.")
}
