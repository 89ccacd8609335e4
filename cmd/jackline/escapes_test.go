package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/jackline-ai/jackline"
)

// foreign is what a hostile name, command or text holds: sequences that colour, clear and rename a terminal, in seven and eight
// bits, and marks that turn the direction of writing, hide, or break lines.
const foreign = "A\x1b[31m\x1b]0;title\x07\u009b2J\u202eB\u2066C\u2028D\ufeffE\u200bF\r\bG\U000e0041H"

// unseen lists what of an output could change how a terminal shows it.
func unseen(out string) string {
	var found []string
	for _, r := range out {
		if r != '\n' && r != '\t' && r != '\u200d' && r != '\u200c' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			found = append(found, fmt.Sprintf("%U", r))
		}
	}
	return strings.Join(found, " ")
}

// TestForeignTextInViews looks at every command that prints what others have written, as text and as JSON: nothing in it reaches the
// terminal as more than text.
func TestForeignTextInViews(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("names of files cannot hold this on Windows")
	}
	quoted := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	name := foreign
	e := engine(t, "=== 1\n"+
		"--- call file_write "+quoted(map[string]string{"path": name + ".txt", "content": name})+"\n"+
		"--- call shell "+quoted(map[string]string{"command": "for f in A*; do echo x > \"$f\"; done; ls"})+"\n"+
		"--- call shell "+quoted(map[string]string{"command": "echo '" + name + "'"})+"\n"+
		"--- call nosuch "+quoted(map[string]string{"x": name})+"\n"+
		"=== 2\n--- call ask_user "+quoted(map[string]any{"question": name, "options": []string{name, "b"}})+"\n"+
		"=== *\nThe answer "+name+"\n")
	h := newHome(t, e.URL, "native")
	h.env["JACKLINE_WINDOW"] = "32768"
	dir := filepath.Join(filepath.Dir(h.ws), "ws"+name) // which no chat may have
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.ws, name), []byte(name), 0o600); err != nil {
		t.Fatal(err)
	}
	_, a := h.startServer()
	s := a.session(map[string]any{"workspace": h.ws, "mode": "allow-edits"})
	v := a.prompt(s.ID, "The prompt "+name, map[string]any{"onAsk": "wait"})
	var calls []string
	var card jackline.ApprovalID
	for f := range a.events(s.ID, 0) {
		switch f.ev.Type {
		case "tool.call":
			calls = append(calls, string(body[jackline.ToolCall](t, f.ev).Call))
		case "tool.approval_needed":
			card = body[jackline.ApprovalNeeded](t, f.ev).Approval
		}
		if f.ev.Type == "turn.end" || card != "" && f.ev.Type == "turn.status" {
			break
		}
	}
	if card == "" || len(calls) == 0 {
		t.Fatalf("it did not ask: %v", calls)
	}
	var views [][]string
	add := func(args ...string) { views = append(views, args) }
	both := func(args ...string) { add(args...); add(append(args, "--json")...) }
	both("approve", "list")
	add("approve", "show", string(card))
	both("sessions", "list")
	add("sessions", "search", "prompt")
	add("sessions", "show", string(s.ID))
	add("sessions", "export", string(s.ID))
	add("sessions", "gate", string(s.ID))
	both("sessions", "undo", "--dry-run", string(v.ID))
	for _, c := range calls {
		both("permissions", "explain", c)
	}
	add("permissions", "show")
	both("permissions", "grants")
	add("permissions", "test", "rm -rf "+name)
	both("audit", "list")
	both("audit", "show", "3")
	add("audit", "export")
	add("workspace", "show", dir)
	add("workspace", "home", dir)
	add("run", "-C", dir, "again "+name)
	add("run", "-C", h.ws, "again "+name)
	add("run", "-C", h.ws, "--output", "jsonl", "again "+name)
	for _, args := range views {
		code, out, errs := h.cli(args...)
		if code != 0 && args[0] != "run" && args[1] != "undo" { // its undo leaves the file, and says so
			t.Errorf("%q: exit %d %s", args, code, errs)
		}
		if what := unseen(out); what != "" {
			t.Errorf("%q prints %s", args, what)
		}
		if what := unseen(errs); what != "" {
			t.Errorf("%q says %s", args, what)
		}
	}
	// It is there, so that something could have come through.
	if _, out, _ := h.cli("sessions", "show", string(s.ID)); !strings.Contains(out, "[31m") {
		t.Errorf("%q", out)
	}
}
