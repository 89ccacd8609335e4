//go:build linux && (amd64 || arm64)

package stage

// A Fact is a call that changes what is known about a file: which one, and where its arguments are. -1 is an argument that
// it does not have.
type Fact struct {
	Call   uint32
	Folder int // a descriptor; of the file itself, where there is no path
	Path   int
	Flags  int // or NoFollow
	Kind   FactKind
	Value  int // the first of those that are new
}

// NoFollow is said of a call without flags that does not follow a link.
const NoFollow = -2

// A FactKind is what a [Fact] changes.
type FactKind int

// What is changed; times are told apart by their unit.
const (
	Mode FactKind = iota
	Owner
	Seconds
	Microseconds
	Nanoseconds
)
