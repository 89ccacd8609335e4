package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// cmd judges a text in the grammar of cmd.
func (j *windows) cmd(e *env, text string, in set) {
	if taint(text) != "" {
		j.denyFedWindows()
		return
	}
	if !j.spend(len(text)) {
		return
	}
	if quotes := strings.Count(strings.ReplaceAll(text, `^"`, ""), `"`); quotes%2 == 1 && j.depth == 0 {
		j.deny("S1", "A quote of the command is not closed.")
		return
	}
	if bomb.MatchString(strings.ToLower(text)) {
		j.deny("W10", "It would start itself over and over until the machine stands still.")
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "^\n", ""), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		for _, pipe := range splitCmd(line) {
			feed := in
			for _, part := range pipe {
				feed = j.cmdPart(e, part, feed)
				if j.denied() {
					return
				}
			}
		}
	}
}

var bomb = regexp.MustCompile(`%~?0\s*\|\s*%~?0|start\s+(?:""\s+)?(?:/\w+\s+)*%~?0|for\s+/l\s+%+\w\s+in\s*\(\s*\d+\s*,\s*0\s*,\s*\d+\s*\)\s*do\s+.*start|:(\w+)\s*(?:\n|&)\s*start\b[^\n]*(?:\n|&)+\s*goto\s`)

// splitCmd takes a line apart at &, && and ||, and each of these at |. Brackets of groups are dropped: what is in them
// is judged as if it stood alone.
func splitCmd(line string) [][]string {
	var all [][]string
	var pipe []string
	var b strings.Builder
	quote := false
	depth := 0
	part := func() {
		if s := strings.TrimSpace(b.String()); s != "" {
			pipe = append(pipe, s)
		}
		b.Reset()
	}
	for k := 0; k < len(line); k++ {
		switch c := line[k]; {
		case c == '"':
			quote = !quote
			b.WriteByte(c)
		case quote:
			b.WriteByte(c)
		case c == '^' && k+1 < len(line):
			b.WriteByte(c)
			k++
			b.WriteByte(line[k])
		case c == '(' && strings.TrimSpace(b.String()) == "", c == '(' && groupStart.MatchString(b.String()):
			depth++
			b.WriteByte(' ')
		case c == ')' && depth > 0:
			depth--
			part()
			all, pipe = append(all, pipe), nil
		case c == '&' && k > 0 && line[k-1] == '>':
			b.WriteByte(c)
		case c == '&', c == '|' && k+1 < len(line) && line[k+1] == '|':
			part()
			all, pipe = append(all, pipe), nil
			if k+1 < len(line) && line[k+1] == c {
				k++
			}
		case c == '|':
			part()
		default:
			b.WriteByte(c)
		}
	}
	part()
	return append(all, pipe)
}

var groupStart = regexp.MustCompile(`(?i)(?:\bdo|\belse|^\s*if\b.*)\s*$`)

// cmdVars expands %name%, !name! and their parts; what is not known is a hole.
func (j *windows) cmdVars(e *env, s string) set {
	out := set{""}
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
			out = j.join(out, unknown)
			k += 2
		case mark == '%' && strings.HasPrefix(s[k:], "%%") && k+2 < len(s) && word(s[k+2]), mark == '%' && k+1 < len(s) && (k+2 == len(s) || !word(s[k+2]) || end < 0) && word(s[k+1]):
			for s[k] == '%' {
				k++
			}
			v, ok := e.vars["%%"+s[k:k+1]]
			if !ok {
				v = unknown
			}
			out = j.join(out, v)
			k++
		case mark == '%' && k+2 < len(s) && s[k+1] == '~' && end < 0:
			m := regexp.MustCompile(`^%+~[a-z]*(\w)`).FindStringSubmatch(s[k:])
			if m == nil {
				out = j.join(out, set{"%"})
				k++
				continue
			}
			v, ok := e.vars["%%"+m[1]]
			if !ok {
				v = unknown
			}
			out = j.join(out, v)
			k += len(m[0])
		case end > 0 && !strings.ContainsAny(name, " \t\"|&<>") || end > 0 && mark == '%' && strings.HasPrefix(strings.ToLower(name), "program"):
			base, change, cut := strings.Cut(name, ":")
			v, ok := j.windowsVariable(e, strings.ToLower(base))
			if !ok {
				v = unknown
			}
			if cut {
				v = mapped(v, func(t string) string { return cmdPiece(t, change) })
			}
			out = j.join(out, v)
			k += end + 2
		default:
			out = j.join(out, set{s[k : k+1]})
			k++
		}
		if j.denied() {
			break
		}
	}
	return out
}

