package shell

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

var shells = []string{"sh", "bash", "zsh", "dash", "ksh", "ksh93", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "yash", "posh", "hush", "nu", "elvish", "xonsh"}

// languageOf is the language of an interpreter, by its name without a version; "" for other programs.
func languageOf(name string) string {
	if slices.Contains(shells, name) {
		return "sh"
	}
	switch strings.TrimRight(name, "0123456789.-") {
	case "python", "pypy", "ipython", "micropython":
		return "python"
	case "perl":
		return "perl"
	case "ruby", "jruby", "irb":
		return "ruby"
	case "node", "nodejs", "deno", "bun", "tsx", "ts-node":
		return "node"
	case "php", "php-cgi":
		return "php"
	case "lua", "luajit":
		return "lua"
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		return "awk"
	case "osascript":
		return "osascript"
	case "tclsh", "wish", "guile", "racket", "sbcl", "R", "Rscript", "julia", "elixir", "erl", "ghci", "groovy", "swift":
		return "other"
	}
	return ""
}

// fed judges the programs that make, pass on and use up texts. It reports whether c is one of them.
func (j *judge) fed(c command) (set, bool) {
	if lang := languageOf(c.name); lang != "" {
		if lang == "sh" {
			return j.shell(c), true
		}
		return j.interpreter(c, lang), true
	}
	switch c.name {
	case "echo":
		return j.echo(c), true
	case "printf":
		return j.printf(c), true
	case "curl", "wget", "http", "https", "httpie", "fetch", "aria2c", "axel", "lynx", "links", "w3m", "xh", "curlie":
		return j.fetch(c), true
	case "nc", "ncat", "netcat", "nc.openbsd", "nc.traditional", "socat", "telnet", "busybox-nc":
		return j.socket(c), true
	case "base64", "base32", "basenc", "xxd", "openssl", "gunzip", "zcat", "gzcat", "bunzip2", "bzcat", "xzcat", "unxz", "zstdcat", "unzstd", "lzcat", "lz4cat", "rev", "tr",
		"uudecode", "uncompress", "gzip", "xz", "bzip2", "zstd", "lz4", "gpg", "funzip", "atob", "brotli":
		return j.decode(c), true
	case "tee", "sponge":
		for _, p := range getopt(c.args, "").rest {
			p = pathOf(c.dir, p)
			if socket(p) {
				j.deny("D7", "The command talks to the network through a file name of the shell. Use a program for that, such as curl.")
			}
			j.effect(Writes, p, false)
			j.save(c.env, p, c.in)
		}
		return c.in, true
	}
	return nil, false
}

// shell judges what a shell is given: a text, a file or its input.
func (j *judge) shell(c command) set {
	child := j.clone(c.env)
	child.calls, child.behind = nil, false
	args := c.args
	text := false
	var files []string
	for len(args) > 0 {
		a := args[0]
		if a == "--" || a == "-" {
			args = args[1:]
			break
		}
		if len(a) < 2 || a[0] != '-' && a[0] != '+' {
			break
		}
		args = args[1:]
		switch {
		case a == "--rcfile" || a == "--init-file" || a == "-o" || a == "+o" || a == "-O" || a == "+O" || a == "--init-command" || a == "-C" && c.name == "fish":
			if len(args) > 0 {
				if strings.HasSuffix(a, "file") {
					files = append(files, args[0])
				} else if strings.HasSuffix(a, "command") || a == "-C" {
					j.run(j.clone(child), set{args[0]}, nil)
				}
				args = args[1:]
			}
		case strings.HasPrefix(a, "--"):
			name, v, ok := strings.Cut(a, "=")
			if ok && (name == "--rcfile" || name == "--init-file") {
				files = append(files, v)
			}
			if name == "--command" {
				text = true
				if ok {
					args = append([]string{v}, args...)
				}
			}
		case a[0] == '-':
			text = text || strings.ContainsRune(a, 'c')
			if strings.ContainsAny(a[1:], "oO") && len(args) > 0 {
				args = args[1:]
			}
		}
	}
	for _, f := range files {
		j.file(child, c, f, "sh")
	}
	child.args = []set{}
	if text {
		if len(args) == 0 {
			return nil
		}
		for _, a := range args[min(2, len(args)):] {
			child.args = append(child.args, set{a})
		}
		if c.name == "fish" || c.name == "nu" || c.name == "csh" || c.name == "tcsh" || c.name == "elvish" || c.name == "xonsh" { // another grammar: what cannot be read is a question
			if _, why := parse(args[0]); why != "" && taint(args[0]) == "" {
				return unknown
			}
		}
		return j.run(child, set{args[0]}, c.in)
	}
	if len(args) > 0 && !slices.ContainsFunc(c.args, func(a string) bool { return a == "-s" }) {
		for _, a := range args[1:] {
			child.args = append(child.args, set{a})
		}
		j.file(child, c, args[0], "sh")
		return set{string(hole) + c.in.taint()}
	}
	for _, a := range args {
		child.args = append(child.args, set{a})
	}
	return j.input(child, c.in)
}

