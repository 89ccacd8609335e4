package hosted

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint/constrainttest"
)

// A responseRequest is the body of a request.
type responseRequest struct {
	Model        string            `json:"model"`
	Stream       bool              `json:"stream"`
	Store        *bool             `json:"store"`
	Instructions string            `json:"instructions"`
	Input        json.RawMessage   `json:"input"`
	Tools        []responseTool    `json:"tools"`
	Choice       json.RawMessage   `json:"tool_choice"`
	Include      []string          `json:"include"`
	MaxTokens    *int              `json:"max_output_tokens"`
	Reasoning    map[string]string `json:"reasoning"`
	Text         struct {
		Format struct {
			Type   string          `json:"type"`
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"text"`

	form  constrainttest.Form
	items []responseItem
	names map[string]string // of calls
}

type responseTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type responseItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    *string         `json:"output"`
	Summary   []struct {
		Text string `json:"text"`
	} `json:"summary"`
	Sealed string `json:"encrypted_content"`
	Phase  string `json:"phase"`
}

// text is the text of a message, which is a string or a list of parts.
func (it responseItem) text() (text string, images []model.Image, ok bool) {
	if json.Unmarshal(it.Content, &text) == nil {
		return text, nil, true
	}
	var parts []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Image string `json:"image_url"`
	}
	if json.Unmarshal(it.Content, &parts) != nil {
		return "", nil, false
	}
	for _, p := range parts {
		switch p.Type {
		case "input_text", "output_text":
			text += p.Text
		case "input_image":
			head, data, _ := strings.Cut(p.Image, ";base64,")
			raw, err := base64.StdEncoding.DecodeString(data)
			kind, isData := strings.CutPrefix(head, "data:image/")
			if err != nil || !isData {
				return "", nil, false
			}
			images = append(images, model.Image{Type: "image/" + kind, Data: raw})
		default:
			return "", nil, false
		}
	}
	return text, images, true
}

// read reads a request and says what the API has against it; status 0 is nothing.
func (e *Responses) read(body []byte) (q *responseRequest, status int, code, message string) {
	q = &responseRequest{names: map[string]string{}}
	bad := func(code, format string, a ...any) (*responseRequest, int, string, string) {
		return q, http.StatusBadRequest, code, fmt.Sprintf(format, a...)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return bad("bad_json", "%v", err)
	}
	if err := json.Unmarshal(body, q); err != nil {
		return bad("invalid_type", "%v", err)
	}
	for _, f := range e.rules.Refuses {
		if _, ok := fields[f]; ok {
			return bad("unsupported_parameter", "Unsupported parameter: '%s' is not supported with this model.", f)
		}
	}
	if len(e.rules.Models) > 0 && !slices.Contains(e.rules.Models, q.Model) {
		return q, http.StatusNotFound, "model_not_found", fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", q.Model)
	}
	var text string
	switch {
	case q.Model == "":
		return bad("missing_required_parameter", "Missing required parameter: 'model'.")
	case json.Unmarshal(q.Input, &text) == nil:
		q.items = []responseItem{{Role: "user", Content: q.Input}}
	case json.Unmarshal(q.Input, &q.items) != nil:
		return bad("invalid_type", "Invalid type for 'input'.")
	case q.MaxTokens != nil && *q.MaxTokens < 16:
		return bad("integer_below_min_value", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *q.MaxTokens)
	}
	for i, t := range q.Tools {
		var schema map[string]json.RawMessage
		if t.Type != "function" || !toolName.MatchString(t.Name) || json.Unmarshal(t.Parameters, &schema) != nil || string(schema["type"]) != `"object"` {
			return bad("invalid_function_parameters", "Invalid 'tools[%d]': a function with a name and a schema of type \"object\" is expected.", i)
		}
	}
	if code, message := q.ordered(); message != "" {
		return bad(code, "%s", message)
	}
	if f := q.Text.Format; f.Type != "" && f.Type != "text" {
		if f.Type != "json_schema" || f.Name == "" {
			return bad("invalid_value", "Invalid value: 'text.format': a named json_schema is expected.")
		}
		if err := constrainttest.Strict(f.Schema); f.Strict && err != nil {
			return bad("invalid_json_schema", "text.format: %v", err)
		}
		var err error
		if q.form, err = constrainttest.OfSchema(f.Schema); err != nil {
			return bad("invalid_json_schema", "text.format: %v", err)
		}
	}
	return q, 0, "", ""
}

// ordered checks the items: each call has one output behind it, and reasoning comes back whole, before what it led to.
func (q *responseRequest) ordered() (code, message string) {
	var open []string
	for i, it := range q.items {
		kind := it.Type
		if kind == "" && it.Role != "" {
			kind = "message"
		}
		if len(open) > 0 && kind == "message" {
			return "", "No tool output found for function call " + open[0] + "."
		}
		switch kind {
		case "message":
			if _, _, ok := it.text(); !ok || !slices.Contains([]string{"user", "assistant", "system", "developer"}, it.Role) {
				return "invalid_value", fmt.Sprintf("Invalid value: 'input[%d]'.", i)
			}
		case "function_call":
			if _, taken := q.names[it.CallID]; taken || it.CallID == "" || len(it.CallID) > 64 || !toolName.MatchString(it.Name) || !json.Valid([]byte(it.Arguments)) {
				return "invalid_value", fmt.Sprintf("Invalid 'input[%d]': a call has a call_id of its own, a name and arguments.", i)
			}
			q.names[it.CallID] = it.Name
			open = append(open, it.CallID)
		case "function_call_output":
			at := slices.Index(open, it.CallID)
			if at < 0 || it.Output == nil {
				return "", "No tool call found for function call output with call_id " + it.CallID + "."
			}
			open = slices.Delete(open, at, at+1)
		case "reasoning":
			if code, message := it.reasoned(); message != "" {
				return code, message
			}
			follows := ""
			if i+1 < len(q.items) {
				follows = q.items[i+1].Type + q.items[i+1].Role
			}
			if !slices.Contains([]string{"reasoning", "function_call", "messageassistant"}, follows) {
				return "", "Item '" + it.ID + "' of type 'reasoning' was provided without its required following item."
			}
		default:
			return "invalid_value", fmt.Sprintf("Invalid value: '%s'. 'input[%d].type' is not known.", it.Type, i)
		}
	}
	if len(open) > 0 {
		return "", "No tool output found for function call " + open[0] + "."
	}
	return "", ""
}

// reasoned is what is wrong with an item of reasoning.
func (it responseItem) reasoned() (code, message string) {
	text := ""
	for _, s := range it.Summary {
		text += s.Text
	}
	switch {
	case it.Sealed == "" && len(it.Content) == 0:
		return "", "Item with id '" + it.ID + "' not found. Items are not persisted when `store` is set to false."
	case it.Sealed != "" && it.Sealed != sealed(it.ID, text):
		return "invalid_encrypted_content", "The encrypted content for item " + it.ID + " could not be verified."
	}
	return "", ""
}

// request is q as a model is asked it.
func (q *responseRequest) request() model.Request {
	r := model.Request{NoCalls: string(q.Choice) == `"none"`}
	if q.MaxTokens != nil {
		r.MaxTokens = *q.MaxTokens
	}
	if q.Instructions != "" {
		r.System = []string{q.Instructions}
	}
	for _, it := range q.items {
		text, images, _ := it.text() // it was read before
		last := len(r.Messages) - 1
		switch {
		case it.Type == "function_call":
			c := model.Call{ID: it.CallID, Name: it.Name, Args: json.RawMessage(it.Arguments)}
			if last < 0 || r.Messages[last].Role != model.Assistant {
				r.Messages = append(r.Messages, model.Message{Role: model.Assistant})
				last++
			}
			r.Messages[last].Calls = append(r.Messages[last].Calls, c)
		case it.Type == "function_call_output":
			r.Messages = append(r.Messages, model.Message{Role: model.Result, CallID: it.CallID, Name: q.names[it.CallID], Text: *it.Output})
		case it.Type == "reasoning":
		case it.Role == "system" || it.Role == "developer":
			r.System = append(r.System, text)
		default:
			r.Messages = append(r.Messages, model.Message{Role: model.Role(it.Role), Text: text, Images: images})
		}
	}
	for _, t := range q.Tools {
		r.Tools = append(r.Tools, model.Tool{Name: t.Name, Summary: t.Description, Schema: t.Parameters})
	}
	r.Known = r.Tools
	return r
}
