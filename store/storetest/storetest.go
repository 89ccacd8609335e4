// Package storetest is the contract of package store as tests that know nothing of the database below: whatever
// database a store runs on has to pass them.
package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
)

// Two owners: the tests look at the rows of one with the eyes of the other.
const (
	alice jackline.Owner = "alice"
	bob   jackline.Owner = "bob"
)

// Run runs the contract. Each call of open gives a new, empty store, which open's test closes.
func Run(t *testing.T, open func(*testing.T) *store.DB) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *store.DB)
	}{
		{"Append/Replay", replay},
		{"Append/RoundTrip", roundTrip},
		{"Append/AllOrNothing", allOrNothing},
		{"Append/WrongRows", wrongRows},
		{"Append/ManyWriters", manyWriters},
		{"Append/NumbersNeverReturn", numbersNeverReturn},
		{"Append/Labels", labels},
		{"Append/Cancelled", cancelled},
		{"Append/State", state},
		{"Append/Soon", soon},
		{"Approvals/FirstAnswerWins", firstAnswerWins},
		{"Approvals/Filters", approvalFilters},
		{"Approvals/Expiring", expiring},
		{"Grants", grants},
		{"History/Generations", generations},
		{"Turns", turns},
		{"Turns/Queue", queue},
		{"Calls", calls},
		{"Sessions/Begin", begin},
		{"Sessions/Status", sessionStatus},
		{"Sessions/Pages", sessionPages},
		{"Sessions/Search", search},
		{"Sessions/Delete", deletion},
		{"Settings", settings},
		{"Watch/Order", watchOrder},
		{"Watch/Live", live},
		{"Watch/Lagging", lagging},
		{"Leases", leases},
		{"Spill", spill},
		{"Audit", audit},
		{"Undo", undo},
		{"Owners/EveryMethod", everyMethod},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// must fails the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// get is a value, or the end of the test.
func get[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// wantKind fails the test unless err is of this kind and has a sentence for a person.
func wantKind(t testing.TB, err error, kind jackline.Kind) {
	t.Helper()
	var e *jackline.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Say == "" || e.Op == "" {
		t.Fatalf("error %v, want one of kind %v", err, kind)
	}
}

// same fails the test unless two values are equal. Nil and empty are.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s differs (-want +got):\n%s", what, diff)
	}
}

func session(t testing.TB, db *store.DB, owner jackline.Owner) jackline.SessionID {
	t.Helper()
	return get[jackline.Session](t)(db.CreateSession(t.Context(), owner,
		jackline.Session{Workspace: "/home/" + string(owner), Mode: jackline.ModeAllowReads})).ID
}

// text is an event that says n.
func text(s jackline.SessionID, n int) jackline.Event {
	return jackline.NewEvent(s, "", jackline.Text{Text: fmt.Sprint(n)})
}

func appendTo(t testing.TB, db *store.DB, owner jackline.Owner, rec jackline.Record) []jackline.Event {
	t.Helper()
	return get[[]jackline.Event](t)(db.Append(t.Context(), owner, rec))
}

func events(t testing.TB, db *store.DB, owner jackline.Owner, s jackline.SessionID) []jackline.Event {
	t.Helper()
	return get[[]jackline.Event](t)(db.Events(t.Context(), owner, s, 0, 0))
}

