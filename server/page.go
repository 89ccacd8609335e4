package server

import (
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/jackline-ai/jackline/server/guard"
)

// isPage reports whether a request asks for a file of the page, by its path alone.
func isPage(r *http.Request) bool {
	p := r.URL.Path
	return p != "/api" && !strings.HasPrefix(p, "/api/") && p != pathHealth && p != pathOpenAPI
}

// isPublic reports whether a request needs no token: the page must load before it can log in.
func isPublic(r *http.Request) bool {
	get := r.Method == http.MethodGet || r.Method == http.MethodHead
	return get && (r.URL.Path == pathHealth || isPage(r)) || r.Method == http.MethodPost && r.URL.Path == pathLogin
}

// assets is the folder of the page whose names hold a hash of their content.
const assets = "assets/"

// fallback answers what no route does: the page's files, and problems.
func (s *Server) fallback(w http.ResponseWriter, r *http.Request) {
	if allowed := s.otherMethods(r); len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		newProblem(http.StatusMethodNotAllowed, guard.Method, "This method is not used here.").write(w)
		return
	}
	if !isPage(r) || s.c.Files == nil {
		newProblem(http.StatusNotFound, "not-found", "There is nothing at this address.").write(w)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		newProblem(http.StatusMethodNotAllowed, guard.Method, "This method is not used here.").write(w)
		return
	}
	s.file(w, r)
}

// otherMethods are those with which the request's address has a route.
func (s *Server) otherMethods(r *http.Request) []string {
	if isPage(r) {
		return nil
	}
	if r.URL.Path == pathOpenAPI {
		return []string{http.MethodGet}
	}
	mux := s.group(groupOf(r.URL.Path))
	if mux == nil {
		return nil
	}
	var allowed []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = m
		if _, pattern := mux.Handler(other); pattern != "/" && pattern != "" {
			allowed = append(allowed, m)
		}
	}
	return allowed
}

// file serves a file of the page. Folders are not listed, and hidden files are not there.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	info, err := fs.Stat(s.c.Files, name) // refuses names that leave the folder
	hidden := strings.HasPrefix(path.Base(name), ".")
	if err != nil || hidden || !info.Mode().IsRegular() {
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
			s.c.Log.Error("a file of the page cannot be read", "name", name, "err", err)
		}
		newProblem(http.StatusNotFound, "not-found", "There is nothing at this address.").write(w)
		return
	}
	if strings.HasPrefix(name, assets) {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeFileFS(w, r, s.c.Files, name)
}
