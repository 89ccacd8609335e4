// Package proof is the table of commands that only read. It proves a command harmless or says nothing: every part is in the
// table, every word is written out, every path lies inside the workspace and none is protected.
package proof

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/jackline-ai/jackline/phrase"
	"github.com/jackline-ai/jackline/shell/source"
	"github.com/jackline-ai/jackline/shell/value"
)

// maxDirs is in how many folders a command may stand, all taken together.
const maxDirs = 64

// A proof goes through a command that may be harmless. It stops at the first thing that is not known to be.
type proof struct {
	w    value.World
	dirs []string // where the command may stand by now
}

// Bash reports whether all of the statements only read, inside the workspace: commands of the table, every word
// written out, and nothing but pipes and lists between them.
func Bash(w value.World, list []*syntax.Stmt) bool {
	p := &proof{w, []string{w.Dir}}
	return w.Inside(w.Dir) && len(list) > 0 && allOf(list, p.stmt)
}

func allOf[T any](list []T, ok func(T) bool) bool {
	for _, x := range list {
		if !ok(x) {
			return false
		}
	}
	return true
}

func (p *proof) stmt(st *syntax.Stmt) bool {
	if st.Negated || st.Background || st.Coprocess || st.Disown || !allOf(st.Redirs, p.redirect) {
		return false
	}
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt && c.Op != syntax.Pipe {
			return false
		}
		return len(st.Redirs) == 0 && p.stmt(c.X) && p.stmt(c.Y)
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 || len(c.Args) == 0 {
			return false
		}
		var argv []string
		for _, w := range c.Args {
			text, ok := p.literal(w)
			if !ok {
				return false
			}
			argv = append(argv, text)
		}
		if strings.Contains(argv[0], "/") || value.Wild(argv[0]) {
			return false
		}
		return p.reads(argv[0], argv[1:])
	}
	return false
}

// redirect lets through input from a file of the workspace, and output that goes nowhere or to the other stream.
func (p *proof) redirect(r *syntax.Redirect) bool {
	if r.Hdoc != nil || r.Word == nil {
		return false
	}
	fd := ""
	if r.N != nil {
		fd = r.N.Value
	}
	to, ok := p.literal(r.Word)
	if !ok || value.Wild(to) {
		return false
	}
	switch r.Op {
	case syntax.RdrIn:
		return (fd == "" || fd == "0") && p.path(to)
	case syntax.DplOut:
		return fd == "2" && to == "1" || (fd == "" || fd == "1") && to == "2"
	case syntax.RdrOut, syntax.AppOut:
		return to == "/dev/null" && (fd == "" || fd == "1" || fd == "2")
	case syntax.RdrAll, syntax.AppAll:
		return to == "/dev/null"
	default:
		return false
	}
}

