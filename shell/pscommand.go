package shell

import (
	"slices"
	"strings"
)

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

// A psCommand is a command with its words, in one reading.
type psCommand struct {
	name   string
	params map[string][]string // by name in lower case, as it was written
	rest   []string
	words  []string // all, in order
}

// psFlags are the parameters without a value.
var psFlags = []string{"recurse", "force", "confirm", "whatif", "passthru", "asjob", "nonewline", "append", "noclobber", "raw", "wait", "nonewwindow", "leaf", "name", "directory", "file", "hidden", "verbose", "usebasicparsing", "casesensitive", "simplematch", "quiet", "removedata", "removeoem", "line", "word", "character", "descending", "unique", "wait", "allmatches", "list", "restart", "r", "s", "fo", "f", "rec", "readonly", "useDefaultCredentials"}

// has reports whether a switch was given, by its name or the start of it.
func (c psCommand) has(full string, least int) bool {
	for given := range c.params {
		if len(given) >= least && strings.HasPrefix(full, given) {
			return true
		}
	}
	return false
}

// value is what a parameter was given.
func (c psCommand) value(full string, least int) []string {
	var all []string
	for given, v := range c.params {
		if len(given) >= least && strings.HasPrefix(full, given) {
			all = append(all, v...)
		}
	}
	return all
}

// word reads a bare word: quotes and variables within it are part of it.
func (p *psReader) word() set {
	v := set{}
	for p.more() {
		switch c := p.s[p.k]; {
		case c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '|' || c == '&' || c == ',' || c == ')' || c == '}' || c == '{' || c == '>' || c == '<' && p.peek(1) != '#':
			if len(v) == 0 {
				return set{""}
			}
			return v
		case c == '(' && len(v) > 0:
			return v
		case c == '\'' || c == '"':
			v = p.j.join(v, p.quoted())
		case c == '$' && (word(p.peek(1)) || p.peek(1) == '{' || p.peek(1) == '('):
			v = p.j.join(v, p.dollar(len(v) == 0))
		case c == '`' && p.k+1 < len(p.s):
			p.k += 2
			if p.s[p.k-1] != '\n' {
				v = p.j.join(v, set{string(p.s[p.k-1])})
			}
		default:
			r := string(c)
			switch c {
			case '*':
				r = string(star)
			case '?':
				r = string(mark)
			}
			v = p.j.join(v, set{r})
			p.k++
		}
	}
	return v
}

// argument reads one argument of a command, which may be a list.
func (p *psReader) argument() set {
	one := func() set {
		rest := p.s[p.k:]
		switch c := rest[0]; {
		case c == '(' || c == '{' || strings.HasPrefix(rest, "@(") || strings.HasPrefix(rest, "@{") || strings.HasPrefix(rest, "@'") || strings.HasPrefix(rest, `@"`):
			return p.unary()
		case c == '@' && len(rest) > 1 && word(rest[1]): // the words of a table
			p.k++
			start := p.k
			for p.k < len(p.s) && word(p.s[p.k]) {
				p.k++
			}
			return p.variable(psName(p.s[start:p.k]))
		case c == '$' && strings.HasPrefix(rest, "$("):
			return p.dollar(true)
		}
		return p.word()
	}
	v := one()
	for p.more() {
		save := p.k
		p.blanks(false)
		if p.peek(0) != ',' {
			p.k = save
			break
		}
		p.k++
		p.blanks(true)
		if !p.more() {
			break
		}
		v = p.j.join(mapped(v, func(s string) string { return s + string(gap) }), one())
	}
	return v
}

