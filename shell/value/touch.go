package value

// A TouchKind says what a command does with something.
type TouchKind uint8

const (
	// Unknown is something that the text does not determine.
	Unknown TouchKind = iota
	// Reads is a path that is read, or may be.
	Reads
	// Writes is a path that is made or changed.
	Writes
	// Deletes is a path that is removed, moved away or emptied.
	Deletes
	// Runs is a program.
	Runs
	// Calls is a host of the network.
	Calls
)

func (k TouchKind) String() string {
	return [...]string{Unknown: "unknown", Reads: "read", Writes: "write", Deletes: "delete", Runs: "program", Calls: "host"}[k]
}

// A Touch is one thing that a command would touch. A path is absolute and clean; "?" stands for text that is not known,
// "*" for a pattern.
type Touch struct {
	Kind TouchKind
	Name string
}
