package server

import "net/http"

// Plain answers a request in the short way, or reports that it does not.
func (s *Server) Plain(w http.ResponseWriter, r *http.Request) bool { return s.plain(w, r) }

// Route answers a request by its route.
func (s *Server) Route(w http.ResponseWriter, r *http.Request) {
	s.group(groupOf(r.URL.Path)).ServeHTTP(w, r)
}
