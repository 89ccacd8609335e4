package redact

import (
	"strings"
)

// longestEnd is how many bytes tell whether a hidden value has ended.
const longestEnd = 6

// A quote is how a value begins and ends.
type quote struct {
	open, close string
}

// quoteAt is the quote that a text starts with; the zero quote is none.
func quoteAt(text string) quote {
	prefix := 0
	if len(text) > 1 && strings.IndexByte("rbfuRBFU@$", text[0]) >= 0 && (text[1] == '"' || text[1] == '\'') {
		prefix = 1
	}
	rest := text[prefix:]
	for _, q := range [...]string{`\\\"`, `\"`, `\'`, `"""`, `'''`, `"`, `'`, "`", "&quot;", "&#34;"} {
		if strings.HasPrefix(rest, q) {
			return quote{text[:prefix+len(q)], q}
		}
	}
	return quote{}
}

// end is how long the value is that text starts with, behind its opening quote. found is false if the text ends before the value does.
func (q quote) end(text string) (n int, found bool) {
	for n = 0; n < len(text) && n < maxLook; n++ {
		c := text[n]
		if c == '\n' && len(q.close) != 3 {
			return n, true
		}
		if strings.HasPrefix(text[n:], q.close) {
			return n, true
		}
		if c == '\\' && len(q.close) == 1 && q.close != "`" {
			n++
		}
	}
	return min(n, len(text)), n >= maxLook
}

// endBare is how long a value without quotes is.
func endBare(text string, final bool) (n int, found bool) {
	round, square, curly := 0, 0, 0
	for n = 0; n < len(text) && n < maxLook; n++ {
		switch c := text[n]; c {
		case ' ', '\t', '\n', '\r', '"', '\'', '`', ';', '<', '>', '|', escape:
			return n, true
		case '\\':
			if n+1 == len(text) {
				return n, final
			}
			if strings.IndexByte(`nrt"'`, text[n+1]) >= 0 {
				return n, true
			}
		case '(':
			round++
		case '[':
			square++
		case '{':
			curly++
		case ')':
			if round--; round < 0 {
				return n, true
			}
		case ']':
			if square--; square < 0 {
				return n, true
			}
		case '}':
			if curly--; curly < 0 {
				return n, true
			}
		case ',', '&':
			is, more := another(text[n+1:], final)
			if more {
				return n, false
			}
			if is {
				return n, true
			}
		}
	}
	return min(n, len(text)), n >= maxLook || final
}

// another reports whether what follows a comma or an ampersand is another name and value, or nothing.
func another(text string, final bool) (is, more bool) {
	for k := 0; k < len(text) && k < maxName; k++ {
		switch c := text[k]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '"' || c == '\'':
			return k == 0, false
		case c == '=' || c == ':':
			return k > 0, false
		case !wordByte(c) && strings.IndexByte("-.%;", c) < 0:
			return false, false
		}
	}
	return text == "" && final, len(text) < maxName && !final
}

// valued looks at what may be the value of the name before it. done means that it was hidden, and the next step begins behind it; wait, that
// it cannot be told yet.
func (s *scan) valued(final bool) (done, wait bool) {
	m, parting := s.expect, s.sign
	if s.phase == spaced {
		heir := s.inherits()
		defer func() {
			if !done && !wait {
				s.heir = heir
			}
		}()
		if m = s.told(); m.grade == plain {
			return false, false
		}
		parting = ' '
	}
	text := s.buf[s.pos:]
	if len(text) < longestEnd && !final {
		return false, true
	}
	switch m.grade {
	case header:
		return s.headed(text, final)
	case jar:
		return s.cookies(text, final)
	case plain, weak, firm, strong:
	}
	if parting == ':' && (text[0] == '|' || text[0] == '>') {
		return s.yaml(m, text, final)
	}
	q := quoteAt(text)
	start := len(q.open)
	n, found := q.end(text[start:])
	if q.open == "" {
		look := text
		if m.grade == weak && len(look) > enough {
			look = look[:enough]
		}
		if n, found = endBare(look, final); n == enough && m.grade == weak {
			found = true
		}
	}
	if !found && !final {
		return false, true
	}
	v := text[start : start+n]
	if q.open == "" && parting == ' ' && strings.HasPrefix(v, "-") {
		return false, false
	}
	if q.open == "" && m.grade >= firm && start+n < len(text) && blank(text[start+n]) && lettersOnly(v) {
		// Of a sentence, or of code, or one word of several: the next word tells.
		rest := strings.TrimLeft(text[start+n:], " \t")
		if rest == "" && !final && len(text)-start-n < maxName {
			return false, true
		}
		if rest != "" && (kindOf(rest[0]) != 0 || rest[0] == '(' || rest[0] == '=' || rest[0] == '|') {
			s.heir = m
			return false, false
		}
	}
	at, to := s.secretPart(m, v, q.open != "")
	if at < 0 {
		s.after(m, v, parting)
		return false, false
	}
	s.pass(start + at)
	s.hide(to-at, m.what)
	if to == n && (n >= maxLook || q.open == "" && n == enough) {
		s.mode, s.drop = dropping, q.over()
	}
	return true, false
}

