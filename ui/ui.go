// Package ui holds the web page as it is built: plain files that a browser loads and that call nothing but the HTTP
// API. Its source is in web; `npm run build` there makes dist, which is committed, so that building the server needs
// no Node.
package ui

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files is the page's files, with index.html at the root. Names under assets hold a hash of their content and may be
// cached for ever; the others may not.
func Files() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		// The pattern above does not compile without that folder.
		panic(err)
	}
	return sub
}
