package windows

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline/phrase"
	"github.com/jackline-ai/jackline/shell/posix"
	"github.com/jackline-ai/jackline/shell/source"
	"github.com/jackline-ai/jackline/shell/value"
)

// Cmd judges a text in the grammar of cmd.
func (j *Shells) Cmd(e *posix.Env, text string, in value.Set) {
	if value.Taint(text) != "" {
		j.denyFedWindows()
		return
	}
	if !j.Spend(len(text)) {
		return
	}
	if quotes := strings.Count(strings.ReplaceAll(text, `^"`, ""), `"`); quotes%2 == 1 && j.Depth == 0 {
		j.Deny("S1", "A quote of the command is not closed.")
		return
	}
	if bomb.MatchString(strings.ToLower(text)) {
		j.Deny("W10", "It would start itself over and over until the machine stands still.")
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "^\n", ""), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		for _, pipe := range source.SplitCmd(line) {
			feed := in
			for _, part := range pipe {
				feed = j.cmdPart(e, part, feed)
				if j.Denied() {
					return
				}
			}
		}
	}
}

var bomb = phrase.New(`%~?0\s*\|\s*%~?0|start\s+(?:""\s+)?(?:/\w+\s+)*%~?0|for\s+/l\s+%+\w\s+in\s*\(\s*\d+\s*,\s*0\s*,\s*\d+\s*\)\s*do\s+.*start|:(\w+)\s*(?:\n|&)\s*start\b[^\n]*(?:\n|&)+\s*goto\s`)

// cmdVars expands %name%, !name! and their parts; what is not known is a hole.
func (j *Shells) cmdVars(e *posix.Env, s string) value.Set {
	out := value.Set{""}
	for k := 0; k < len(s); {
		mark := s[k]
		end := -1
		if mark == '%' || mark == '!' {
			end = strings.IndexByte(s[k+1:], mark)
		}
		name := ""
		if end > 0 {
			name = s[k+1 : k+1+end]
		}
		switch {
		case mark == '%' && k+1 < len(s) && (s[k+1] == '*' || s[k+1] >= '0' && s[k+1] <= '9'):
			out = j.Join(out, value.Anything())
			k += 2
		case mark == '%' && strings.HasPrefix(s[k:], "%%") && k+2 < len(s) && source.Word(s[k+2]), mark == '%' && k+1 < len(s) && (k+2 == len(s) || !source.Word(s[k+2]) && (end < 0 || s[k+2] != '%' && s[k+2] != ':') || end < 0) && source.Word(s[k+1]):
			for s[k] == '%' {
				k++
			}
			v, ok := e.Vars["%%"+s[k:k+1]]
			if !ok {
				v = value.Anything()
			}
			out = j.Join(out, v)
			k++
		case mark == '%' && k+2 < len(s) && s[k+1] == '~' && end < 0:
			m := loopPart.FindStringSubmatch(s[k:])
			if m == nil {
				out = j.Join(out, value.Set{"%"})
				k++
				continue
			}
			v, ok := e.Vars["%%"+m[1]]
			if !ok {
				v = value.Anything()
			}
			out = j.Join(out, v)
			k += len(m[0])
		case end > 0 && !strings.ContainsAny(name, " \t\"|&<>") || end > 0 && mark == '%' && strings.HasPrefix(strings.ToLower(name), "program"):
			base, change, cut := strings.Cut(name, ":")
			v, ok := j.windowsVariable(e, strings.ToLower(base))
			switch {
			case !ok && mark == '!': // another cmd may be the one that expands it
				v, cut = value.Set{string(value.Hole), "!" + name + "!"}, false
			case !ok:
				v = value.Anything()
			}
			if cut {
				v = value.Mapped(v, func(t string) string { return cmdPiece(t, change) })
			}
			out = j.Join(out, v)
			k += end + 2
		default:
			out = j.Join(out, value.Set{s[k : k+1]})
			k++
		}
		if j.Denied() {
			break
		}
	}
	return out
}

