package proof

import (
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/shell/source"
	"github.com/jackline-ai/jackline/shell/value"
)

// cmdReads reports whether a command of cmd is in the table, with operands inside the workspace.
func (p *proof) cmdReads(part string) bool {
	words, redirects := source.CmdWords(part)
	if len(words) == 0 {
		return false
	}
	for _, r := range redirects {
		if r[0] == "<" && p.path(r[1]) || strings.EqualFold(r[1], "nul") || r[1] == "&1" || r[1] == "&2" {
			continue
		}
		return false
	}
	var rest []string
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "/") {
			rest = append(rest, strings.NewReplacer("*", string(value.Star), "?", string(value.Mark)).Replace(w))
		}
	}
	switch name := strings.ToLower(words[0]); name {
	case "echo":
		return true
	case "ver", "hostname", "whoami":
		return true
	case "cd", "chdir":
		if len(rest) == 1 && p.path(rest[0]) {
			p.dirs = append(p.dirs, p.w.WinPath(p.dirs[0], rest[0]))
			return true
		}
		return len(rest) == 0
	case "dir", "type", "tree", "where":
		if name == "where" && slices.ContainsFunc(words[1:], func(w string) bool { return strings.EqualFold(w, "/r") }) {
			return false
		}
		return allOf(rest, p.path)
	case "findstr":
		for _, w := range words[1:] {
			low := strings.ToLower(w)
			if strings.HasPrefix(low, "/f:") || strings.HasPrefix(low, "/g:") || strings.HasPrefix(low, "/d:") {
				return false
			}
			if strings.HasPrefix(low, "/c:") {
				rest = append([]string{""}, rest...)
				break
			}
		}
		return len(rest) > 0 && allOf(rest[1:], p.path)
	case "git":
		return p.git(words[1:])
	}
	return false
}

// Cmd reports whether a text for cmd is made of commands of the table only, every word written out.
func Cmd(w value.World, text string) bool {
	p := &proof{w, []string{w.Dir}}
	if strings.ContainsAny(text, "%!^()@") || !w.Inside(w.Dir) {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		for _, pipe := range source.SplitCmd(strings.TrimSpace(line)) {
			if !allOf(pipe, p.cmdReads) {
				return false
			}
		}
	}
	return true
}

// psAlias is the command that a short name means, in lower case.
var psAlias = map[string]string{
	"ri": "remove-item", "rm": "remove-item", "rmdir": "remove-item", "del": "remove-item", "erase": "remove-item", "rd": "remove-item",
	"gci": "get-childitem", "ls": "get-childitem", "dir": "get-childitem", "gc": "get-content", "cat": "get-content", "type": "get-content",
	"gi": "get-item", "gl": "get-location", "pwd": "get-location", "sl": "set-location", "cd": "set-location", "chdir": "set-location", "pushd": "push-location",
	"popd": "pop-location", "sc": "set-content", "ac": "add-content", "clc": "clear-content", "ni": "new-item", "md": "new-item", "mkdir": "new-item",
	"mi": "move-item", "mv": "move-item", "move": "move-item", "ci": "copy-item", "cpi": "copy-item", "cp": "copy-item", "copy": "copy-item", "rni": "rename-item", "ren": "rename-item",
	"iex": "invoke-expression", "icm": "invoke-command", "iwr": "invoke-webrequest", "curl": "invoke-webrequest", "wget": "invoke-webrequest", "irm": "invoke-restmethod",
	"saps": "start-process", "start": "start-process", "sajb": "start-job", "foreach": "foreach-object", "%": "foreach-object", "?": "where-object", "where": "where-object",
	"echo": "write-output", "write": "write-output", "sls": "select-string", "select": "select-object", "sort": "sort-object", "measure": "measure-object",
	"ft": "format-table", "fl": "format-list", "gcm": "get-command", "rvpa": "resolve-path", "ii": "invoke-item", "tee": "tee-object", "spps": "stop-process", "kill": "stop-process",
	"gwmi": "get-wmiobject", "gcim": "get-ciminstance", "rcim": "remove-ciminstance", "rwmi": "remove-wmiobject", "icim": "invoke-cimmethod", "iwmi": "invoke-wmimethod",
	"rp": "remove-itemproperty", "sp": "set-itemproperty", "set": "set-variable", "sv": "set-variable", "sal": "set-alias", "nal": "new-alias", "ipmo": "import-module", "cli": "clear-item", "si": "set-item",
}

// PsCanonical is the command that a short name means.
func PsCanonical(name string) (string, bool) {
	full, ok := psAlias[name]
	return full, ok
}

// psPlain are the commands that only read, in lower case; the value says how many operands are text.
var psPlain = map[string]int{
	"get-childitem": 0, "get-content": 0, "get-item": 0, "get-location": 0, "get-date": textOnly, "get-command": textOnly, "get-filehash": 0, "get-executionpolicy": textOnly,
	"select-string": 1, "test-path": 0, "resolve-path": 0, "measure-object": textOnly, "sort-object": textOnly, "select-object": textOnly, "format-table": textOnly,
	"format-list": textOnly, "write-output": textOnly,
}

// PowerShell reports whether a text is made of commands of the table only, every word written out.
func PowerShell(w value.World, text string) bool {
	p := &proof{w, []string{w.Dir}}
	if !w.Inside(w.Dir) {
		return false
	}
	for _, part := range source.PsParts(text) {
		words, ok := source.PsWords(part)
		if !ok || len(words) == 0 {
			return false
		}
		name := strings.ToLower(words[0])
		if full, ok := PsCanonical(name); ok {
			name = full
		}
		if name == "git" {
			if !p.git(value.Mapped(words[1:], value.Unquote)) {
				return false
			}
			continue
		}
		text, ok := psPlain[name]
		if !ok {
			return false
		}
		for k := 1; k < len(words); k++ {
			w := words[k]
			switch param := strings.ToLower(w); {
			case w == "":
			case strings.HasPrefix(param, "-") && text != textOnly:
				if strings.HasPrefix("-pattern", param) && len(param) > 2 {
					text = 0
					k++
				} else if strings.Contains(w, ":") || param == "-stream" || strings.HasPrefix("-credential", param) && len(param) > 3 || param == "-wait" {
					return false
				} else if slices.ContainsFunc([]string{"-filter", "-include", "-exclude", "-encoding", "-totalcount", "-tail", "-first", "-last", "-depth", "-context", "-algorithm"}, func(f string) bool { return strings.HasPrefix(f, param) && len(param) > 2 }) && param != "-force" {
					k++
				}
			case text > 0:
				text--
				if text+1 >= textOnly/2 {
					text = textOnly
				}
			case strings.Contains(w, ":") && !value.Drive(w) || !p.path(w):
				return false
			}
		}
	}
	return true
}
