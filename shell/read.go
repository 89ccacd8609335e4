package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/shell/posix"
	"github.com/jackline-ai/jackline/shell/value"
)

// Script is the text of a command and where it would run. Paths are absolute; what is left out is assumed to lie somewhere
// in a home folder. Like [Word] it is an alias, so that another package can offer it without knowing this one.
type Script = struct {
	Text  string
	Shell string // whose grammar: sh, powershell, cmd; "" is sh

	Home, Workspace, Dir string
	State                []string // the program's own folders
}

// Reading is what the text of a command tells a judge.
type Reading = struct {
	Refused string // why nobody may run it, in a sentence for a person; "" where somebody may
	Rule    string // the rule that refuses it, as "D1"

	ReadOnly bool // it is proved to read only, inside the workspace, as long as protected files are kept out of what it searches
	Plain    bool // it is proved to touch no file that somebody could have put there: so even where nothing confines it
	Searches bool // it looks through folders, and may come upon what it does not name

	Parts [][]Word // its simple commands; nil where it is more than a list of these
}

// Read reads the text of a command for a judge.
func Read(s Script) Reading {
	w, d := placed(s)
	a := Judge(s.Text, w, d)
	if a.Verdict == Denied {
		return Reading{Refused: a.Why, Rule: a.Rule}
	}
	r := Reading{ReadOnly: a.Verdict == Harmless, Searches: searches(a.Parts)}
	r.Plain = ReadOnly(s.Text) && (d == Bash || r.ReadOnly)
	switch {
	case d == Bash:
		r.Parts, _ = Split(s.Text)
	case !strings.ContainsAny(s.Text, "%!^`$@(){}<>\"'"):
		// Nothing is expanded or quoted, so the simple commands are the words that stand there.
		for _, part := range a.Parts {
			words := make([]Word, 0, len(part))
			for _, w := range part {
				words = append(words, Word{Text: w, Known: !strings.ContainsAny(w, "?*")})
			}
			r.Parts = append(r.Parts, words)
		}
	}
	return r
}

// Used says what a command would touch, as far as its text tells. A text that nobody may run touches nothing.
func Used(s Script) jackline.Uses {
	w, d := placed(s)
	a := Judge(s.Text, w, d)
	if a.Verdict == Denied {
		return jackline.Uses{}
	}
	u := jackline.Uses{
		Files: a.Files, Data: a.Verdict == Harmless,
		Cut: max(len(a.Touches), len(a.Parts), len(a.Files)) >= posix.MaxListed,
	}
	for _, t := range a.Touches {
		switch t.Kind {
		case value.Reads:
			u.Reads = append(u.Reads, t.Name)
		case value.Writes:
			u.Writes = append(u.Writes, t.Name)
		case value.Deletes:
			u.Deletes = append(u.Deletes, t.Name)
		case value.Runs:
			u.Programs = append(u.Programs, t.Name)
		case value.Calls:
			u.Hosts = append(u.Hosts, t.Name)
		case value.Unknown:
		}
	}
	for _, words := range a.Parts {
		if len(words) == 0 || value.Called(words[0]) != "git" {
			continue
		}
		u.Git = true
		switch sub, rest := subcommand(words[1:]); {
		case (sub == "remote" || sub == "config") && lists(sub, rest):
		case slices.Contains(gitSettings, sub) && len(rest) > 0, sub == "?":
			u.Settings = true
		case slices.Contains(gitWrites, sub):
			u.Repository = true
		}
	}
	return u
}

// placed is where a script stands, and its grammar. A shell that is not known has none: its text is refused.
func placed(s Script) (World, Dialect) {
	d, known := map[string]Dialect{"": Bash, "sh": Bash, "bash": Bash, "powershell": PowerShell, "cmd": Cmd}[strings.ToLower(s.Shell)]
	if !known {
		d = Dialect(^uint8(0))
	}
	return World{Home: s.Home, Workspace: s.Workspace, Dir: s.Dir, State: s.State}, d
}

// What git writes to in a repository by its subcommands: those that change its settings or what runs by itself, and those
// that keep to the rest.
var (
	gitSettings = []string{"config", "remote", "submodule", "clone", "maintenance", "lfs", "hook", "sparse-checkout"}
	gitWrites   = []string{
		"add", "am", "apply", "bisect", "branch", "checkout", "cherry-pick", "clean", "commit", "fetch", "gc", "init", "merge", "mv", "notes", "prune", "pull",
		"push", "rebase", "reflog", "repack", "replace", "reset", "restore", "revert", "rm", "stage", "stash", "switch", "tag", "update-index",
		"update-ref", "worktree", "write-tree", "commit-tree", "hash-object", "rerere", "pack-refs",
	}
)

