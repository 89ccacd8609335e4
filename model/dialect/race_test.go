//go:build race

package dialect

// slower is how much more time is allowed while the race detector watches.
const slower = 20