// over tells whether a long value ends before a text.
func (q quote) over() func(string) bool {
	if q.open == "" {
		return func(t string) bool { return strings.IndexByte(" \t\n\r\"'`;<>|", t[0]) >= 0 }
	}
	return func(t string) bool { return t[0] == '\n' && len(q.close) != 3 || strings.HasPrefix(t, q.close) }
}

// after remembers what a value that was not hidden says about what follows.
func (s *scan) after(m meaning, v string, parting byte) {
	s.expect = meaning{}
	if parting == ':' && typeName(v) {
		s.heir = m
	}
}

// told is what the name before a blank says about the word behind it, if it stands as an option, in a login file, or in a list of
// settings.
func (s *scan) told() meaning {
	name := s.name()
	switch {
	case s.option && s.before == '-' && s.program != "" && len(name) == 1:
		return s.short(name)
	case s.option && (name == "user" || name == "proxy-user") && (s.program == "curl" || s.program == "wget"):
		return meaning{strong, kindPassword}
	case s.option:
		return meaningOf(name)
	case s.netrc && (name == "password" || name == "passwd"):
		return meaning{strong, kindPassword}
	case !endsLikeSecret(name):
		if s.heir.grade > plain && bridge(name) {
			m := s.heir
			m.grade = min(m.grade, weak)
			return m
		}
		return meaning{}
	}
	m := meaningOf(name)
	switch {
	case m.grade < firm || m.grade > strong:
		return meaning{}
	case name == "requirepass" || name == "masterauth":
		return meaning{strong, kindPassword}
	}
	m.grade = weak // nothing says that this is its value
	return m
}

// inherits is what a name hands on to the next word, which may be its type, or say "is".
func (s *scan) inherits() meaning {
	name := s.name()
	if !endsLikeSecret(name) {
		if s.heir.grade > plain && (typeName(name) || bridge(name)) {
			return s.heir
		}
		return meaning{}
	}
	if m := meaningOf(name); m.grade >= firm && m.grade <= strong {
		return m
	}
	return meaning{}
}

// bridge reports whether a word may stand between a name and its value in a sentence.
func bridge(word string) bool { return word == "is" || word == "was" || word == "to" || word == "as" }

// short is what a program's short option says.
func (s *scan) short(option string) meaning {
	login := meaning{strong, kindPassword}
	switch s.program + " " + option {
	case "sshpass p", "docker p", "podman p", "helm p", "nerdctl p", "buildah p", "skopeo p", "oras p", "redis-cli a", "ldapsearch w", "curl u", "wget u",
		"http a", "https a", "xh a", "curl U", "smbclient U", "zip P", "unzip P":
		return login
	}
	return meaning{}
}

