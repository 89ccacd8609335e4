package modeltest

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
)

func message(o outcome) model.Message {
	return model.Message{Role: model.Assistant, Text: o.text, Calls: o.calls, Opaque: o.opaque}
}

func result(o outcome) model.Message {
	return model.Message{Role: model.Result, CallID: o.calls[0].ID, Name: o.calls[0].Name, Text: "nothing"}
}

// Wrapper checks what [model.Model] promises of one that reads calls from the text of another. Open wraps a model that plays a
// script; it must not repeat requests that fail.
func Wrapper(t *testing.T, open opener) {
	t.Run("Order", func(t *testing.T) {
		m := start(t, open, "===\n--- thought\nI think.\n--- text\nI say.\n--- call time\n--- usage 10 3 4\n")
		o := good(t, m, Ask("hello"))
		if o.order != "rtpcf" || m.Info().Native {
			t.Errorf("chunks came as %q, native: %v", o.order, m.Info().Native)
		}
		if len(o.calls) != 1 || o.calls[0].Name != "time" || string(o.calls[0].Args) != "{}" || strings.TrimSpace(o.text) != "I say." {
			t.Errorf("%+v", o)
		}
		if u := o.usage; u == nil || u.Prompt != 10 || u.Completion != 3 || u.Cached != 4 {
			t.Errorf("usage %+v", o.usage)
		}
	})
	t.Run("Calls", func(t *testing.T) {
		m := start(t, open, "===\n--- call file_read {\"path\": \"ä \\\"b\\\".txt\"}\n=== *\nDone.\n")
		o := good(t, m, Ask("hello"))
		if len(o.calls) != 1 || string(o.calls[0].Args) != `{"path":"ä \"b\".txt"}` || o.calls[0].Cut {
			t.Fatalf("%+v", o)
		}
		r := Ask("hello")
		r.Messages = append(slices.Clone(r.Messages), message(o), result(o))
		if o := good(t, m, r); o.text != "Done." {
			t.Errorf("text %q", o.text)
		}
	})
	t.Run("Ends", func(t *testing.T) { testEnds(t, open) })
	t.Run("Errors", func(t *testing.T) { testErrors(t, open) })
	t.Run("Cancel", func(t *testing.T) { testCancel(t, open) })
	t.Run("Concurrent", func(t *testing.T) { testConcurrent(t, open) })
	t.Run("Size", func(t *testing.T) { testSize(t, open) })
	t.Run("Break", func(t *testing.T) {
		m := start(t, open, "=== *\n--- thought\na b c\n--- text\nd e f\n--- wait\n")
		for n := 1; n <= 4; n++ {
			seen := 0
			for _, err := range m.Stream(t.Context(), Ask("")) {
				if err != nil {
					t.Fatal(err)
				}
				if seen++; seen == n {
					break
				}
			}
			if seen != n {
				t.Errorf("%d chunks, want %d", seen, n)
			}
		}
	})
}
