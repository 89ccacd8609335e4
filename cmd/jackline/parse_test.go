package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
)

// TestParseCorpus sends every case of the corpus through jackline tools parse --json, with and without the hint that a thought
// was open, and wants what the case wants: calls, visible text, thought and error.
func TestParseCorpus(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("JACKLINE_CASES")
	if folder == "" {
		folder = filepath.Join("..", "..", "testdata", "cases")
	}
	lines, err := os.ReadFile(filepath.Join(folder, "toolcalls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		ID    string `json:"id"`
		Calls []struct {
			Name string `json:"name"`
			Args any    `json:"args"`
		} `json:"calls"`
		Visible any    `json:"visible"`
		Thought any    `json:"thought"`
		Error   string `json:"error"`
	}
	show := func(o outcome) string {
		v := map[string]any{"visible": args.Trim(written(o.Visible).(string)), "thought": args.Trim(written(o.Thought).(string)), "error": o.Error}
		list := []any{}
		for _, c := range o.Calls {
			list = append(list, []any{c.Name, written(c.Args)})
		}
		v["calls"] = list
		text, err := args.Canonical(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var in, hinted bytes.Buffer
	var want []outcome
	for line := range bytes.Lines(lines) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var c struct {
			ID   string  `json:"id"`
			Hint string  `json:"stream_hint"`
			Want outcome `json:"want"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		c.Want.ID = c.ID
		want = append(want, c.Want)
		hinted.Write(line)
		in.Write(bytes.ReplaceAll(line, []byte(`"stream_hint"`), []byte(`"hint"`)))
	}
	if len(want) < 200 {
		t.Fatalf("%d cases", len(want))
	}
	for name, input := range map[string]string{"as it is": in.String(), "with hints": hinted.String()} {
		var out, errs bytes.Buffer
		m := &Main{
			Args: []string{"tools", "parse", "--json", "--tools", filepath.Join(folder, "toolcalls.tools.json"), "--aliases", filepath.Join(folder, "toolcalls.aliases.json")},
			Env:  func(string) string { return "" }, In: strings.NewReader(input), Out: &out, Err: &errs,
		}
		if code := m.Run(t.Context()); code != terminal.ExitOK {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		n := 0
		for line := range bytes.Lines(out.Bytes()) {
			var got outcome
			if err := json.Unmarshal(line, &got); err != nil {
				t.Fatal(err)
			}
			if n == len(want) || got.ID != want[n].ID {
				t.Fatalf("%s: line %d is about %q", name, n+1, got.ID)
			}
			for _, key := range []string{`"id":`, `"calls":[`, `"visible":`, `"thought":`} {
				if !bytes.Contains(line, []byte(key)) {
					t.Fatalf("%s: no %s in %s", name, key, got.ID)
				}
			}
			if g, w := show(got), show(want[n]); g != w {
				t.Errorf("%s: %s\n got %.600s\nwant %.600s", name, got.ID, g, w)
			}
			n++
		}
		if n != len(want) {
			t.Errorf("%s: %d lines for %d cases", name, n, len(want))
		}
	}
}

// written writes out what stands for a long text: {"$gen": [...]}.
func written(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = written(v[i])
		}
	case map[string]any:
		if gen, ok := v["$gen"].([]any); ok && len(v) == 1 {
			var b strings.Builder
			for _, piece := range gen {
				switch piece := piece.(type) {
				case string:
					b.WriteString(piece)
				case map[string]any:
					b.WriteString(strings.Repeat(piece["repeat"].(string), int(piece["times"].(float64))))
				}
			}
			return b.String()
		}
		for key := range v {
			v[key] = written(v[key])
		}
	}
	return v
}
