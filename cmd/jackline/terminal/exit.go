package terminal

import "fmt"

// Exit codes, a contract with scripts.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitWaiting     = 3 // waits for a person, or went on without one
	ExitLimit       = 4
	ExitNoModel     = 5
	ExitRefused     = 6
	ExitInterrupted = 130
	ExitTerminated  = 143
)

// An Exit is an error that knows its exit code. Err may be nil: then everything is said already.
type Exit struct {
	Code int
	Err  error
}

// Error is that of Err, or empty.
func (e *Exit) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap is Err.
func (e *Exit) Unwrap() error { return e.Err }

// Usage is the error of a command that was called in a way that cannot be meant.
func Usage(format string, a ...any) error {
	return &Exit{Code: ExitUsage, Err: fmt.Errorf(format, a...)}
}
