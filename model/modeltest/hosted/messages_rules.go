package hosted

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/model"
)

// A messageRequest is the body of a request to the Messages API.
type messageRequest struct {
	Model     string          `json:"model"`
	MaxTokens *int            `json:"max_tokens"`
	Stream    bool            `json:"stream"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
		Cache       json.RawMessage `json:"cache_control"`
	} `json:"tools"`
	Choice *struct {
		Type string `json:"type"`
	} `json:"tool_choice"`
	Thinking *struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	Output *struct {
		Effort string `json:"effort"`
	} `json:"output_config"`

	turns  []messageTurn
	system []messageBlock
	prefix []prefixBlock // all blocks in the order in which the model reads them
	names  map[string]string
}

// A messageTurn is a message with its blocks read.
type messageTurn struct {
	role   string
	blocks []messageBlock
}

type messageBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	UseID     string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Source    struct {
		Type  string `json:"type"`
		Media string `json:"media_type"`
		Data  string `json:"data"`
	} `json:"source"`
	Cache json.RawMessage `json:"cache_control"`
}

// A prefixBlock is a block of a prompt without its mark, and whether it had one.
type prefixBlock struct {
	plain  []byte
	marked bool
}

// plainBlock is a block as caches and signatures see it: in one way of writing, without its mark.
func plainBlock(role string, raw []byte) prefixBlock {
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&fields) != nil {
		return prefixBlock{plain: raw}
	}
	_, marked := fields["cache_control"]
	delete(fields, "cache_control")
	return prefixBlock{plain: append([]byte(role+":"), encode(fields)...), marked: marked}
}

var (
	useID    = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

// messageFields are what a request may hold.
var messageFields = []string{
	"model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "stream", "metadata",
	"stop_sequences", "temperature", "top_k", "top_p", "service_tier", "cache_control",
}

// read reads a request and says what the API has against it; status 0 is nothing.
func (e *Messages) read(body []byte) (q *messageRequest, status int, message string) {
	q = &messageRequest{names: map[string]string{}}
	bad := func(format string, a ...any) (*messageRequest, int, string) { return q, 400, fmt.Sprintf(format, a...) }
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return bad("The request body is not valid JSON: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(messageFields, name) {
			return bad("%s: Extra inputs are not permitted", name)
		}
	}
	if err := json.Unmarshal(body, q); err != nil {
		return bad("%v", err)
	}
	if len(e.rules.Models) > 0 && !slices.ContainsFunc(e.rules.Models, func(m ModelInfo) bool { return m["id"] == q.Model }) {
		return q, 404, "model: " + q.Model
	}
	limits, thought := func() string { return e.limits(q) }, func() string { return e.thought(q) }
	tooled := func() string { return q.tooled(fields["tools"]) }
	for _, check := range []func() string{limits, tooled, q.turned, q.called, thought, q.marked} {
		if message := check(); message != "" {
			return bad("%s", message)
		}
	}
	return q, 0, ""
}

// limits checks numbers and choices.
func (e *Messages) limits(q *messageRequest) string {
	switch {
	case q.Model == "":
		return "model: Field required"
	case q.MaxTokens == nil:
		return "max_tokens: Field required"
	case *q.MaxTokens < 1:
		return "max_tokens: must be greater than or equal to 1"
	case e.rules.MaxOut > 0 && *q.MaxTokens > e.rules.MaxOut:
		return fmt.Sprintf("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s",
			*q.MaxTokens, e.rules.MaxOut, q.Model)
	case q.Choice != nil && !slices.Contains([]string{"auto", "any", "tool", "none"}, q.Choice.Type):
		return "tool_choice: Input tag found using 'type' does not match any of the expected tags"
	case q.Choice != nil && len(q.Tools) == 0:
		return "tool_choice: may only be specified while providing tools"
	case q.Output != nil && !slices.Contains([]string{"", "low", "medium", "high", "xhigh", "max"}, q.Output.Effort):
		return "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"
	}
	if t := q.Thinking; t != nil {
		switch {
		case !slices.Contains([]string{"enabled", "adaptive", "disabled"}, t.Type):
			return "thinking: Input tag does not match any of the expected tags"
		case slices.Contains(e.rules.Refuses, t.Type):
			return fmt.Sprintf("thinking.type.%s: \"%s\" is not supported for this model", t.Type, t.Type)
		case t.Type == "enabled" && t.Budget < 1024:
			return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
		case t.Type == "enabled" && t.Budget >= *q.MaxTokens:
			return "`max_tokens` must be greater than `thinking.budget_tokens`"
		}
	}
	return ""
}

// tooled checks the tools.
func (q *messageRequest) tooled(list json.RawMessage) string {
	var raw []json.RawMessage
	if len(list) > 0 && json.Unmarshal(list, &raw) != nil {
		return "tools: Input should be a valid list"
	}
	seen := map[string]bool{}
	for i, t := range q.Tools {
		var schema map[string]json.RawMessage
		switch {
		case !toolName.MatchString(t.Name):
			return fmt.Sprintf("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		case seen[t.Name]:
			return "tools: Tool names must be unique."
		case json.Unmarshal(t.Schema, &schema) != nil || schema == nil:
			return fmt.Sprintf("tools.%d.custom.input_schema: Field required", i)
		case string(schema["type"]) != `"object"`:
			return fmt.Sprintf("tools.%d.custom.input_schema.type: Input should be 'object'", i)
		case schema["oneOf"] != nil || schema["allOf"] != nil || schema["anyOf"] != nil:
			return fmt.Sprintf("tools.%d.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", i)
		}
		seen[t.Name] = true
		q.prefix = append(q.prefix, plainBlock("tool", raw[i]))
	}
	return ""
}

// readBlocks reads content, which is a string or a list of blocks.
func readBlocks(role string, raw json.RawMessage) (blocks []messageBlock, prefix []prefixBlock, ok bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		block := encode(map[string]any{"type": "text", "text": text})
		return []messageBlock{{Type: "text", Text: text}}, []prefixBlock{plainBlock(role, block)}, true
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || json.Unmarshal(raw, &blocks) != nil {
		return nil, nil, false
	}
	for _, each := range list {
		prefix = append(prefix, plainBlock(role, each))
	}
	return blocks, prefix, true
}

// turned checks roles and the content of messages.
func (q *messageRequest) turned() string {
	if len(q.System) > 0 {
		blocks, prefix, ok := readBlocks("system", q.System)
		if !ok {
			return "system: Input should be a valid string or list"
		}
		for _, b := range blocks {
			if b.Type != "text" || strings.TrimSpace(b.Text) == "" {
				return "system: text content blocks must be non-empty"
			}
		}
		q.system = blocks
		q.prefix = append(q.prefix, prefix...)
	}
	if len(q.Messages) == 0 {
		return "messages: at least one message is required"
	}
	for i, m := range q.Messages {
		want := []string{"user", "assistant"}[i%2]
		if m.Role != want {
			return fmt.Sprintf("messages.%d: roles must alternate between \"user\" and \"assistant\", found %q", i, m.Role)
		}
		blocks, prefix, ok := readBlocks(m.Role, m.Content)
		if !ok || len(blocks) == 0 {
			return fmt.Sprintf("messages.%d: %s messages must have non-empty content", i, m.Role)
		}
		for k, b := range blocks {
			if message := b.wrong(m.Role); message != "" {
				return fmt.Sprintf("messages.%d.content.%d: %s", i, k, message)
			}
		}
		q.turns = append(q.turns, messageTurn{m.Role, blocks})
		q.prefix = append(q.prefix, prefix...)
	}
	if last := q.turns[len(q.turns)-1]; last.role != "user" {
		return "This model does not support assistant message prefill. The conversation must end with a user message."
	}
	return ""
}

// wrong is what is wrong with one block by itself.
func (b messageBlock) wrong(role string) string {
	var object map[string]json.RawMessage
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			return "text content blocks must contain non-whitespace text"
		}
		return ""
	case "image":
		if _, err := base64.StdEncoding.DecodeString(b.Source.Data); role != "user" || b.Source.Type != "base64" || err != nil ||
			!slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/gif"}, b.Source.Media) {
			return "image.source: Could not process image"
		}
		return ""
	case "tool_use":
		switch {
		case role != "assistant":
			return "`tool_use` blocks can only be in `assistant` messages"
		case !useID.MatchString(b.ID):
			return "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
		case !toolName.MatchString(b.Name):
			return "tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
		case json.Unmarshal(b.Input, &object) != nil || object == nil:
			return "tool_use.input: Input should be a valid dictionary"
		}
		return ""
	case "tool_result":
		if role != "user" {
			return "`tool_result` blocks can only be in `user` messages"
		}
		return ""
	case "thinking", "redacted_thinking":
		if role != "assistant" {
			return "`thinking` blocks can only be in `assistant` messages"
		}
		return ""
	}
	return fmt.Sprintf("Input tag '%s' found using 'type' does not match any of the expected tags", b.Type)
}

// called checks that each call has its result, all together at the beginning of the next message.
func (q *messageRequest) called() string {
	var open []string
	for i, t := range q.turns {
		results := true // so far, this message has held nothing but results
		for k, b := range t.blocks {
			switch b.Type {
			case "tool_use":
				if _, taken := q.names[b.ID]; taken {
					return fmt.Sprintf("messages.%d.content.%d: `tool_use` ids must be unique", i, k)
				}
				q.names[b.ID] = b.Name
				open = append(open, b.ID)
				continue
			case "tool_result":
				at := slices.Index(open, b.UseID)
				if at < 0 || !results {
					return fmt.Sprintf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
						"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, k, b.UseID)
				}
				open = slices.Delete(open, at, at+1)
				continue
			}
			results = false
		}
		if t.role == "user" && len(open) > 0 {
			return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
				"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, strings.Join(open, ", "))
		}
	}
	return ""
}

// thought checks that signed reasoning came back as it was.
func (e *Messages) thought(q *messageRequest) string {
	at := len(q.prefix)
	for _, t := range q.turns {
		at -= len(t.blocks)
	}
	lastCalls := -1
	for i, t := range q.turns {
		for k, b := range t.blocks {
			before := q.prefix[:at]
			at++
			switch {
			case b.Type == "thinking" && b.Signature != e.sign(b.Thinking, before):
				return fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, k)
			case b.Type == "redacted_thinking" && !e.isRedacted(b.Data, before):
				return fmt.Sprintf("messages.%d.content.%d: Invalid `data` in `redacted_thinking` block: bad signature of thinking", i, k)
			case b.Type == "tool_use":
				lastCalls = i
			}
		}
		if last := t.blocks[len(t.blocks)-1].Type; strings.HasSuffix(last, "thinking") {
			return fmt.Sprintf("messages.%d: The final block in an assistant message cannot be `thinking`.", i)
		}
	}
	// The last answer of the request stands before its last message.
	if q.Thinking != nil && q.Thinking.Type == "enabled" && lastCalls >= 0 && lastCalls == len(q.turns)-2 {
		if first := q.turns[lastCalls].blocks[0].Type; !strings.HasSuffix(first, "thinking") {
			return fmt.Sprintf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is "+
				"enabled, a final `assistant` message must start with a thinking block.", lastCalls, first)
		}
	}
	return ""
}

func (e *Messages) isRedacted(data string, before []prefixBlock) bool {
	parts := strings.Split(data, ":")
	if len(parts) != 3 || parts[0] != "redacted" {
		return false
	}
	text, err := base64.StdEncoding.DecodeString(parts[2])
	return err == nil && parts[1] == e.sign(string(text), before)
}

// marked checks the marks for the cache.
func (q *messageRequest) marked() string {
	n := 0
	for _, t := range q.Tools {
		if len(t.Cache) > 0 {
			n++
		}
	}
	blocks := q.system
	for _, t := range q.turns {
		blocks = append(blocks[:len(blocks):len(blocks)], t.blocks...)
	}
	for _, b := range blocks {
		if len(b.Cache) == 0 {
			continue
		}
		n++
		var c struct {
			Type string `json:"type"`
		}
		if strings.HasSuffix(b.Type, "thinking") || json.Unmarshal(b.Cache, &c) != nil || c.Type != "ephemeral" {
			return "cache_control: Extra inputs are not permitted"
		}
	}
	if n > 4 {
		return fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
	return ""
}

// request is q as a model is asked it.
func (q *messageRequest) request() model.Request {
	r := model.Request{NoCalls: q.Choice != nil && q.Choice.Type == "none", MaxTokens: *q.MaxTokens}
	for _, b := range q.system {
		r.System = append(r.System, b.Text)
	}
	for _, t := range q.turns {
		r.Messages = append(r.Messages, t.messages(q.names)...)
	}
	for _, t := range q.Tools {
		r.Tools = append(r.Tools, model.Tool{Name: t.Name, Summary: t.Description, Schema: t.Schema})
	}
	r.Known = r.Tools
	return r
}

// messages are t as a model is asked it: results one by one.
func (t messageTurn) messages(names map[string]string) []model.Message {
	var all []model.Message
	said := model.Message{Role: model.Role(t.role)}
	for _, b := range t.blocks {
		switch b.Type {
		case "text":
			if said.Text != "" && t.role == "user" {
				said.Text += "\n\n"
			}
			said.Text += b.Text
		case "image":
			data, _ := base64.StdEncoding.DecodeString(b.Source.Data) // it was decoded before
			said.Images = append(said.Images, model.Image{Type: b.Source.Media, Data: data})
		case "tool_use":
			said.Calls = append(said.Calls, model.Call{ID: b.ID, Name: b.Name, Args: plain(b.Input)})
		case "tool_result":
			text := ""
			blocks, _, _ := readBlocks("user", b.Content)
			for _, each := range blocks {
				text += each.Text
			}
			all = append(all, model.Message{Role: model.Result, CallID: b.UseID, Name: names[b.UseID], Text: text})
		}
	}
	if said.Text != "" || len(said.Calls)+len(said.Images) > 0 {
		all = append(all, said)
	}
	return all
}
