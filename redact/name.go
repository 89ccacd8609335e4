package redact

import (
	"strings"
	"unicode"
)

// A grade says how much a name tells about its value.
type grade int

const (
	// plain names hold no secrets.
	plain grade = iota
	// weak names often hold one, and as often anything else: key, session, auth. What looks random is hidden.
	weak
	// firm names hold one, or a word about it: token, api_key.
	firm
	// strong names hold one that a person may have made up: password. Whatever is no word about it is hidden.
	strong
	// header names hold a scheme and what proves it.
	header
	// jar names hold cookies.
	jar
)

// A meaning is what a name says about its value: how surely it is a secret, and what the placeholder calls it.
type meaning struct {
	grade grade
	what  string
}

// Secret reports whether a name is that of a secret, by its words: names are split at '_', '-', '.' and where small letters
// are followed by a capital, and a word must match whole.
func Secret(name string) bool { return secretWord(words(name)) != "" || address(name) }

// secretWord is the first of the words that makes a name that of a secret, "" if none does.
func secretWord(words []string) string {
	for _, w := range words {
		switch w {
		case "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "PWD", "KEY", "AUTH", "CREDENTIAL", "CREDENTIALS", "COOKIE",
			"SESSION", "JWT", "DSN", "PRIVATE", "WEBHOOK":
			return w
		}
		for _, end := range [...]string{"PASSWORD", "TOKEN", "SECRET", "APIKEY"} {
			if strings.HasSuffix(w, end) {
				return end
			}
		}
	}
	return ""
}

// address reports whether a name is that of an address which may hold a password.
func address(name string) bool {
	upper := strings.ToUpper(name)
	if !strings.HasSuffix(upper, "_URL") && !strings.HasSuffix(upper, "_URI") {
		return false
	}
	for _, w := range words(name) {
		switch w {
		case "DATABASE", "DB", "REDIS", "MONGODB", "MONGO", "AMQP", "POSTGRES", "MYSQL", "INDEX", "WEBHOOK":
			return true
		}
	}
	return false
}

// words splits a name at separators and where small letters are followed by a capital, and at the last capital of a row
// before small letters. The words come in capitals.
func words(name string) (all []string) {
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		r := []rune(part)
		start := 0
		for i := 1; i < len(r); i++ {
			rises := unicode.IsUpper(r[i]) && !unicode.IsUpper(r[i-1])
			falls := unicode.IsUpper(r[i]) && i+1 < len(r) && unicode.IsLower(r[i+1])
			if rises || falls {
				all = append(all, strings.ToUpper(string(r[start:i])))
				start = i
			}
		}
		all = append(all, strings.ToUpper(string(r[start:])))
	}
	return all
}

// meaningOf is what the name in front of a value says about it.
func meaningOf(name string) meaning {
	if name = strings.Trim(name, "-."); !mayMean(name) {
		return meaning{}
	}
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "proxyauthorization", "http_authorization", "http-authorization", "x-authorization":
		return meaning{header, kindToken}
	case "cookie", "set-cookie", "cookie2", "set-cookie2", "http_cookie":
		return meaning{jar, kindCookie}
	case "secretaccesskey", "accountkey", "sharedaccesskey", "storepass", "keypass", "requirepass", "masterauth", "pgpass", "sshpass", "clientsecret":
		return meaning{firm, kindSecret}
	}
	all := words(name)
	m, w := meaning{}, ""
	for k := range all {
		if one := secretWord(all[k : k+1]); one != "" {
			if means := wordMeaning(one, len(all) == 1); means.grade > m.grade || w == "" {
				m, w = means, one
			}
		}
	}
	if w == "" {
		return meaning{}
	}
	last := all[len(all)-1]
	for _, w := range all {
		switch w {
		case "PUBLIC", "PUB", "PRIMARY", "FOREIGN", "SORT", "PARTITION", "CACHE", "INDEX":
			if m.grade != strong {
				return meaning{} // keys, but of other locks
			}
		case "WEBHOOK":
			m.what = kindWebhook
		}
	}
	if last != w && !strings.HasSuffix(last, w) && about(last) {
		m.grade = weak // password_file and token_type speak of one
	}
	return m
}

// mayMean is a quick look at a name: whether the beginning of any word that matters is in it.
func mayMean(name string) bool {
	for k := 0; k+2 < len(name); k++ {
		b, c := name[k+1]|0x20, name[k+2]|0x20
		switch name[k] | 0x20 {
		case 't':
			if b == 'o' && c == 'k' {
				return true
			}
		case 's':
			if b == 'e' && (c == 'c' || c == 's') {
				return true
			}
		case 'p':
			if b == 'a' && c == 's' || b == 'w' && c == 'd' || b == 'r' && c == 'i' {
				return true
			}
		case 'k', 'w':
			if b == 'e' && (c == 'y' || c == 'b') {
				return true
			}
		case 'a':
			if b == 'u' && c == 't' {
				return true
			}
		case 'c':
			if b == 'r' && c == 'e' || b == 'o' && c == 'o' {
				return true
			}
		case 'j', 'd':
			if b == 'w' && c == 't' || b == 's' && c == 'n' {
				return true
			}
		}
	}
	return false
}

// wordMeaning is what one word says; alone, if it is the whole name.
func wordMeaning(w string, alone bool) meaning {
	m := meaning{firm, kindSecret}
	switch w {
	case "PASSWORD", "PASSWD", "PASSPHRASE":
		m = meaning{strong, kindPassword}
	case "PASS", "PWD":
		m = meaning{strong, kindPassword}
		if alone {
			m.grade = firm // so many tests pass
		}
	case "SECRET":
		m.grade = strong
	case "TOKEN", "JWT":
		m.what = kindToken
	case "APIKEY":
		m.what = kindKey
	case "KEY":
		m.what = kindKey
		if alone {
			m.grade = weak
		}
	case "AUTH", "SESSION", "PRIVATE":
		m.grade = weak
	case "COOKIE":
		m = meaning{firm, kindCookie}
	}
	return m
}

// about reports whether a word behind a secret one says that the value is something about it.
func about(word string) bool {
	switch word {
	case "NAME", "FILE", "PATH", "DIR", "TYPE", "COUNT", "LIMIT", "LENGTH", "LEN", "SIZE", "MIN", "MAX", "TTL", "AGE", "TIMEOUT", "EXPIRY",
		"EXPIRES", "IN", "AT", "FIELD", "INPUT", "LABEL", "HINT", "POLICY", "RULES", "URL", "URI", "ENDPOINT", "STATUS", "STATE", "ENABLED",
		"REQUIRED", "PREFIX", "FORMAT", "LOCATION", "REF", "SCOPE", "SCOPES", "METHOD", "MODE", "PROVIDER", "ISSUER", "VERSION",
		"ALGORITHM", "ALG", "ENV", "ID", "IDS", "HASH", "DIGEST", "FINGERPRINT", "ROTATION", "USAGE":
		return true
	}
	return false
}
