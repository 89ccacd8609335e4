package engine

import "time"

// How long things may take. An engine on a small machine loads a model from disk and reads a long prompt before it says
// its first word, so silence is given much time; a person can always stop the turn.
const (
	dialTimeout  = 10 * time.Second
	firstByte    = 30 * time.Minute
	idle         = 10 * time.Minute
	tail         = 10 * time.Second     // after the reason for the end: only the count of tokens may follow
	fetchTimeout = 10 * time.Second     // for a question about the engine itself
	linger       = 5 * time.Millisecond // behind the marker of the end: only the end of the body may follow
	idleConn     = 4 * time.Second      // a connection is kept; uvicorn and llama.cpp let go of theirs after 5 s
)

// How often and how fast a request is repeated.
const (
	retryTries   = 4
	retryFirst   = 500 * time.Millisecond
	retryMax     = 8 * time.Second
	retryAfter   = 30 * time.Second
	refusedTries = 2 // nobody listens: a restart is waited for, but whoever forgot to start an engine is told soon

	loadingPause = 2 * time.Second // the engine says that it is loading the model
	loadingLimit = 5 * time.Minute
)

// How much of an answer is read. The limits stop what has run away, no honest answer.
const (
	MaxText  = 4 << 20   // bytes of text, reasoning and arguments in one answer: some million tokens
	MaxLine  = 16 << 20  // bytes of one event or line, or of an answer in one piece
	MaxBody  = 128 << 20 // bytes on the wire of one answer: hundreds of thousands of tokens in frames of their own
	MaxCalls = 64        // calls in one answer; reading stops there as if the limit on tokens had been reached

	MaxList    = 4 << 20  // bytes of a list of models
	MaxRefusal = 64 << 10 // bytes that are read of an error
	MaxExcerpt = 300      // bytes of it that are kept in a cause

	maxWrapped   = 4   // errors around an error
	maxOffered   = 8   // names of models in a sentence
	maxNameShown = 100 // bytes of each
)
