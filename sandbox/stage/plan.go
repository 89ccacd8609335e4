//go:build linux && (amd64 || arm64)

package stage

import (
	"encoding/binary"
	"errors"
)

// A Plan is what a stage is told: the machine that it makes, and the command that it becomes.
type Plan struct {
	Path string // of the command, in the machine that is made
	Dir  string // to start in, the same
	Args []string
	Env  []string

	UID, GID  int
	Steps     []Step
	Rules     []Rule
	Domain    Domain
	Limits    []Limit
	Filter    []Instruction
	Proxy     bool   // with a listener at [ProxyAddress]
	Processes string // a file of a control group that bounds processes; "" is none
}

// ProxyAddress is where a command finds its proxy in a network of its own. It is the same in each: nobody else is there.
const ProxyAddress = "127.0.0.1:3128"

const proxyPort = 3128

// A Limit is one of the kernel's resource limits.
type Limit struct {
	Resource int
	Value    uint64
}

// Kind is what a step makes.
type Kind int

// The kinds of steps.
const (
	MakeDir   Kind = iota // an empty folder at Path
	MakeFile              // an empty file at Path, to be covered
	MakeLink              // a link at Path to From
	BindFrom              // what the machine outside has at From, at Path
	BindHere              // what was made already at From, at Path
	Memory                // a file system in memory at Path, with the options in From
	Terminals             // pseudo-terminals of its own at Path, where the kernel gives them
)

// A Step makes one thing of the machine.
type Step struct {
	Kind     Kind
	From     string
	Path     string
	ReadOnly bool
	Devices  bool // devices work there

	// Dev and Ino are what must have been bound; zero is whatever was there.
	Dev, Ino uint64
}

// maxPlan bounds a plan, in bytes: arguments and environment of a command are at most some megabytes.
const maxPlan = 16 << 20

var errPlan = errors.New("the plan cannot be read")

// Marshal writes a plan for [Plan.unmarshal].
func (p *Plan) Marshal() []byte {
	var w writer
	w.text(p.Path)
	w.text(p.Dir)
	w.list(p.Args)
	w.list(p.Env)
	w.number(uint64(p.UID), uint64(p.GID), uint64(len(p.Steps))) //nolint:gosec // never negative
	for _, s := range p.Steps {
		w.number(uint64(s.Kind), flag(s.ReadOnly)|flag(s.Devices)<<1, s.Dev, s.Ino) //nolint:gosec // never negative
		w.text(s.From)
		w.text(s.Path)
	}
	w.number(uint64(len(p.Rules)))
	for _, r := range p.Rules {
		w.text(r.Path)
		w.number(r.Access)
	}
	w.number(p.Domain.Files, p.Domain.Net, p.Domain.Scoped, uint64(len(p.Limits)))
	for _, l := range p.Limits {
		w.number(uint64(l.Resource), l.Value) //nolint:gosec // never negative
	}
	w.number(uint64(len(p.Filter)))
	for _, i := range p.Filter {
		w.number(uint64(i.Code), uint64(i.JT), uint64(i.JF), uint64(i.K))
	}
	w.number(flag(p.Proxy))
	w.text(p.Processes)
	return w
}

func unmarshal(b []byte) (*Plan, error) {
	r := reader{b: b}
	p := &Plan{Path: r.text(), Dir: r.text(), Args: r.list(), Env: r.list(), UID: int(r.number()), GID: int(r.number())} //nolint:gosec // ours
	for range r.count() {
		s := Step{Kind: Kind(r.number())} //nolint:gosec // checked where it is used
		bits := r.number()
		s.ReadOnly, s.Devices = bits&1 != 0, bits&2 != 0
		s.Dev, s.Ino = r.number(), r.number()
		s.From, s.Path = r.text(), r.text()
		p.Steps = append(p.Steps, s)
	}
	for range r.count() {
		p.Rules = append(p.Rules, Rule{Path: r.text(), Access: r.number()})
	}
	p.Domain = Domain{Files: r.number(), Net: r.number(), Scoped: r.number()}
	for range r.count() {
		p.Limits = append(p.Limits, Limit{Resource: int(r.number()), Value: r.number()}) //nolint:gosec // ours
	}
	for range r.count() {
		p.Filter = append(p.Filter, Instruction{uint16(r.number()), uint8(r.number()), uint8(r.number()), uint32(r.number())}) //nolint:gosec // ours
	}
	p.Proxy = r.number() != 0
	p.Processes = r.text()
	if r.failed || len(r.b) != 0 || len(p.Args) == 0 || len(p.Filter) == 0 {
		return nil, errPlan
	}
	return p, nil
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

type writer []byte

func (w *writer) number(list ...uint64) {
	for _, n := range list {
		*w = binary.AppendUvarint(*w, n)
	}
}

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	*w = append(*w, s...)
}

func (w *writer) list(l []string) {
	w.number(uint64(len(l)))
	for _, s := range l {
		w.text(s)
	}
}

// reader reads what a writer wrote. After a failure everything is empty.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.failed, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

// count is a number of things that follow. Each takes at least a byte.
func (r *reader) count() int {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.failed, r.b = true, nil
		return 0
	}
	return int(n) //nolint:gosec // at most the length of what is there
}

func (r *reader) text() string {
	n := r.count()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) list() (l []string) {
	for range r.count() {
		l = append(l, r.text())
	}
	return l
}
