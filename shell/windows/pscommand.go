package windows

import (
	"github.com/jackline-ai/jackline/phrase"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/shell/posix"
	"github.com/jackline-ai/jackline/shell/proof"
	"github.com/jackline-ai/jackline/shell/source"
	"github.com/jackline-ai/jackline/shell/value"
)

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

// psRight is a right in the arguments of icacls, which is no expression there.
var psRight = phrase.New(`^\((?:OI|CI|IO|NP|I|F|M|RX|R|W)\)`)

// word reads a bare word: quotes and variables within it are part of it.
func (p *psReader) word() value.Set {
	v := value.Set{}
	for p.more() {
		switch c := p.s[p.k]; {
		case c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '|' || c == '&' || c == ',' || c == ')' || c == '}' || c == '{' || c == '>' || c == '<' && p.peek(1) != '#':
			if len(v) == 0 {
				return value.Set{""}
			}
			return v
		case c == '(' && len(v) > 0:
			m := psRight.FindString(p.s[p.k:])
			if m == "" {
				return v
			}
			v = p.j.Join(v, value.Set{m})
			p.k += len(m)
		case c == '\'' || c == '"':
			v = p.j.Join(v, p.quoted())
		case c == '$' && (source.Word(p.peek(1)) || p.peek(1) == '{' || p.peek(1) == '('):
			v = p.j.Join(v, p.dollar(len(v) == 0))
		case c == '`' && p.k+1 < len(p.s):
			p.k += 2
			if p.s[p.k-1] != '\n' {
				v = p.j.Join(v, value.Set{string(p.s[p.k-1])})
			}
		default:
			r := string(c)
			switch c {
			case '*':
				r = string(value.Star)
			case '?':
				r = string(value.Mark)
			}
			v = p.j.Join(v, value.Set{r})
			p.k++
		}
	}
	return v
}