// literal is the text of a word in which nothing expands but file patterns, which become marks.
func (p *proof) literal(w *syntax.Word) (string, bool) {
	var b strings.Builder
	var v source.Literal // braces may span quotes
	for k, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			v.Bare(part.Value)
			if strings.HasPrefix(part.Value, "~") && k == 0 || strings.Contains(part.Value, "=~") || strings.Contains(part.Value, ":~") || strings.ContainsAny(part.Value, "$`") {
				return "", false
			}
			if v.Brace && v.List {
				return "", false
			}
			b.WriteString(value.Glob(part.Value))
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			if part.Dollar {
				return "", false
			}
			for _, q := range part.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok {
					return "", false
				}
				in := source.Literal{}
				if in.Within(lit.Value); in.Open {
					return "", false
				}
				b.WriteString(in.Text.String())
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// path reports whether a word names something inside the workspace that is not protected, wherever the command stands.
func (p *proof) path(word string) bool {
	if strings.HasPrefix(word, "~") || strings.ContainsAny(word, "\n\x00") || value.Drive(word) && !value.Drive(p.w.Workspace) {
		return false
	}
	for _, dir := range p.dirs {
		at := value.PathOf(dir, word)
		if value.Drive(dir) {
			at = p.w.WinPath(dir, word)
		}
		if !p.w.Inside(at) || slices.ContainsFunc(value.Elements(strings.TrimPrefix(at, p.w.Workspace)), p.w.Protected) {
			return false
		}
	}
	return true
}

// plain are the commands that only read, whatever their options: their letters that have a value that is no path, and
// how many operands are text before those that are paths (all: textOnly).
var plain = map[string]struct {
	takes string
	text  int
}{
	"ls": {"ITw", 0}, "cat": {"", 0}, "head": {"nc", 0}, "nl": {"bdfhilnsvw", 0}, "tac": {"s", 0}, "rev": {"", 0}, "cut": {"bcdf", 0}, "tr": {"", textOnly},
	"paste": {"d", 0}, "fold": {"w", 0}, "comm": {"", 0}, "cmp": {"in", 0}, "wc": {"", 0}, "grep": {"emABCdD", 1}, "egrep": {"emABCdD", 1}, "fgrep": {"emABCdD", 1},
	"stat": {"c", 0}, "du": {"dBt", 0}, "df": {"Btx", 0}, "basename": {"s", 0}, "dirname": {"", 0}, "realpath": {"", 0}, "readlink": {"", 0}, "pwd": {"", 0}, "whoami": {"", 0},
	"id": {"", 0}, "uname": {"", 0}, "uptime": {"", 0}, "nproc": {"", 0}, "which": {"", 0}, "type": {"", 0}, "true": {"", 0}, "false": {"", 0}, "test": {"", textOnly}, "[": {"", textOnly},
	"seq": {"", textOnly}, "echo": {"", textOnly}, "cksum": {"a", 0}, "md5sum": {"", 0}, "sha1sum": {"", 0}, "sha256sum": {"", 0}, "sha512sum": {"", 0}, "strings": {"neT", 0}, "od": {"AjNSt", 0},
}

const textOnly = 1 << 20

// reads reports whether a command is in the table with these arguments.
func (p *proof) reads(name string, args []string) bool {
	if c, ok := plain[name]; ok {
		return p.plain(c.takes, c.text, args)
	}
	bare := !slices.ContainsFunc(args, value.Wild)
	switch name {
	case "cd":
		args = value.Behind(args, "")
		if len(args) != 1 || value.Wild(args[0]) || args[0] == "-" || !p.path(args[0]) {
			return false
		}
		for _, dir := range p.dirs {
			p.dirs = append(p.dirs, value.PathOf(dir, args[0]))
		}
		return len(p.dirs) <= maxDirs
	case "command":
		return len(args) > 1 && (args[0] == "-v" || args[0] == "-V") && allOf(args[1:], p.path)
	case "printf":
		return bare && len(args) > 0 && !strings.HasPrefix(args[0], "-v")
	case "tail":
		o := value.Getopt(args, "ncs")
		return !o.Has("fF", "follow", "retry") && p.plain("ncs", 0, args)
	case "date":
		o := value.Getopt(args, "sdrf", "set", "date", "reference", "file")
		return bare && !o.Has("s", "set") && allOf(o.Literal("rf", "reference", "file"), p.path) && allOf(o.Rest, func(a string) bool { return a[0] == '+' })
	case "diff":
		return !slices.ContainsFunc(args, func(a string) bool { return a == "-l" || strings.HasPrefix(a, "--pa") || shortHas(a, "l", "UCIFx") }) && p.plain("UCWILxF", 0, args)
	case "tree":
		return bare && !value.Getopt(args, "LPIHT").Has("oR", "output", "fromfile") && p.plain("LPIHT", 0, args)
	case "file":
		return bare && !value.Getopt(args, "mFePf").Has("Cm", "compile", "magic-file") && p.plain("FeP", 0, args)
	case "uniq":
		o := value.Getopt(args, "fsw", "skip-fields", "skip-chars", "check-chars")
		return bare && len(o.Rest) <= 1 && p.plain("fsw", 0, args)
	case "sort":
		o := value.Getopt(args, "kt")
		return bare && len(o.Long) == 0 && strings.Trim(o.Letters, "nrufhVbgMcskt") == "" && p.plain("kt", 0, args)
	case "find":
		return bare && p.find(args)
	case "rg":
		return bare && p.search(args)
	case "sed":
		return len(args) > 1 && args[0] == "-n" && lineRange.MatchString(args[1]) && p.plain("", 0, args[2:]) && allOf(args[2:], func(a string) bool { return a == "" || a[0] != '-' })
	case "jq":
		return p.query(args)
	case "git":
		return bare && p.git(args)
	case "go":
		return slices.Equal(args, []string{"version"}) || slices.Equal(args, []string{"--version"})
	case "node", "npm", "python3", "pip", "cargo", "rustc", "gcc", "make", "docker":
		return slices.Equal(args, []string{"--version"})
	}
	return false
}

var lineRange = phrase.New(`^\d+(,\d+)? ?p$`)

// shortHas reports whether a cluster of letters has one of them, before one that takes the rest for its value.
func shortHas(a, letters, takes string) bool {
	if len(a) < 2 || a[0] != '-' || a[1] == '-' {
		return false
	}
	for k := 1; k < len(a); k++ {
		if strings.IndexByte(letters, a[k]) >= 0 {
			return true
		}
		if strings.IndexByte(takes, a[k]) >= 0 {
			return false
		}
	}
	return false
}

// plain checks arguments of which all operands after the first few are paths. An option's value may be text; where it
// looks like a path it is one.
func (p *proof) plain(takes string, text int, args []string) bool {
	options := true
	for k := 0; k < len(args); k++ {
		a := args[k]
		switch {
		case options && a == "--" && text != textOnly:
			options = false
		case text == textOnly:
			if value.Wild(a) && !p.path(a) {
				return false
			}
		case options && strings.HasPrefix(a, "--"):
			name, v, ok := strings.Cut(a[2:], "=")
			switch {
			case value.Wild(a), strings.HasPrefix("files0-from", name) && len(name) > 3:
				return false
			case name == "regexp" || name == "max-count" || name == "after-context" || name == "before-context" || name == "context" || name == "lines" || name == "bytes":
				if !ok {
					k++ // its value is text
				}
				if name == "regexp" {
					text = 0
				}
			case ok && (strings.Contains(name, "f") || strings.ContainsAny(v, "/~.")) && !textual(name) && !p.path(v):
				return false
			case !ok && name == "file" && k+1 < len(args):
				k++
				if text = 0; !p.path(args[k]) {
					return false
				}
			}
		case options && len(a) > 1 && a[0] == '-':
			if value.Wild(a) {
				return false
			}
			for i := 1; i < len(a); i++ {
				if strings.IndexByte(takes, a[i]) >= 0 {
					if a[i] == 'e' && text == 1 {
						text = 0
					}
					if i+1 == len(a) {
						k++
					}
					break
				}
				if a[i] == '/' || a[i] == '~' || a[i] == '.' { // a value that is glued to its letter
					if v := a[i:]; !p.path(v) {
						return false
					}
					break
				}
				if a[i] == 'f' && text == 1 { // a file of patterns
					text = 0
				}
			}
		case text > 0:
			text--
			if value.Wild(a) && !p.path(a) {
				return false
			}
		case !p.path(a):
			return false
		}
	}
	return true
}

// textual reports whether the value of a long option is text for certain.
func textual(name string) bool {
	return slices.Contains([]string{"include", "exclude", "exclude-dir", "format", "printf", "time-style", "color", "colour", "delimiter", "output-delimiter", "separator", "label", "sort", "time", "date", "suffix"}, name)
}

// find lets tests through, and the actions that only print.
func (p *proof) find(args []string) bool {
	for len(args) > 0 && args[0] != "!" && args[0] != "(" && !strings.HasPrefix(args[0], "-") {
		if !p.path(args[0]) {
			return false
		}
		args = args[1:]
	}
	for k := 0; k < len(args); k++ {
		switch a := args[k]; a {
		case "!", "(", ")", ",", "-a", "-and", "-o", "-or", "-not", "-print", "-print0", "-prune", "-empty", "-readable", "-writable", "-executable", "-nouser", "-nogroup", "-true", "-false", "-daystart":
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-type", "-xtype", "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin",
			"-perm", "-user", "-group", "-uid", "-gid", "-links", "-inum", "-lname", "-ilname", "-fstype", "-used", "-maxdepth", "-mindepth", "-regextype", "-context":
			k++
		case "-newer", "-anewer", "-cnewer", "-samefile", "-newermt", "-neweract":
			if k++; k >= len(args) || !p.path(args[k]) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// search is rg without what runs programs or looks into hidden files.
func (p *proof) search(args []string) bool {
	const takes = "ABCefgjmrtTEMd"
	o := value.Getopt(args, takes, "regexp", "glob", "type", "type-not", "max-count", "after-context", "before-context", "context", "replace", "encoding", "max-columns", "max-depth", "sort", "color", "colors", "iglob", "threads", "max-filesize", "path-separator", "context-separator", "field-match-separator")
	for _, l := range o.Long {
		for _, bad := range []string{"pre", "hostname-bin", "search-zip", "unrestricted", "hidden", "no-ignore", "file", "ignore-file", "generate", "type-add"} {
			if l == bad || strings.HasPrefix(l, "no-ignore") {
				return false
			}
		}
	}
	if strings.ContainsAny(o.Letters, "zuf.") {
		return false
	}
	rest := o.Rest
	if !slices.Contains(o.Long, "files") && !slices.Contains(o.Long, "type-list") && len(o.Literal("e", "regexp")) == 0 && len(rest) > 0 {
		rest = rest[1:]
	}
	return allOf(rest, p.path)
}

var jqReads = phrase.New(`(^|[^.\w"])(env|import|include|input_filename|get_search_list)\b|\$ENV|\$__prog`)

// query is jq without program files.
func (p *proof) query(args []string) bool {
	var rest []string
	for k := 0; k < len(args); k++ {
		switch a := args[k]; {
		case a == "--arg" || a == "--argjson":
			k += 2
		case a == "--indent":
			k++
		case a == "--args" || a == "--jsonargs":
			return false
		case strings.HasPrefix(a, "--"):
			for _, bad := range []string{"from-file", "rawfile", "slurpfile", "library-path"} {
				if name, _, _ := strings.Cut(a[2:], "="); name == "" || strings.HasPrefix(bad, name) {
					return false
				}
			}
		case len(a) > 1 && a[0] == '-':
			if strings.ContainsAny(a, "fL") || value.Wild(a) {
				return false
			}
		default:
			rest = append(rest, a)
		}
	}
	if len(rest) == 0 || value.Wild(rest[0]) || jqReads.MatchString(rest[0]) {
		return len(rest) == 0
	}
	return allOf(rest[1:], p.path)
}

// git is the table of git's commands that only look.
func (p *proof) git(args []string) bool {
	if len(args) > 0 && args[0] == "--no-pager" {
		args = args[1:]
	}
	if len(args) == 0 {
		return false
	}
	sub, args := args[0], args[1:]
	for _, a := range args {
		if a == "--" {
			break
		}
		if name, _, _ := strings.Cut(strings.TrimPrefix(a, "--"), "="); strings.HasPrefix(a, "--") && name != "text" {
			for _, bad := range []string{"output", "ext-diff", "textconv", "no-index", "open-files-in-pager", "edit-description", "upload-pack", "filters", "show-signature", "exec"} {
				if strings.HasPrefix(bad, name) {
					return false
				}
			}
		}
		if shortHas(a, "O", "SGnLCMe") {
			return false
		}
	}
	text := false // the next operand is text
	switch sub {
	case "status", "log", "diff", "show", "blame", "shortlog", "describe", "rev-parse", "rev-list", "ls-files", "ls-tree", "cat-file", "merge-base", "name-rev":
	case "grep":
		text = !slices.ContainsFunc(args, func(a string) bool { return a == "-e" || a == "-f" })
	case "branch", "tag":
		o := value.Getopt(args, "")
		lists := o.Has("lar", "list", "all", "remotes", "show-current", "contains", "no-contains", "merged", "no-merged", "points-at") || sub == "tag" && o.Has("n")
		if strings.ContainsAny(o.Letters, "dDmMcCfuste") && sub == "branch" || strings.ContainsAny(o.Letters, "dfasumFev") && sub == "tag" {
			return false
		}
		for _, l := range o.Long {
			name := l
			if !slices.ContainsFunc([]string{"list", "all", "remotes", "show-current", "contains", "no-contains", "merged", "no-merged", "points-at", "sort", "format", "column", "no-column", "color", "no-color", "verbose", "abbrev", "no-abbrev", "ignore-case"}, func(s string) bool { return s == name }) {
				return false
			}
		}
		return lists || len(o.Rest) == 0
	case "remote":
		return len(args) == 0 || len(args) == 1 && (args[0] == "-v" || args[0] == "--verbose" || args[0] == "show") || len(args) == 2 && args[0] == "get-url" && args[1][0] != '-'
	case "stash", "worktree":
		if len(args) == 0 || args[0] != "list" && !(sub == "stash" && args[0] == "show") {
			return false
		}
		args = args[1:]
	case "reflog":
		if len(args) > 0 && args[0] != "show" && args[0][0] != '-' {
			return len(args) == 1 && !slices.Contains([]string{"expire", "delete", "drop", "write", "exists"}, args[0])
		}
	default:
		return false
	}
	for k := 0; k < len(args); k++ {
		a := args[k]
		switch {
		case a == "-S" || a == "-G" || a == "-n" || a == "-e" || a == "--grep" || a == "--author" || a == "--since" || a == "--until" || a == "--format" || a == "--match":
			k++
		case a == "-f" || strings.HasPrefix(a, "-f") && sub == "grep":
			return false
		case strings.HasPrefix(a, "-"):
			if name, v, ok := strings.Cut(a, "="); ok && (name == "--contents" || strings.HasSuffix(name, "file") || strings.Contains(name, "from")) && !p.path(v) {
				return false
			}
		case text:
			text = false
		default:
			if _, file, ok := strings.Cut(a, ":"); ok && !p.path(strings.TrimLeft(file, ":/")) {
				return false
			}
			if !p.path(a) {
				return false
			}
		}
	}
	return true
}
