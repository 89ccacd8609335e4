package main

import (
	"cmp"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/job"
	"github.com/jackline-ai/jackline/policy"
	"github.com/jackline-ai/jackline/shell"
)

// A world is what commands stand in here.
type world struct {
	home  string
	state []string // the program's own folders
	shell string   // the grammar of the shell that runs commands
	port  string   // of the program's own server; "" where there is none
	names []string // and by which names that is reached, besides this machine's own
}

// newWorld is the world of this machine and this configuration. hosts are the names under which the server may be called.
func newWorld(conf *settings.Config, hosts []string) world {
	w := world{shell: grammar(job.Shell())}
	w.home, _ = os.UserHomeDir() // a machine without one has the usual place
	if conf != nil {
		w.state = []string{filepath.Dir(conf.Places.File), conf.Places.Data, conf.Places.Logs}
	}
	for _, h := range hosts {
		name, port, err := net.SplitHostPort(h)
		if err != nil {
			name = h
		}
		w.names, w.port = append(w.names, strings.ToLower(strings.Trim(name, "[]"))), cmp.Or(w.port, port)
	}
	return w
}

// grammar is the one that a shell reads.
func grammar(shell string) string {
	switch strings.TrimSuffix(strings.ToLower(filepath.Base(shell)), ".exe") {
	case "powershell", "pwsh":
		return "powershell"
	case "cmd":
		return "cmd"
	}
	return "sh"
}

// in fills in of a script what it leaves to the machine.
func (w world) in(s policy.Script) policy.Script {
	s.Shell, s.Home = cmp.Or(s.Shell, w.shell), cmp.Or(s.Home, w.home)
	if len(s.State) == 0 {
		s.State = w.state
	}
	return s
}

func (w world) read(s policy.Script) policy.Reading { return shell.Read(w.in(s)) }

// uses is what a command would touch that starts in a folder of a workspace.
func (w world) uses(workspace string) func(command, dir string) jackline.Uses {
	return func(command, dir string) jackline.Uses {
		return shell.Used(w.in(policy.Script{Text: command, Workspace: workspace, Dir: dir}))
	}
}

// own reports whether a host is this machine, at the port of the program's server or without one: however it is written, a model
// has no business there. Where no server runs there is none.
func (w world) own(host string) bool {
	if w.port == "" {
		return false
	}
	name, port := strings.ToLower(host), ""
	if h, p, err := net.SplitHostPort(name); err == nil {
		name, port = h, p
	}
	if port != "" && port != w.port {
		return false
	}
	name = strings.TrimSuffix(strings.Trim(name, "[]"), ".")
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(w.names, name) || loopback(name)
}

// loopback reports whether a name is an address of this machine itself, in any of the ways in which C libraries read addresses:
// with one to four parts, each decimal, octal or hexadecimal.
func loopback(name string) bool {
	if a, err := netip.ParseAddr(name); err == nil {
		a = a.Unmap()
		return a.IsLoopback() || a.IsUnspecified()
	}
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return false
	}
	var v uint64
	for k, p := range parts {
		n, err := strconv.ParseUint(p, 0, 32)
		if err != nil && len(p) > 1 && p[0] == '0' {
			n, err = strconv.ParseUint(p, 10, 32)
		}
		if err != nil {
			return false
		}
		if k == len(parts)-1 {
			v = v<<(8*(4-k)) | n
		} else {
			v = v<<8 | n&0xff
		}
	}
	return v>>24 == 127 || v>>24 == 0
}
