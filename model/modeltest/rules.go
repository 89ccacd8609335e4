package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ChatRules are what a server of Chat Completions is strict about. The zero value is like OpenAI's.
type ChatRules struct {
	IDs   *regexp.Regexp // what the ID of a call must look like; nil takes any of at most 40 bytes
	Notes bool           // a user message may not stand right behind a result, as at Mistral's
	Words bool           // an assistant message says something or makes calls
	Empty bool           // it may not have empty text, even beside calls
	Alone bool           // the roles of user and assistant alternate, a user's message first
}

// Mistral are the rules of Mistral's server and of its models' templates.
func Mistral() ChatRules {
	return ChatRules{IDs: regexp.MustCompile(`^[a-zA-Z0-9]{9}$`), Notes: true, Words: true}
}

var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// A chatCall is a call in a request of Chat Completions.
type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// A chatMessage is one message of such a request, and of one of Ollama's, which is much the same.
type chatMessage struct {
	Role     string          `json:"role"`
	Content  json.RawMessage `json:"content"`
	Calls    []chatCall      `json:"tool_calls"`
	CallID   string          `json:"tool_call_id"`
	Tool     string          `json:"tool_name"`
	Thoughts *string         `json:"reasoning_content"`
}

// text is the content, which is a string or a list of parts, and whether it is either.
func (m chatMessage) text() (s string, ok bool) {
	var parts []struct {
		Text string `json:"text"`
	}
	switch {
	case len(m.Content) == 0 || string(m.Content) == "null":
		return "", false
	case json.Unmarshal(m.Content, &s) == nil:
		return s, true
	case json.Unmarshal(m.Content, &parts) != nil:
		return "", false
	}
	for _, p := range parts {
		s += p.Text
	}
	return s, len(parts) > 0
}

// Check says what the server has against the body of a request: that a call is without its result, for one.
func (r ChatRules) Check(body []byte) error {
	var q struct {
		Messages []chatMessage `json:"messages"`
		Tools    []struct {
			Function struct {
				Name       string         `json:"name"`
				Parameters map[string]any `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		Choice any `json:"tool_choice"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return err
	}
	if q.Choice != nil && len(q.Tools) == 0 {
		return errors.New("'tool_choice' is only allowed when 'tools' are specified")
	}
	for i, t := range q.Tools {
		if !functionName.MatchString(t.Function.Name) || t.Function.Parameters == nil {
			return fmt.Errorf("invalid 'tools[%d].function': a name and a schema are expected", i)
		}
	}
	taken := map[string]bool{}
	var open []chatCall
	last := ""
	for i, m := range q.Messages {
		if len(open) > 0 && (m.Role != "tool" || m.CallID != open[0].ID) {
			return fmt.Errorf("messages[%d]: An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': %s did not have one", i, open[0].ID)
		}
		if err := r.message(i, m, last, len(open) > 0); err != nil {
			return err
		}
		switch m.Role {
		case "tool":
			open = open[1:]
		case "assistant":
			for _, c := range m.Calls {
				if err := r.call(c, taken); err != nil {
					return fmt.Errorf("messages[%d]: %w", i, err)
				}
			}
			open = m.Calls
		}
		last = m.Role
	}
	if len(open) > 0 {
		return fmt.Errorf("an assistant message with 'tool_calls' must be followed by tool messages: %s did not have one", open[0].ID)
	}
	return nil
}

// message checks one message behind one of role last.
func (r ChatRules) message(i int, m chatMessage, last string, awaited bool) error {
	text, ok := m.text()
	switch m.Role {
	case "system", "developer":
		if i > 0 {
			return fmt.Errorf("messages[%d]: the system message must be at the beginning", i)
		}
	case "user":
		if !ok {
			return fmt.Errorf("messages[%d]: invalid type for 'content'", i)
		}
		if last == "tool" && r.Notes {
			return errors.New("unexpected role 'user' after role 'tool'")
		}
	case "assistant":
		switch {
		case !ok && len(m.Content) > 0 && string(m.Content) != "null":
			return fmt.Errorf("messages[%d]: invalid type for 'content'", i)
		case strings.TrimSpace(text) == "" && len(m.Calls) == 0 && r.Words:
			return errors.New("assistant message must have either content or tool_calls, but not none")
		case ok && text == "" && r.Empty:
			return errors.New("messages: text content blocks must be non-empty")
		}
	case "tool":
		if !ok {
			return fmt.Errorf("messages[%d]: invalid type for 'content'", i)
		}
		if !awaited {
			return fmt.Errorf("messages[%d]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'", i)
		}
	default:
		return fmt.Errorf("messages[%d]: invalid role %q", i, m.Role)
	}
	if r.Alone && (m.Role == last && m.Role != "tool" || m.Role == "assistant" && (last == "" || last == "system")) {
		return errors.New("conversation roles must alternate user/assistant/user/assistant")
	}
	return nil
}

// call checks one call, whose ID must be none of those that are taken.
func (r ChatRules) call(c chatCall, taken map[string]bool) error {
	const longest = 40
	var text string
	switch {
	case r.IDs != nil && !r.IDs.MatchString(c.ID):
		return fmt.Errorf("tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9", c.ID)
	case c.ID == "" || len(c.ID) > longest:
		return fmt.Errorf("invalid 'tool_calls[0].id': string too long. Expected a string with maximum length %d, but got %q", longest, c.ID)
	case taken[c.ID]:
		return fmt.Errorf("duplicate value for 'tool_call_id' of %q", c.ID)
	case c.Type != "function" || !functionName.MatchString(c.Function.Name):
		return fmt.Errorf("invalid 'tool_calls[0].function.name': %q", c.Function.Name)
	case json.Unmarshal(c.Function.Arguments, &text) != nil || !isObject([]byte(text)):
		return fmt.Errorf("invalid 'tool_calls[0].function.arguments': %s", c.Function.Arguments)
	}
	taken[c.ID] = true
	return nil
}

func isObject(raw []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// CheckOllama says what is wrong with a request to Ollama's own API. Ollama itself takes almost anything; but a template that is
// given less than this shows the model a conversation that has not taken place.
func CheckOllama(body []byte) error {
	var q struct {
		Messages []chatMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return err
	}
	taken := map[string]bool{}
	var open []chatCall
	for i, m := range q.Messages {
		if _, ok := m.text(); !ok {
			return fmt.Errorf("messages[%d]: content is no string", i)
		}
		switch {
		case len(open) > 0 && (m.Role != "tool" || m.CallID != open[0].ID || m.Tool != open[0].Function.Name):
			return fmt.Errorf("messages[%d]: the result of %s %s is expected", i, open[0].Function.Name, open[0].ID)
		case len(open) > 0:
			open = open[1:]
			continue
		case m.Role == "system" && i == 0, m.Role == "user":
			continue
		case m.Role != "assistant":
			return fmt.Errorf("messages[%d]: the role %q does not belong here", i, m.Role)
		}
		for _, c := range m.Calls {
			if c.ID != "" && taken[c.ID] || !functionName.MatchString(c.Function.Name) || !isObject(c.Function.Arguments) {
				return fmt.Errorf("messages[%d]: a call has an ID of its own, if any, a name, and an object: %+v", i, c)
			}
			taken[c.ID] = true
		}
		open = m.Calls
	}
	if len(open) > 0 {
		return fmt.Errorf("the result of %s %s is missing", open[0].Function.Name, open[0].ID)
	}
	return nil
}
