package shell

import (
	"regexp"
	"strings"
)

// What stands for a text literal in code that has been taken apart, followed by its number.
const (
	textMark = "\x11"
	execMark = "\x12" // of a literal that is run where it stands
)

var (
	// callOf finds calls that start a program.
	callOf = regexp.MustCompile(`(?:^|[^\w$])((?:[\w$]+(?:\(\)|\([^()\n]*\))?(?:\.|::|->))*)(system|exec[lvpe]*|execSync|execFile|execFileSync|popen[234]?|Popen|spawn[lvpe]*|spawnSync|fork_exec|shell_exec|passthru|proc_open|pcntl_exec|getoutput|getstatusoutput|check_output|check_call|call|run|IO\.popen|capture[23]e?|qx|sh|create_subprocess_shell|create_subprocess_exec|shell-command|os\.execute|execute|do shell script|doShellScript|startfile|ShellExecute|open3|open2|Cmd|Command)\b\s*[\(\[ \x11]?`)
	// treeOf finds calls that remove a tree.
	treeOf = regexp.MustCompile(`\b(rmtree|rm_rf|rm_r|remove_tree|rmSync|rmdirSync|rmdir|removeSync|remove_entry_secure|remove_entry|remove_dir|remove_dir_all|rimraf|rm|removedirs|deltree|delete_tree|emptyDirSync)\s*[\(\[ ]`)
	homeOf = regexp.MustCompile(`os\.environ(?:\.get)?[\[(]\s*\x11\d+\x11\s*[\])]|os\.getenv\(\x11\d+\x11\)|process\.env\.HOME|os\.homedir\(\)|Path\.home\(\)|Dir\.home|ENV\[\x11\d+\x11\]|\$ENV\{(?:HOME|\x11\d+\x11)\}|getenv\(\x11\d+\x11\)|\$_SERVER\[\x11\d+\x11\]`)
	named1 = regexp.MustCompile(`(?:^|[\s;({])(?:my |our |const |let |var )?[$@]?(\w+)\s*=\s*((?:\[|\()?\s*\x11\d+\x11[^;\n]*)`)
	refOf  = regexp.MustCompile(`\x11(\d+)\x11`)
	// glue is what joins two literals to one text.
	glue = regexp.MustCompile(`\x11(\d+)\x11\s*(?:[+.]|\.\.|)\s*\x11(\d+)\x11`)

	endless = regexp.MustCompile(`while\s*\(?\s*(?:True|true|1|!0)\b|while\s*\(\s*\)|for\s*\(\s*;\s*;\s*\)|\bloop\b|\bfork\s*(?:\(\s*\))?\s*(?:while|until)\b|\b1\s+while\b|for \w+ in (?:iter|itertools|count)|until\s+(?:false|0)\b|while\s+os\.fork|while\s+fork|while\s*\(?\s*fork`)
	forks   = regexp.MustCompile(`\bfork\b|pcntl_fork`)

	fetched = regexp.MustCompile(`urlopen|urllib|requests\.get|http\.client|open-uri|Net::HTTP|LWP|HTTP::Tiny|https?\.get|\bfetch\s*\(|curl_exec|file_get_contents\(\s*\x11|httpx\.`)
	undone  = regexp.MustCompile(`b64decode|base64_decode|decode64|unpack1?\(|atob\(|a2b_|fromhex|Buffer\.from\(|decode_base64|gzinflate|str_rot13|codecs\.decode|zlib\.decompress`)
	evals   = regexp.MustCompile(`\b(?:exec|eval|compile|instance_eval|class_eval|Function|runInThisContext|loadstring|assert|create_function|_?system|popen|execSync)\s*\(?`)
	dials   = regexp.MustCompile(`socket\.socket|socket\.create_connection|TCPSocket|IO::Socket|net\.connect|net\.Socket|fsockopen|pty\.spawn|Socket::INET|createConnection`)
	shellIn = regexp.MustCompile(`^(?:/usr)?(?:/bin/)?(?:sh|bash|zsh|dash|ksh|cmd|cmd\.exe|powershell(?:\.exe)?)(?: -\w+)*$`)
)

// code judges the text of a program in another language than a shell's: what it starts with a literal text or list, and
// which trees it removes. A text that is only printed, compared or stored is no command.
func (j *judge) code(c command, lang, text string) {
	if t := taint(text); t != "" {
		j.denyFed(t)
		return
	}
	if !j.spend(4 * len(text)) {
		return
	}
	if lang == "osascript" && powerEvents.MatchString(text) && powerWords.MatchString(text) {
		j.deny("D5", "It would stop or restart the machine. Do that by hand.")
	}
	j.deeper(func() {
		bare, texts := takeApart(text, lang)
		j.floods(bare)
		j.opaque(bare, texts)
		bare, texts = joined(bare, texts)
		p := &listing{j: j, c: c, lang: lang, texts: texts, vars: map[string]string{}}
		for _, m := range named1.FindAllStringSubmatch(bare, -1) {
			p.vars[m[1]] = m[2]
		}
		p.calls(bare)
		for _, t := range texts {
			if strings.HasPrefix(t, "/") || strings.HasPrefix(t, "~/") {
				if at := p.place(t); j.world.ours(at) {
					j.effect(Reads, at, false)
				}
			}
		}
	})
}