// input judges the input of a shell as its program.
func (j *judge) input(e *env, in set) set {
	texts := known(in)
	if len(texts) == 0 {
		return set{string(driven)}
	}
	if out := j.run(e, texts, nil); len(out) > 0 {
		return out
	}
	return unknown
}

// file judges a program that lies in a file, if this command line made it. A socket or the input may be a file too.
func (j *judge) file(e *env, c command, name, lang string) {
	p := pathOf(c.dir, name)
	if socket(p) {
		j.deny("D7", "Text from the network would be run as a program. Save it to a file, and look at it first.")
		return
	}
	j.effect(Reads, p, false)
	content := c.saved[p]
	if p == "/dev/stdin" || p == "/dev/fd/0" || p == "/proc/self/fd/0" {
		content = known(c.in)
	}
	if t := taint(name); t != "" {
		j.denyFed(t)
	}
	for _, text := range content {
		switch {
		case taint(text) != "":
			j.denyFed(text)
		case lang == "sh":
			j.script(e, text, nil)
		default:
			j.code(c, lang, text)
		}
	}
}

// interpreter judges the program of another language: code in an option, a file, or the input.
func (j *judge) interpreter(c command, lang string) set {
	out := set{string(hole) + c.in.taint()}
	letters, longs, takes := "", []string{}, ""
	switch lang {
	case "python":
		letters, takes = "c", "cmWXQ"
	case "perl":
		letters, takes = "eE", "eEIMmxCDV"
	case "ruby":
		letters, takes = "e", "eIrCEKTWx"
	case "node":
		letters, takes, longs = "ep", "eprC", []string{"eval", "print", "require", "import", "loader"}
		if len(c.args) > 1 && c.args[0] == "eval" {
			j.code(c, lang, c.args[1])
			return out
		}
	case "php":
		letters, takes = "rRBE", "rRBEdcfSt"
	case "lua":
		letters, takes = "e", "el"
	case "osascript":
		letters, takes = "e", "el"
	case "awk":
		return j.awk(c)
	case "other":
		letters, takes = "ecx", "ecx"
	}
	k := 0 // where the operands start
	for k < len(c.args) {
		a := c.args[k]
		if a == "--" {
			k++
			break
		}
		if len(a) < 2 || a[0] != '-' {
			break
		}
		k++
		if lang == "python" && strings.HasPrefix(a, "-m") || a == "--module" {
			return out // a module: what is on the input is data to it
		}
		if strings.ContainsAny(a[1:2], takes) && a[1] != '-' && len(a) == 2 || strings.HasPrefix(a, "--") && !strings.Contains(a, "=") && slices.Contains(longs, a[2:]) {
			k++
		} else if a[1] != '-' && strings.ContainsAny(a[len(a)-1:], takes) && !strings.ContainsAny(a[1:len(a)-1], takes) && len(a) > 2 {
			k++
		}
	}
	k = min(k, len(c.args))
	o := getopt(c.args[:k], takes, longs...)
	code := o.value(letters, "eval", "print")
	if lang == "perl" && len(code) > 0 && o.has("e") {
		code = append(code, strings.Join(code, "\n"))
	}
	rest := c.args[k:]
	for _, text := range code {
		j.code(c, lang, text)
	}
	if len(code) > 0 {
		if (lang == "perl" || lang == "ruby") && strings.Contains(o.letters, "i") {
			for _, p := range rest {
				j.effect(Writes, pathOf(c.dir, p), false)
			}
		}
		return out
	}
	if f := o.value("f"); lang == "php" && len(f) > 0 {
		rest = f
	}
	if len(rest) > 0 && (rest[0] == "run" || rest[0] == "repl") && lang == "node" {
		rest = rest[1:]
		for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && rest[0] != "-" {
			rest = rest[1:]
		}
	}
	if len(rest) > 0 && rest[0] != "-" {
		j.file(c.env, c, rest[0], lang)
		for _, a := range rest {
			if strings.HasPrefix(a, "http://") || strings.HasPrefix(a, "https://") {
				if c.name == "deno" && a == rest[0] {
					j.deny("D7", "Text from the network would be run as a program. Save it to a file, and look at it first.")
				}
			}
		}
		return out
	}
	if o.has("", "version", "help") || len(c.args) == 1 && (c.args[0] == "-V" || c.args[0] == "-v" || c.args[0] == "-h") {
		return unknown
	}
	for _, text := range known(c.in) {
		if taint(text) != "" {
			j.denyFed(text)
		} else {
			j.code(c, lang, read(text, false))
		}
	}
	if len(known(c.in)) == 0 {
		return set{string(driven)}
	}
	return out
}