// cmdPiece is what ":~from,length" and ":old=new" make of a value.
func cmdPiece(s, change string) string {
	if !literal(s) {
		return string(hole)
	}
	if cut, ok := strings.CutPrefix(change, "~"); ok {
		a, b, _ := strings.Cut(cut, ",")
		from, err := strconv.Atoi(a)
		if err != nil {
			return string(hole)
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
	return string(hole)
}

// cmdWords takes one command apart: words without quotes and carets, redirections as their sign and their target.
func cmdWords(s string) (words []string, redirects [][2]string) {
	var b strings.Builder
	open, quote := false, false
	sign := ""
	end := func() {
		if !open {
			return
		}
		if sign != "" {
			redirects = append(redirects, [2]string{sign, b.String()})
			sign = ""
		} else {
			words = append(words, b.String())
		}
		b.Reset()
		open = false
	}
	for k := 0; k < len(s); k++ {
		switch c := s[k]; {
		case c == '"':
			quote = !quote
			open = true
		case quote:
			b.WriteByte(c)
		case c == '^' && k+1 < len(s):
			k++
			b.WriteByte(s[k])
			open = true
		case c == ' ' || c == '\t' || c == ',' && len(words) == 0 || c == ';' || c == rune2byte(gap):
			end()
		case c == '>' || c == '<':
			if b.Len() == 1 && b.String()[0] >= '0' && b.String()[0] <= '9' {
				sign = b.String()
				b.Reset()
				open = false
			} else {
				end()
			}
			sign += string(c)
			if k+1 < len(s) && s[k+1] == '>' {
				k++
			}
			open = false
		default:
			b.WriteByte(c)
			open = true
		}
	}
	end()
	return words, redirects
}

func rune2byte(r rune) byte { return byte(r) }

// internal are the commands of cmd itself, to whose names switches may be glued.
var internal = []string{"rd", "rmdir", "del", "erase", "cd", "chdir", "md", "mkdir", "dir", "copy", "move", "ren", "rename", "echo", "type", "call", "start", "pushd", "popd", "set", "if", "for", "format", "shutdown", "cls", "ver", "vol", "title"}

// cmdPart judges one command, and is what it prints.
func (j *windows) cmdPart(e *env, part string, in set) (out set) {
	if !j.spend(len(part)) {
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
		j.deeper(func() { j.cmdIf(e, part, in) })
		return unknown
	case strings.HasPrefix(low, "for "):
		j.deeper(func() { j.cmdFor(e, part, in) })
		return unknown
	case strings.HasPrefix(low, "set ") && !strings.HasPrefix(low, "set /p"):
		name, v, ok := strings.Cut(strings.Trim(strings.TrimSpace(part[4:]), `"`), "=")
		if ok {
			plain := strings.ReplaceAll(v, "^", "")
			e.vars["%"+strings.ToLower(strings.TrimSpace(name))] = mapped(j.cmdVars(e, plain), func(s string) string { return strings.ReplaceAll(s, string(gap), " ") })
			e.changes++
		}
		return nil
	}
	for _, text := range j.cmdVars(e, part) {
		for _, way := range readings([]string{text}) {
			out = j.add(out, j.cmdOne(e, way[0], in))
			if j.denied() {
				return nil
			}
		}
	}
	return out
}

// cmdOne judges one command in one reading.
func (j *windows) cmdOne(e *env, text string, in set) (out set) {
	words, redirects := cmdWords(text)
	if len(words) == 0 {
		words = []string{"rem"}
	}
	name := strings.ToLower(words[0])
	for _, i := range internal {
		if rest, ok := strings.CutPrefix(name, i); ok && rest != "" && (rest[0] == '/' || rest[0] == '\\' || rest[0] == '.' && i != "cd" && i != "rd") {
			words = append([]string{i, words[0][len(i):]}, words[1:]...)
		}
	}
	dir := e.cwd[0]
	var to []string
	for _, r := range redirects {
		if strings.HasPrefix(r[1], "&") {
			continue
		}
		if strings.HasSuffix(r[0], "<") {
			j.winEffect(Reads, dir, r[1], false)
			in = e.saved[j.world.winPath(dir, r[1])]
			continue
		}
		if !strings.EqualFold(r[1], "nul") {
			j.winEffect(Writes, dir, r[1], false)
			to = append(to, j.world.winPath(dir, r[1]))
		}
	}
	out = j.cmdRun(e, words, in)
	for _, p := range to {
		j.save(e, p, out)
	}
	return out
}

// cmdRun judges the words of one command.
func (j *windows) cmdRun(e *env, words []string, in set) set {
	dir := e.cwd[0]
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
	all := func(kind TouchKind, tree bool, list []string) {
		for _, p := range list {
			j.winEffect(kind, dir, strings.ReplaceAll(strings.ReplaceAll(p, "*", string(star)), "?", string(mark)), tree)
		}
	}
	name := strings.ToLower(called(words[0]))
	if t := taint(words[0]); t != "" {
		j.denyFedWindows()
		return nil
	}
	j.touch(Runs, name)
	if len(j.parts) < maxListed {
		j.parts = append(j.parts, slices.Clone(words))
	}
	switch name {
	case "rem", "cls", "ver", "vol", "title", "exit", "goto", "pause", "endlocal", "setlocal", "color", "prompt", "break", "verify":
		return nil
	case "echo", "echo.":
		return set{strings.Join(words[1:], " ") + "\n"}
	case "rd", "rmdir":
		if slices.Contains(switches, "s") {
			all(Deletes, true, rest)
		} else {
			all(Deletes, false, rest)
		}
		return nil
	case "del", "erase":
		all(Deletes, slices.Contains(switches, "s"), rest)
		return nil
	case "cd", "chdir", "pushd":
		if len(rest) > 0 {
			target := strings.Join(rest, " ")
			all(Reads, false, []string{target})
			e.cwd = set{j.world.winPath(dir, target)}
			e.changes++
			return nil
		}
		return e.cwd
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
		if name == "move" || name == "ren" || name == "rename" {
			for _, p := range rest[:max(0, len(rest)-1)] {
				at := j.world.winPath(dir, strings.ReplaceAll(p, "*", string(star)))
				if j.world.startup(at) || j.world.ours(at) {
					j.effect(Deletes, at, false)
				}
			}
		}
		if len(rest) > 1 {
			all(Reads, false, rest[:len(rest)-1])
			all(Writes, false, rest[len(rest)-1:])
			from, target := j.world.winPath(dir, rest[0]), j.world.winPath(dir, rest[len(rest)-1])
			if content, ok := e.saved[from]; ok {
				j.save(e, target, content)
			}
		}
		return nil
	case "type", "more":
		all(Reads, false, rest)
		var out set
		for _, f := range rest {
			if content, ok := e.saved[j.world.winPath(dir, f)]; ok {
				out = j.concat(out, content)
			} else {
				out = j.concat(out, unknown)
			}
		}
		if len(rest) == 0 {
			return in
		}
		return out
	case "set":
		return unknown
	}
	if content, ok := e.saved[j.world.winPath(dir, words[0])]; ok && content.taint() != "" {
		j.denyFedWindows()
	}
	for _, ext := range []string{".bat", ".cmd", ".exe", ".ps1"} {
		if content, ok := e.saved[j.world.winPath(dir, words[0]+ext)]; ok && content.taint() != "" {
			j.denyFedWindows()
		}
	}
	if (name == "wscript" || name == "cscript") && len(rest) > 0 {
		if content := e.saved[j.world.winPath(dir, rest[0])]; content.taint() != "" {
			j.denyFedWindows()
		}
	}
	child := j.clone(e)
	child.in = in
	argv := append([]string{name}, words[1:]...)
	for k := range argv[1:] {
		if !strings.HasPrefix(argv[k+1], "-") && !strings.ContainsAny(argv[k+1], " ") {
			argv[k+1] = strings.ReplaceAll(argv[k+1], "*.*", "*")
		}
	}
	out := j.simple(child, argv, false)
	if in.taint() != "" && out.taint() == "" && len(out) > 0 {
		out = append(slices.Clone(out), in.taint())
	}
	return out
}

var condition = regexp.MustCompile(`(?i)^(?:if|else)\s+(?:if\s+)?(?:/i\s+)?(?:not\s+)?(?:(?:exist|defined|errorlevel|cmdextversion)\s+(?:"[^"]*"|\S+)|(?:"[^"]*"|[^\s=]+)\s*==\s*(?:"[^"]*"|\S+)|\S+\s+(?:equ|neq|lss|leq|gtr|geq)\s+\S+)\s*|^else\s*`)

// cmdIf judges what a condition runs.
func (j *windows) cmdIf(e *env, part string, in set) {
	rest := part[len(condition.FindString(part)):]
	if rest == part {
		_, rest, _ = strings.Cut(part, " ")
	}
	for one := range strings.SplitSeq(regexp.MustCompile(`(?i)\)?\s*\belse\b\s*\(?`).ReplaceAllString(rest, "\x00"), "\x00") {
		if one = strings.Trim(one, "() "); one != "" {
			j.cmdPart(e, one, in)
		}
	}
}

var forLoop = regexp.MustCompile(`(?is)^for\s+(/[dlrf])?\s*("[^"]*"|[^%"(]+)?\s*("[^"]*")?\s*%+(\w)\s+in\s*\((.*?)\)\s*do\s+(.*)$`)

// cmdFor judges the body of a loop with each of the values.
func (j *windows) cmdFor(e *env, part string, in set) {
	m := forLoop.FindStringSubmatch(part)
	if m == nil {
		if _, body, ok := strings.Cut(strings.ToLower(part), " do "); ok {
			j.cmdPart(e, part[len(part)-len(body):], in)
		}
		return
	}
	kind, where, list, body := strings.ToLower(m[1]), strings.TrimSpace(m[2]), m[5], strings.Trim(m[6], "() ")
	values, _ := cmdWords(strings.NewReplacer(",", " ").Replace(list))
	switch kind {
	case "/l":
		values = []string{string(some), "0", "1"}
	case "/f":
		text := strings.Trim(list, " `'\"")
		values = nil
		if strings.HasPrefix(strings.TrimSpace(list), "'") || strings.HasPrefix(strings.TrimSpace(list), "`") {
			for _, o := range j.cmdPart(j.clone(e), text, nil) {
				values = append(values, strings.TrimSpace(o))
			}
		} else if strings.HasPrefix(strings.TrimSpace(list), `"`) {
			values = append(values, text)
			values = append(values, strings.Fields(text)...)
		}
		if len(values) == 0 {
			values = []string{string(hole)}
		}
	case "/r", "/d":
		if where != "" {
			root := strings.Trim(where, `"`)
			values = append(values, root, root+`\`+string(some))
		}
	}
	for _, v := range values {
		for _, known := range j.cmdVars(e, v) {
			e.vars["%%"+m[4]] = set{known}
			j.cmdPart(e, body, in)
		}
	}
}

// cmdReads reports whether a command of cmd is in the table, with operands inside the workspace.
func (p *proof) cmdReads(part string) bool {
	words, redirects := cmdWords(part)
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
			rest = append(rest, strings.NewReplacer("*", string(star), "?", string(mark)).Replace(w))
		}
	}
	switch name := strings.ToLower(words[0]); name {
	case "echo":
		return true
	case "ver", "hostname", "whoami":
		return true
	case "cd", "chdir":
		if len(rest) == 1 && p.path(rest[0]) {
			p.dirs = append(p.dirs, p.w.winPath(p.dirs[0], rest[0]))
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

// cmdProved reports whether a text for cmd is made of commands of the table only, every word written out.
func cmdProved(w World, text string) bool {
	p := &proof{w, []string{w.Dir}}
	if strings.ContainsAny(text, "%!^()@") || !w.inside(w.Dir) {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		for _, pipe := range splitCmd(strings.TrimSpace(line)) {
			if !allOf(pipe, p.cmdReads) {
				return false
			}
		}
	}
	return true
}