// cmdPiece is what ":~from,length" and ":old=new" make of a value.
func cmdPiece(s, change string) string {
	if !value.Literal(s) {
		return string(value.Hole)
	}
	if cut, ok := strings.CutPrefix(change, "~"); ok {
		a, b, _ := strings.Cut(cut, ",")
		from, err := strconv.Atoi(a)
		if err != nil {
			return string(value.Hole)
		}
		if from < 0 {
			from = max(0, len(s)+from)
		}
		from = min(from, len(s))
		to := len(s)
		if n, err := strconv.Atoi(b); err == nil && n >= 0 {
			to = min(to, from+n)
		} else if err == nil {
			to = max(from, to+n)
		}
		return s[from:to]
	}
	if old, with, ok := strings.Cut(change, "="); ok && old != "" {
		return strings.ReplaceAll(s, old, with)
	}
	return string(value.Hole)
}

// internal are the commands of cmd itself, to whose names switches may be glued.
var internal = []string{"rd", "rmdir", "del", "erase", "cd", "chdir", "md", "mkdir", "dir", "copy", "move", "ren", "rename", "echo", "type", "call", "start", "pushd", "popd", "set", "if", "for", "format", "shutdown", "cls", "ver", "vol", "title"}

// cmdPart judges one command, and is what it prints.
func (j *Shells) cmdPart(e *posix.Env, part string, in value.Set) (out value.Set) {
	if !j.Spend(len(part)) {
		return nil
	}
	part = strings.TrimLeft(part, "@ \t")
	low := strings.ToLower(part)
	switch {
	case strings.HasPrefix(low, "rem ") || low == "rem" || strings.HasPrefix(part, "::"):
		return nil
	case strings.HasPrefix(part, ":"):
		return nil
	case strings.HasPrefix(low, "if ") || strings.HasPrefix(low, "else "):
		j.Deeper(func() { j.cmdIf(e, part, in) })
		return value.Anything()
	case strings.HasPrefix(low, "for "):
		j.Deeper(func() { j.cmdFor(e, part, in) })
		return value.Anything()
	case strings.HasPrefix(low, "set ") && !strings.HasPrefix(low, "set /p"):
		name, v, ok := strings.Cut(strings.Trim(strings.TrimSpace(part[4:]), `"`), "=")
		if ok {
			plain := strings.ReplaceAll(v, "^", "")
			e.Vars["%"+strings.ToLower(strings.TrimSpace(name))] = value.Mapped(j.cmdVars(e, plain), func(s string) string { return strings.ReplaceAll(s, string(value.Gap), " ") })
			e.Changed()
		}
		return nil
	}
	for _, text := range j.cmdVars(e, part) {
		for _, way := range value.Readings([]string{text}) {
			out = j.Add(out, j.cmdOne(e, way[0], in))
			if j.Denied() {
				return nil
			}
		}
	}
	return out
}

// cmdOne judges one command in one reading.
func (j *Shells) cmdOne(e *posix.Env, text string, in value.Set) (out value.Set) {
	words, redirects := source.CmdWords(text)
	if len(words) == 0 {
		words = []string{"rem"}
	}
	name := strings.ToLower(words[0])
	for _, i := range internal {
		if rest, ok := strings.CutPrefix(name, i); ok && rest != "" && (rest[0] == '/' || rest[0] == '\\' || rest[0] == '.' && i != "cd" && i != "rd") {
			words = append([]string{i, words[0][len(i):]}, words[1:]...)
		}
	}
	dir := e.Cwd[0]
	var to []string
	for _, r := range redirects {
		if strings.HasPrefix(r[1], "&") {
			continue
		}
		if strings.HasSuffix(r[0], "<") {
			j.winEffect(value.Reads, dir, r[1], false)
			in = e.Saved[j.World.WinPath(dir, r[1])]
			continue
		}
		if !strings.EqualFold(r[1], "nul") {
			j.winEffect(value.Writes, dir, r[1], false)
			to = append(to, j.World.WinPath(dir, r[1]))
		}
	}
	out = j.cmdRun(e, words, in)
	for _, p := range to {
		j.Save(e, p, out)
	}
	return out
}

