// Package sandbox starts commands that the kernel holds to what they were given: the workspace, a private home and a
// private folder for what is temporary, and the programs of the system to read. There is no network but what is granted,
// no other process in reach, and nothing of the program that starts them: no descriptor, no memory, no signal.
//
// There are two ways to start one. At the level of namespaces the program starts itself again, as a stage that makes a
// machine of its own around the command, and becomes it last. At the level of Landlock one thread of the program is held
// by the same rules, and starts the command itself; that thread does nothing else, ever, and ends with the command. The
// main thread is never held, because what holds it would take in the commands too.
//
// No helper program is needed, and nothing is believed: a [Launcher] tries the ways out on this machine before it says
// that a level holds.
//
// On systems other than Linux there is no level yet, and a Launcher says so.
package sandbox

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
)

// A Spec is what a command is given. Paths are absolute and clean.
type Spec struct {
	// Workspace is the folder that the command works in. It can be written.
	Workspace string

	// Dir is the workspace held open. Where it is set, nobody can put another folder in its place. The caller keeps it open
	// until the command was started.
	Dir *os.File

	// Home and Temp are private folders that exist and can be written; "" is none. Where there are namespaces, /tmp and /var/tmp are
	// the command's own as well: they are Temp, or memory of a bounded size where something that is given lies in /tmp.
	Home, Temp string

	// Read and Write are further files and folders that can be read, or read and written. What does not exist when the
	// command starts opens nothing.
	Read, Write []string

	// Masks are paths in the workspace or in another writable folder whose content is not to be seen, and which are not to
	// be made where they are missing. Only namespaces can hold that.
	Masks []string

	// ReadOnly are paths in writable folders that can be read and not changed, nor moved away, nor made. Only namespaces can
	// hold that.
	ReadOnly []string

	Network Network
	Limits  Limits
}

// Network is what a command may reach. The zero Network is nothing.
type Network int

// The networks.
const (
	// NoNetwork reaches nothing; where there are namespaces, the command has a loopback of its own.
	NoNetwork Network = iota

	// ProxyNetwork reaches [Run.Proxy], and through it what the caller lets pass. Where there are no namespaces only the
	// port can be held, not the address: see [Report.Open].
	ProxyNetwork
)

// Limits bound what a command may use up. Zero is the default, and negative is no limit of ours.
type Limits struct {
	Processes int   // threads count too
	FileSize  int64 // bytes of one file
	OpenFiles int   // of one process
	Memory    int64 // bytes of address space of one process
	Shared    int64 // bytes of /dev/shm, where there are namespaces
}

// The limits by default.
const (
	// DefaultProcesses is beyond what builds use on a large machine, and well below what hurts it.
	DefaultProcesses = 1024
	// DefaultFileSize is beyond what builds and archives write, and bounds a log that runs away. How many files there may
	// be is not held.
	DefaultFileSize = 8 << 30
	// DefaultOpenFiles is what systems give a desktop's programs.
	DefaultOpenFiles = 16384
	// DefaultMemory is not a size that fills memory but one that stops arithmetic gone wrong: race detectors and other
	// sanitizers reserve terabytes of address space and use little of it.
	DefaultMemory = 64 << 40
	// DefaultShared is memory, so it is little.
	DefaultShared = 256 << 20
)

// Options say how a [Launcher] works. The zero Options are right for a program.
type Options struct {
	// AtMost is the level to try first. The zero level is the highest.
	AtMost jackline.SandboxLevel
}

// A Launcher starts commands in the sandbox. It is safe for concurrent use.
type Launcher struct {
	atMost jackline.SandboxLevel
	report func() Report
	machine
}

// Open makes a launcher. It does nothing yet: the machine is tried out when the first command is started, or when somebody
// wants to know.
func Open(_ context.Context, o Options) (*Launcher, error) {
	if o.AtMost == jackline.SandboxNone {
		o.AtMost = jackline.SandboxNamespaces
	}
	l := &Launcher{atMost: o.AtMost}
	l.report = sync.OnceValue(l.probe)
	return l, nil
}

// A Report is what this machine's sandbox holds, as was tried out.
type Report struct {
	Level jackline.SandboxLevel `json:"level"`

	// Why says what keeps the level from being higher, and what a person can do about it; "" at the highest.
	Why string `json:"why,omitempty"`

	// ABI is the kernel's version of Landlock; 0 is none.
	ABI int `json:"abi"`

	// Processes says what bounds their number: "cgroup", "rlimit" or "none".
	Processes string `json:"processes"`

	// Open are sentences about what this level does not hold, for a person.
	Open []string `json:"open,omitempty"`

	Checks []Check       `json:"checks,omitempty"`
	Took   time.Duration `json:"-"`
}

// A Check is one way out that was tried at a level.
type Check struct {
	Level jackline.SandboxLevel `json:"level"`
	Name  string                `json:"name"`
	Held  bool                  `json:"held"`
	Note  string                `json:"note,omitempty"`
}

// Report says at which level commands are started, and why at no higher one. The first call tries the machine out, which
// takes some ten milliseconds.
func (l *Launcher) Report() Report { return l.report() }

// A Run is a command that was started.
type Run struct {
	Level jackline.SandboxLevel

	// Proxy is where the command finds its proxy, for [ProxyNetwork]: whoever accepts here speaks with the command and
	// nobody else, where there are namespaces. The environment of the command names it. nil without a network.
	Proxy net.Listener

	// Unmasked are masks and read-only paths that could not be kept, because the level cannot or because a path is of a kind
	// that cannot be covered.
	Unmasked []string

	ended   chan struct{}
	cleanup []func()
}

// Close waits until the command has ended, and takes away what was made for it. It must be called once for every command
// that was started; the command's own Wait is the caller's.
func (r *Run) Close() error {
	<-r.ended
	for i := len(r.cleanup) - 1; i >= 0; i-- {
		r.cleanup[i]()
	}
	r.cleanup = nil
	if r.Proxy != nil {
		return r.Proxy.Close()
	}
	return nil
}

// maxPaths bounds the lists of a Spec: each path costs the start of a command some system calls.
const maxPaths = 2000

// check refuses what cannot have been meant.
func (s *Spec) check() error {
	const op = "sandbox.Start"
	if s.Workspace == "" {
		return jackline.E(op, jackline.Invalid, nil, "A command in the sandbox needs a workspace.")
	}
	lists := [][]string{{s.Workspace}, s.Read, s.Write, s.Masks, s.ReadOnly}
	for _, p := range [...]string{s.Home, s.Temp} {
		if p != "" {
			lists = append(lists, []string{p})
		}
	}
	for _, list := range lists {
		if len(list) > maxPaths {
			return jackline.E(op, jackline.Invalid, nil, "The sandbox was given %d paths of one kind, of at most %d.", len(list), maxPaths)
		}
		for _, p := range list {
			switch {
			case !filepath.IsAbs(p) || strings.ContainsRune(p, 0) || filepath.Clean(p) != p:
				return jackline.E(op, jackline.Invalid, nil, "The sandbox was given %q, which is no absolute, clean path.", p)
			case filepath.Dir(p) == p:
				return jackline.E(op, jackline.Invalid, nil, "The whole file system cannot be opened to a command in the sandbox.")
			}
		}
	}
	return nil
}
