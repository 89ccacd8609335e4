// Command floor is the least that a program can do to work through files with a model: it sends the conversation, reads the
// file that is asked for, and sends what grew. It uses the standard library only, keeps no log, judges nothing, and waits for
// nothing. What was written once is not written again.
//
// It is what the harness is measured against: see the package above it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []call `json:"tool_calls,omitempty"`
	ID      string `json:"tool_call_id,omitempty"`
}

type answer struct {
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
			Calls   []call `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: floor BASE-URL FOLDER TASK")
		os.Exit(2)
	}
	if err := loop(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// loop works until the model asks for nothing more.
func loop(base, dir, task string) error {
	const tools = `[{"type":"function","function":{"name":"file_read","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}]`
	body := []byte(`{"model":"m","stream":true,"tools":` + tools + `,"messages":[`)
	say := func(m message) {
		raw, _ := json.Marshal(m) // plain fields
		if body[len(body)-1] != '[' {
			body = append(body, ',')
		}
		body = append(body, raw...)
	}
	say(message{Role: "system", Content: strings.Repeat("a rule. ", 90)})
	say(message{Role: "user", Content: task})
	for done := false; !done; {
		resp, err := http.Post(base+"/chat/completions", "application/json", io.MultiReader(bytes.NewReader(body), strings.NewReader("]}")))
		if err != nil {
			return err
		}
		done = true
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			var a answer
			if !ok || json.Unmarshal(data, &a) != nil || len(a.Choices) == 0 {
				continue
			}
			fmt.Print(a.Choices[0].Delta.Content)
			for _, asked := range a.Choices[0].Delta.Calls {
				var args struct{ Path string }
				if err := json.Unmarshal([]byte(asked.Function.Arguments), &args); err != nil {
					return err
				}
				text, err := os.ReadFile(filepath.Join(dir, args.Path)) //nolint:gosec // that is all it does
				if err != nil {
					return err
				}
				say(message{Role: "assistant", Calls: []call{asked}})
				say(message{Role: "tool", ID: asked.ID, Content: string(text)})
				done = false
			}
		}
		if err := lines.Err(); err != nil {
			return err
		}
		_ = resp.Body.Close()
	}
	return nil
}