// endsLikeSecret is a quick look at a name: most words are none.
func endsLikeSecret(name string) bool {
	if len(name) < 3 {
		return false
	}
	n := len(name)
	a, b, c := name[n-3]|0x20, name[n-2]|0x20, name[n-1]|0x20
	switch c { // ord, swd, pwd; ase; ken; ret; key; ass; uth
	case 'd':
		return a == 'o' && b == 'r' || b == 'w' && (a == 's' || a == 'p')
	case 'e', 's':
		return a == 'a' && b == 's'
	case 'n':
		return a == 'k' && b == 'e'
	case 't':
		return a == 'r' && b == 'e'
	case 'y':
		return a == 'k' && b == 'e'
	case 'h':
		return a == 'u' && b == 't'
	}
	return false
}

// secretPart is which part of a value is to be hidden; at is negative if none is.
func (s *scan) secretPart(m meaning, v string, quoted bool) (at, to int) {
	if s.option && (s.name() == "u" || s.name() == "user" || s.name() == "proxy-user" || s.name() == "U" && s.program != "zip") {
		k := strings.IndexAny(v, ":%")
		if k < 0 || !secret(m, v[k+1:], quoted) {
			return -1, 0
		}
		return k + 1, len(v)
	}
	if s.program == "docker" && s.option && s.name() == "p" && portMap(v) {
		return -1, 0
	}
	if k := strings.Index(v, "://"); k > 0 && k < 30 && m.what != kindPassword {
		if m.what != kindWebhook {
			return -1, 0 // its parts are looked at one by one
		}
		slash := strings.IndexByte(v[k+3:], '/')
		if slash < 0 || len(v)-(k+3+slash) < 8 {
			return -1, 0
		}
		if Holds(v[k:]) && placeholder(v[k+4+slash:]) == len(v)-(k+4+slash) {
			return -1, 0
		}
		return k + 4 + slash, len(v)
	}
	if !secret(m, v, quoted) {
		return -1, 0
	}
	return 0, len(v)
}

// portMap reports whether v maps ports, as docker's -p does when it is not told a password.
func portMap(v string) bool {
	return v != "" && strings.Trim(v, "0123456789:./tcpud[]") == ""
}

// yaml hides the first line of a block of text, and those that are indented like it.
func (s *scan) yaml(m meaning, text string, final bool) (done, wait bool) {
	k := strings.IndexByte(text[:min(len(text), 8)], '\n')
	if k < 0 {
		return false, !final && len(text) < 8
	}
	if strings.Trim(text[1:k], "+-0123456789\r ") != "" {
		return false, false
	}
	start := k + 1
	for start < len(text) && blank(text[start]) && start < maxLook {
		start++
	}
	end := start
	for end < len(text) && text[end] != '\n' && end < maxLook {
		end++
	}
	if end == len(text) && !final && end < maxLook {
		return false, true
	}
	v := strings.TrimRight(text[start:end], "\r")
	if start == k+1 || m.grade < firm || !secret(m, v, true) {
		return false, false
	}
	s.pass(start)
	s.hide(end-start, m.what)
	indent := "\n" + text[k+1:start]
	s.mode, s.drop = dropping, func(t string) bool { return t[0] == '\n' && !strings.HasPrefix(t, indent[:min(len(indent), len(t))]) }
	return true, false
}

// headed hides what proves somebody in an authorization header: all behind the scheme, or all of it.
func (s *scan) headed(text string, final bool) (done, wait bool) {
	q := quoteAt(text)
	start := len(q.open)
	end, found := q.end(text[start:])
	if q.open == "" {
		end, found = endLine(text, final)
	}
	if !found && !final {
		return false, true
	}
	v := text[start : start+end]
	scheme, rest, two := strings.Cut(v, " ")
	at := 0
	if two {
		at = len(scheme) + 1
		at += len(rest) - len(strings.TrimLeft(rest, " "))
		rest = v[at:]
		if !lettersOnly(strings.NewReplacer("-", "", "4", "", "2", "", "5", "", "6", "").Replace(scheme)) && scheme != "" {
			at, rest = 0, v
		}
	} else {
		rest = v
	}
	if listed(scheme) {
		if q.open == "" {
			if end = strings.IndexAny(text[:min(len(text), maxLook)], "\n\r'"); end < 0 {
				if end = min(len(text), maxLook); end < maxLook && !final {
					return false, true
				}
			}
			rest = text[at:end]
		}
	} else if k := strings.IndexAny(rest, " ,;"); k > 0 && at > 0 && q.open == "" {
		end, rest = at+k, rest[:k]
	}
	rest = strings.TrimRight(rest, " \t\r")
	switch {
	case rest == "" || placeholder(rest) == len(rest) || reference(rest, q.open != "") || masked(rest) || stock(rest):
		s.expect = meaning{}
		return false, false
	case at == 0 && (lettersOnly(rest) || strings.Contains(rest, " ")) && !drawn(rest):
		s.expect = meaning{}
		return false, false
	case at > 0 && !known(scheme) && !drawn(rest) && lettersOnly(strings.ReplaceAll(rest, " ", "")):
		s.expect = meaning{}
		return false, false
	}
	s.pass(start + at)
	s.hide(len(rest), kindToken)
	if end >= maxLook {
		s.mode, s.drop = dropping, q.over()
	}
	return true, false
}

