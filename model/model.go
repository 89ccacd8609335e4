// Package model says what Jackline asks of a language model: one request in,
// a stream of chunks out.
//
// The turn loop knows nothing but [Model]. Everything that differs between
// engines lives in an adapter under this folder: model/openai speaks Chat
// Completions, model/ollama Ollama's own API, model/anthropic the Messages API, model/responses the Responses API,
// model/script plays a transcript, and model/prompted wraps a model
// that has no tool calls of its own so that it seems to have them. Package
// modeltest holds the contract that all of them pass.
package model

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// A Model answers requests. It is safe for use by several goroutines at once.
type Model interface {
	// Info says what is known about the model without asking it anything.
	Info() Info

	// Stream sends one request and yields what comes back, in order. The sequence
	// ends after the first error. Ending ctx or breaking out of the loop closes the
	// connection before Stream's iterator returns, and no goroutine outlives it. Errors are
	// *jackline.Error values whose Say is fit for a person; a context error is returned
	// as it is.
	Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error]

	// Size is the number of characters that r takes once it is written out for
	// the engine, tools included, each by its weight, as package contract has it. It is what a token estimate starts from. An image counts as
	// the text that takes as much, which is ImageSize where the adapter knows no better.
	Size(r Request) int
}

// Instead is the error of a model in whose place another one now answers: nothing was said yet, and what Info and Size
// say is from now on about the other. Whoever asked may write the request anew and ask again.
type Instead struct {
	Say string // which failed and why, and which has its place: for a person
}

// Error is Say.
func (i *Instead) Error() string { return i.Say }

// Info is what is known about a model.
type Info struct {
	Name    string // as the engine calls it
	Weights string // what stands for its weights: their digest, or the reference of the model where there is none; may be ""
	Window  int    // context size in tokens; never 0, see Assumed
	Assumed bool   // the window is a guess, not the engine's word
	Native  bool   // calls are made through the engine's own tool interface
	Vision  bool   // it reads images; false where nobody said so

	// Steps is how many requests a turn may take, and Offer how many tools are worth offering at once, where the model's card
	// says so; 0 is that it does not.
	Steps, Offer int

	// Envelope says that calls are made as JSON that the engine holds the model to. Knob is how it can be held to a form;
	// NoKnob where it cannot, or nobody knows.
	Envelope bool
	Knob     Knob
}

// A Request is one question to a model.
//
// Requests of one turn only grow: each repeats the whole of the one before it, byte
// for byte, so that an engine's prefix cache always hits. Adapters must keep that
// true: what they write for a message may not depend on messages after it.
type Request struct {
	// System holds the blocks of the one system message, in order. The first is
	// the persona and the house rules. An adapter that has to describe the tools in words
	// puts them right after the first block.
	System []string

	Messages []Message

	// Tools are offered to the model.
	Tools []Tool

	// Known are all tools that run when they are named, whether offered or not; a
	// reader of text calls looks names up here. It includes Tools.
	Known []Tool

	// NoCalls tells the engine that no tool may be called, where it has a way to say
	// so. The tools stay in the request, so that the prefix does not change.
	NoCalls bool

	// Retry says that the answer before this one was a call that could not be read, and that the model has been told so. A
	// wrapper that reads calls from text may hold the engine to a form then.
	Retry bool

	// Constraint is the form that the answer must have; nil is any. Only wrappers set it, and only for the knob that Info
	// names. An adapter that knows no knob does not look at it.
	Constraint *Constraint

	MaxTokens int // upper bound for the answer; 0 leaves it to the engine
}

// Role says who a message is from.
type Role string

// The roles of messages. A note of the program's own is a [User] message.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Result    Role = "tool" // the result of one call
)

// A Message is one element of the conversation.
type Message struct {
	Role  Role
	Text  string
	Calls []Call // of an assistant message: the calls it made, in canonical form

	// Opaque is, of an assistant message, what the engine wants back with it, unread: signed reasoning, for one.
	// An adapter sends it only where it made it itself.
	Opaque string

	// Images go with a user message, before its text, to models that read images.
	Images []Image

	// Of a result message: which call it answers, and under which name.
	CallID string
	Name   string
}

// ImageSize is what an image takes, in characters of text: about a thousand tokens, which is where most models end up.
const ImageSize = 3500

// An Image is a picture that a person attached.
type Image struct {
	Type string // its media type: image/png, image/jpeg, image/webp or image/gif
	Data []byte
}