// floods refuses endless starts of copies.
func (j *judge) floods(bare string) {
	if forks.MatchString(bare) && endless.MatchString(bare) {
		j.deny("D6", "The program would start itself over and over until the machine stands still. Give it an end.")
	}
}

// opaque refuses code that runs what it fetched or decoded, and code that joins a shell to a socket.
func (j *judge) opaque(bare string, texts []string) {
	run := evals.MatchString(bare)
	switch {
	case run && fetched.MatchString(bare) && regexp.MustCompile(`\b(?:exec|eval|compile|system|instance_eval|Function|popen|execSync)\s*\(?[^;\n]*(?:urlopen|requests\.get|open\(|get\(|fetch|file_get_contents|read|body|content|LWP|curl)`).MatchString(bare):
		j.deny("D7", "Text from the network would be run as a program. Save it to a file, and look at it first.")
	case regexp.MustCompile(`\b(?:exec|eval|instance_eval|Function|system|popen|execSync|loadstring|assert)\s*\(?[^;\n]*(?:b64decode|base64_decode|decode64|unpack|atob\(|a2b_|fromhex|Buffer\.from\(|decode_base64|gzinflate|str_rot13|codecs\.decode|zlib\.decompress)`).MatchString(bare) && undone.MatchString(bare):
		j.deny("D8", "Decoded text would be run as a program, so nobody can see what that is. Decode it to a file, and look at it first.")
	case dials.MatchString(bare):
		for _, t := range texts {
			if shellIn.MatchString(strings.TrimSpace(t)) {
				j.deny("D7", "The command would hand a shell or an interpreter to somebody over the network. Nothing here does that.")
			}
		}
	}
}

// takeApart replaces each literal of the code by a mark with its number, and drops comments.
func takeApart(s, lang string) (string, []string) {
	var b strings.Builder
	var texts []string
	put := func(mark, text string) {
		b.WriteString(mark)
		b.WriteString(itoa(len(texts)))
		b.WriteString(mark)
		texts = append(texts, text)
	}
	pairs := map[byte]byte{'(': ')', '{': '}', '[': ']', '<': '>'}
	for k := 0; k < len(s); {
		rest := s[k:]
		switch ch := s[k]; {
		case (lang == "python" || lang == "other") && (strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, "'''")):
			end := strings.Index(rest[3:], rest[:3])
			if end < 0 {
				end = len(rest) - 3
			}
			put(textMark, unescape(rest[3:3+end]))
			k = min(len(s), k+end+6)
		case ch == '"' || ch == '\'' && lang != "vim" && lang != "awk" || ch == '`':
			end := k + 1
			for end < len(s) && s[end] != ch {
				if s[end] == '\\' {
					end++
				}
				end++
			}
			text := unescape(s[k+1 : min(end, len(s))])
			if ch == '`' && (lang == "perl" || lang == "ruby" || lang == "php" || lang == "other") {
				put(execMark, text)
			} else {
				put(textMark, text)
			}
			k = min(len(s), end+1)
		case (lang == "perl" || lang == "ruby") && (strings.HasPrefix(rest, "qx") || strings.HasPrefix(rest, "%x")) && len(rest) > 3 && !word(rest[2]) && (k == 0 || !word(s[k-1])),
			lang == "perl" && (strings.HasPrefix(rest, "q") && len(rest) > 2 && !word(rest[1]) && rest[1] != ' ' && rest[1] != '=' && rest[1] != ',' && rest[1] != ')' && rest[1] != ';' || strings.HasPrefix(rest, "qq") && len(rest) > 3 && !word(rest[2]) && rest[2] != ' ') && (k == 0 || !word(s[k-1]) && s[k-1] != '$'):
			from := 2
			if rest[0] == 'q' && !word(rest[1]) {
				from = 1
			}
			closing := rest[from]
			if p, ok := pairs[closing]; ok {
				closing = p
			}
			end := strings.IndexByte(rest[from+1:], closing)
			if end < 0 {
				end = len(rest) - from - 1
			}
			mark := textMark
			if rest[0] == '%' || rest[1] == 'x' {
				mark = execMark
			}
			put(mark, rest[from+1:from+1+end])
			k = min(len(s), k+from+end+2)
		case ch == '#' && lang != "node" && lang != "vim" && (k == 0 || strings.IndexByte(" \t\n;", s[k-1]) >= 0),
			strings.HasPrefix(rest, "//") && (lang == "node" || lang == "php") && (k == 0 || s[k-1] != ':'):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			k += end
		default:
			b.WriteByte(ch)
			k++
		}
	}
	return b.String(), texts
}