// argument reads one argument of a command, which may be a list.
func (p *psReader) argument() value.Set {
	one := func() value.Set {
		if !p.more() {
			return nil
		}
		rest := p.s[p.k:]
		switch c := rest[0]; {
		case c == '(' || c == '{' || strings.HasPrefix(rest, "@(") || strings.HasPrefix(rest, "@{") || strings.HasPrefix(rest, "@'") || strings.HasPrefix(rest, `@"`):
			return p.unary()
		case c == '@' && len(rest) > 1 && source.Word(rest[1]): // the words of a table
			p.k++
			start := p.k
			for p.k < len(p.s) && source.Word(p.s[p.k]) {
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
		v = p.j.Join(value.Mapped(v, func(s string) string { return s + string(value.Gap) }), one())
	}
	return v
}

// command reads a command and judges it in all readings. After a call operator its name may be any value.
func (p *psReader) command(in value.Set, called bool) value.Set {
	p.blanks(false)
	if !p.more() {
		return in
	}
	var words []value.Set
	if c := p.peek(0); called && strings.IndexByte("({'\"$[@", c) >= 0 {
		v := p.unary()
		p.invokeBlock(v)
		words = append(words, v)
	} else {
		words = append(words, p.word())
	}
	var to []value.Set
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
	var out value.Set
	for _, argv := range p.j.Argvs(words) {
		if len(argv) > 0 {
			out = p.j.Add(out, p.simple(argv, in))
		}
	}
	dir := p.e.Cwd[0]
	for _, argv := range p.j.Argvs(to) {
		if len(argv) > 0 && argv[0] != "nul" {
			p.j.winEffect(value.Writes, dir, argv[0], false)
			p.j.Save(p.e, p.j.World.WinPath(dir, argv[0]), out)
		}
	}
	return out
}

// simple judges a command in one reading.
func (p *psReader) simple(argv []string, in value.Set) value.Set {
	j := p.j
	if !j.Spend(8) {
		return nil
	}
	if t := value.Taint(argv[0]); t != "" {
		j.denyFedWindows()
		return nil
	}
	if strings.HasPrefix(argv[0], block) {
		return value.Anything()
	}
	c := psCommand{words: argv[1:], params: map[string][]string{}}
	name := strings.ToLower(argv[0])
	plain := value.Called(name)
	if k := strings.LastIndexByte(plain, '\\'); k >= 0 && strings.HasPrefix(name, "microsoft.") { // with its module
		plain = plain[k+1:]
	}
	if body, ok := p.e.Vars["%func "+plain]; ok && p.deep < 100 {
		p.e.Set("%args", value.Set{strings.Join(argv[1:], string(value.Gap))})
		p.deep += 20
		p.run([]value.Set{body})
		p.deep -= 20
		return value.Anything()
	}
	if v, ok := p.e.Vars["%alias "+plain]; ok && len(v) == 1 {
		plain = v[0]
	} else if full, ok := proof.PsCanonical(plain); ok && plain == name {
		plain = full
	}
	c.name = plain
	for k := 1; k < len(argv); k++ {
		a := argv[k]
		if len(a) < 2 || a[0] != '-' || !source.Word(a[1]) || a[1] >= '0' && a[1] <= '9' {
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
	j.Touch(value.Runs, c.name)
	if strings.ContainsAny(argv[0], `/\`) {
		j.File(j.World.WinPath(p.e.Cwd[0], argv[0]))
	}
	if len(j.Parts) < posix.MaxListed {
		j.Parts = append(j.Parts, value.Mapped(argv, value.Shown))
	}
	return p.cmdlet(c, argv, in)
}

// cmdlet judges the commands of PowerShell itself; all others are programs.
func (p *psReader) cmdlet(c psCommand, argv []string, in value.Set) value.Set {
	j, dir := p.j, p.e.Cwd[0]
	paths := slices.Concat(c.value("path", 1), c.value("literalpath", 2), c.value("filepath", 2), c.rest)
	all := func(kind value.TouchKind, tree bool, list []string) {
		for _, w := range list {
			j.winEffect(kind, dir, w, tree)
		}
	}
	if out, ok := p.filed(c, paths, in); ok {
		return out
	}
	switch c.name {
	case "set-location", "push-location":
		if len(paths) > 0 {
			all(value.Reads, false, paths[:1])
			p.e.Cwd = value.Set{j.World.WinPath(dir, paths[0])}
		}
		return nil
	case "get-location":
		return p.e.Cwd
	case "write-output", "write-host", "write-verbose", "write-information", "write-warning", "write-error", "out-string", "out-host":
		if len(c.rest)+len(c.params) == 0 {
			return in
		}
		return value.Set{strings.Join(slices.Concat(c.rest, c.value("inputobject", 2), c.value("message", 2)), string(value.Gap))}
	case "out-null":
		return nil
	case "join-path":
		return value.Set{strings.Join(slices.Concat(c.value("path", 1), c.value("childpath", 1), c.rest), "/")}
	case "split-path":
		return value.Anything()
	}
	return p.runner(c, argv, in)
}

// filed judges the commands that read, write, move and remove files. It reports whether c is one.
func (p *psReader) filed(c psCommand, paths []string, in value.Set) (out value.Set, is bool) {
	j, dir := p.j, p.e.Cwd[0]
	all := func(kind value.TouchKind, tree bool, list []string) {
		for _, w := range list {
			j.winEffect(kind, dir, w, tree)
		}
	}
	switch c.name {
	case "remove-item", "remove-itemproperty", "clear-recyclebin":
		tree := c.has("recurse", 1)
		if c.name == "remove-item" && len(paths) == 0 || c.has("inputobject", 2) {
			for _, text := range in {
				for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r == value.Gap || r == '\n' }) {
					j.winEffect(value.Deletes, dir, value.Read(w, true), true)
					j.winEffect(value.Deletes, dir, value.Read(w, false), true)
				}
			}
		}
		if c.name == "remove-item" {
			all(value.Deletes, tree, paths)
		}
		return nil, true
	case "get-childitem", "get-item", "resolve-path":
		if len(paths) == 0 {
			paths = []string{"."}
		}
		all(value.Reads, false, paths)
		var out []string
		for _, w := range paths {
			at := j.World.WinPath(dir, w)
			out = append(out, at)
			if c.name == "get-childitem" {
				out = append(out, strings.TrimSuffix(at, "/")+"/"+string(value.Star))
			}
		}
		return value.Set{strings.Join(out, string(value.Gap))}, true
	case "get-content", "select-string", "import-csv", "get-filehash", "test-path":
		if c.name == "select-string" && len(c.value("pattern", 2)) == 0 && len(c.rest) > 0 {
			paths = paths[:len(paths)-len(c.rest)]
			paths = append(paths, c.rest[1:]...)
		}
		all(value.Reads, false, paths)
		out := value.Set{string(value.Hole) + in.Taint()}
		for _, w := range paths {
			if content, ok := p.e.Saved[j.World.WinPath(dir, w)]; ok {
				out = content
			}
		}
		return out, true
	case "set-content", "add-content", "out-file", "tee-object", "new-item", "clear-content", "export-csv", "set-item", "clear-item", "set-itemproperty", "export-clixml":
		target := append(slices.Concat(c.value("path", 1), c.value("literalpath", 2), c.value("filepath", 2)), c.rest[:min(1, len(c.rest))]...)
		for _, n := range c.value("name", 2) {
			if c.name == "new-item" && len(target) > 0 {
				target = append(target, target[0]+"/"+n)
			}
		}
		content := slices.Concat(value.Set(c.value("value", 2)), in, value.Set(c.rest[min(1, len(c.rest)):]))
		for _, w := range target {
			j.winEffect(value.Writes, dir, w, false)
			j.Save(p.e, j.World.WinPath(dir, w), content)
		}
		return in, true
	case "copy-item", "move-item", "rename-item":
		from := slices.Concat(c.value("path", 1), c.value("literalpath", 2), c.rest[:min(1, len(c.rest))])
		target := slices.Concat(c.value("destination", 2), c.value("newname", 2), c.rest[min(1, len(c.rest)):])
		for _, w := range from {
			at := j.World.WinPath(dir, w)
			if c.name != "copy-item" && j.World.Startup(at) {
				j.Effect(value.Deletes, at, false)
			}
			j.winEffect(value.Reads, dir, w, false)
			if content, ok := p.e.Saved[at]; ok {
				for _, t := range target {
					j.Save(p.e, j.World.WinPath(dir, t), content)
				}
			}
		}
		all(value.Writes, false, target)
		return nil, true
	}
	return nil, false
}

// runner judges the commands that run and fetch things, and keep names; all others are programs.
func (p *psReader) runner(c psCommand, argv []string, in value.Set) value.Set {
	switch c.name {
	case "invoke-expression":
		p.run([]value.Set{append(value.Set(c.value("command", 1)), strings.Join(c.rest, " "))})
		if len(c.rest)+len(c.params) == 0 {
			p.run([]value.Set{in})
		}
		return value.Anything()
	case "invoke-command", "start-job", "start-threadjob", "foreach-object", "where-object", "register-scheduledjob", "measure-command":
		return p.blocks(c, in)
	case "start-process", "invoke-item":
		p.process(c)
		return nil
	case "invoke-webrequest", "invoke-restmethod", "start-bitstransfer":
		return p.fetches(c)
	case "new-object":
		if len(c.rest) > 1 && strings.HasSuffix(strings.ToLower(c.rest[0]), "info") { // of a file or a folder: it goes by its path
			return value.Set{c.rest[1]}
		}
		return value.Something()
	case "set-alias", "new-alias":
		names := slices.Concat(c.value("name", 1), c.value("value", 1), c.rest)
		if len(names) > 1 {
			target := strings.ToLower(names[len(names)-1])
			if full, ok := proof.PsCanonical(target); ok {
				target = full
			}
			p.e.Set("%alias "+strings.ToLower(names[0]), value.Set{target})
		}
		return nil
	case "set-variable", "new-variable":
		names := slices.Concat(c.value("name", 1), c.value("value", 1), c.rest)
		if len(names) > 1 {
			p.e.Set("%"+strings.ToLower(names[0]), value.Set{names[len(names)-1]})
		}
		return nil
	case "get-variable":
		if len(c.rest) > 0 {
			return p.variable(strings.ToLower(c.rest[0]))
		}
	case "get-command":
		if len(c.rest) > 0 {
			return value.Set{value.Unquote(c.rest[0])}
		}
	case "import-module", ".":
		p.script(c.rest)
		return nil
	case "sort-object", "select-object", "format-table", "format-list", "tee-object ", "group-object", "convertto-json", "convertfrom-json", "measure-object":
		if c.name == "measure-object" {
			return value.Something()
		}
		return in
	}
	return p.other(c, argv, in)
}

// other judges the commands that rules name by what they are for, and programs.
func (p *psReader) other(c psCommand, argv []string, in value.Set) value.Set {
	j := p.j
	low := strings.ToLower(strings.Join(argv, " "))
	switch c.name {
	case "format-volume", "clear-disk", "initialize-disk", "remove-partition", "set-disk", "new-partition", "reset-physicaldisk", "remove-virtualdisk", "remove-storagepool":
		if !c.has("whatif", 2) && (c.name != "set-disk" && c.name != "new-partition") {
			j.Deny("W4", "It would change or wipe a whole disk, volume or boot record, which nothing brings back. Do that by hand.")
		}
	case "set-executionpolicy":
		for _, v := range append(c.value("executionpolicy", 2), c.rest...) {
			if v = strings.ToLower(v); v == "bypass" || v == "unrestricted" {
				j.Deny("W5", "It would switch off the check of which scripts may run. Give the policy to the one script that needs it.")
			}
		}
	case "stop-computer", "restart-computer":
		if !c.has("whatif", 2) {
			j.Deny("W6", "It would stop or restart the machine. Do that by hand.")
		}
	case "remove-ciminstance", "remove-wmiobject", "invoke-cimmethod", "invoke-wmimethod":
		if strings.Contains(low+strings.ToLower(strings.Join(in, "")), "shadowcopy") {
			j.shadow()
		}
		if strings.Contains(low, "win32shutdown") || strings.Contains(low, "reboot") {
			j.Deny("W6", "It would stop or restart the machine. Do that by hand.")
		}
		for _, cmd := range append(c.value("arguments", 2), c.value("argumentlist", 3)...) {
			if strings.Contains(low, "win32_process") {
				j.inner(p.e, value.Cmd, strings.TrimPrefix(strings.TrimSpace(strings.ReplaceAll(cmd, string(value.Gap), " ")), "-CommandLine "), nil)
			}
		}
	case "get-ciminstance", "get-wmiobject":
		return value.Set{strings.Join(argv[1:], " ")}
	case "remove-wbbackupset", "remove-wbcatalog", "disable-computerrestore":
		j.shadow()
	case "new-localuser", "add-localgroupmember", "new-aduser", "add-adgroupmember":
		j.account()
	}
	dir := p.e.Cwd[0]
	if content, ok := p.e.Saved[j.World.WinPath(dir, argv[0])]; ok {
		for _, text := range content {
			if value.Taint(text) != "" {
				j.denyFedWindows()
			} else {
				j.inner(p.e, value.PowerShell, text, nil)
			}
		}
		return value.Anything()
	}
	if strings.ContainsRune(c.name, value.Some) && !strings.ContainsAny(argv[0], `/\`) { // a name that is not known, on something that must stay
		for _, w := range c.rest {
			if at := j.World.WinPath(dir, w); c.has("recurse", 1) && (j.World.Whole(at) || j.World.WindowsTree(at)) {
				j.Deny("W1", "It would run something that is not known on %s with all that is in it. Write the command out.", value.Shown(at))
			}
		}
		return value.Anything()
	}
	child := j.Clone(p.e)
	child.In = in
	rest := make([]string, len(argv))
	for k, w := range argv {
		rest[k] = w
		if k > 0 && (strings.HasPrefix(w, ".") || value.Drive(w)) && strings.Contains(w, `\`) {
			rest[k] = strings.ReplaceAll(w, `\`, "/")
		}
	}
	rest[0] = c.name
	out := j.Simple(child, rest, false)
	if c.name == "get-content" {
		return out
	}
	return out
}

// blocks judges what runs script blocks, for each item of the input.
func (p *psReader) blocks(c psCommand, in value.Set) value.Set {
	item := p.item
	if len(in) > 0 {
		p.item = value.Set{}
		for _, s := range in {
			for _, one := range strings.Split(s, string(value.Gap)) {
				p.item = p.j.Add(p.item, value.Set{one})
			}
		}
	}
	defer func() { p.item = item }()
	for _, w := range c.words {
		if strings.HasPrefix(w, block) {
			inner := &psReader{j: p.j, e: p.e, s: strings.TrimPrefix(w, block), item: p.item, deep: p.deep + 1}
			p.j.Deeper(func() { inner.statements(0, nil) })
		}
	}
	for _, w := range slices.Concat(c.value("scriptblock", 2), c.value("filepath", 2)) {
		if value.Taint(w) != "" {
			p.j.denyFedWindows()
		}
	}
	if c.name == "where-object" {
		return in
	}
	if c.name == "foreach-object" && len(c.rest) == 1 && strings.EqualFold(c.rest[0], "fullname") {
		return in
	}
	return value.Set{string(value.Hole) + in.Taint()}
}

// process judges what Start-Process starts. Its words are taken as they stand: what looks like a parameter may be one of the
// program's.
func (p *psReader) process(c psCommand) {
	var words []string
	for k := 0; k < len(c.words); k++ {
		low := strings.ToLower(c.words[k])
		is := func(full string, least int) bool { return len(low) > least && strings.HasPrefix(full, low) }
		switch {
		case is("-filepath", 2), is("-path", 2), is("-argumentlist", 1), is("-wait", 2), is("-nonewwindow", 2), is("-passthru", 2), is("-usenewenvironment", 2):
		case is("-verb", 4), is("-windowstyle", 2), is("-workingdirectory", 2), is("-credential", 2), strings.HasPrefix(low, "-redirect"):
			k++
		default:
			words = append(words, c.words[k])
		}
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
		if name := value.Called(strings.ToLower(words[0])); name == "cmd" || name == "powershell" || name == "pwsh" {
			argv = append(argv, strings.Fields(w)...)
		} else {
			more, _ := source.CmdWords(w)
			argv = append(argv, more...)
		}
	}
	child := p.j.Clone(p.e)
	child.In = nil
	p.j.Simple(child, argv, false)
}

// script judges files that are run, where this command line wrote them.
func (p *psReader) script(names []string) {
	for _, n := range names {
		p.j.ranFile(posix.Command{Env: p.e, Dir: p.e.Cwd[0]}, n)
	}
}

// fetches judges what fetches something, and notes where it lands.
func (p *psReader) fetches(c psCommand) value.Set {
	dir := p.e.Cwd[0]
	for _, u := range slices.Concat(c.value("uri", 1), c.value("source", 2), c.rest) {
		if h := value.HostOf(u); h != "" {
			p.j.Touch(value.Calls, h)
		}
	}
	to := slices.Concat(c.value("outfile", 2), c.value("destination", 2))
	if c.name == "start-bitstransfer" && len(c.rest) > 1 {
		to = append(to, c.rest[1])
	}
	for _, f := range append(to, c.value("o", 1)...) {
		p.j.winEffect(value.Writes, dir, f, false)
		p.j.Save(p.e, p.j.World.WinPath(dir, f), value.Set{string(value.FromNet)})
	}
	return value.Set{string(value.FromNet)}
}
