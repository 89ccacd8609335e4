package redact

import "strings"

// longestHost is how many bytes of an address are looked at for a password in front of its host.
const longestHost = maxLook

// authority reports whether a host comes next: "://" is at hand.
func (s *scan) authority() bool { return strings.HasPrefix(s.buf[s.pos:], "://") }

// stops reports whether a byte ends an address.
func stops(c byte) bool {
	return c <= ' ' || strings.IndexByte("\"'`<>\\|^{}", c) >= 0
}

// address reads an address up to its host, and hides the password in it.
func (s *scan) address(final bool) (more bool) {
	text := s.buf[s.pos+3:]
	end, host := 0, -1 // of the address as far as it matters, and of what should be its host
	for end < len(text) && end < longestHost && !stops(text[end]) {
		if n := placeholder(text[end:]); n > 0 {
			end += n
			continue
		}
		if host < 0 && strings.IndexByte("/?#", text[end]) >= 0 {
			host = end
			if at := strings.LastIndexByte(text[:end], '@'); at >= 0 || !odds(text[:end]) {
				break
			}
		}
		end++
	}
	if end == len(text) && end < longestHost && !final {
		return true
	}
	part := text[:end]
	if host < 0 {
		host = end
	}
	at := strings.LastIndexByte(text[:host], '@')
	if at < 0 && odds(text[:host]) {
		at = strings.LastIndexByte(part, '@') // a password with a slash in it
	}
	from, what := -1, kindPassword
	if at > 0 && placeholder(part) != at {
		user, pass, two := strings.Cut(part[:at], ":")
		switch {
		case two && pass != "" && secret(meaning{strong, kindPassword}, pass, true):
			from = len(user) + 1
		case !two && (drawn(user) || len(user) >= 20 && !wordy(user)) && placeholder(user) == 0:
			from, what = 0, kindToken
		}
	}
	s.phase, s.expect = nowhere, meaning{}
	s.url, s.hook = true, hookOf(part[at+1:])
	if from < 0 {
		s.pass(3)
		return false
	}
	s.pass(3 + from)
	s.hide(at-from, what)
	return false
}

// odds reports whether what should be a host and a port is none, as with a password that holds a slash.
func odds(host string) bool {
	_, port, ok := strings.Cut(host, ":")
	return ok && port != "" && strings.Trim(port, digits) != "" && !strings.Contains(host, "[")
}

// hookOf says what the path of an address holds, by its host: "" is nothing.
func hookOf(host string) string {
	host = strings.ToLower(host)
	if k := strings.IndexAny(host, "/?#"); k >= 0 {
		host = host[:k]
	}
	for label := range strings.SplitSeq(host, ".") {
		switch label {
		case "hooks", "hook", "webhook", "webhooks":
			return kindWebhook
		}
	}
	return ""
}

// segment is how long the part of a path is that text starts with, if it is one that is to be hidden.
func (s *scan) segment(text string, final bool) (n int, more bool) {
	for n < len(text) && n < maxLook && !stops(text[n]) && strings.IndexByte("/?#&),;", text[n]) < 0 {
		n++
	}
	if n == len(text) && n < maxLook && !final {
		return 0, true
	}
	part := text[:n]
	if len(part) < 8 || !drawn(part) && !uuid(part) && (wordy(part) || strings.Trim(part, digits) == "") {
		return 0, false
	}
	if s.hook == kindWebhook && (len(part) == 40 || len(part) == 64) && strings.Trim(part, "0123456789abcdef") == "" {
		return 0, false // a commit
	}
	return n, false
}

// step looks at a whole part of a path, which c ends: what follows some is secret.
func (s *scan) step(c byte) {
	if c != '/' {
		s.hook = ""
	}
	if !s.url || s.phase != inName {
		return
	}
	switch strings.ToLower(s.name()) {
	case "webhook", "webhooks", "hooks", "hook", "webhookb2", "incoming-webhook", "incomingwebhook":
		s.hook = kindWebhook
	case "login", "signin", "sign-in", "magic", "magic-link", "verify", "verify-email", "reset", "reset-password", "password-reset", "invite", "invitation",
		"activate", "confirm", "otp", "sso", "passwordless":
		s.hook = kindCode
	}
}

// queryMeaning is what a name says in the query or the fragment of an address.
func queryMeaning(name string) meaning {
	switch strings.ToLower(name) {
	case "code", "otp", "login", "ticket", "magic", "invite", "login_code", "auth_code", "assertion", "samlresponse", "samlart", "pin":
		return meaning{firm, kindCode}
	case "sig", "signature", "x-amz-signature", "x-goog-signature", "x-amz-credential", "x-goog-credential", "hmac", "se_sig":
		return meaning{firm, kindKey}
	case "pw", "passwort", "passcode":
		return meaning{strong, kindPassword}
	case "key", "auth", "session", "sid", "jwt", "apikey", "access", "hash":
		return meaning{firm, kindKey}
	}
	return meaning{}
}

// odd looks for tokens that have a form but no start: those of bots.
func odd(text string, final bool) (n int, more bool) {
	const (
		shortestBot, longestBot = 8, 10 // digits in front of the colon
		botRest                 = 35
	)
	skip := 0
	if strings.HasPrefix(text, "bot") {
		skip = 3
	} else if strings.HasPrefix("bot", text) && !final {
		return 0, true
	}
	for n = skip; n < len(text) && n <= skip+longestBot && kindOf(text[n]) == 'd'; n++ {
	}
	switch {
	case n == len(text) && !final:
		return 0, true
	case n-skip >= shortestBot && n-skip <= longestBot && n < len(text) && text[n] == ':':
		size := run(text[n+1:])
		if n+1+size == len(text) && !final && size < maxLook {
			return 0, true
		}
		if size >= botRest-2 && size <= botRest+5 && drawn(text[n+1:n+1+size]) {
			return n + 1 + size, false
		}
		return 0, false
	case text[0] < 'M' || text[0] > 'O':
		return 0, false
	}
	// Three parts of fixed sizes with points between them.
	n = 0
	for k, size := range [...]struct{ least, most int }{{23, 28}, {6, 7}, {27, 45}} {
		r := run(text[n:])
		if n+r == len(text) && !final && r <= size.most {
			return 0, true
		}
		if r < size.least || r > size.most {
			return 0, false
		}
		n += r
		if k < 2 {
			if text[n:] == "" || text[n] != '.' {
				return 0, false
			}
			n++
		}
	}
	if !drawn(text[:n]) {
		return 0, false
	}
	return n, false
}

// run is how many bytes of a token with dashes a text starts with.
func run(text string) (n int) {
	for n < len(text) && n < maxLook && (kindOf(text[n]) != 0 || text[n] == '-' || text[n] == '_') {
		n++
	}
	return n
}
