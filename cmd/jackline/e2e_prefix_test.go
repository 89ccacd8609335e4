package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

// stepsOfLongTurn is how many requests the first turn of TestPrefix takes.
const stepsOfLongTurn = 20

// longScript is a turn of 20 steps with what a turn may meet: many reads, a call that cannot be read, a tool that does not
// exist, an error, a card, a command. Two short turns follow.
func longScript() string {
	var b strings.Builder
	step := func(s string) { fmt.Fprintf(&b, "===\n%s\n", s) }
	step("I will look around.\n--- call list_dir {\"path\": \".\"}")
	for k := 1; k <= 12; k++ {
		step(fmt.Sprintf("--- call file_read {\"path\": \"note%d.txt\"}", k))
	}
	step("Now the \"next\" one – <b>ä</b>.\n--- garbled file_read [path")
	step("--- call no_such_tool {\"a\": 1}")
	step("--- call file_read {\"path\": \"missing.txt\"}")
	step("--- thought\nHm.\n--- text\nI mend it.\n--- call file_edit {\"path\": \"note1.txt\", \"old\": \"note 1\", \"new\": \"note one\"}")
	step("--- call shell {\"command\": \"cat note1.txt\"}")
	step("--- call time {}\n--- call grep {\"pattern\": \"one\", \"path\": \".\"}")
	step("All twelve notes are read, and the first is mended.") // 20
	step("--- call file_read {\"path\": \"note2.txt\"}")
	step("It says: note 2.")
	step("--- call file_read {\"path\": \"note3.txt\"}")
	step("--- call file_read {\"path\": \"note4.txt\"}")
	step("They say: note 3, note 4.")
	return b.String()
}

// TestPrefix holds requests to repeat one another, byte for byte as they went over the wire.
//
// Compared is the head of each request: its body from the first byte up to and with the last message, that is the model's name, the
// tools and all messages. Behind the head come only the end of the list and the options of the request. Within a turn the
// next request must begin with the whole head of the one before it. Across turns it is counted how much of the head of a turn's
// last request stands at the beginning of the next turn's first one.
func TestPrefix(t *testing.T) {
	for _, mode := range toolModes() {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			e := engine(t, longScript())
			h := newHome(t, e.URL, mode)
			for k := 1; k <= 12; k++ {
				h.write(fmt.Sprintf("note%d.txt", k), fmt.Sprintf("This is note %d.\nIt has a second line: \"<&>\" ü.\n", k))
			}
			a := h.serve()
			s := a.session(map[string]any{"workspace": h.ws})
			var ends []int // of each turn: how many requests there were in all
			for _, p := range []string{"Read all notes and mend the first", "What does the second say?", "And the third and fourth?"} {
				turn := a.prompt(s.ID, p, map[string]any{"max_steps": 40})
				finish(t, a, s.ID, turn.ID)
				ends = append(ends, len(e.Sent()))
			}
			if errs := e.Errs(); len(errs) > 0 {
				t.Fatal(errs)
			}
			if ends[0] != stepsOfLongTurn {
				t.Fatalf("the first turn took %d requests", ends[0])
			}
			checkPrefixes(t, e.Sent(), ends)
		})
	}
}

// finish answers all cards of a turn with yes, until it ends well.
func finish(t *testing.T, a *api, s jackline.SessionID, id jackline.TurnID) {
	t.Helper()
	open := jackline.ApprovalID("")
	for f := range a.events(s, 0) {
		if f.ev.Turn != id {
			continue
		}
		switch f.ev.Type {
		case "tool.approval_needed":
			open = body[jackline.ApprovalNeeded](t, f.ev).Approval
		case "turn.status":
			if body[jackline.TurnStatus](t, f.ev).Status == jackline.Waiting {
				a.answer(open, map[string]any{"approved": true, "scope": "once"})
			}
		case "turn.end":
			if end := body[jackline.TurnEnd](t, f.ev); end.Status != jackline.Done {
				t.Fatalf("the turn ended as %s: %s", end.Status, end.Reason)
			}
			return
		}
	}
}

func checkPrefixes(t *testing.T, bodies [][]byte, ends []int) {
	t.Helper()
	repeated, lost, at := 0, 0, 0
	for k := 1; k < len(bodies); k++ {
		head := headOf(t, bodies[k-1])
		same := commonPrefix(head, bodies[k])
		if k == ends[at] {
			share := 100 * float64(same) / float64(len(head))
			t.Logf("turn %d to %d: %d of %d bytes repeated, %.2f %%", at+1, at+2, same, len(head), share)
			if share < 95 {
				t.Errorf("turn %d repeats %.2f %% of the one before it, want 95:\n%s\n%s", at+2, share, around(head, same), around(bodies[k], same))
			}
			at++
			continue
		}
		repeated, lost = repeated+same, lost+len(head)-same
		if same < len(head) {
			t.Errorf("request %d loses %d of %d bytes of the one before it:\n%s\n%s", k+1, len(head)-same, len(head), around(head, same), around(bodies[k], same))
		}
	}
	first, last := headOf(t, bodies[0]), headOf(t, bodies[ends[0]-1])
	t.Logf("within turns: %d requests, %d bytes repeated, %d lost; heads of the long turn grow from %d to %d bytes",
		len(bodies), repeated, lost, len(first), len(last))
}

// headOf is a body up to and with its last message.
func headOf(t *testing.T, b []byte) []byte {
	t.Helper()
	var fields struct {
		Messages json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, fields.Messages)
	if at < 0 || bytes.LastIndex(b, fields.Messages) != at {
		t.Fatal("the messages are not to be found")
	}
	if tail := string(b[at+len(fields.Messages):]); strings.Contains(tail, `"tools"`) {
		t.Fatal("the tools come behind the messages")
	}
	return b[:at+len(fields.Messages)-1]
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func around(b []byte, at int) []byte { return b[max(at-100, 0):min(at+200, len(b))] }
