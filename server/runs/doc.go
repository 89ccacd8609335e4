// Package runs owns the running turns: it decides which turn runs when, and sees to it that every turn ends.
//
// [Turns] has one goroutine for each turn that runs and none for one that waits for a person. Each session has a lane,
// in which one thing is decided at a time; lanes that have something to run wait in line for a slot. A run that
// returned is brought to its end here, whatever became of it: its runner failed, a person or the kill switch stopped it,
// the process shut down, another process took its session over, or the log could not be written. One keeper renews
// leases, lets cards expire, and looks after what could not be done at once.
//
// Nothing here knows HTTP, and nothing knows how a turn is taken to its answer: that is the runner's, package turn's.
// Package server calls it for its clients, and the command line for a prompt that it runs in its own process.
package runs
