package jackline

import "strings"

// SandboxLevel says how well this machine holds a process to what it was given. The zero level holds nothing.
type SandboxLevel int

// The levels, worst first.
const (
	// SandboxNone: a process may do all that the program's own user may.
	SandboxNone SandboxLevel = iota

	// SandboxLandlock: the kernel holds a process to folders, and filters what it may ask of it. Nothing can be carved out of a
	// folder that is writable.
	SandboxLandlock

	// SandboxNamespaces: besides, a process sees a machine of its own: protected files are masked, the network is its own
	// loopback, and no other process is in sight.
	SandboxNamespaces
)

var sandboxLevels = []string{"none", "landlock", "namespaces"}

// String is the level's name.
func (l SandboxLevel) String() string { return name(sandboxLevels, int(l)) }

// MarshalText writes the name.
func (l SandboxLevel) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a name.
func (l *SandboxLevel) UnmarshalText(b []byte) error { return unname(sandboxLevels, b, (*int)(l)) }

// A Sandbox is what would hold the processes of a call: at which level, and what it opens to them besides the workspace, their own
// home and what the system's programs need. It is part of what a person allows, and what runs gets exactly it. The zero
// Sandbox holds nothing.
type Sandbox struct {
	Level SandboxLevel `json:"level"`

	// Leaks says why the level does not count as whole for this call, in words for a person: the workspace holds something
	// protected that cannot be kept from commands here. "" where it does.
	Leaks string `json:"leaks,omitempty"`

	// Hosts are what may be reached, as "host:port", through the program's own guard. None is no network.
	Hosts []string `json:"hosts,omitempty"`

	// Read and Write are files and folders outside the workspace that the call names, absolute.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`

	// Repository opens the workspace's .git to writes, but for its settings and hooks.
	Repository bool `json:"repository,omitempty"`
}

// Holds reports whether the sandbox keeps a process to what it was given.
func (s Sandbox) Holds() bool { return s.Level > SandboxNone && s.Leaks == "" }

// Opens says what is open besides the workspace, for a person; "" where nothing is.
func (s Sandbox) Opens() string {
	var list []string
	if len(s.Hosts) > 0 {
		list = append(list, "the network: "+strings.Join(s.Hosts, ", "))
	}
	if len(s.Write) > 0 {
		list = append(list, "writing "+strings.Join(s.Write, ", "))
	}
	if len(s.Read) > 0 {
		list = append(list, "reading "+strings.Join(s.Read, ", "))
	}
	if s.Repository {
		list = append(list, "writing the repository's .git")
	}
	return strings.Join(list, "; ")
}

// Uses is what the text of a command would touch, as far as it tells: for whoever shows it to a person, confines it, and binds a yes to
// it. Paths are absolute and clean; "?" in one stands for what the text does not tell, "*" for a pattern.
type Uses struct {
	Reads, Writes, Deletes, Programs, Hosts []string

	Git        bool // it starts git
	Repository bool // a git command in it writes in the workspace's .git, where neither settings nor hooks are
	Settings   bool // a git command in it changes the repository's settings

	Files []string // programs that are named by a path, and scripts
	Data  bool     // what it reads is data only: what is in it makes the command do nothing else
	Cut   bool     // it names more than was listed
}
