package model

import "github.com/jackline-ai/jackline/contract"

// DefaultWindow is the window, in tokens, that is chosen where neither engine nor owner says one. It holds the whole prompt
// with tools, some files and an answer. Twice of it doubles what the cache of an 8B model takes (about 1 GiB at this size),
// which on an 8 GB machine is the difference between working and swapping.
const DefaultWindow = contract.Middle

// roomForDefault is what a model with a window of DefaultWindow takes beside its weights: the cache of an 8B model, and
// what the engine computes with.
const roomForDefault = 3 << 29 // 1.5 GiB

// Window is how many tokens to plan with, and, for an engine that takes the window with each request, to ask for. asked
// is what the owner set, memory how many bytes the engine may use for the model; 0 is unknown of both.
//
//   - An engine that was started with a window keeps it: nothing but less can be asked for. Ollama is the one that takes
//     another with each request.
//   - What the owner asks for counts, though never above what the model was trained for: beyond that it writes nonsense.
//   - A window that is in use already and larger than the default is kept: another would load the model again.
//   - Otherwise it is DefaultWindow, and [contract.Small] where memory is known to be too small for more. It is never the
//     trained window: most small models are trained for 32k to 256k tokens, whose cache is larger than their weights.
//
// It is never below 1, and below [contract.Small] only if the model or the owner says so.
func Window(c Card, asked int, memory int64) int {
	const takesAny = "ollama"
	if c.Engine != takesAny && c.Usable > 0 {
		if asked > 0 {
			return min(asked, c.Usable)
		}
		return c.Usable
	}
	w := max(DefaultWindow, c.Usable)
	switch {
	case asked > 0:
		w = asked
	case c.Usable <= contract.Small && memory > 0 && c.Bytes > 0 && memory-c.Bytes < roomForDefault:
		w = contract.Small
	}
	if c.Trained > 0 {
		w = min(w, c.Trained)
	}
	return w
}
