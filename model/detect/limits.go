package detect

import "time"

// How long things may take. On loopback an engine that is alive answers within milliseconds; one that computes may take a
// little longer.
const (
	connectTime = 300 * time.Millisecond  // to connect, when nobody typed the address
	answerTime  = 1500 * time.Millisecond // for one answer then
	lookTime    = 4 * time.Second         // for all that one port is asked
	nameTime    = 300 * time.Millisecond  // for the look-up of the gateway's name

	typedConnectTime = 5 * time.Second // the same for an address that a person typed and waits for
	typedAnswerTime  = 10 * time.Second
	typedTime        = 20 * time.Second
)

// How much is read. The limits stop what has run away, no honest answer.
const (
	maxBanner = 64 << 10 // bytes of a banner, a version, a refusal; a web page is recognised by its beginning
	maxList   = 4 << 20  // bytes of a list of models: that of a service with hundreds of them is 1 MB
	maxProps  = 1 << 20  // bytes about one model: templates and licences are tens of kilobytes
	maxHeader = 64 << 10 // bytes of the headers of an answer

	maxModels = 512 // models that are listed of one engine: more than a person looks through
	maxAsked  = 64  // models that are asked about one by one
	maxWords  = 64  // abilities of one model
	maxName   = 512 // bytes of a model's name: llama.cpp takes the path of the file for it
	maxShort  = 80  // bytes of a version
	maxDigest = 128 // bytes of a digest

	maxTokens = 100_000_000 // tokens of a window; whoever says more makes a joke
	maxBytes  = 1 << 50     // bytes of weights

	atOnce   = 4   // questions that one engine is asked at the same time
	maxKnown = 512 // answers that a Memory keeps
)
