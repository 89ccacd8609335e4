package model

import (
	"bytes"
	"slices"
	"sync"
)

// Drafts remembers what an adapter made of the latest conversations. A request mostly repeats the one before it and adds a few
// messages, so only these need writing; in a turn of hundreds of steps the rest is what costs. The zero value is empty
// and ready, and safe for several goroutines at once.
//
// S is what the adapter made: the body so far, and what it needs to know to go on. Whatever a request that was sent may
// still read must only be appended to.
type Drafts[S any] struct {
	mu   sync.Mutex
	kept []*Draft[S] // newest first
}

// A Draft is a conversation as far as it is written. It belongs to one goroutine from Take or Begin until Keep.
type Draft[S any] struct {
	State S

	variant  uint32
	system   []string
	tools    []Tool
	messages []Message
}

// keptDrafts is how many conversations are remembered: those that run at once on one small machine, with room.
const keptDrafts = 4

// Take gives the draft that r goes on from: one with the same head and variant, whose messages r repeats. It gives nil where
// there is none. A variant stands for whatever else the adapter writes by.
func (ds *Drafts[S]) Take(r Request, variant uint32) *Draft[S] {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	for i, d := range ds.kept {
		if d.variant == variant && d.begins(r) {
			ds.kept = slices.Delete(ds.kept, i, i+1)
			return d
		}
	}
	return nil
}

// Begin makes an empty draft for r, of which nothing is written yet.
func (ds *Drafts[S]) Begin(r Request, variant uint32) *Draft[S] {
	return &Draft[S]{variant: variant, system: slices.Clone(r.System), tools: slices.Clone(r.Tools)}
}

// Keep remembers d for the next request.
func (ds *Drafts[S]) Keep(d *Draft[S]) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if len(ds.kept) == keptDrafts {
		ds.kept = ds.kept[:keptDrafts-1]
	}
	ds.kept = slices.Insert(ds.kept, 0, d)
}

// Written is how many messages are written.
func (d *Draft[S]) Written() int { return len(d.messages) }

// Wrote says that more messages are written now.
func (d *Draft[S]) Wrote(more ...Message) { d.messages = append(d.messages, more...) }

// begins reports whether r repeats all that is in d. Strings that are the same in memory are equal at a glance, which is how
// those of earlier steps mostly come.
func (d *Draft[S]) begins(r Request) bool {
	if len(d.messages) > len(r.Messages) || !slices.Equal(d.system, r.System) || !slices.EqualFunc(d.tools, r.Tools, sameTool) {
		return false
	}
	return slices.EqualFunc(d.messages, r.Messages[:len(d.messages)], sameMessage)
}

func sameTool(a, b Tool) bool {
	return a.Name == b.Name && a.Summary == b.Summary && a.Use == b.Use && a.Body == b.Body && bytes.Equal(a.Schema, b.Schema)
}

func sameMessage(a, b Message) bool {
	return a.Role == b.Role && a.Text == b.Text && a.CallID == b.CallID && a.Name == b.Name && a.Opaque == b.Opaque &&
		slices.EqualFunc(a.Calls, b.Calls, sameCall) && slices.EqualFunc(a.Images, b.Images, sameImage)
}

func sameCall(a, b Call) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Cut == b.Cut && bytes.Equal(a.Args, b.Args)
}

func sameImage(a, b Image) bool { return a.Type == b.Type && bytes.Equal(a.Data, b.Data) }
