package jackline

import (
	"errors"
	"fmt"
)

// An Error says what failed, of which kind it is, and what a person may be told. Its cause is for
// logs: it never reaches a model or a browser.
type Error struct {
	Op   string // what was being done: "store.Open"
	Kind Kind
	Say  string // a sentence that is safe for anyone to read, and says what to do
	Err  error  // the cause; may be nil
}

// Kind sorts errors by what the one who asked can do about it. The zero Kind is internal.
type Kind int

// The kinds of errors.
const (
	Internal    Kind = iota // our fault
	Invalid                 // the request makes no sense
	Unprocessed             // well formed, but against the schema
	NotFound                // no such thing, or not yours
	Forbidden               // not allowed, by anybody's answer
	Conflict                // busy, already answered, fixed by the environment
	Gone                    // expired
	Unavailable             // the model or engine cannot be reached
	Timeout
	NoModel // no model is configured
)

var kindNames = []string{
	"internal", "invalid", "unprocessable", "not-found", "forbidden", "conflict", "gone", "unavailable",
	"timeout", "no-model",
}

// String is the kind's name.
func (k Kind) String() string { return name(kindNames, int(k)) }

// Error is the whole story, for logs.
func (e *Error) Error() string {
	s := e.Op + ": " + e.Kind.String() + ": " + e.Say
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// E makes an [Error] whose sentence is formatted.
func E(op string, k Kind, cause error, format string, a ...any) *Error {
	return &Error{Op: op, Kind: k, Say: fmt.Sprintf(format, a...), Err: cause}
}

// The causes with which work may be cancelled, besides its caller's having lost interest.
var (
	// ErrStopped: a person or a limit ended it.
	ErrStopped = errors.New("stopped by a person")
	// ErrShutdown: the program ends. What can be taken up again is left as it stands.
	ErrShutdown = errors.New("the program shuts down")
)

// KindOf is the kind of the first [Error] in err's chain, or Internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// Say is what may be told about err: the sentence of the first [Error] in its chain, or one that admits to
// knowing nothing.
func Say(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Say != "" {
		return e.Say
	}
	return "Something went wrong inside Jackline; its log says what."
}
