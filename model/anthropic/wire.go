package anthropic

import (
	"encoding/json"
)

// A packet is one event of a stream, or the whole message of a server that does not stream. Fields and types that are not
// known are skipped.
type packet struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message *message        `json:"message"`       // message_start
	Block   json.RawMessage `json:"content_block"` // content_block_start
	Delta   delta           `json:"delta"`         // content_block_delta, message_delta
	Usage   *usage          `json:"usage"`         // message_delta
	Error   json.RawMessage `json:"error"`

	// Of a whole message.
	Content []json.RawMessage `json:"content"`
	Reason  string            `json:"stop_reason"`
}

type message struct {
	Usage *usage `json:"usage"`
}

// A delta adds to a block, or to the message.
type delta struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
	JSON      string `json:"partial_json"`

	Reason string `json:"stop_reason"`
}

// A block is the beginning of a content block. What deltas add to comes empty, as a rule.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// Usage counts tokens. The API counts what was read from its cache, and what was written there, apart from the rest.
// Each number is of the whole message so far; those that a later event leaves out stay as they were.
type usage struct {
	Input   *float64 `json:"input_tokens"`
	Created *float64 `json:"cache_creation_input_tokens"`
	Read    *float64 `json:"cache_read_input_tokens"`
	Output  *float64 `json:"output_tokens"`
}

// take puts the numbers of a later event over those known so far.
func (u *usage) take(later *usage) {
	for _, f := range []struct {
		known **float64
		told  *float64
	}{{&u.Input, later.Input}, {&u.Created, later.Created}, {&u.Read, later.Read}, {&u.Output, later.Output}} {
		if f.told != nil {
			*f.known = f.told
		}
	}
}

// statusOf is the HTTP status that an error within a stream would have had, or 0
// (https://platform.claude.com/docs/en/api/errors).
func statusOf(kind string) int {
	switch kind {
	case "invalid_request_error":
		return 400
	case "authentication_error":
		return 401
	case "billing_error":
		return 402
	case "permission_error":
		return 403
	case "not_found_error":
		return 404
	case "request_too_large":
		return 413
	case "rate_limit_error":
		return 429
	case "api_error":
		return 500
	case "timeout_error":
		return 504
	case "overloaded_error":
		return statusOverloaded
	}
	return 0
}

// statusOverloaded is the API's own: it has more requests than it can answer, whoever asks.
const statusOverloaded = 529

// kindOf is the type of the error in body, or "".
func kindOf(body []byte) string {
	var p struct {
		Error struct {
			Type string `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &p) != nil {
		return ""
	}
	return p.Error.Type
}
