package posix

import (
	"strings"

	"github.com/jackline-ai/jackline/phrase"
	"github.com/jackline-ai/jackline/shell/source"
	"github.com/jackline-ai/jackline/shell/value"
)

var (
	// callOf finds calls that start a program.
	callOf = phrase.New(`(?:^|[^\w$])((?:[\w$]+(?:\(\)|\([^()\n]*\))?(?:\.|::|->))*)(system|exec[lvpe]*|execSync|execFile|execFileSync|popen[234]?|Popen|spawn[lvpe]*|spawnSync|fork_exec|shell_exec|passthru|proc_open|pcntl_exec|getoutput|getstatusoutput|check_output|check_call|call|run|IO\.popen|capture[23]e?|qx|sh|create_subprocess_shell|create_subprocess_exec|shell-command|os\.execute|execute|do shell script|doShellScript|startfile|ShellExecute|open3|open2|Cmd|Command)\b\s*[\(\[ \x11]?`)
	// treeOf finds calls that remove a tree.
	treeOf = phrase.New(`\b(rmtree|rm_rf|rm_r|remove_tree|rmSync|rmdirSync|rmdir|removeSync|remove_entry_secure|remove_entry|remove_dir|remove_dir_all|rimraf|rm|removedirs|deltree|delete_tree|emptyDirSync)\s*[\(\[ ]`)
	homeOf = phrase.New(`os\.environ(?:\.get)?[\[(]\s*\x11\d+\x11\s*[\])]|os\.getenv\(\x11\d+\x11\)|process\.env\.HOME|os\.homedir\(\)|Path\.home\(\)|Dir\.home|ENV\[\x11\d+\x11\]|\$ENV\{(?:HOME|\x11\d+\x11)\}|getenv\(\x11\d+\x11\)|\$_SERVER\[\x11\d+\x11\]`)
	named1 = phrase.New(`(?:^|[\s;({])(?:my |our |const |let |var )?[$@]?(\w+)\s*=\s*((?:\[|\()?\s*\x11\d+\x11[^;\n]*)`)
	refOf  = phrase.New(`\x11(\d+)\x11`)

	endless = phrase.New(`while\s*\(?\s*(?:True|true|1|!0)\b|while\s*\(\s*\)|for\s*\(\s*;\s*;\s*\)|\bloop\b|\bfork\s*(?:\(\s*\))?\s*(?:while|until)\b|\b1\s+while\b|for \w+ in (?:iter|itertools|count)|until\s+(?:false|0)\b|while\s+os\.fork|while\s+fork|while\s*\(?\s*fork`)
	forks   = phrase.New(`\bfork\b|pcntl_fork`)

	fetched = phrase.New(`urlopen|urllib|requests\.get|http\.client|open-uri|Net::HTTP|LWP|HTTP::Tiny|https?\.get|\bfetch\s*\(|curl_exec|file_get_contents\(\s*\x11|httpx\.`)
	undone  = phrase.New(`b64decode|base64_decode|decode64|unpack1?\(|atob\(|a2b_|fromhex|Buffer\.from\(|decode_base64|gzinflate|str_rot13|codecs\.decode|zlib\.decompress`)
	evals   = phrase.New(`\b(?:exec|eval|compile|instance_eval|class_eval|Function|runInThisContext|loadstring|assert|create_function|_?system|popen|execSync)\s*\(?`)
	dials   = phrase.New(`socket\.socket|socket\.create_connection|TCPSocket|IO::Socket|net\.connect|net\.Socket|fsockopen|pty\.spawn|Socket::INET|createConnection|\bsocket\s*\(`)
	shellIn = phrase.New(`^(?:/usr)?(?:/bin/)?(?:sh|bash|zsh|dash|ksh|cmd|cmd\.exe|powershell(?:\.exe)?)(?: -\w+)*[\s<>&0-9]*$`)
)

// code judges the text of a program in another language than a shell's: what it starts with a literal text or list, and
// which trees it removes. A text that is only printed, compared or stored is no command.
func (j *Judge) code(c Command, lang, text string) {
	if t := value.Taint(text); t != "" {
		j.denyFed(t)
		return
	}
	if !j.Spend(4 * len(text)) {
		return
	}
	if lang == "osascript" && powerEvents.MatchString(text) && powerWords.MatchString(text) {
		j.Deny("D5", "It would stop or restart the machine. Do that by hand.")
	}
	j.Deeper(func() {
		bare, texts := source.TakeApart(text, lang)
		j.floods(bare)
		j.opaque(bare, texts)
		bare, texts = source.Joined(bare, texts)
		p := &listing{j: j, c: c, lang: lang, texts: texts, vars: map[string]string{}}
		for _, m := range named1.FindAllStringSubmatch(bare, -1) {
			p.vars[m[1]] = m[2]
		}
		for _, m := range renamed.FindAllStringSubmatch(bare, -1) {
			bare = strings.ReplaceAll(bare, m[2]+"(", m[1]+"(")
		}
		p.calls(bare)
		for _, t := range texts {
			if strings.HasPrefix(t, "/") || strings.HasPrefix(t, "~/") {
				if at := p.place(t); j.World.Ours(at) {
					j.Effect(value.Reads, at, false)
				}
			}
		}
	})
}

