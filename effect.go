package jackline

import (
	"encoding/json"
	"fmt"
	"strings"
)

// An Effect is a set of the ways in which a call acts on the world. Zero is unknown, and judged as the worst.
type Effect uint16

// The effects. Pure stands alone: a call that touches nothing outside its own session.
const (
	Pure Effect = 1 << iota
	Read
	Write
	Delete
	Exec
	Network   // reads from the network
	Outward   // sends: mail, posts, payments
	Configure // changes the program's own settings
)

var effectNames = []string{"pure", "read", "write", "delete", "exec", "network", "outward", "configure"}

// Has reports whether e includes all of f.
func (e Effect) Has(f Effect) bool { return e&f == f }

// Acts reports whether a call with these effects may change anything: whether it must never run twice by itself. Reading
// changes nothing, from the network as little as from a file. Unknown effects act.
func (e Effect) Acts() bool { return e == 0 || e&^(Pure|Read|Network) != 0 }

// Leaves reports whether a call with these effects may change anything or send anything off this machine, be it only a question
// in an address: what a kill switch holds back.
func (e Effect) Leaves() bool { return e.Acts() || e.Has(Network) }

// String is the effects' names joined by commas, or "unknown".
func (e Effect) String() string {
	if e == 0 {
		return "unknown"
	}
	var names []string
	for i, n := range effectNames {
		if e&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, ",")
}

// MarshalJSON writes a list of names.
func (e Effect) MarshalJSON() ([]byte, error) { return json.Marshal(strings.Split(e.String(), ",")) }

// UnmarshalJSON reads a list of names. A name it does not know makes the whole effect unknown.
func (e *Effect) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	*e = 0
	for _, n := range names {
		bit := Effect(0)
		for i, have := range effectNames {
			if n == have {
				bit = 1 << i
			}
		}
		if bit == 0 {
			*e = 0
			return nil
		}
		*e |= bit
	}
	return nil
}

// A Touch is one thing that a call will use, resolved before it runs. Naming it opens nothing.
//
// What a command would touch besides itself stands in touches of its own, as far as its text tells: paths, hosts, programs, each
// with Exec among its effects. They are for people and for what is asked about in every mode; how a command is judged otherwise
// follows from the command.
type Touch struct {
	Effect Effect `json:"effect"`
	Kind   string `json:"kind"` // path, host, command, code, program
	Name   string `json:"name"` // a path relative to the workspace, or absolute outside; a host and port; a whole command; a program

	// Refused says why nobody may allow this, in words for a person; "" where somebody may. A touch with a
	// reason becomes no card, ever.
	Refused string `json:"refused,omitempty"`

	// Asks says why a person is asked about this in every mode, in words for them: it lies outside the workspace, or is
	// protected. "" where nothing speaks against it.
	Asks string `json:"asks,omitempty"`

	// Exists says that a write would replace something.
	Exists bool `json:"exists,omitempty"`

	// Dir is, of a command, the folder in which it starts, relative to the workspace; "" is the workspace itself.
	Dir string `json:"dir,omitempty"`

	// Doubt says, of a command, why it may do more than its text proves, in words for a person: the repository's own settings
	// name a program that git would start. "" where nothing is known.
	Doubt string `json:"doubt,omitempty"`

	// Address is, of a host, the whole address, where the model wrote it; "" elsewhere.
	Address string `json:"address,omitempty"`

	// Service says, of a host, that the owner chose it, so that only the question put to it is the model's.
	Service bool `json:"service,omitempty"`
}

// A Fact is what was true of a thing when a person was asked about a call that uses it. A call whose facts have changed is
// another call.
type Fact struct {
	Name   string `json:"name"`             // as the touch names it, or an absolute path
	ID     string `json:"id,omitempty"`     // what the thing is: device, inode and kind of a file; "" where there is none
	Digest string `json:"digest,omitempty"` // of its content, SHA-256 in hex; "" where content plays no part
}

// Integrity says who could have written a text, worst first.
type Integrity int

// The integrities. The zero value is outside text.
const (
	Outside   Integrity = iota // anyone
	Workspace                  // whoever can write in the workspace
	Trusted                    // the owner, as they say of a folder that they trust
	Ours                       // only this program
)

var integrityNames = []string{"outside", "workspace", "trusted", "ours"}

// String is the integrity's name.
func (i Integrity) String() string { return name(integrityNames, int(i)) }

// MarshalText writes the name.
func (i Integrity) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads a name.
func (i *Integrity) UnmarshalText(b []byte) error { return unname(integrityNames, b, (*int)(i)) }

// Mode is how much a session may do unasked. The zero Mode asks for everything.
type Mode int

// The modes, as the table of docs/permissions.md spells them out.
const (
	ModeAsk Mode = iota
	ModePlan
	ModeAllowReads
	ModeAllowEdits
	ModeAllowAll
)

var modeNames = []string{"ask", "plan", "allow-reads", "allow-edits", "allow-all"}

// Modes are the names of all modes.
func Modes() []string { return append([]string(nil), modeNames...) }

// String is the mode's name.
func (m Mode) String() string { return name(modeNames, int(m)) }

// MarshalText writes the name.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a name; an unknown one is an error that lists those that exist.
func (m *Mode) UnmarshalText(b []byte) error { return unname(modeNames, b, (*int)(m)) }

func name(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("invalid(%d)", i)
	}
	return names[i]
}

func unname(names []string, b []byte, i *int) error {
	for k, n := range names {
		if n == string(b) {
			*i = k
			return nil
		}
	}
	return fmt.Errorf("%q is none of %s", b, strings.Join(names, ", "))
}
