package store

import (
	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/watch"
)

// Watch makes a watcher of one session, or of all the owner's sessions where session is "". It starts awake, so
// that a reader that begins by waiting misses nothing. The caller closes it.
func (d *DB) Watch(owner jackline.Owner, session jackline.SessionID) *watch.Watcher {
	return d.hub.Watch(owner, session)
}

// Live shows a transient event to the owner's watchers. It is not written: who is not watching never sees it.
func (d *DB) Live(owner jackline.Owner, e jackline.Event) {
	e.Data = d.hider.JSON(e.Data)
	d.hub.Show(owner, e)
}
