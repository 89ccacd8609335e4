package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// serveMap answers with a map of the API for programs that read text, as llmstxt.org describes such files: a title, a
// summary, lists of links. It is the same for everyone and holds no data, so it needs no token, like the page.
func (s *Server) serveMap(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(s.overview())
}

// overviewOf writes that map from the routes, sorted by their paths.
func overviewOf(doc *huma.OpenAPI) []byte {
	var b strings.Builder
	b.WriteString("# Jackline\n\n" +
		"> An agent server that runs on its owner's machine: sessions, turns, tools, and questions that a person answers.\n\n" +
		"Every request but those marked \"no token\" carries `Authorization: Bearer TOKEN`; the token is the owner's to give. " +
		"Bodies are JSON. Errors are `application/problem+json` with a sentence in `detail`.\n\n" +
		"## Description\n\n" +
		"- [OpenAPI 3.1](" + pathOpenAPI + "): every route with its fields\n\n" +
		"## Routes\n\n")
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		p := doc.Paths[path]
		for _, op := range []*huma.Operation{p.Get, p.Post, p.Put, p.Patch, p.Delete} {
			if op == nil {
				continue
			}
			note := ""
			if op.Security != nil && len(op.Security) == 0 {
				note = " (no token)"
			}
			fmt.Fprintf(&b, "- [%s %s](%s): %s%s\n", op.Method, path, path, cmp.Or(op.Summary, op.OperationID), note)
		}
	}
	return []byte(b.String())
}
