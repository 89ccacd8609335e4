package responses

import (
	"encoding/json"

	"github.com/jackline-ai/jackline/model"
)

// A packet is one event of a stream, or the whole response of a server that does not stream. Fields and types that are
// not known are skipped.
type packet struct {
	Type    string          `json:"type"`
	Index   *int            `json:"output_index"`
	ID      string          `json:"item_id"`
	Part    int             `json:"content_index"`
	Summary int             `json:"summary_index"`
	Delta   string          `json:"delta"`
	Text    string          `json:"text"`
	Refusal string          `json:"refusal"`
	Args    written         `json:"arguments"`
	Item    json.RawMessage `json:"item"`
	Whole   *response       `json:"response"`
	Error   json.RawMessage `json:"error"`

	Object string `json:"object"` // "response" of a whole one
}

// A response is the state of an answer.
type response struct {
	Status  string            `json:"status"`
	Output  []json.RawMessage `json:"output"`
	Usage   *usage            `json:"usage"`
	Error   json.RawMessage   `json:"error"`
	Details *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// An item is one item of the output: a message, a call, or reasoning.
type item struct {
	Type    string     `json:"type"`
	ID      string     `json:"id"`
	CallID  string     `json:"call_id"`
	Name    string     `json:"name"`
	Args    written    `json:"arguments"`
	Phase   string     `json:"phase"`
	Content []itemPart `json:"content"`
	Summary []itemPart `json:"summary"`
	Sealed  string     `json:"encrypted_content"`
}

// Written are the arguments of a call: a string that holds JSON, or, from some servers, the JSON itself.
type written string

// UnmarshalJSON takes both.
func (a *written) UnmarshalJSON(raw []byte) error {
	switch {
	case len(raw) == 0 || raw[0] == 'n':
		return nil
	case raw[0] == '"':
		return json.Unmarshal(raw, (*string)(a))
	}
	*a = written(raw)
	return nil
}

type itemPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

type usage struct {
	Input   float64 `json:"input_tokens"`
	Output  float64 `json:"output_tokens"`
	Details *struct {
		Cached *float64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
}

// count is u as the rest of the program counts.
func (u *usage) count() *model.Usage {
	n := func(f float64) int {
		if !(f > 0) || f > 1e12 {
			return 0
		}
		return int(f)
	}
	c := &model.Usage{Prompt: n(u.Input), Completion: n(u.Output)}
	if u.Details != nil && u.Details.Cached != nil {
		c.Cached, c.CacheTold = min(n(*u.Details.Cached), c.Prompt), true
	}
	return c
}

// statusOf is the HTTP status that an error within a stream would have had; 0 where its code does not say.
func statusOf(code string) int {
	switch code {
	case "invalid_prompt", "invalid_request_error", "context_length_exceeded", "invalid_image", "invalid_encrypted_content":
		return 400
	case "invalid_api_key":
		return 401
	case "insufficient_quota":
		return 402
	case "model_not_found":
		return 404
	case "rate_limit_exceeded":
		return 429
	case "server_error":
		return 500
	}
	return 0
}

// codeOf is the code of the error in body, or "".
func codeOf(body []byte) string {
	type fields struct {
		Code string `json:"code"`
		Type string `json:"type"`
	}
	var p struct {
		fields
		Error fields `json:"error"`
	}
	_ = json.Unmarshal(body, &p) // a field of another type is left out
	for _, code := range []string{p.Error.Code, p.Code, p.Error.Type} {
		if code != "" {
			return code
		}
	}
	return ""
}