// awk judges an awk program, which stands in its first operand.
func (j *judge) awk(c command) set {
	rest := behind(c.args, "Ffveilo", "field-separator", "assign", "file", "include", "source")
	o := getopt(c.args[:len(c.args)-len(rest)], "Ffveilo", "field-separator", "assign", "file", "include", "source")
	files := o.value("f", "file")
	for _, f := range files {
		if f == "-" {
			f = "/dev/stdin"
		}
		j.file(c.env, c, f, "awk")
	}
	code := o.value("e", "source")
	if len(files)+len(code) == 0 && len(rest) > 0 {
		code, rest = rest[:1], rest[1:]
	}
	for _, text := range code {
		if t := taint(text); t != "" {
			j.denyFed(t)
		}
		j.code(c, "awk", text)
	}
	if slices.Contains(o.value("i"), "inplace") {
		for _, p := range rest {
			j.effect(Writes, pathOf(c.dir, p), false)
		}
	}
	return j.passed(c, rest)
}

// passed is what a filter prints: something, made of its input and of its files.
func (j *judge) passed(c command, files []string) set {
	from := c.in.taint()
	for _, f := range files {
		p := pathOf(c.dir, f)
		j.effect(Reads, p, false)
		from += c.saved[p].taint()
	}
	return set{string(hole) + from}
}

func (j *judge) echo(c command) set {
	args := c.args
	escapes, end := false, "\n"
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		if strings.Contains(args[0], "n") {
			end = ""
		}
		escapes = escapes || strings.Contains(args[0], "e")
		args = args[1:]
	}
	text := protect(strings.Join(args, " "))
	plain := set{text + end}
	switch {
	case !strings.ContainsRune(text, '\\'):
		return plain
	case escapes:
		return set{ansi(text) + end}
	}
	return append(plain, ansi(text)+end) // not every shell's echo leaves backslashes alone
}

func (j *judge) printf(c command) set {
	args := behind(c.args, "v")
	if o := getopt(c.args[:len(c.args)-len(args)], "v"); len(o.values["v"]) > 0 {
		defer func(name string) { c.set(name, unknown) }(o.values["v"][0])
	}
	if len(args) == 0 {
		return nil
	}
	format, args := protect(args[0]), args[1:]
	var b strings.Builder
	for {
		used := false
		for k := 0; k < len(format); k++ {
			if format[k] != '%' {
				b.WriteByte(format[k])
				continue
			}
			end := k + 1
			for end < len(format) && strings.IndexByte("#0- +'*.123456789hlLqjzt", format[end]) >= 0 {
				end++
			}
			if end == len(format) {
				break
			}
			verb := format[end]
			spec := format[k:end]
			k = end
			if verb == '%' {
				b.WriteByte('%')
				continue
			}
			arg := ""
			if strings.ContainsRune(spec, '*') && len(args) > 0 {
				args = args[1:]
			}
			if len(args) > 0 {
				arg, args, used = protect(args[0]), args[1:], true
			}
			switch {
			case verb == 's' || verb == 'b' || verb == 'c' || verb == 'q':
				if k := strings.IndexByte(spec, '.'); k >= 0 {
					arg = string(hole) // cut to a length
				}
				b.WriteString(arg)
			case verb == 'd' || verb == 'i' || verb == 'u':
				b.WriteString(arg)
			default:
				b.WriteRune(some)
			}
		}
		if !used || len(args) == 0 || b.Len() > maxValue || !j.spend(len(format)) {
			break
		}
	}
	out := set{ansi(b.String())}
	if n := strings.Count(b.String(), string(hole)) + strings.Count(b.String(), string(some)) + len(taint(b.String())); n > 0 {
		out = set{marked(b.String())}
	}
	return out
}

