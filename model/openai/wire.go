package openai

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// A packet is one value of an answer: a chunk of a stream, or the whole. Fields that are not known are skipped.
type packet struct {
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Timings *timings        `json:"timings"` // llama.cpp
	Error   json.RawMessage `json:"error"`

	Object  string          `json:"object"` // "error" in older servers
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
}

type choice struct {
	Index   int     `json:"index"`
	Delta   *delta  `json:"delta"`
	Message *delta  `json:"message"` // of an answer in one piece
	Text    string  `json:"text"`    // of servers that answer as if for a plain completion
	Finish  *string `json:"finish_reason"`

	Error json.RawMessage `json:"error"` // of proxies
}

type delta struct {
	Content content `json:"content"`
	Refusal string  `json:"refusal"`

	// Reasoning goes by three names.
	ReasoningContent content `json:"reasoning_content"`
	Reasoning        content `json:"reasoning"`
	Thinking         content `json:"thinking"`

	// Details is reasoning as OpenRouter repeats it, with what signs it.
	Details []json.RawMessage `json:"reasoning_details"`

	ToolCalls    []fragment `json:"tool_calls"`
	FunctionCall *function  `json:"function_call"` // what came before tool_calls
}

// A fragment is a piece of a call.
type fragment struct {
	Index    *int     `json:"index"`
	ID       string   `json:"id"`
	Function function `json:"function"`

	// Extra is what Gemini sends along with a call: its signature.
	Extra json.RawMessage `json:"extra_content"`
}

type function struct {
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
}

// Content is text: a string, or a list of parts of which some are reasoning.
type content struct{ text, thought string }

// UnmarshalJSON never fails: what is neither is not for us.
func (c *content) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] == 'n' {
		return nil
	}
	if raw[0] == '"' {
		return json.Unmarshal(raw, &c.text)
	}
	var parts []part
	if raw[0] == '{' {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	// Parts that are something else stay empty.
	_ = json.Unmarshal(raw, &parts)
	var text, thought strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
		thought.WriteString(p.thinking())
	}
	c.text, c.thought = text.String(), thought.String()
	return nil
}

// A part is text, or reasoning, which is a string or a list of texts.
type part struct {
	Text     string          `json:"text"`
	Thinking json.RawMessage `json:"thinking"`
}

func (p part) thinking() string {
	var text string
	if len(p.Thinking) == 0 || json.Unmarshal(p.Thinking, &text) == nil {
		return text
	}
	var list []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(p.Thinking, &list) // as above
	var all strings.Builder
	for _, each := range list {
		all.WriteString(each.Text)
	}
	return all.String()
}

// all is everything that is in c, where a field holds nothing but reasoning.
func (c content) all() string { return c.thought + c.text }

// Arguments are a call's arguments, or a piece of them: a string that holds JSON, or the JSON itself.
type arguments struct {
	text  string
	whole bool // they came as an object
}

// UnmarshalJSON takes both.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] == 'n' {
		return nil
	}
	if raw[0] == '"' {
		return json.Unmarshal(raw, &a.text)
	}
	a.text, a.whole = string(raw), true
	return nil
}

type usage struct {
	Prompt     float64 `json:"prompt_tokens"`
	Completion float64 `json:"completion_tokens"`
	Details    *struct {
		Cached *float64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CacheHit *float64 `json:"prompt_cache_hit_tokens"` // DeepSeek
}

type timings struct {
	Cache     *float64 `json:"cache_n"`
	Prompt    float64  `json:"prompt_n"` // without what came from the cache
	Predicted float64  `json:"predicted_n"`
	Reading   float64  `json:"prompt_ms"`
	Writing   float64  `json:"predicted_ms"`
}

// count joins what a packet says about tokens to what is known already; nil is nothing so far.
func (p *packet) count(known *model.Usage) *model.Usage {
	if p.Usage == nil && p.Timings == nil {
		return known
	}
	u := model.Usage{}
	if known != nil {
		u = *known
	}
	cached := func(told *float64) (n float64) {
		if told != nil {
			n, u.CacheTold = *told, true
			u.Cached = max(u.Cached, int(n))
		}
		return n
	}
	if p.Usage != nil {
		u.Prompt, u.Completion = int(p.Usage.Prompt), int(p.Usage.Completion)
		if p.Usage.Details != nil {
			u.Cached = 0 // a later packet counts anew
			cached(p.Usage.Details.Cached)
		}
		cached(p.Usage.CacheHit)
	}
	if t := p.Timings; t != nil {
		const nanoseconds = float64(time.Millisecond)
		u.Reading, u.Writing = engine.Took(t.Reading*nanoseconds), engine.Took(t.Writing*nanoseconds)
		n := cached(t.Cache)
		if u.Prompt == 0 {
			u.Prompt = int(n + t.Prompt)
		}
		if u.Completion == 0 {
			u.Completion = int(t.Predicted)
		}
	}
	u.Prompt, u.Completion = bounded(u.Prompt), bounded(u.Completion)
	u.Cached = min(bounded(u.Cached), u.Prompt)
	return &u
}

// mostTokens bounds a count of tokens: more is nonsense, and must not overflow a sum.
const mostTokens = 1 << 30

func bounded(n int) int {
	if n < 0 || n > mostTokens {
		return 0
	}
	return n
}

// fails is the error that p carries, or nil.
func (p *packet) fails(kind string, data []byte) []byte {
	switch {
	case isSet(p.Error), p.Object == "error", kind == "error":
		return data
	case len(p.Choices) == 0 && p.Usage == nil && (isSet(p.Message) || isSet(p.Detail)):
		return data
	}
	for _, c := range p.Choices {
		if isSet(c.Error) {
			return c.Error
		}
	}
	return nil
}