// listed reports whether a scheme is followed by a list of names and values, and not by one word.
func listed(scheme string) bool {
	switch strings.ToLower(scheme) {
	case "digest", "aws4-hmac-sha256", "aws4-hmac-sha512", "signature", "oauth", "hawk":
		return true
	}
	return false
}

// known reports whether a word is a scheme of authorization headers.
func known(scheme string) bool {
	switch strings.ToLower(scheme) {
	case "bearer", "basic", "token", "digest", "negotiate", "ntlm", "apikey", "api-key", "key", "bot", "oauth", "hawk", "signature", "sso-key", "dpop",
		"splunk", "jwt", "aws4-hmac-sha256", "genie", "sharedkey", "client", "snippet", "deepl-auth-key":
		return true
	}
	return false
}

// endLine is where a header's value without quotes ends.
func endLine(text string, final bool) (n int, found bool) {
	for n = 0; n < len(text) && n < maxLook; n++ {
		switch text[n] {
		case '\n', '\r', '"', '\'', '`', '<', escape:
			return n, true
		case '\\':
			if n+1 == len(text) {
				return n, final
			}
			if strings.IndexByte(`nr"'`, text[n+1]) >= 0 {
				return n, true
			}
		}
	}
	return min(n, len(text)), n >= maxLook || final
}

// attributes of a cookie that are not its value.
func attribute(name string) bool {
	switch strings.ToLower(name) {
	case "path", "domain", "expires", "max-age", "samesite", "secure", "httponly", "priority", "version":
		return true
	}
	return false
}

// cookies hides the value of one cookie; those behind it follow in the next step.
func (s *scan) cookies(text string, final bool) (done, wait bool) {
	q := quoteAt(text)
	if q.open != "" {
		s.pass(len(q.open))
		s.phase = parted // the cookies stand inside
		return true, false
	}
	if text[0] == ';' || text[0] == ',' {
		s.pass(1)
		s.phase = parted
		return true, false
	}
	n, found := 0, false
	for n < len(text) && n < maxLook && !found {
		if found = strings.IndexByte(";\n\r\"'`\\<", text[n]) >= 0; !found {
			n++
		}
	}
	if n == len(text) && !final {
		return false, true
	}
	name, v, ok := strings.Cut(text[:n], "=")
	switch {
	case n == 0:
		s.expect = meaning{}
		return false, false
	case strings.Contains(strings.TrimSpace(name), " ") || !ok && !drawn(text[:n]) && !attribute(name):
		s.expect = meaning{} // a sentence about cookies
		return false, false
	case !ok && !attribute(name):
		s.hide(n, kindCookie)
	case attribute(name) || v == "" || placeholder(v) == len(v) || reference(v, false) || masked(v):
		s.pass(n)
	default:
		s.pass(len(name) + 1)
		s.hide(n-len(name)-1, kindCookie)
	}
	if n < len(text) && text[n] == ';' {
		s.expect, s.phase, s.sign = meaning{jar, kindCookie}, parted, ';'
	} else {
		s.expect, s.phase = meaning{}, nowhere
		if n >= maxLook {
			s.mode, s.drop = dropping, func(t string) bool { return strings.IndexByte(";\n\r\"'`<", t[0]) >= 0 }
		}
	}
	return true, false
}