// floods refuses endless starts of copies.
func (j *Judge) floods(bare string) {
	if forks.MatchString(bare) && endless.MatchString(bare) {
		j.Deny("D6", "The program would start itself over and over until the machine stands still. Give it an end.")
	}
}

// renamed finds functions that get another name where they are imported.
var renamed = phrase.New(`\b(system|popen|run|call|Popen|check_output|check_call|rmtree)\s+as\s+(\w+)`)

// opaque refuses code that runs what it fetched or decoded, and code that joins a shell to a socket.
func (j *Judge) opaque(bare string, texts []string) {
	run := evals.MatchString(bare)
	switch {
	case run && fetched.MatchString(bare) && runsFetched.MatchString(bare):
		j.Deny("D7", "Text from the network would be run as a program. Save it to a file, and look at it first.")
	case runsDecoded.MatchString(bare) && undone.MatchString(bare):
		j.Deny("D8", "Decoded text would be run as a program, so nobody can see what that is. Decode it to a file, and look at it first.")
	case dials.MatchString(bare):
		for _, t := range texts {
			if shellIn.MatchString(strings.TrimSpace(t)) {
				j.Deny("D7", "The command would hand a shell or an interpreter to somebody over the network. Nothing here does that.")
			}
		}
	}
}

// A listing is code that has been taken apart.
type listing struct {
	j     *Judge
	c     Command
	lang  string
	texts []string
	vars  map[string]string // what a name was given: code with marks
}

func (p *listing) run(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	j := p.j
	if p.lang == "python" || p.lang == "perl" || p.lang == "ruby" {
		text = inserted.ReplaceAllString(text, string(value.Some))
	}
	if _, why := source.Parse(source.Normal(text)); why != "" && !strings.Contains(why, "holds a") { // perhaps a list's first word, or no shell text at all
		return
	}
	was := j.Rule
	j.run(j.Clone(p.c.Env), value.Set{text}, nil)
	if was == "" && j.Rule != "" && j.Rule != "S3" {
		j.Rule = "D10"
	}
}

// calls looks at all calls in the code that start something or remove a tree.
func (p *listing) calls(bare string) {
	j := p.j
	for _, m := range execOf.FindAllStringSubmatch(bare, -1) {
		p.run(p.texts[source.Atoi(m[1])])
	}
	for _, m := range callOf.FindAllStringSubmatchIndex(bare, -1) {
		if !p.starts(bare[m[2]:m[3]], bare[m[4]:m[5]]) || !j.Spend(len(bare)/8) {
			continue
		}
		p.arguments(arguments(bare[m[5]:]))
	}
	for _, m := range treeOf.FindAllStringSubmatchIndex(bare, -1) {
		args := arguments(bare[m[3]:])
		if bare[m[2]:m[3]] == "rm" && !strings.Contains(args, "recursive") {
			continue
		}
		for _, at := range p.places(args) {
			if j.World.Whole(at) || j.World.System(at) {
				j.Deny("D10", "Its code would delete %s with all that is in it, which nothing brings back. Name the folder that is meant.", value.Shown(at))
			}
			j.Effect(value.Deletes, at, true)
		}
	}
	if p.lang == "awk" {
		p.awk(bare)
	}
	if p.lang == "perl" || p.lang == "ruby" { // open(F, "cmd|") and open("|cmd")
		for _, t := range p.texts {
			if cmd, ok := strings.CutPrefix(strings.TrimSpace(t), "|"); ok && strings.Contains(bare, "open") {
				p.run(cmd)
			} else if cmd, ok := strings.CutSuffix(strings.TrimSpace(t), "|"); ok && strings.Contains(bare, "open") {
				p.run(cmd)
			}
		}
	}
}

// starts reports whether a call by this name starts a program, in front of which its object stands.
func (p *listing) starts(object, name string) bool {
	switch name {
	case "run", "call", "sh", "execute", "Command", "Cmd":
		return object != "" || name == "sh"
	case "exec", "compile":
		return p.lang != "python" // where it runs code of its own
	}
	return true
}

// arguments is the code of a call's arguments: up to the bracket that closes them, or the end of the statement.
func arguments(s string) string {
	depth := 0
	for k := 0; k < len(s); k++ {
		switch s[k] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth <= 0 {
				return s[:k+1]
			}
		case ';', '\n':
			if depth == 0 {
				return s[:k]
			}
		}
	}
	return s
}