// marked decodes the escapes of a text that has marks in it, and leaves those.
func marked(s string) string {
	var b strings.Builder
	start := 0
	for k, r := range s {
		if r < ' ' && r != '\n' && r != '\t' {
			b.WriteString(ansi(s[start:k]))
			b.WriteRune(r)
			start = k + 1
		}
	}
	b.WriteString(ansi(s[start:]))
	return b.String()
}

// hostOf is the host of an address, or "".
func hostOf(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Hostname()
}

// fetch judges programs that fetch something from the network, and notes where it lands.
func (j *judge) fetch(c command) set {
	o := getopt(c.args, "", "url")
	var to, dirs []string
	remote := false
	printed := true
	switch c.name {
	case "curl", "curlie":
		o = getopt(c.args, "oHdXuAebcFTxEmwCrKDtzyYPQU", "output", "header", "data", "request", "user", "user-agent", "referer", "cookie", "cookie-jar", "form", "upload-file", "proxy", "output-dir", "url", "data-raw",
			"data-binary", "data-urlencode", "json", "max-time", "connect-timeout", "retry", "write-out", "config", "cert", "key", "cacert", "resolve", "dump-header", "retry-delay", "range", "limit-rate", "stderr", "trace")
		to = o.value("o", "output")
		remote = o.has("OJ", "remote-name", "remote-name-all")
		printed = !remote && (len(to) == 0 || slices.Contains(to, "-"))
		dirs = o.value("", "output-dir")
		for _, f := range o.value("Dc", "dump-header", "cookie-jar", "stderr") {
			if f != "-" && len(f) > 0 {
				j.effect(Writes, pathOf(c.dir, f), false)
			}
		}
		for _, f := range o.value("TK", "upload-file", "config") {
			j.effect(Reads, pathOf(c.dir, f), false)
		}
		for _, f := range o.value("dF", "data", "data-binary", "form") {
			if _, name, ok := strings.Cut(f, "@"); ok {
				j.effect(Reads, pathOf(c.dir, name), false)
			}
		}
	case "wget":
		o = getopt(c.args, "OPoaitTwQUeBADIXRlS", "output-document", "directory-prefix", "output-file", "input-file", "header", "user-agent", "tries", "timeout", "post-data", "user", "password", "execute", "accept", "reject", "level", "method", "body-data", "wait", "referer")
		to = o.value("O", "output-document")
		remote = len(to) == 0 && !o.has("i", "spider")
		printed = slices.Contains(to, "-") || slices.Contains(to, "/dev/stdout")
		dirs = o.value("P", "directory-prefix")
		for _, f := range o.value("oa", "output-file") {
			if f != "-" {
				j.effect(Writes, pathOf(c.dir, f), false)
			}
		}
	case "http", "https", "httpie", "xh":
		o = getopt(c.args, "oapA", "output", "auth", "print", "session", "timeout")
		to = o.value("o", "output")
		remote = o.has("d", "download") && len(to) == 0
		printed = !remote && len(to) == 0
	case "aria2c", "axel", "fetch":
		o = getopt(c.args, "odxsjTikm", "out", "dir")
		to, dirs = o.value("o", "out"), o.value("", "dir")
		if c.name == "aria2c" {
			dirs = append(dirs, o.values["d"]...)
		}
		remote = len(to) == 0
		printed = slices.Contains(to, "-")
	}
	dir := c.dir
	if len(dirs) > 0 {
		dir = pathOf(c.dir, dirs[0])
	}
	for _, u := range append(o.rest, o.value("", "url")...) {
		host := hostOf(u)
		if host == "" && !strings.Contains(u, "://") {
			host = hostOf("http://" + u)
		}
		if host != "" {
			j.touch(Calls, host)
		} else {
			j.touch(Unknown, u)
		}
		if remote {
			u, _, _ = strings.Cut(u, "#")
			if name, _, _ := strings.Cut(u, "?"); path.Base(name) != "." && path.Base(name) != "/" {
				to = append(to, path.Base(name))
			}
		}
	}
	for _, f := range to {
		if f == "-" || f == "" {
			continue
		}
		p := pathOf(dir, f)
		j.effect(Writes, p, false)
		j.save(c.env, p, set{string(fromNet)})
	}
	if !printed {
		return nil
	}
	return set{string(fromNet)}
}

