package turn_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

// TestPreviewIsSeenAndNotKept asks that whoever watches sees the arguments of a call grow, that the last that is seen of
// them is all of them, and that neither the log nor the text has any of it.
func TestPreviewIsSeenAndNotKept(t *testing.T) {
	const args = `{"path": "notes.txt", "content": "the harbour is open from six to ten"}`
	for _, native := range []bool{true, false} {
		b := newBench(t, options{Native: native, Mode: jackline.ModeAllowEdits}, "===\nLook.\n--- pieces 3\n--- call file_write "+args+"\n===\nDone.\n")
		w := b.db.Watch(jackline.Local, b.session.ID)
		b.turn(t, "write it down", nil)
		var seen []jackline.ToolPreview
		for _, e := range w.Live() {
			switch e.Type {
			case "tool.preview":
				var p jackline.ToolPreview
				if err := json.Unmarshal(e.Data, &p); err != nil {
					t.Fatal(err)
				}
				seen = append(seen, p)
			case "text.delta", "thought.delta":
				if strings.Contains(string(e.Data), "harbour") {
					t.Errorf("native %v: shown as text: %s", native, e.Data)
				}
			}
		}
		w.Close()
		if len(seen) < 2 || seen[0] != (jackline.ToolPreview{Name: "file_write"}) {
			t.Fatalf("native %v: seen %+v", native, seen)
		}
		for i := 1; i < len(seen); i++ {
			if !strings.HasPrefix(seen[i].Args, seen[i-1].Args) || seen[i].Name != "file_write" {
				t.Errorf("native %v: %+v after %+v", native, seen[i], seen[i-1])
			}
		}
		if last := seen[len(seen)-1].Args; strings.Join(strings.Fields(last), "") != strings.Join(strings.Fields(args), "") && !native {
			t.Errorf("in the end %q is seen, want %q", last, args)
		}
		events, err := b.db.Events(context.Background(), jackline.Local, b.session.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Type == "tool.preview" || e.Type == "text" && strings.Contains(string(e.Data), "harbour") {
				t.Errorf("native %v: logged: %s %s", native, e.Type, e.Data)
			}
		}
	}
}