// lists reports whether git only says what its settings are. Every word counts, as an option may come behind.
func lists(sub string, rest []string) bool {
	known := []string{"-v", "--verbose"}
	first := []string{"-v", "--verbose", "show", "get-url"}
	if sub == "config" {
		known = []string{"--local", "--global", "--system", "--worktree", "--show-origin", "--show-scope", "--name-only", "-z", "--null", "--type"}
		first = []string{"--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "list", "get"}
	}
	said := false
	for _, w := range rest {
		switch {
		case !said && slices.Contains(first, w):
			said = true
		case slices.Contains(known, w):
		case strings.HasPrefix(w, "-") || !said || w == "?":
			return false
		}
	}
	return said
}

// subcommand is what git is told to do, and the words behind it.
func subcommand(words []string) (sub string, rest []string) {
	for k := 0; k < len(words); k++ {
		switch w := words[k]; {
		case w == "-c" || w == "-C" || w == "--git-dir" || w == "--work-tree" || w == "--namespace":
			k++
		case !strings.HasPrefix(w, "-"):
			return w, words[k+1:]
		}
	}
	return "", nil
}

// searches reports whether one of some simple commands looks through folders. What it does not know does.
func searches(parts [][]string) bool {
	for _, words := range parts {
		if len(words) == 0 {
			return true
		}
		switch name := value.Called(words[0]); name {
		case "cat", "head", "nl", "tac", "rev", "cut", "tr", "paste", "fold", "comm", "cmp", "wc", "stat", "df", "basename", "dirname", "realpath",
			"readlink", "pwd", "whoami", "id", "uname", "uptime", "nproc", "which", "type", "true", "false", "test", "[", "seq", "echo", "cksum", "md5sum",
			"sha1sum", "sha256sum", "sha512sum", "strings", "od", "cd", "command", "printf", "tail", "date", "file", "uniq", "sort", "sed", "jq":
		case "grep", "egrep", "fgrep":
			if slices.ContainsFunc(words[1:], func(w string) bool {
				return strings.HasPrefix(w, "--") && (strings.HasPrefix(w, "--r") || strings.HasPrefix(w, "--de") || strings.HasPrefix(w, "--di")) ||
					strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.ContainsAny(w, "rRd")
			}) {
				return true
			}
		case "git":
			if sub, _ := subcommand(words[1:]); sub == "grep" {
				return true
			}
		default:
			if len(words) != 2 || words[1] != "--version" && (name != "go" || words[1] != "version") {
				return true
			}
		}
	}
	return false
}

// GitHelper reads a repository's settings file and names the first setting by which git would start a program, or read
// settings from elsewhere, as "core.fsmonitor"; "" where there is none. What it cannot read counts as one.
func GitHelper(config string) string {
	// A line may go on behind a backslash, except in a comment: it is read both ways.
	if name := gitHelper(config); name != "" {
		return name
	}
	return gitHelper(strings.ReplaceAll(config, "\\\n", ""))
}

func gitHelper(config string) string {
	section := ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, ok := strings.Cut(line[1:], "]")
			if !ok {
				return "a line that cannot be read"
			}
			name, _, _ := strings.Cut(head, " ")
			section, line = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(rest)
			section, _, _ = strings.Cut(section, ".") // the old way to write a subsection
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, val, _ := strings.Cut(line, "=")
		key = section + "." + strings.ToLower(strings.TrimSpace(key))
		if starts(key, strings.TrimSpace(val)) {
			return key
		}
	}
	return ""
}

// starts reports whether a setting names a program that looking at a repository would start, or another file of settings.
func starts(key, val string) bool {
	section, name := path.Ext(key), key
	section = strings.TrimSuffix(key, section)
	off := slices.Contains([]string{"false", "no", "off", "0", `""`, ""}, strings.ToLower(val))
	switch name {
	case "core.fsmonitor":
		return !off && !slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(val))
	case "core.hookspath", "core.pager", "core.sshcommand", "core.editor", "core.askpass", "core.gitproxy", "core.alternaterefscommand", "core.attributesfile",
		"core.worktree", "diff.external", "attr.tree", "interactive.difffilter", "gpg.program", "sequence.editor", "uploadpack.packobjectshook",
		"extensions.worktreeconfig", "credential.helper", "log.showsignature":
		return !off
	}
	switch section {
	case "include", "includeif", "pager", "alias":
		return true
	case "filter", "diff", "merge", "difftool", "mergetool", "gpg":
		last := name[len(section)+1:]
		return slices.Contains([]string{"clean", "smudge", "process", "textconv", "command", "driver", "cmd", "program", "defaultkeycommand"}, last)
	}
	return false
}