// command reads a command and judges it in all readings. After a call operator its name may be any value.
func (p *psReader) command(in set, called bool) set {
	p.blanks(false)
	if !p.more() {
		return in
	}
	var words []set
	if c := p.peek(0); called && strings.IndexByte("({'\"$[@", c) >= 0 {
		v := p.unary()
		p.invokeBlock(v)
		words = append(words, v)
	} else {
		words = append(words, p.word())
	}
	var to []set
	item := p.item
	if len(in) > 0 {
		p.item = in
	}
	defer func() { p.item = item }()
	for p.more() {
		p.blanks(false)
		if !p.more() {
			break
		}
		c := p.peek(0)
		if strings.IndexByte("\n;|)}&", c) >= 0 {
			break
		}
		if c == '>' || (c >= '1' && c <= '6' || c == '*') && p.peek(1) == '>' {
			for p.more() && strings.IndexByte("123456*>", p.peek(0)) >= 0 {
				p.k++
			}
			if p.peek(0) == '&' {
				p.k += 2
				continue
			}
			p.blanks(false)
			to = append(to, p.argument())
			continue
		}
		before := p.k
		if v := p.argument(); len(v) > 0 {
			words = append(words, v)
		}
		if p.k == before {
			p.k++
		}
	}
	var out set
	for _, argv := range p.j.argvs(words) {
		if len(argv) > 0 {
			out = p.j.add(out, p.simple(argv, in))
		}
	}
	dir := p.e.cwd[0]
	for _, argv := range p.j.argvs(to) {
		if len(argv) > 0 && argv[0] != "nul" {
			p.j.winEffect(Writes, dir, argv[0], false)
			p.j.save(p.e, p.j.world.winPath(dir, argv[0]), out)
		}
	}
	return out
}

// simple judges a command in one reading.
func (p *psReader) simple(argv []string, in set) set {
	j := p.j
	if !j.spend(8) {
		return nil
	}
	if t := taint(argv[0]); t != "" {
		j.denyFedWindows()
		return nil
	}
	if strings.HasPrefix(argv[0], block) {
		return unknown
	}
	c := psCommand{words: argv[1:], params: map[string][]string{}}
	name := strings.ToLower(argv[0])
	plain := called(name)
	if k := strings.LastIndexByte(plain, '\\'); k >= 0 && strings.HasPrefix(name, "microsoft.") { // with its module
		plain = plain[k+1:]
	}
	if body, ok := p.e.vars["%func "+plain]; ok && p.deep < 100 {
		p.e.set("%args", set{strings.Join(argv[1:], string(gap))})
		p.deep += 20
		p.run([]set{body})
		p.deep -= 20
		return unknown
	}
	if v, ok := p.e.vars["%alias "+plain]; ok && len(v) == 1 {
		plain = v[0]
	} else if full, ok := psAlias[plain]; ok && plain == name {
		plain = full
	}
	c.name = plain
	for k := 1; k < len(argv); k++ {
		a := argv[k]
		if len(a) < 2 || a[0] != '-' || !word(a[1]) || a[1] >= '0' && a[1] <= '9' {
			c.rest = append(c.rest, a)
			continue
		}
		given, v, glued := strings.Cut(strings.ToLower(a[1:]), ":")
		switch {
		case glued && v != "":
			c.params[given] = append(c.params[given], a[len(given)+2:])
		case slices.ContainsFunc(psFlags, func(f string) bool { return f == given }) || len(given) > 1 && slices.ContainsFunc([]string{"recurse", "force", "confirm"}, func(f string) bool { return strings.HasPrefix(f, given) }) || k+1 == len(argv):
			c.params[given] = append(c.params[given], "")
		default:
			for k++; k < len(argv); k++ { // a value, and more of it where it is a list
				c.params[given] = append(c.params[given], argv[k])
				break
			}
		}
	}
	j.touch(Runs, c.name)
	if len(j.parts) < maxListed {
		j.parts = append(j.parts, mapped(argv, shown))
	}
	return p.cmdlet(c, argv, in)
}