// cmdRun judges the words of one command.
func (j *Shells) cmdRun(e *posix.Env, words []string, in value.Set) value.Set {
	dir := e.Cwd[0]
	var switches, rest []string
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "/") {
			for s := range strings.SplitSeq(w[1:], "/") {
				switches = append(switches, strings.ToLower(s))
			}
		} else {
			rest = append(rest, w)
		}
	}
	all := func(kind value.TouchKind, tree bool, list []string) {
		for _, p := range list {
			j.winEffect(kind, dir, strings.ReplaceAll(strings.ReplaceAll(p, "*", string(value.Star)), "?", string(value.Mark)), tree)
		}
	}
	name := strings.ToLower(value.Called(words[0]))
	if t := value.Taint(words[0]); t != "" {
		j.denyFedWindows()
		return nil
	}
	j.Touch(value.Runs, name)
	j.File(j.World.WinPath(dir, words[0])) // cmd looks in the folder first, also without a path
	if len(j.Parts) < posix.MaxListed {
		j.Parts = append(j.Parts, slices.Clone(words))
	}
	switch name {
	case "rem", "cls", "ver", "vol", "title", "exit", "goto", "pause", "endlocal", "setlocal", "color", "prompt", "break", "verify":
		return nil
	case "echo", "echo.":
		return value.Set{strings.Join(words[1:], " ") + "\n"}
	case "rd", "rmdir", "del", "erase":
		all(value.Deletes, slices.Contains(switches, "s"), rest)
		return nil
	case "cd", "chdir", "pushd":
		if len(rest) > 0 {
			target := strings.Join(rest, " ")
			all(value.Reads, false, []string{target})
			e.Cwd = value.Set{j.World.WinPath(dir, target)}
			e.Changed()
			return nil
		}
		return e.Cwd
	case "call":
		if len(words) > 1 {
			return j.cmdRun(e, words[1:], in)
		}
		return nil
	case "start":
		k := 1
		for k < len(words) && (strings.HasPrefix(words[k], "/") || words[k] == "" || k == 1 && strings.Contains(words[k], " ") && len(words) > 2) {
			k++
		}
		if k < len(words) {
			return j.cmdRun(e, words[k:], in)
		}
		return nil
	case "copy", "move", "xcopy", "ren", "rename", "replace", "mklink":
		j.cmdCopies(e, name, rest)
		return nil
	case "type", "more":
		all(value.Reads, false, rest)
		var out value.Set
		for _, f := range rest {
			if content, ok := e.Saved[j.World.WinPath(dir, f)]; ok {
				out = j.Concat(out, content)
			} else {
				out = j.Concat(out, value.Anything())
			}
		}
		if len(rest) == 0 {
			return in
		}
		return out
	case "set":
		return value.Anything()
	}
	return j.cmdProgram(e, name, words, in)
}

// cmdCopies judges what copies, moves and renames files.
func (j *Shells) cmdCopies(e *posix.Env, name string, rest []string) {
	dir := e.Cwd[0]
	if name == "move" || name == "ren" || name == "rename" {
		for _, p := range rest[:max(0, len(rest)-1)] {
			at := j.World.WinPath(dir, strings.ReplaceAll(p, "*", string(value.Star)))
			if j.World.Startup(at) || j.World.Ours(at) {
				j.Effect(value.Deletes, at, false)
			}
		}
	}
	if len(rest) > 1 {
		for _, p := range rest[:len(rest)-1] {
			j.winEffect(value.Reads, dir, strings.ReplaceAll(p, "*", string(value.Star)), false)
		}
		j.winEffect(value.Writes, dir, rest[len(rest)-1], false)
		from, target := j.World.WinPath(dir, rest[0]), j.World.WinPath(dir, rest[len(rest)-1])
		if content, ok := e.Saved[from]; ok {
			j.Save(e, target, content)
		}
	}
}