// arguments judges the literals that a call gets: each as a text, and all as a list of words.
func (p *listing) arguments(args string) {
	for name, v := range p.vars {
		if mentions(args, name) {
			args += " " + v
		}
	}
	var words []string
	for _, m := range refOf.FindAllStringSubmatch(args, -1) {
		t := p.texts[source.Atoi(m[1])]
		words = append(words, t)
	}
	if len(words) > 0 {
		p.run(words[0])
	}
	for k := range min(2, len(words)) { // the first may only be the name that the program is told
		p.run(strings.TrimSpace(value.QuoteAll(words[k:])))
	}
	if len(words) == 1 && strings.Contains(args, "split") {
		p.run(words[0])
	}
}

// places are the paths that the literals of a call's arguments name.
func (p *listing) places(args string) []string {
	for name, v := range p.vars {
		if mentions(args, name) {
			args += " " + v
		}
	}
	var all []string
	if m := homeOf.FindString(args); m != "" {
		home := !strings.Contains(m, source.TextMark)
		for _, r := range refOf.FindAllStringSubmatch(m, -1) {
			home = home || p.texts[source.Atoi(r[1])] == "HOME" || p.texts[source.Atoi(r[1])] == "USERPROFILE"
		}
		if rest := strings.TrimLeft(strings.Replace(args, m, "", 1), "( "); home && !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, "+") && !strings.HasPrefix(rest, ",") {
			all = append(all, p.j.World.Home)
		}
	}
	for _, m := range refOf.FindAllStringSubmatch(args, -1) {
		if t := p.texts[source.Atoi(m[1])]; strings.HasPrefix(t, "/") || strings.HasPrefix(t, "~") || strings.HasPrefix(t, ".") || value.Drive(t) {
			all = append(all, p.place(t))
		}
	}
	return all
}

// place is the path that a literal names.
func (p *listing) place(t string) string {
	switch {
	case t == "~" || strings.HasPrefix(t, "~/"):
		t = p.j.World.Home + t[1:]
	case strings.HasPrefix(t, "$HOME"):
		t = p.j.World.Home + strings.TrimPrefix(t, "$HOME")
	}
	dir := p.c.Dir
	if dir == "" {
		dir = p.c.Cwd[0]
	}
	return value.PathOf(dir, strings.ReplaceAll(t, "*", string(value.Star)))
}

// awk judges pipes to and from commands, and files that are printed to.
func (p *listing) awk(bare string) {
	for _, m := range awkPipe.FindAllStringSubmatch(bare, -1) {
		p.run(p.texts[source.Atoi(m[1]+m[2])])
	}
	for _, m := range awkFeeds.FindAllStringSubmatch(bare, -1) { // text into a shell
		if cmd := strings.Fields(p.texts[source.Atoi(m[2])]); len(cmd) > 0 && languageOf(value.Called(cmd[0])) == "sh" {
			p.run(p.texts[source.Atoi(m[1])])
		}
	}
	for _, m := range awkWrites.FindAllStringSubmatch(bare, -1) {
		if t := p.texts[source.Atoi(m[1])]; strings.ContainsAny(t, "/.") {
			p.j.Effect(value.Writes, p.place(t), false)
		}
	}
}

var runsFetched = phrase.New(`\b(?:exec|eval|compile|system|instance_eval|Function|popen|execSync)\s*\(?[^;\n]*(?:urlopen|requests\.get|open\(|get\(|fetch|file_get_contents|read|body|content|LWP|curl)`)

var runsDecoded = phrase.New(`\b(?:exec|eval|instance_eval|Function|system|popen|execSync|loadstring|assert)\s*\(?[^;\n]*(?:b64decode|base64_decode|decode64|unpack|atob\(|a2b_|fromhex|Buffer\.from\(|decode_base64|gzinflate|str_rot13|codecs\.decode|zlib\.decompress)`)

var inserted = phrase.New(`#\{[^}]*\}`)

var execOf = phrase.New(source.ExecMark + `(\d+)` + source.ExecMark)

var (
	awkPipe   = phrase.New(source.TextMark + `(\d+)` + source.TextMark + `\s*\|&?\s*getline|\|&?\s*` + source.TextMark + `(\d+)` + source.TextMark)
	awkFeeds  = phrase.New(source.TextMark + `(\d+)` + source.TextMark + `\s*\|&?\s*` + source.TextMark + `(\d+)` + source.TextMark)
	awkWrites = phrase.New(`>>?\s*` + source.TextMark + `(\d+)` + source.TextMark)
)

// mentions reports whether a name stands in code, as a word of its own.
func mentions(code, name string) bool {
	for from := 0; ; {
		k := strings.Index(code[from:], name)
		if k < 0 {
			return false
		}
		k += from
		from = k + len(name)
		if (k == 0 || !source.Word(code[k-1]) && code[k-1] != '.') && (from == len(code) || !source.Word(code[from])) {
			return true
		}
	}
}