func word(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// unescape decodes what backslashes mean in most languages.
func unescape(s string) string {
	if !strings.ContainsRune(s, '\\') {
		return s
	}
	return ansi(s)
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func atoi(s string) (n int) {
	for _, r := range s {
		n = n*10 + int(r-'0')
	}
	return n
}

// joined makes one literal of literals that the code joins.
func joined(bare string, texts []string) (string, []string) {
	for range len(texts) {
		loc := glue.FindStringSubmatchIndex(bare)
		if loc == nil {
			break
		}
		a, b := atoi(bare[loc[2]:loc[3]]), atoi(bare[loc[4]:loc[5]])
		texts = append(texts, texts[a]+texts[b])
		bare = bare[:loc[0]] + textMark + itoa(len(texts)-1) + textMark + bare[loc[1]:]
	}
	return bare, texts
}

// A listing is code that has been taken apart.
type listing struct {
	j     *judge
	c     command
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
		text = regexp.MustCompile(`#\{[^}]*\}`).ReplaceAllString(text, string(some))
	}
	if _, why := parse(Normal(text)); why != "" && !strings.Contains(why, "holds a") { // perhaps a list's first word, or no shell text at all
		return
	}
	was := j.rule
	j.run(j.clone(p.c.env), set{text}, nil)
	if was == "" && j.rule != "" && j.rule != "S3" {
		j.rule = "D10"
	}
}

// calls looks at all calls in the code that start something or remove a tree.
func (p *listing) calls(bare string) {
	j := p.j
	for _, m := range regexp.MustCompile(execMark+`(\d+)`+execMark).FindAllStringSubmatch(bare, -1) {
		p.run(p.texts[atoi(m[1])])
	}
	for _, m := range callOf.FindAllStringSubmatchIndex(bare, -1) {
		if !p.starts(bare[m[2]:m[3]], bare[m[4]:m[5]]) || !j.spend(len(bare)/8) {
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
			if j.world.whole(at) || j.world.system(at) {
				j.deny("D10", "Its code would delete %s with all that is in it, which nothing brings back. Name the folder that is meant.", shown(at))
			}
			j.effect(Deletes, at, true)
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
		if regexp.MustCompile(`[^\w.]` + regexp.QuoteMeta(name) + `\b`).MatchString(" " + args) {
			args += " " + v
		}
	}
	var words []string
	for _, m := range refOf.FindAllStringSubmatch(args, -1) {
		t := p.texts[atoi(m[1])]
		words = append(words, t)
		p.run(t)
	}
	for k := range words {
		if k+1 < len(words) {
			p.run(strings.TrimSpace(quoteAll(words[k:])))
		}
	}
	if len(words) == 1 && strings.Contains(args, "split") {
		p.run(words[0])
	}
}

// places are the paths that the literals of a call's arguments name.
func (p *listing) places(args string) []string {
	for name, v := range p.vars {
		if regexp.MustCompile(`[^\w.]` + regexp.QuoteMeta(name) + `\b`).MatchString(" " + args) {
			args += " " + v
		}
	}
	var all []string
	if m := homeOf.FindString(args); m != "" {
		home := !strings.Contains(m, textMark)
		for _, r := range refOf.FindAllStringSubmatch(m, -1) {
			home = home || p.texts[atoi(r[1])] == "HOME" || p.texts[atoi(r[1])] == "USERPROFILE"
		}
		if rest := strings.TrimLeft(strings.Replace(args, m, "", 1), "( "); home && !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, "+") && !strings.HasPrefix(rest, ",") {
			all = append(all, p.j.world.Home)
		}
	}
	for _, m := range refOf.FindAllStringSubmatch(args, -1) {
		if t := p.texts[atoi(m[1])]; strings.HasPrefix(t, "/") || strings.HasPrefix(t, "~") || strings.HasPrefix(t, ".") || drive(t) {
			all = append(all, p.place(t))
		}
	}
	return all
}

// place is the path that a literal names.
func (p *listing) place(t string) string {
	switch {
	case t == "~" || strings.HasPrefix(t, "~/"):
		t = p.j.world.Home + t[1:]
	case strings.HasPrefix(t, "$HOME"):
		t = p.j.world.Home + strings.TrimPrefix(t, "$HOME")
	}
	dir := p.c.dir
	if dir == "" {
		dir = p.c.cwd[0]
	}
	return pathOf(dir, strings.ReplaceAll(t, "*", string(star)))
}

// awk judges pipes to and from commands, and files that are printed to.
func (p *listing) awk(bare string) {
	mark := textMark + `(\d+)` + textMark
	for _, m := range regexp.MustCompile(mark+`\s*\|&?\s*getline|\|&?\s*`+mark).FindAllStringSubmatch(bare, -1) {
		p.run(p.texts[atoi(m[1]+m[2])])
	}
	for _, m := range regexp.MustCompile(mark+`\s*\|&?\s*`+mark).FindAllStringSubmatch(bare, -1) { // text into a shell
		if cmd := strings.Fields(p.texts[atoi(m[2])]); len(cmd) > 0 && languageOf(called(cmd[0])) == "sh" {
			p.run(p.texts[atoi(m[1])])
		}
	}
	for _, m := range regexp.MustCompile(`>>?\s*`+mark).FindAllStringSubmatch(bare, -1) {
		if t := p.texts[atoi(m[1])]; strings.ContainsAny(t, "/.") {
			p.j.effect(Writes, p.place(t), false)
		}
	}
}