// A Call is a request by a model to run a tool. Args is always one valid JSON object in
// canonical form, whatever the model wrote.
type Call struct {
	ID   string // the engine's own, or "" when it gave none
	Name string
	Args json.RawMessage

	// Cut reports that the call did not arrive whole: the reader had to close a string
	// itself. A cut call with an effect is never run.
	Cut bool

	// Mended reports that the arguments of a call through the engine's own interface were not a JSON object as they came, and
	// were repaired.
	Mended bool
}

// Arguments is Args, or an empty object where there are none.
func (c Call) Arguments() json.RawMessage {
	if len(c.Args) == 0 {
		return json.RawMessage(`{}`)
	}
	return c.Args
}

// A Tool is what a model is told about one tool.
type Tool struct {
	Name    string
	Summary string          // what it does, one sentence
	Use     string          // when to use it; may be empty
	Schema  json.RawMessage // JSON Schema of the arguments: an object

	// Aliases are other names under which models ask for it.
	Aliases []string

	// Body names the argument, a string, that may be as long as a file; "" is none. Models spoil long texts inside JSON,
	// so that a wrapper may have it written apart.
	Body string
}

// Description joins the two sentences about the tool, for engines that take one text.
func (t Tool) Description() string {
	if t.Summary == "" || t.Use == "" {
		return t.Summary + t.Use
	}
	return t.Summary + " " + t.Use
}

// A Chunk is one piece of a model's answer. Exactly one of its fields is set, except that Finish
// may come with Usage, and Garbled with Asked.
type Chunk struct {
	// Text is more of the visible answer. It is never taken back.
	Text string

	// Thought is more of the model's reasoning, which is shown but never sent back.
	Thought string

	// Preview is news of a call that is being written right now.
	Preview Preview

	// Call is one whole call.
	Call *Call

	// Garbled says that the model tried to call a tool and could not be understood. It comes at most once, after
	// all text, and never in an answer that also has calls.
	Garbled Garbled

	// Asked comes with Garbled where that is UnknownTool: the name that the model called, which may be anything.
	Asked string

	// Opaque is what must go back to the engine with this answer, see Message. It comes at most once, after all else
	// but Usage and Finish.
	Opaque string

	Usage  *Usage
	Finish Finish
}

// A Preview is news of a call that is being written right now. It is a courtesy to whoever watches: it promises nothing,
// is never text, and is kept nowhere.
type Preview struct {
	Name string // the tool's, as far as the model has named it; never empty in news
	Args string // more of the arguments, as the model writes them; "" when the call begins
}

// Garbled is why a call could not be read; the zero value means that nothing went wrong.
type Garbled string

// The ways in which a call can be beyond reading.
const (
	Unreadable  Garbled = "unreadable"   // a call marker with nothing usable behind it
	UnknownTool Garbled = "unknown_tool" // a readable call to a name that does not exist
)

// Finish is why a model stopped.
type Finish string

// The reasons to stop. Engines' other words are mapped onto these.
const (
	Stop   Finish = "stop"
	Length Finish = "length" // the limit on tokens was reached: the last call may be cut off
	Calls  Finish = "tool_calls"
)

// Usage counts tokens as the engine reports them.
type Usage struct {
	Prompt int `json:"prompt"`
	Cached int `json:"cached"` // part of Prompt that came from the engine's cache

	// CacheTold says that the engine told Cached: a 0 is none then, and otherwise unknown.
	CacheTold bool `json:"-"`

	Completion int `json:"completion"`

	// Reading and Writing are how long the engine took for the part of the prompt that did not come from its cache, and for
	// the answer, by its own clock; 0 where it does not say.
	Reading time.Duration `json:"-"`
	Writing time.Duration `json:"-"`

	// First is the tokens of the first prompt, where Prompt is the sum over several generations for one request; 0 is one.
	First int `json:"first,omitempty"`

	// Cut says that the engine read so much less than it was sent that it must have left out a part of the prompt, and did
	// not say so.
	Cut bool `json:"cut,omitempty"`
}

// Plus is the sum of two generations that answered one request; nil is one that nobody counted.
func (u *Usage) Plus(more *Usage) *Usage {
	switch {
	case u == nil:
		return more
	case more == nil:
		return u
	}
	sum := *u
	if sum.First == 0 {
		sum.First = u.Prompt
	}
	sum.Prompt += more.Prompt
	sum.Cached += more.Cached
	sum.Completion += more.Completion
	sum.Reading += more.Reading
	sum.Writing += more.Writing
	sum.Cut = u.Cut || more.Cut
	return &sum
}
