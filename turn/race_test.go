//go:build race

package turn

// raced says that the race detector watches, under which everything takes ten times as long.
const raced = true