// socket judges programs that join a socket to something.
func (j *judge) socket(c command) set {
	const joined = "The command would hand a shell or an interpreter to somebody over the network. Nothing here does that."
	if strings.ContainsRune(strings.Join(c.in, ""), driven) {
		j.deny("D7", joined)
	}
	if c.name == "socat" {
		for _, a := range c.args {
			kind, cmd, ok := strings.Cut(a, ":")
			if k := strings.ToUpper(kind); ok && (k == "EXEC" || k == "SYSTEM" || k == "SHELL") {
				cmd, _, _ = strings.Cut(cmd, ",")
				if f := strings.Fields(strings.Trim(cmd, `'"`)); len(f) > 0 && languageOf(called(f[0])) != "" {
					j.deny("D7", joined)
				}
				j.run(j.clone(c.env), set{cmd}, set{string(fromNet)})
			} else if ok && strings.HasPrefix(k, "TCP") || ok && strings.HasPrefix(k, "UDP") || k == "OPENSSL" {
				host, _, _ := strings.Cut(cmd, ":")
				j.touch(Calls, host)
			}
		}
		return set{string(fromNet)}
	}
	o := getopt(c.args, "ecpswiqxXIOTgGmNV", "exec", "sh-exec", "lua-exec")
	for _, cmd := range o.value("ec", "exec", "sh-exec", "lua-exec") {
		if f := strings.Fields(cmd); len(f) > 0 && (languageOf(called(f[0])) != "" || called(f[0]) == "cmd" || called(f[0]) == "powershell") {
			j.deny("D7", joined)
		}
		j.run(j.clone(c.env), set{cmd}, set{string(fromNet)})
	}
	if len(o.rest) > 0 {
		j.touch(Calls, o.rest[0])
	}
	return set{string(fromNet)}
}

// decode judges programs that turn a text into another that cannot be told from it.
func (j *judge) decode(c command) set {
	o := getopt(c.args, "wioSslcgkpd", "wrap", "in", "out")
	if c.name == "openssl" {
		for k, a := range c.args {
			if a == "-out" && k+1 < len(c.args) {
				p := pathOf(c.dir, c.args[k+1])
				j.effect(Writes, p, false)
				j.save(c.env, p, set{string(decoded)})
			}
		}
		return set{string(decoded) + c.in.taint()}
	}
	if c.name == "tr" {
		return set{string(decoded) + c.in.taint()}
	}
	o = getopt(c.args, map[string]string{"uudecode": "o", "gpg": "ours", "base64": "wio", "xxd": "slcgo"}[c.name], "wrap", "output", "output-file", "ignore-garbage")
	files := o.rest
	from := c.in.taint()
	packs := slices.Contains([]string{"gzip", "xz", "bzip2", "zstd", "lz4", "brotli", "gpg"}, c.name) && !o.has("d", "decompress", "decrypt", "uncompress")
	inPlace := slices.Contains([]string{"gzip", "xz", "bzip2", "gunzip", "bunzip2", "unxz", "uncompress"}, c.name) && !o.has("cltk", "stdout", "to-stdout", "keep", "list", "test")
	for _, f := range files {
		p := pathOf(c.dir, f)
		from += c.saved[p].taint()
		j.effect(Reads, p, false)
		if inPlace {
			j.effect(Deletes, p, false)
		}
		if !packs && strings.Contains(path.Base(f), ".") {
			j.save(c.env, strings.TrimSuffix(p, path.Ext(p)), set{string(decoded)})
		}
	}
	targets := o.value("o", "output", "output-file")
	if c.name == "xxd" && len(files) > 1 {
		targets = append(targets, files[1])
	}
	for _, f := range targets {
		p := pathOf(c.dir, f)
		j.effect(Writes, p, false)
		j.save(c.env, p, set{string(decoded) + from})
	}
	if packs {
		return set{string(hole) + from}
	}
	return set{string(decoded) + from}
}
