package hosted_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model/modeltest/hosted"
	"github.com/jackline-ai/jackline/model/script"
)

func parse(t *testing.T, text string) *script.Script {
	t.Helper()
	s, err := script.Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// post sends body to h and gives status and answer.
func post(t *testing.T, h http.Handler, path, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Anthropic-Version", "2023-06-01")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	answer, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(answer)
}

// Each rule of the Messages API can be broken, and is noticed.
func TestMessagesRules(t *testing.T) {
	const user, tool = `{"role":"user","content":"hi"}`, `"tools":[{"name":"t","input_schema":{"type":"object"}}]`
	const use = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]}`
	result := func(id string) string { return `{"type":"tool_result","tool_use_id":"` + id + `","content":"x"}` }
	say := func(role string, blocks ...string) string {
		return `{"role":"` + role + `","content":[` + strings.Join(blocks, ",") + `]}`
	}
	const text, mark = `{"type":"text","text":"x"}`, `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
	body := func(more string, messages ...string) string {
		if more != "" {
			more = "," + more
		}
		return `{"model":"m","max_tokens":4000,"messages":[` + strings.Join(messages, ",") + `]` + more + `}`
	}
	for _, tt := range []struct{ name, body, want string }{
		{"good", body(tool, user, use, say("user", result("a"), text)), `"text":"ok"`},
		{"no JSON", "{", "not valid JSON"},
		{"no limit", `{"model":"m","messages":[` + user + `]}`, "max_tokens: Field required"},
		{"another field", body(`"prompt":"x"`, user), "prompt: Extra inputs"},
		{"no messages", body(""), "at least one message"},
		{"assistant first", body("", say("assistant", text)), "roles must alternate"},
		{"two users", body("", user, user), "roles must alternate"},
		{"assistant last", body("", user, say("assistant", text)), "prefill"},
		{"empty message", body("", say("user")), "non-empty content"},
		{"blank text", body("", `{"role":"user","content":" \n"}`), "non-whitespace"},
		{"blank system", body(`"system":""`, user), "system: text"},
		{"unknown block", body("", say("user", `{"type":"song"}`)), "'song'"},
		{"bad picture", body("", say("user", `{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":""}}`)), "image.source"},
		{"no result", body(tool, user, use, user), "without `tool_result` blocks immediately after: a"},
		{"result behind text", body(tool, user, use, say("user", text, result("a"))), "unexpected `tool_use_id`"},
		{"result of nothing", body(tool, user, use, say("user", result("a"), result("b"))), "unexpected `tool_use_id`"},
		{"result twice", body(tool, user, use, say("user", result("a"), result("a"))), "unexpected `tool_use_id`"},
		{"the same ID twice", body(tool, user, use, say("user", result("a")), use, say("user", result("a"))), "ids must be unique"},
		{"bad ID", body(tool, user, strings.Replace(use, `"a"`, `"a:b"`, 1), say("user", result("a:b"))), "tool_use.id"},
		{"input no object", body(tool, user, strings.Replace(use, `{}`, `"x"`, 1), say("user", result("a"))), "tool_use.input"},
		{"bad name", body(`"tools":[{"name":"a b","input_schema":{"type":"object"}}]`, user), "tools.0.custom.name"},
		{"no schema", body(`"tools":[{"name":"t"}]`, user), "input_schema: Field required"},
		{"no object", body(`"tools":[{"name":"t","input_schema":{}}]`, user), "input_schema.type"},
		{"choice at the top", body(`"tools":[{"name":"t","input_schema":{"type":"object","oneOf":[]}}]`, user), "oneOf"},
		{"choice without tools", body(`"tool_choice":{"type":"none"}`, user), "tool_choice: may only"},
		{"small budget", body(`"thinking":{"type":"enabled","budget_tokens":10}`, user), "budget_tokens"},
		{"large budget", body(`"thinking":{"type":"enabled","budget_tokens":4000}`, user), "must be greater than"},
		{"unknown effort", body(`"output_config":{"effort":"huge"}`, user), "output_config.effort"},
		{"forged thought", body("", user, say("assistant", `{"type":"thinking","thinking":"a","signature":"b"}`, text), user), "Invalid `signature`"},
		{"forged redaction", body("", user, say("assistant", `{"type":"redacted_thinking","data":"b"}`, text), user), "Invalid `data`"},
		{"no thought before a call", body(tool+`,"thinking":{"type":"enabled","budget_tokens":2000}`, user, use, say("user", result("a"))), "Expected `thinking`"},
		{"five marks", body("", say("user", mark, mark, mark, mark, mark)), "Found 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := hosted.MessagesHandler(parse(t, "=== *\nok\n"), hosted.MessagesRules{})
			status, got := post(t, h, "/v1/messages", tt.body)
			if !strings.Contains(got, tt.want) || (status == 200) != (tt.name == "good") || len(h.Errs()) > 0 == (status == 200) {
				t.Errorf("status %d: %s", status, got)
			}
		})
	}
}

// The same of the Responses API.
func TestResponsesRules(t *testing.T) {
	const user, call = `{"role":"user","content":"hi"}`, `{"type":"function_call","call_id":"a","name":"t","arguments":"{}"}`
	const output, said = `{"type":"function_call_output","call_id":"a","output":"x"}`, `{"type":"message","role":"assistant","content":"x"}`
	body := func(more string, items ...string) string {
		if more != "" {
			more = "," + more
		}
		return `{"model":"m","input":[` + strings.Join(items, ",") + `]` + more + `}`
	}
	for _, tt := range []struct{ name, body, want string }{
		{"good", body("", user, call, output), `"text":"ok"`},
		{"no JSON", "{", "unexpected end"},
		{"no model", `{"input":"hi"}`, "'model'"},
		{"small limit", body(`"max_output_tokens":5`, user), "max_output_tokens"},
		{"bad tool", body(`"tools":[{"type":"function","name":"t"}]`, user), "tools[0]"},
		{"unknown item", body("", `{"type":"song"}`), "'song'"},
		{"bad content", body("", `{"role":"user","content":[{"type":"song"}]}`), "input[0]"},
		{"no output", body("", user, call), "No tool output found"},
		{"no output before a message", body("", user, call, user), "No tool output found"},
		{"output of nothing", body("", user, output), "No tool call found"},
		{"the same call twice", body("", user, call, output, call, output), "call_id of its own"},
		{"reasoning kept by nobody", body("", user, `{"type":"reasoning","id":"rs_1","summary":[]}`, said), "not found"},
		{"forged reasoning", body("", user, `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`, said), "could not be verified"},
		{"reasoning behind all", body("", user, `{"type":"reasoning","id":"rs_1","summary":[],"content":[]}`), "required following item"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := hosted.ResponsesHandler(parse(t, "=== *\nok\n"), hosted.ResponsesRules{})
			status, got := post(t, h, "/v1/responses", tt.body)
			if !strings.Contains(got, tt.want) || (status == 200) != (tt.name == "good") || len(h.Errs()) > 0 == (status == 200) {
				t.Errorf("status %d: %s", status, got)
			}
		})
	}
}
