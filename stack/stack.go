// Package stack gives a goroutine the room that its work will need, before anything is in the way.
//
// A goroutine begins with two KB of stack. Each time that is too little the runtime moves the stack to one of twice the size, and
// for that it looks up every function that stands on it in the tables of the program. A program that answers one question and
// ends would read megabytes of these tables for nothing else. So a goroutine that is known to go deep grows its stack while nothing
// stands on it.
package stack

// room is enough for a query of the database below a request, and a few times what most work needs.
const room = 120 << 10

// The goroutine of main initialises all packages, and this one, which imports nothing, is among the first.
func init() { Grow() } //nolint:gochecknoinits // what else would come before the other packages

// Grow gives the calling goroutine room. It belongs at the beginning of its function. The room is address space: what is not
// used takes no memory, and the next collections give it back.
func Grow() { grow(false) }

// grow has a frame as large as the room, which nobody uses.
//
//go:noinline
func grow(use bool) byte {
	if !use {
		return 0
	}
	var frame [room]byte
	return touch(&frame)
}

//go:noinline
func touch(frame *[room]byte) byte { return frame[room-1] }
