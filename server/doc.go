// Package server is the way in: HTTP, with one stream of events.
//
// [Server] puts the routes of docs/openapi.json in front of what the program is made of. The turns run in package
// [github.com/jackline-ai/jackline/server/runs], which a command can use without HTTP as well. Nothing here knows a
// model, a tool or a rule: they come as values from whoever wires the program.
//
// # Who may call
//
// Every request passes one guard before anything is read or looked up: the host must be one of the server's exact
// names, an origin must be its own, and the bearer token must be there, except for the page's own files, the map of the
// API for programs (/llms.txt), the login and the health check. There are no CORS headers and no cookies, so another site's page can neither ask nor read.
//
// # What a client sees
//
// Everything that happens is in the log, and the event streams read nothing but the log: they replay it from the
// client's cursor and then follow it. A slow client holds nobody up, because nobody waits for it; a lost client stops
// nothing, because turns do not run on its behalf but on the server's.
package server
