package posix

import (
	"path"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/shell/source"
	"github.com/jackline-ai/jackline/shell/value"
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
func (j *Judge) fed(c Command) (value.Set, bool) {
	if lang := languageOf(c.Name); lang != "" {
		if lang == "sh" {
			return j.shell(c), true
		}
		return j.interpreter(c, lang), true
	}
	switch c.Name {
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
		for _, p := range value.Getopt(c.Args, "").Rest {
			p = value.PathOf(c.Dir, p)
			if socket(p) {
				j.Deny("D7", "The command talks to the network through a file name of the shell. Use a program for that, such as curl.")
			}
			j.Effect(value.Writes, p, false)
			j.Save(c.Env, p, c.In)
		}
		return c.In, true
	}
	return nil, false
}

// shell judges what a shell is given: a text, a file or its input.
func (j *Judge) shell(c Command) value.Set {
	child := j.Clone(c.Env)
	child.calls, child.behind = nil, false
	args := c.Args
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
		case a == "--rcfile" || a == "--init-file" || a == "-o" || a == "+o" || a == "-O" || a == "+O" || a == "--init-command" || a == "-C" && c.Name == "fish":
			if len(args) > 0 {
				if strings.HasSuffix(a, "file") {
					files = append(files, args[0])
				} else if strings.HasSuffix(a, "command") || a == "-C" {
					j.run(j.Clone(child), value.Set{args[0]}, nil)
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
	child.args = positional(nil)
	if text {
		if len(args) == 0 {
			return nil
		}
		child.args = positional(args[min(2, len(args)):])
		if c.Name == "fish" || c.Name == "nu" || c.Name == "csh" || c.Name == "tcsh" || c.Name == "elvish" || c.Name == "xonsh" { // another grammar: what cannot be read is a question
			if _, why := source.Parse(args[0]); why != "" && value.Taint(args[0]) == "" {
				return value.Anything()
			}
		}
		return j.run(child, value.Set{args[0]}, c.In)
	}
	if len(args) > 0 && !slices.ContainsFunc(c.Args, func(a string) bool { return a == "-s" }) {
		child.args = positional(args[1:])
		j.file(child, c, args[0], "sh")
		return value.Set{string(value.Hole) + c.In.Taint()}
	}
	child.args = positional(args)
	return j.input(child, c.In)
}

// input judges the input of a shell as its program.
func (j *Judge) input(e *Env, in value.Set) value.Set {
	texts := Known(in)
	if len(texts) == 0 {
		return value.Set{string(value.Driven)}
	}
	if out := j.run(e, texts, nil); len(out) > 0 {
		return out
	}
	return value.Anything()
}

// file judges a program that lies in a file, if this command line made it. A socket or the input may be a file too.
func (j *Judge) file(e *Env, c Command, name, lang string) {
	p := value.PathOf(c.Dir, name)
	if socket(p) {
		j.Deny("D7", "Text from the network would be run as a program. Save it to a file, and look at it first.")
		return
	}
	j.Effect(value.Reads, p, false)
	content := c.Saved[p]
	if p == "/dev/stdin" || p == "/dev/fd/0" || p == "/proc/self/fd/0" {
		content = Known(c.In)
	}
	if t := value.Taint(name); t != "" {
		j.denyFed(t)
	}
	for _, text := range content {
		switch {
		case value.Taint(text) != "":
			j.denyFed(text)
		case lang == "sh":
			j.script(e, text, nil)
		default:
			j.code(c, lang, text)
		}
	}
}

// module notes the files of a Python module: those of that name in the folder come before what is installed, whether they are there
// now or not. What follows it is noted as well, since runners of tests are told the files that they run.
func (j *Judge) module(c Command, name string, rest []string) {
	if name == "" && len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	name = strings.ReplaceAll(name, ".", "/")
	files := []string{name + ".py", name + "/__init__.py", name + "/__main__.py"}
	for _, a := range rest {
		if a != "" && a[0] != '-' {
			file, _, _ := strings.Cut(a, "::") // one test in a file
			files = append(files, file)
		}
	}
	for _, f := range files {
		j.File(value.PathOf(c.Dir, f))
	}
}

// interpreter judges the program of another language: code in an option, a file, or the input.
func (j *Judge) interpreter(c Command, lang string) value.Set {
	out := value.Set{string(value.Hole) + c.In.Taint()}
	if lang == "awk" {
		return j.awk(c)
	}
	if lang == "node" && len(c.Args) > 1 && c.Args[0] == "eval" {
		j.code(c, lang, c.Args[1])
		return out
	}
	letters, takes, longs := codeOptions(lang)
	k := 0 // where the operands start
	for k < len(c.Args) {
		a := c.Args[k]
		if a == "--" {
			k++
			break
		}
		if len(a) < 2 || a[0] != '-' {
			break
		}
		k++
		if lang == "python" && strings.HasPrefix(a, "-m") || a == "--module" {
			j.module(c, strings.TrimPrefix(a, "-m"), c.Args[k:])
			return out // what is on the input is data to it
		}
		if strings.ContainsAny(a[1:2], takes) && a[1] != '-' && len(a) == 2 || strings.HasPrefix(a, "--") && !strings.Contains(a, "=") && slices.Contains(longs, a[2:]) {
			k++
		} else if a[1] != '-' && strings.ContainsAny(a[len(a)-1:], takes) && !strings.ContainsAny(a[1:len(a)-1], takes) && len(a) > 2 {
			k++
		}
	}
	k = min(k, len(c.Args))
	o := value.Getopt(c.Args[:k], takes, longs...)
	code := o.Literal(letters, "eval", "print")
	if lang == "perl" && len(code) > 0 && o.Has("e") {
		code = append(code, strings.Join(code, "\n"))
	}
	rest := c.Args[k:]
	for _, text := range code {
		j.code(c, lang, text)
	}
	if len(code) > 0 {
		if (lang == "perl" || lang == "ruby") && strings.Contains(o.Letters, "i") {
			for _, p := range rest {
				j.Effect(value.Writes, value.PathOf(c.Dir, p), false)
			}
		}
		return out
	}
	if f := o.Literal("f"); lang == "php" && len(f) > 0 {
		rest = f
	}
	if len(rest) > 0 && (rest[0] == "run" || rest[0] == "repl") && lang == "node" {
		rest = rest[1:]
		for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && rest[0] != "-" {
			rest = rest[1:]
		}
	}
	if len(rest) > 0 && rest[0] != "-" {
		j.file(c.Env, c, rest[0], lang)
		for _, a := range rest {
			if strings.HasPrefix(a, "http://") || strings.HasPrefix(a, "https://") {
				if c.Name == "deno" && a == rest[0] {
					j.Deny("D7", "Text from the network would be run as a program. Save it to a file, and look at it first.")
				}
			}
		}
		return out
	}
	if o.Has("", "version", "help") || len(c.Args) == 1 && (c.Args[0] == "-V" || c.Args[0] == "-v" || c.Args[0] == "-h") {
		return value.Anything()
	}
	for _, text := range Known(c.In) {
		if value.Taint(text) != "" {
			j.denyFed(text)
		} else {
			j.code(c, lang, value.Read(text, false))
		}
	}
	if len(Known(c.In)) == 0 {
		return value.Set{string(value.Driven)}
	}
	return out
}

// codeOptions are the letters of an interpreter that give it code, those that have any value, and its long options with one.
func codeOptions(lang string) (letters, takes string, longs []string) {
	switch lang {
	case "python":
		letters, takes = "c", "cmWXQ"
	case "perl":
		letters, takes = "eE", "eEIMmxCDV"
	case "ruby":
		letters, takes = "e", "eIrCEKTWx"
	case "node":
		letters, takes, longs = "ep", "eprC", []string{"eval", "print", "require", "import", "loader"}
	case "php":
		letters, takes = "rRBE", "rRBEdcfSt"
	case "lua":
		letters, takes = "e", "el"
	case "osascript":
		letters, takes = "e", "el"
	case "other":
		letters, takes = "ecx", "ecx"
	}
	return letters, takes, longs
}

// awk judges an awk program, which stands in its first operand.
func (j *Judge) awk(c Command) value.Set {
	rest := value.Behind(c.Args, "Ffveilo", "field-separator", "assign", "file", "include", "source")
	o := value.Getopt(c.Args[:len(c.Args)-len(rest)], "Ffveilo", "field-separator", "assign", "file", "include", "source")
	files := o.Literal("f", "file")
	for _, f := range files {
		if f == "-" {
			f = "/dev/stdin"
		}
		j.file(c.Env, c, f, "awk")
	}
	code := o.Literal("e", "source")
	if len(files)+len(code) == 0 && len(rest) > 0 {
		code, rest = rest[:1], rest[1:]
	}
	for _, text := range code {
		if t := value.Taint(text); t != "" {
			j.denyFed(t)
		}
		j.code(c, "awk", text)
	}
	if slices.Contains(o.Literal("i"), "inplace") {
		for _, p := range rest {
			j.Effect(value.Writes, value.PathOf(c.Dir, p), false)
		}
	}
	return j.passed(c, rest)
}

// passed is what a filter prints: something, made of its input and of its files.
func (j *Judge) passed(c Command, files []string) value.Set {
	from := c.In.Taint()
	for _, f := range files {
		p := value.PathOf(c.Dir, f)
		j.Effect(value.Reads, p, false)
		from += c.Saved[p].Taint()
	}
	return value.Set{string(value.Hole) + from}
}

func (j *Judge) echo(c Command) value.Set {
	args := c.Args
	escapes, end := false, "\n"
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		if strings.Contains(args[0], "n") {
			end = ""
		}
		escapes = escapes || strings.Contains(args[0], "e")
		args = args[1:]
	}
	text := value.Protect(strings.Join(args, " "))
	plain := value.Set{text + end}
	switch {
	case !strings.ContainsRune(text, '\\'):
		return plain
	case escapes:
		return value.Set{value.Ansi(text) + end}
	}
	return append(plain, value.Ansi(text)+end) // not every shell's echo leaves backslashes alone
}

func (j *Judge) printf(c Command) value.Set {
	args := value.Behind(c.Args, "v")
	options := c.Args[:len(c.Args)-len(args)]
	if len(args) == 0 {
		return nil
	}
	format, args := value.Protect(args[0]), args[1:]
	var b strings.Builder
	for {
		used := false
		for k := 0; k < len(format); k++ {
			if format[k] != '%' {
				from := k
				for k+1 < len(format) && format[k+1] != '%' {
					k++
				}
				b.WriteString(value.Marked(format[from : k+1]))
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
				arg, args, used = value.Protect(args[0]), args[1:], true
			}
			switch {
			case verb == 's' || verb == 'b' || verb == 'c' || verb == 'q':
				if k := strings.IndexByte(spec, '.'); k >= 0 {
					arg = string(value.Hole) // cut to a length
				}
				if verb == 'b' {
					arg = value.Marked(arg)
				}
				b.WriteString(arg)
			case verb == 'd' || verb == 'i' || verb == 'u':
				b.WriteString(arg)
			default:
				b.WriteRune(value.Some)
			}
		}
		if !used || len(args) == 0 || b.Len() > maxValue || !j.Spend(len(format)) {
			break
		}
	}
	out := value.Set{b.String()}
	if o := value.Getopt(options, "v"); len(o.Values["v"]) > 0 {
		c.Set(o.Values["v"][0], out)
		return nil
	}
	return out
}

// fetch judges programs that fetch something from the network, and notes where it lands.
func (j *Judge) fetch(c Command) value.Set {
	o := value.Getopt(c.Args, "", "url")
	var to, dirs []string
	remote := false
	printed := true
	switch c.Name {
	case "curl", "curlie":
		o = value.Getopt(c.Args, "oHdXuAebcFTxEmwCrKDtzyYPQU", "output", "header", "data", "request", "user", "user-agent", "referer", "cookie", "cookie-jar", "form", "upload-file", "proxy", "output-dir", "url", "data-raw",
			"data-binary", "data-urlencode", "json", "max-time", "connect-timeout", "retry", "write-out", "config", "cert", "key", "cacert", "resolve", "dump-header", "retry-delay", "range", "limit-rate", "stderr", "trace")
		to = o.Literal("o", "output")
		remote = o.Has("OJ", "remote-name", "remote-name-all")
		printed = !remote && (len(to) == 0 || slices.Contains(to, "-"))
		dirs = o.Literal("", "output-dir")
		for _, f := range o.Literal("Dc", "dump-header", "cookie-jar", "stderr") {
			if f != "-" && len(f) > 0 {
				j.Effect(value.Writes, value.PathOf(c.Dir, f), false)
			}
		}
		for _, f := range o.Literal("TK", "upload-file", "config") {
			j.Effect(value.Reads, value.PathOf(c.Dir, f), false)
		}
		for _, f := range o.Literal("dF", "data", "data-binary", "form") {
			if _, name, ok := strings.Cut(f, "@"); ok {
				j.Effect(value.Reads, value.PathOf(c.Dir, name), false)
			}
		}
	case "wget":
		o = value.Getopt(c.Args, "OPoaitTwQUeBADIXRlS", "output-document", "directory-prefix", "output-file", "input-file", "header", "user-agent", "tries", "timeout", "post-data", "user", "password", "execute", "accept", "reject", "level", "method", "body-data", "wait", "referer")
		to = o.Literal("O", "output-document")
		remote = len(to) == 0 && !o.Has("i", "spider")
		printed = slices.Contains(to, "-") || slices.Contains(to, "/dev/stdout")
		dirs = o.Literal("P", "directory-prefix")
		for _, f := range o.Literal("oa", "output-file") {
			if f != "-" {
				j.Effect(value.Writes, value.PathOf(c.Dir, f), false)
			}
		}
	case "http", "https", "httpie", "xh":
		o = value.Getopt(c.Args, "oapA", "output", "auth", "print", "session", "timeout")
		to = o.Literal("o", "output")
		remote = o.Has("d", "download") && len(to) == 0
		printed = !remote && len(to) == 0
	case "aria2c", "axel", "fetch":
		o = value.Getopt(c.Args, "odxsjTikm", "out", "dir")
		to, dirs = o.Literal("o", "out"), o.Literal("", "dir")
		if c.Name == "aria2c" {
			dirs = append(dirs, o.Values["d"]...)
		}
		remote = len(to) == 0
		printed = slices.Contains(to, "-")
	}
	dir := c.Dir
	if len(dirs) > 0 {
		dir = value.PathOf(c.Dir, dirs[0])
	}
	for _, u := range append(o.Rest, o.Literal("", "url")...) {
		host := value.OriginOf(u)
		if host == "" && !strings.Contains(u, "://") {
			host = value.OriginOf("http://" + u)
		}
		if host != "" {
			j.Touch(value.Calls, host)
		} else {
			j.Touch(value.Unknown, u)
		}
		if remote {
			u, _, _ = strings.Cut(u, "#")
			if name, _, _ := strings.Cut(u, "?"); path.Base(name) != "." && path.Base(name) != "/" {
				to = append(to, path.Base(name))
			}
		}
	}
	j.lands(c, dir, to)
	if !printed {
		return nil
	}
	return value.Set{string(value.FromNet)}
}

// lands notes what files hold text from the network.
func (j *Judge) lands(c Command, dir string, to []string) {
	for _, f := range to {
		if f == "-" || f == "" {
			continue
		}
		p := value.PathOf(dir, f)
		j.Effect(value.Writes, p, false)
		j.Save(c.Env, p, value.Set{string(value.FromNet)})
	}
}

// socket judges programs that join a socket to something.
func (j *Judge) socket(c Command) value.Set {
	const joined = "The command would hand a shell or an interpreter to somebody over the network. Nothing here does that."
	if strings.ContainsRune(strings.Join(c.In, ""), value.Driven) {
		j.Deny("D7", joined)
	}
	if c.Name == "socat" {
		for _, a := range c.Args {
			kind, cmd, ok := strings.Cut(a, ":")
			if k := strings.ToUpper(kind); ok && (k == "EXEC" || k == "SYSTEM" || k == "SHELL") {
				cmd, _, _ = strings.Cut(cmd, ",")
				if f := strings.Fields(strings.Trim(cmd, `'"`)); len(f) > 0 && languageOf(value.Called(f[0])) != "" {
					j.Deny("D7", joined)
				}
				j.run(j.Clone(c.Env), value.Set{cmd}, value.Set{string(value.FromNet)})
			} else if ok && strings.HasPrefix(k, "TCP") || ok && strings.HasPrefix(k, "UDP") || k == "OPENSSL" {
				host, _, _ := strings.Cut(cmd, ":")
				j.Touch(value.Calls, host)
			}
		}
		return value.Set{string(value.FromNet)}
	}
	o := value.Getopt(c.Args, "ecpswiqxXIOTgGmNV", "exec", "sh-exec", "lua-exec")
	for _, cmd := range o.Literal("ec", "exec", "sh-exec", "lua-exec") {
		if f := strings.Fields(cmd); len(f) > 0 && (languageOf(value.Called(f[0])) != "" || value.Called(f[0]) == "cmd" || value.Called(f[0]) == "powershell") {
			j.Deny("D7", joined)
		}
		j.run(j.Clone(c.Env), value.Set{cmd}, value.Set{string(value.FromNet)})
	}
	if len(o.Rest) > 0 {
		j.Touch(value.Calls, o.Rest[0])
	}
	return value.Set{string(value.FromNet)}
}

// decode judges programs that turn a text into another that cannot be told from it.
func (j *Judge) decode(c Command) value.Set {
	o := value.Getopt(c.Args, "wioSslcgkpd", "wrap", "in", "out")
	if c.Name == "openssl" {
		for k, a := range c.Args {
			if a == "-out" && k+1 < len(c.Args) {
				p := value.PathOf(c.Dir, c.Args[k+1])
				j.Effect(value.Writes, p, false)
				j.Save(c.Env, p, value.Set{string(value.Decoded)})
			}
		}
		return value.Set{string(value.Decoded) + c.In.Taint()}
	}
	if c.Name == "tr" {
		return value.Set{string(value.Decoded) + c.In.Taint()}
	}
	o = value.Getopt(c.Args, map[string]string{"uudecode": "o", "gpg": "ours", "base64": "wio", "xxd": "slcgo"}[c.Name], "wrap", "output", "output-file", "ignore-garbage")
	files := o.Rest
	from := c.In.Taint()
	packs := slices.Contains([]string{"gzip", "xz", "bzip2", "zstd", "lz4", "brotli", "gpg"}, c.Name) && !o.Has("d", "decompress", "decrypt", "uncompress")
	inPlace := slices.Contains([]string{"gzip", "xz", "bzip2", "gunzip", "bunzip2", "unxz", "uncompress"}, c.Name) && !o.Has("cltk", "stdout", "to-stdout", "keep", "list", "test")
	for _, f := range files {
		p := value.PathOf(c.Dir, f)
		from += c.Saved[p].Taint()
		j.Effect(value.Reads, p, false)
		if inPlace {
			j.Effect(value.Deletes, p, false)
		}
		if !packs && strings.Contains(path.Base(f), ".") {
			j.Save(c.Env, strings.TrimSuffix(p, path.Ext(p)), value.Set{string(value.Decoded)})
		}
	}
	targets := o.Literal("o", "output", "output-file")
	if c.Name == "xxd" && len(files) > 1 {
		targets = append(targets, files[1])
	}
	for _, f := range targets {
		p := value.PathOf(c.Dir, f)
		j.Effect(value.Writes, p, false)
		j.Save(c.Env, p, value.Set{string(value.Decoded) + from})
	}
	if packs {
		return value.Set{string(value.Hole) + from}
	}
	return value.Set{string(value.Decoded) + from}
}
