// Package stage is what a process does to itself before it becomes a command that is held: the rules, the filter, and the
// program of system calls that makes a machine of its own around it.
package stage