// cmdProgram judges a program or a script that cmd starts.
func (j *Shells) cmdProgram(e *posix.Env, name string, words []string, in value.Set) value.Set {
	dir := e.Cwd[0]
	if content, ok := e.Saved[j.World.WinPath(dir, words[0])]; ok && content.Taint() != "" {
		j.denyFedWindows()
	}
	for _, ext := range []string{".bat", ".cmd", ".exe", ".ps1"} {
		if content, ok := e.Saved[j.World.WinPath(dir, words[0]+ext)]; ok && content.Taint() != "" {
			j.denyFedWindows()
		}
	}
	if (name == "wscript" || name == "cscript") && len(words) > 1 {
		if content := e.Saved[j.World.WinPath(dir, words[1])]; content.Taint() != "" {
			j.denyFedWindows()
		}
	}
	child := j.Clone(e)
	child.In = in
	argv := append([]string{name}, words[1:]...)
	for k := range argv[1:] {
		if !strings.HasPrefix(argv[k+1], "-") && !strings.ContainsAny(argv[k+1], " ") {
			argv[k+1] = strings.ReplaceAll(argv[k+1], "*.*", "*")
		}
	}
	out := j.Simple(child, argv, false)
	if in.Taint() != "" && out.Taint() == "" && len(out) > 0 {
		out = append(slices.Clone(out), in.Taint())
	}
	return out
}

var condition = phrase.New(`(?i)^(?:if|else)\s+(?:if\s+)?(?:/i\s+)?(?:not\s+)?(?:(?:exist|defined|errorlevel|cmdextversion)\s+(?:"[^"]*"|\S+)|(?:"[^"]*"|[^\s=]+)\s*==\s*(?:"[^"]*"|\S+)|\S+\s+(?:equ|neq|lss|leq|gtr|geq)\s+\S+)\s*|^else\s*`)

// cmdIf judges what a condition runs.
func (j *Shells) cmdIf(e *posix.Env, part string, in value.Set) {
	rest := part[len(condition.FindString(part)):]
	if rest == part {
		_, rest, _ = strings.Cut(part, " ")
	}
	for one := range strings.SplitSeq(elseWord.ReplaceAllString(rest, "\x00"), "\x00") {
		if one = strings.Trim(one, "() "); one != "" {
			j.cmdPart(e, one, in)
		}
	}
}

var forLoop = phrase.New(`(?is)^for\s+(/[dlrf])?\s*("[^"]*"|[^%"(]+)?\s*("[^"]*")?\s*%+(\w)\s+in\s*\((.*?)\)\s*do\s+(.*)$`)

// cmdFor judges the body of a loop with each of the values.
func (j *Shells) cmdFor(e *posix.Env, part string, in value.Set) {
	m := forLoop.FindStringSubmatch(part)
	if m == nil {
		if _, body, ok := strings.Cut(strings.ToLower(part), " do "); ok {
			j.cmdPart(e, part[len(part)-len(body):], in)
		}
		return
	}
	kind, where, list, body := strings.ToLower(m[1]), strings.TrimSpace(m[2]), m[5], strings.Trim(m[6], "() ")
	values, _ := source.CmdWords(strings.NewReplacer(",", " ").Replace(list))
	switch kind {
	case "/l":
		values = []string{string(value.Some), "0", "1"}
	case "/f":
		text := strings.Trim(list, " `'\"")
		values = nil
		if strings.HasPrefix(strings.TrimSpace(list), "'") || strings.HasPrefix(strings.TrimSpace(list), "`") {
			for _, o := range j.cmdPart(j.Clone(e), text, nil) {
				values = append(values, strings.TrimSpace(o))
			}
		} else if strings.HasPrefix(strings.TrimSpace(list), `"`) {
			values = append(values, text)
			values = append(values, strings.Fields(text)...)
		}
		if len(values) == 0 {
			values = []string{string(value.Hole)}
		}
	case "/r", "/d":
		if where != "" {
			root := strings.Trim(where, `"`)
			if first, _, _ := strings.Cut(strings.ToLower(body), " "); kind == "/r" && slices.Contains([]string{"del", "erase", "rd", "rmdir"}, first) {
				j.winEffect(value.Deletes, e.Cwd[0], root, true)
			}
			values = append(values, root, root+`\`+string(value.Some))
		}
	}
	for _, v := range values {
		for _, known := range j.cmdVars(e, v) {
			e.Vars["%%"+m[4]] = value.Set{known}
			j.cmdPart(e, body, in)
		}
	}
}

var loopPart = phrase.New(`^%+~[a-z]*(\w)`)

var elseWord = phrase.New(`(?i)\)?\s*\belse\b\s*\(?`)