// cmdlet judges the commands of PowerShell itself; all others are programs.
func (p *psReader) cmdlet(c psCommand, argv []string, in set) set {
	j, dir := p.j, p.e.cwd[0]
	paths := slices.Concat(c.value("path", 1), c.value("literalpath", 2), c.value("filepath", 2), c.rest)
	all := func(kind TouchKind, tree bool, list []string) {
		for _, w := range list {
			j.winEffect(kind, dir, w, tree)
		}
	}
	switch c.name {
	case "remove-item", "remove-itemproperty", "clear-recyclebin":
		tree := c.has("recurse", 1)
		if c.name == "remove-item" && len(paths) == 0 || c.has("inputobject", 2) {
			for _, text := range in {
				for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r == gap || r == '\n' }) {
					j.winEffect(Deletes, dir, read(w, true), true)
					j.winEffect(Deletes, dir, read(w, false), true)
				}
			}
		}
		if c.name == "remove-item" {
			all(Deletes, tree, paths)
		}
		return nil
	case "get-childitem", "get-item", "resolve-path":
		if len(paths) == 0 {
			paths = []string{"."}
		}
		all(Reads, false, paths)
		var out []string
		for _, w := range paths {
			at := j.world.winPath(dir, w)
			out = append(out, at)
			if c.name == "get-childitem" {
				out = append(out, strings.TrimSuffix(at, "/")+"/"+string(star))
			}
		}
		return set{strings.Join(out, string(gap))}
	case "get-content", "select-string", "import-csv", "get-filehash", "test-path":
		if c.name == "select-string" && len(c.value("pattern", 2)) == 0 && len(c.rest) > 0 {
			paths = paths[:len(paths)-len(c.rest)]
			paths = append(paths, c.rest[1:]...)
		}
		all(Reads, false, paths)
		out := set{string(hole) + in.taint()}
		for _, w := range paths {
			if content, ok := p.e.saved[j.world.winPath(dir, w)]; ok {
				out = content
			}
		}
		return out
	case "set-content", "add-content", "out-file", "tee-object", "new-item", "clear-content", "export-csv", "set-item", "clear-item", "set-itemproperty", "export-clixml":
		target := append(slices.Concat(c.value("path", 1), c.value("literalpath", 2), c.value("filepath", 2)), c.rest[:min(1, len(c.rest))]...)
		for _, n := range c.value("name", 2) {
			if c.name == "new-item" && len(target) > 0 {
				target = append(target, target[0]+"/"+n)
			}
		}
		content := slices.Concat(set(c.value("value", 2)), in, set(c.rest[min(1, len(c.rest)):]))
		for _, w := range target {
			j.winEffect(Writes, dir, w, false)
			j.save(p.e, j.world.winPath(dir, w), content)
		}
		return in
	case "copy-item", "move-item", "rename-item":
		from := slices.Concat(c.value("path", 1), c.value("literalpath", 2), c.rest[:min(1, len(c.rest))])
		target := slices.Concat(c.value("destination", 2), c.value("newname", 2), c.rest[min(1, len(c.rest)):])
		for _, w := range from {
			at := j.world.winPath(dir, w)
			switch {
			case c.name != "copy-item" && j.world.startup(at):
				j.effect(Deletes, at, false)
			default:
				j.winEffect(Reads, dir, w, false)
			}
			if content, ok := p.e.saved[at]; ok {
				for _, t := range target {
					j.save(p.e, j.world.winPath(dir, t), content)
				}
			}
		}
		all(Writes, false, target)
		return nil
	case "set-location", "push-location":
		if len(paths) > 0 {
			all(Reads, false, paths[:1])
			p.e.cwd = set{j.world.winPath(dir, paths[0])}
		}
		return nil
	case "get-location":
		return p.e.cwd
	case "write-output", "write-host", "write-verbose", "write-information", "write-warning", "write-error", "out-string", "out-host":
		if len(c.rest)+len(c.params) == 0 {
			return in
		}
		return set{strings.Join(slices.Concat(c.rest, c.value("inputobject", 2), c.value("message", 2)), string(gap))}
	case "out-null":
		return nil
	case "join-path":
		return set{strings.Join(slices.Concat(c.value("path", 1), c.value("childpath", 1), c.rest), "/")}
	case "split-path":
		return unknown
	case "invoke-expression":
		p.run([]set{append(set(c.value("command", 1)), strings.Join(c.rest, " "))})
		if len(c.rest)+len(c.params) == 0 {
			p.run([]set{in})
		}
		return unknown
	case "invoke-command", "start-job", "start-threadjob", "foreach-object", "where-object", "register-scheduledjob", "measure-command":
		return p.blocks(c, in)
	case "start-process", "invoke-item":
		p.process(c)
		return nil
	case "invoke-webrequest", "invoke-restmethod", "start-bitstransfer":
		return p.fetches(c)
	case "new-object":
		return nonzero
	case "set-alias", "new-alias":
		names := slices.Concat(c.value("name", 1), c.value("value", 1), c.rest)
		if len(names) > 1 {
			target := strings.ToLower(names[len(names)-1])
			if full, ok := psAlias[target]; ok {
				target = full
			}
			p.e.set("%alias "+strings.ToLower(names[0]), set{target})
		}
		return nil
	case "set-variable", "new-variable":
		names := slices.Concat(c.value("name", 1), c.value("value", 1), c.rest)
		if len(names) > 1 {
			p.e.set("%"+strings.ToLower(names[0]), set{names[len(names)-1]})
		}
		return nil
	case "get-variable":
		if len(c.rest) > 0 {
			return p.variable(strings.ToLower(c.rest[0]))
		}
	case "get-command":
		if len(c.rest) > 0 {
			return set{unquote(c.rest[0])}
		}
	case "import-module", ".":
		p.script(c.rest)
		return nil
	case "sort-object", "select-object", "format-table", "format-list", "tee-object ", "group-object", "convertto-json", "convertfrom-json", "measure-object":
		if c.name == "measure-object" {
			return nonzero
		}
		return in
	}
	return p.other(c, argv, in)
}

