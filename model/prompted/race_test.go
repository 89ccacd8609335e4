//go:build race

package prompted

// slower is how much more time is allowed while the race detector watches.
const slower = 20
