package shell

import (
	"strings"

	"github.com/jackline-ai/jackline/shell/source"
)

// ReadOnly reports whether a command is proved to change nothing: simple commands from a short list, joined by &&, ||,
// ; and line ends, every word literal, no redirection, no pipe, and no operand that names a file.
func ReadOnly(command string) bool {
	file, why := source.Parse(command)
	if why != "" {
		return false
	}
	var s splitter
	for _, stmt := range file.Stmts {
		if !s.stmt(stmt) {
			return false
		}
	}
	for _, words := range s.parts {
		var argv []string
		for _, w := range words {
			if !w.Known {
				return false
			}
			argv = append(argv, w.Text)
		}
		if !onList(argv[0], argv[1:]) {
			return false
		}
	}
	return true
}

// onList is the list. A command is on it with the arguments that are known to be harmless, and with no others.
//
// Left out on purpose: hidden files of ls, which may be secrets; version words of programs that would take such a
// word for a file to run; and cargo and rustc, whose launcher may start a compiler that the folder names.
func onList(name string, args []string) bool {
	switch name {
	case "true", "false", "whoami":
		return len(args) == 0
	case "echo":
		return true
	case "pwd":
		return each(args, oneOf("-L", "-P"))
	case "id":
		return each(args, flags("ugnGrz"))
	case "uname":
		return each(args, flags("asnrvmpio"))
	case "uptime":
		return each(args, oneOf("-p", "-s"))
	case "nproc":
		return each(args, oneOf("--all"))
	case "date":
		return date(args)
	case "which":
		return len(args) > 0 && each(args, program)
	case "ls":
		return each(args, flags("l1htrSF"))
	case "git": // not go: it fetches and starts the toolchain that a go.mod in the folder names, before it says its version
		return len(args) == 1 && (args[0] == "version" || args[0] == "--version")
	case "node", "npm", "python3", "pip", "gcc", "make":
		return len(args) == 1 && args[0] == "--version"
	}
	return false
}

// date takes formats and the zone UTC. Anything else may set the clock or read a file.
func date(args []string) bool {
	formats := 0
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "+"):
			formats++
		case a != "-u" && a != "-R":
			return false
		}
	}
	return formats <= 1
}

// program reports whether a word is the plain name of a program.
func program(s string) bool {
	return s != "" && s[0] != '-' && !strings.ContainsAny(s, `/\`)
}

func each(args []string, ok func(string) bool) bool {
	for _, a := range args {
		if !ok(a) {
			return false
		}
	}
	return true
}

func oneOf(known ...string) func(string) bool {
	return func(s string) bool {
		for _, k := range known {
			if s == k {
				return true
			}
		}
		return false
	}
}

// flags lets through a dash and letters out of a set, each of which is a flag without a value.
func flags(letters string) func(string) bool {
	return func(s string) bool {
		return len(s) > 1 && s[0] == '-' && strings.Trim(s[1:], letters) == ""
	}
}