// other judges the commands that rules name by what they are for, and programs.
func (p *psReader) other(c psCommand, argv []string, in set) set {
	j := p.j
	low := strings.ToLower(strings.Join(argv, " "))
	switch c.name {
	case "format-volume", "clear-disk", "initialize-disk", "remove-partition", "set-disk", "new-partition", "reset-physicaldisk", "remove-virtualdisk", "remove-storagepool":
		if !c.has("whatif", 2) && (c.name != "set-disk" && c.name != "new-partition") {
			j.deny("W4", "It would change or wipe a whole disk, volume or boot record, which nothing brings back. Do that by hand.")
		}
	case "set-executionpolicy":
		for _, v := range append(c.value("executionpolicy", 2), c.rest...) {
			if v = strings.ToLower(v); v == "bypass" || v == "unrestricted" {
				j.deny("W5", "It would switch off the check of which scripts may run. Give the policy to the one script that needs it.")
			}
		}
	case "stop-computer", "restart-computer":
		if !c.has("whatif", 2) {
			j.deny("W6", "It would stop or restart the machine. Do that by hand.")
		}
	case "remove-ciminstance", "remove-wmiobject", "invoke-cimmethod", "invoke-wmimethod":
		if strings.Contains(low+strings.ToLower(strings.Join(in, "")), "shadowcopy") {
			j.shadow()
		}
		if strings.Contains(low, "win32shutdown") || strings.Contains(low, "reboot") {
			j.deny("W6", "It would stop or restart the machine. Do that by hand.")
		}
		for _, cmd := range append(c.value("arguments", 2), c.value("argumentlist", 3)...) {
			if strings.Contains(low, "win32_process") {
				j.inner(p.e, Cmd, strings.TrimPrefix(strings.TrimSpace(strings.ReplaceAll(cmd, string(gap), " ")), "-CommandLine "), nil)
			}
		}
	case "get-ciminstance", "get-wmiobject":
		return set{strings.Join(argv[1:], " ")}
	case "remove-wbbackupset", "remove-wbcatalog", "disable-computerrestore":
		j.shadow()
	case "new-localuser", "add-localgroupmember", "new-aduser", "add-adgroupmember":
		j.account()
	}
	dir := p.e.cwd[0]
	if content, ok := p.e.saved[j.world.winPath(dir, argv[0])]; ok {
		for _, text := range content {
			if taint(text) != "" {
				j.denyFedWindows()
			} else {
				j.inner(p.e, PowerShell, text, nil)
			}
		}
		return unknown
	}
	if strings.ContainsRune(c.name, some) && !strings.ContainsAny(argv[0], `/\`) { // a name that is not known, on something that must stay
		for _, w := range c.rest {
			if at := j.world.winPath(dir, w); c.has("recurse", 1) && (j.world.whole(at) || j.world.windowsTree(at)) {
				j.deny("W1", "It would run something that is not known on %s with all that is in it. Write the command out.", shown(at))
			}
		}
		return unknown
	}
	child := j.clone(p.e)
	child.in = in
	rest := make([]string, len(argv))
	for k, w := range argv {
		rest[k] = w
		if k > 0 && (strings.HasPrefix(w, ".") || drive(w)) && strings.Contains(w, `\`) {
			rest[k] = strings.ReplaceAll(w, `\`, "/")
		}
	}
	rest[0] = c.name
	out := j.simple(child, rest, false)
	if c.name == "get-content" {
		return out
	}
	return out
}

// blocks judges what runs script blocks, for each item of the input.
func (p *psReader) blocks(c psCommand, in set) set {
	item := p.item
	if len(in) > 0 {
		p.item = set{}
		for _, s := range in {
			for _, one := range strings.Split(s, string(gap)) {
				p.item = p.j.add(p.item, set{one})
			}
		}
	}
	defer func() { p.item = item }()
	for _, w := range c.words {
		if strings.HasPrefix(w, block) {
			inner := &psReader{j: p.j, e: p.e, s: strings.TrimPrefix(w, block), item: p.item, deep: p.deep + 1}
			p.j.deeper(func() { inner.statements(0, nil) })
		}
	}
	for _, w := range slices.Concat(c.value("scriptblock", 2), c.value("filepath", 2)) {
		if taint(w) != "" {
			p.j.denyFedWindows()
		}
	}
	if c.name == "where-object" {
		return in
	}
	if c.name == "foreach-object" && len(c.rest) == 1 && strings.EqualFold(c.rest[0], "fullname") {
		return in
	}
	return set{string(hole) + in.taint()}
}

// process judges what Start-Process starts.
func (p *psReader) process(c psCommand) {
	words := slices.Concat(c.value("filepath", 2), c.value("path", 2), c.rest[:min(1, len(c.rest))])
	for _, a := range slices.Concat(c.value("argumentlist", 1), c.rest[min(1, len(c.rest)):]) {
		words = append(words, a)
	}
	p.started(words)
}

// started judges a program with its arguments, of which one may hold them all.
func (p *psReader) started(words []string) {
	if len(words) == 0 {
		return
	}
	p.script(words[:1])
	argv := words[:1:1]
	for _, w := range words[1:] {
		if name := called(strings.ToLower(words[0])); name == "cmd" || name == "powershell" || name == "pwsh" {
			argv = append(argv, strings.Fields(w)...)
		} else {
			more, _ := cmdWords(w)
			argv = append(argv, more...)
		}
	}
	child := p.j.clone(p.e)
	child.in = nil
	p.j.simple(child, argv, false)
}

// script judges files that are run, where this command line wrote them.
func (p *psReader) script(names []string) {
	for _, n := range names {
		p.j.ranFile(command{env: p.e, dir: p.e.cwd[0]}, n)
	}
}

// fetches judges what fetches something, and notes where it lands.
func (p *psReader) fetches(c psCommand) set {
	dir := p.e.cwd[0]
	for _, u := range slices.Concat(c.value("uri", 1), c.value("source", 2), c.rest) {
		if h := hostOf(u); h != "" {
			p.j.touch(Calls, h)
		}
	}
	to := slices.Concat(c.value("outfile", 2), c.value("destination", 2))
	if c.name == "start-bitstransfer" && len(c.rest) > 1 {
		to = append(to, c.rest[1])
	}
	for _, f := range append(to, c.value("o", 1)...) {
		p.j.winEffect(Writes, dir, f, false)
		p.j.save(p.e, p.j.world.winPath(dir, f), set{string(fromNet)})
	}
	return set{string(fromNet)}
}

// psPlain are the commands that only read, in lower case; the value says how many operands are text.
var psPlain = map[string]int{
	"get-childitem": 0, "get-content": 0, "get-item": 0, "get-location": 0, "get-date": textOnly, "get-command": textOnly, "get-filehash": 0, "get-executionpolicy": textOnly,
	"select-string": 1, "test-path": 0, "resolve-path": 0, "measure-object": textOnly, "sort-object": textOnly, "select-object": textOnly, "format-table": textOnly,
	"format-list": textOnly, "write-output": textOnly,
}

// psProved reports whether a text is made of commands of the table only, every word written out.
func psProved(w World, text string) bool {
	p := &proof{w, []string{w.Dir}}
	if !w.inside(w.Dir) {
		return false
	}
	for _, part := range psParts(text) {
		words, ok := psWords(part)
		if !ok || len(words) == 0 {
			return false
		}
		name := strings.ToLower(words[0])
		if full, ok := psAlias[name]; ok {
			name = full
		}
		if name == "git" {
			if !p.git(mapped(words[1:], unquote)) {
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
			case strings.HasSuffix(w, ":") || !p.path(w):
				return false
			}
		}
	}
	return true
}

// psParts takes a text apart at pipes, semicolons, line ends, && and ||.
func psParts(s string) []string {
	var all []string
	quote := byte(0)
	start := 0
	for k := 0; k < len(s); k++ {
		switch c := s[k]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '|' || c == ';' || c == '\n' || c == '&' && k+1 < len(s) && s[k+1] == '&' && k > start:
			if strings.TrimSpace(s[start:k]) != "" {
				all = append(all, s[start:k])
			}
			if k+1 < len(s) && s[k+1] == c {
				k++
			}
			start = k + 1
		}
	}
	if strings.TrimSpace(s[start:]) != "" {
		all = append(all, s[start:])
	}
	return all
}

// psWords takes one command apart, and fails at whatever expands, calls, assigns or redirects to anything but nothing.
func psWords(s string) (words []string, ok bool) {
	for _, nothing := range []string{"2>$null", "2> $null", ">$null", "> $null", "2>&1"} {
		s = strings.ReplaceAll(s, " "+nothing, " ")
	}
	var b strings.Builder
	open := false
	for k := 0; k < len(s); k++ {
		switch c := s[k]; {
		case c == '\'' || c == '"':
			end := strings.IndexByte(s[k+1:], c)
			if end < 0 || c == '"' && strings.ContainsAny(s[k+1:k+1+end], "$`") {
				return nil, false
			}
			b.WriteString(s[k+1 : k+1+end])
			k += end + 1
			open = true
		case c == ' ' || c == '\t' || c == ',':
			if open {
				words = append(words, b.String())
			}
			b.Reset()
			open = false
		case strings.IndexByte("$`(){}[]&@<>=#%", c) >= 0:
			return nil, false
		case c == '*':
			b.WriteRune(star)
			open = true
		case c == '?':
			b.WriteRune(mark)
			open = true
		default:
			b.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, b.String())
	}
	return words, true
}