// full is a record with something of everything.
func full(s jackline.SessionID, n int) jackline.Record {
	at := time.Date(2026, 3, 4, 5, 6, 7, 890, time.UTC).Add(time.Duration(n) * time.Hour)
	mode := jackline.ModeAllowEdits
	name := fmt.Sprintf("model %d", n)
	exit := 3
	turn := jackline.TurnID(fmt.Sprintf("t_%s%d", s, n))
	call := jackline.CallID(fmt.Sprintf("c_%s%d", s, n))
	return jackline.Record{
		Session: s,
		Title:   fmt.Sprintf("title %d", n),
		Mode:    &mode,
		Model:   &name,
		Labels:  jackline.Labels{Tainted: true},
		Events: []jackline.Event{
			jackline.NewEvent(s, turn, jackline.TurnStart{Prompt: "p", Mode: mode}),
			{V: jackline.EventVersion, TS: at, Session: s, Turn: turn, Parent: "t_parent", Type: "text", Data: json.RawMessage(`{"text":"<b>&\u0000 ü"}`)},
		},
		Turn: &jackline.Turn{
			ID: turn, Session: s, Parent: "t_parent", Depth: 1, Prompt: "tell me \x00 about\xff it",
			Options: jackline.TurnOptions{Plan: true, OnAsk: jackline.AskWait, TZ: "Europe/Berlin", MaxSteps: 7,
				Allow: []jackline.Rule{{Do: jackline.Allow, Pattern: "shell(git status*)"}}},
			Status: jackline.Running, Answer: "so far", Reason: "r", Usage: jackline.Usage{Prompt: 1, Cached: 2, Completion: 3, Steps: 4, Calls: 5},
			Created: at, Started: at.Add(time.Second), Progress: jackline.Progress{Step: 3, Guard: "g", Nudged: true},
		},
		Calls: []jackline.Call{{
			ID: call, Session: s, Turn: turn, Step: 2, Index: 1, Native: "toolu_1", Asked: "bash", Name: "shell",
			Args: json.RawMessage(`{"command": "echo <a> && b"}`), Cut: true, State: jackline.CallEnded, Outcome: jackline.Errored,
			Text: "out\xffput\x00", Source: jackline.Workspace, Origin: "command", Dropped: 9, Stamp: "st", Cached: "c_0", By: "rule",
			Acts: true, MS: 12, Started: at,
		}},
		Items: []jackline.Item{
			{Turn: turn, Role: jackline.ItemPrompt, Text: "p\x00\xff", Images: []jackline.AttachmentID{"f_1", "f_2"}},
			{Turn: turn, Role: jackline.ItemAssistant, Text: "", Calls: []jackline.CallID{call, "c_other"}},
			{Turn: turn, Role: jackline.ItemResult, Call: call, Keep: 400},
			{Turn: turn, Role: jackline.ItemAssistant, Text: "done", Opaque: `{"engine":"signed \u0000"}`},
		},
		Approvals: []jackline.Approval{{
			ID: jackline.ApprovalID(fmt.Sprintf("a_%s%d", s, n)), Kind: jackline.KindCall, Session: s, Turn: turn, Step: 2, Call: call,
			Tool: "shell", Digest: "d", Title: "Run", Args: json.RawMessage(`{"command":  "<"}`), Effect: jackline.Exec | jackline.Write,
			Touches: []jackline.Touch{{Effect: jackline.Exec, Kind: "command", Name: "echo", Exists: true}},
			Labels:  jackline.Labels{Private: true},
			View:    jackline.View{Shape: jackline.ViewTerminal, Text: "$ echo", Exit: &exit, Files: []jackline.Diff{{Path: "a", Change: "edit"}}},
			Risk:    "high", Why: "why", Rule: "r", Scopes: []jackline.Scope{jackline.Once}, Covers: "c", Pattern: "p", Folder: "/f", Undo: "u",
			Ask: []jackline.Question{{Text: "q", Options: []string{"o"}}}, Created: at, Expires: at.Add(time.Hour), Seal: []byte{0, 1, 255},
			State: jackline.Pending, Answer: jackline.Answer{Args: json.RawMessage(`{"x": ">"}`), Answers: [][]string{{"a"}}},
		}},
		Grants: []jackline.Grant{{
			ID: jackline.GrantID(fmt.Sprintf("g_%s%d", s, n)), Session: s, Turn: turn, Scope: jackline.Task, Tool: "shell",
			Kind: jackline.GrantCommand, Value: "echo \xff", Mode: jackline.ModeAllowReads, Approval: "a_1", Created: at,
		}},
		State: map[string]json.RawMessage{"plan": json.RawMessage(`[ {"text": "<one>"} ]`)},
	}
}
