package server

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/jackline-ai/jackline"
)

// All owners together have less room than each of them alone would take.
func TestStreamsOfAll(t *testing.T) {
	g := newGroup()
	var open []jackline.Owner
	for k := range maxStreams {
		o := jackline.Owner(fmt.Sprint("owner ", k/maxOwnStreams))
		if p := g.begin(o); p != nil {
			t.Fatal(k, p)
		}
		open = append(open, o)
	}
	if p := g.begin("somebody"); p == nil || p.Status != http.StatusTooManyRequests {
		t.Errorf("one more: %+v", p)
	}
	for _, o := range open {
		g.end(o)
	}
	if g.count != 0 || len(g.own) != 0 {
		t.Errorf("%d are open: %v", g.count, g.own)
	}
	if p := g.begin("somebody"); p != nil {
		t.Error(p)
	}
	g.end("somebody")
	g.shut()
	if p := g.begin("somebody"); p == nil || p.Status != http.StatusServiceUnavailable {
		t.Errorf("after the end: %+v", p)
	}
	g.open.Wait()
}
