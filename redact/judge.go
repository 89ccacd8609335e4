package redact

import "strings"

// secret reports whether a value is one, by what its name says.
func secret(m meaning, v string, quoted bool) bool {
	v = strings.TrimSpace(v)
	if v == "" || placeholder(v) == len(v) || masked(v) || reference(v, quoted) || stock(v) {
		return false
	}
	switch m.grade {
	case strong:
		if quoted && m.what == kindPassword && strings.Count(v, " ") >= 2 && lettersOnly(strings.NewReplacer(" ", "", ".", "", ",", "", "'", "", "!", "", "?", "", ":", "").Replace(v)) {
			return false // a message about passwords
		}
		if quoted && m.what == kindSecret && wordy(v) {
			return false
		}
		return true
	case firm:
		if strings.Trim(v, digits) == "" {
			return len(v) >= 8
		}
		if identifier(v) {
			return false
		}
		return drawn(v) || uuid(v) || !strings.ContainsAny(v, " ") && !wordy(v) && len(v) >= 8
	case weak:
		return drawn(v) && !identifier(v) && !uuid(v) && !strings.Contains(v, " ")
	case plain, header, jar:
	}
	return false
}

// masked reports whether a value is hidden already, by its writer.
func masked(v string) bool {
	if strings.Contains(v, "***") || strings.Contains(v, "•••") || strings.Contains(v, "●●●") || strings.Contains(v, "…") || strings.HasSuffix(v, "...") {
		return true
	}
	return strings.Trim(v, "xX*.-_#?0 ") == ""
}

// reference reports whether a value only says where the real one is.
func reference(v string, quoted bool) bool {
	switch {
	case v[0] == '$' && len(v) > 1:
		return strings.IndexByte("{([", v[1]) >= 0 || name(v[1:]) || strings.HasPrefix(v, "$env:")
	case v[0] == '%' && len(v) > 2 && strings.HasSuffix(v, "%"):
		return name(v[1 : len(v)-1])
	case v[0] == '<' && (strings.HasSuffix(v, ">") || !quoted), strings.HasPrefix(v, "{{"), strings.HasPrefix(v, "#{"), v[0] == '{' && strings.HasSuffix(v, "}"):
		return true
	case v[0] == '!' && len(v) > 1 && kindOf(v[1]) != 0 && !quoted && lettersOnly(v[1:]):
		return true
	case v[0] == '@' && len(v) > 1 && (v[1] == '/' || v[1] == '.' || strings.HasPrefix(v, "@Microsoft.KeyVault")):
		return true
	case v[0] == '*' && !quoted && name(v[1:]):
		return true
	}
	for _, start := range [...]string{"op://", "vault:", "file:", "env:", "ENC[", "ssm:", "arn:", "secretsmanager:", "keyring:", "secretref:", "gcp-sm:", "akv:"} {
		if strings.HasPrefix(v, start) {
			return true
		}
	}
	if quoted {
		return strings.HasPrefix(v, "{{") || strings.Contains(v, "${")
	}
	if strings.IndexByte("[({", v[0]) >= 0 || strings.HasPrefix(v, "&") && name(v[1:]) {
		return true
	}
	if k := strings.IndexAny(v, "(["); k > 0 && path(v[:k]) { // a call or an index
		return true
	}
	return strings.Contains(v, ".") && path(v) && !drawn(v) // a field of something
}

// name reports whether v is a name as programs have them.
func name(v string) bool {
	if v == "" || kindOf(v[0]) == 'd' || kindOf(v[0]) == 0 && v[0] != '_' {
		return false
	}
	for k := 0; k < len(v); k++ {
		if kindOf(v[k]) == 0 && v[k] != '_' {
			return false
		}
	}
	return true
}

// path reports whether v is names with points between them.
func path(v string) bool {
	for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == '.' || r == ':' || r == '?' || r == '!' || r == '-' || r == '>' }) {
		if !name(part) {
			return false
		}
	}
	return true
}

// stock reports whether a value stands in documents for what its reader is to fill in, or is a word of a language.
func stock(v string) bool {
	low := strings.ToLower(strings.Trim(v, ".,;:!?()"))
	switch low {
	case "", "true", "false", "null", "nil", "none", "undefined", "yes", "no", "on", "off", "string", "str", "text", "varchar", "bytes", "required",
		"optional", "password", "passwd", "pass", "passphrase", "secret", "token", "key", "apikey", "api_key", "api-key", "credentials", "empty", "unset",
		"default", "missing", "invalid", "incorrect", "wrong", "expired", "unknown", "hidden", "redacted", "removed", "masked", "sensitive", "any", "int",
		"bool", "boolean", "object", "self", "this", "ask", "prompt", "changeme", "change_me", "change-me", "bearer", "basic", "n/a", "ok", "not-needed", "dummy",
		"hunter2example", "{}", "[]", "...", "secretstr", "option", "optional[str]", "-":
		return true
	}
	for _, sign := range [...]string{"your", "example", "placeholder", "replace", "change_this", "changethis", "insert", "redacted", "[hidden]", "fixme", "xxxx", "my_api", "my-api"} {
		if strings.Contains(low, sign) && !(drawn(v) && len(v) > 3*len(sign)+8) {
			return true
		}
	}
	return false
}

// lettersOnly reports whether v is letters and nothing else.
func lettersOnly(v string) bool {
	for k := 0; k < len(v); k++ {
		if c := kindOf(v[k]); c == 0 && v[k] < 0x80 || c == 'd' {
			return false
		}
	}
	return v != ""
}

// wordy reports whether v is made of words and small numbers: my-token-12.
func wordy(v string) bool {
	size := 0
	var was byte
	for k := 0; k < len(v); k++ {
		c := kindOf(v[k])
		switch {
		case c == 0 && v[k] < 0x80 && strings.IndexByte("_-./: @", v[k]) < 0:
			return false
		case c == 'd' && was == 'd':
			if size++; size > 4 {
				return false
			}
		default:
			size = 1
		}
		was = c
	}
	return !drawn(v)
}

// typeName reports whether a word is the type of a value that may follow.
func typeName(v string) bool {
	switch strings.TrimLeft(v, "&*") {
	case "string", "str", "String", "Option<String>", "Optional[str]", "SecretStr", "bytes", "[]byte", "text", "any", "static":
		return true
	}
	return false
}

// uuid reports whether v is one.
func uuid(v string) bool {
	if len(v) != 36 {
		return false
	}
	for k := 0; k < len(v); k++ {
		if k == 8 || k == 13 || k == 18 || k == 23 {
			if v[k] != '-' {
				return false
			}
		} else if !isHex(v[k]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// identifier reports whether v names or describes something that everybody may know: a digest, a public key, a file, an address, one of
// our own things.
func identifier(v string) bool {
	for _, start := range [...]string{"sha1:", "sha256:", "sha384:", "sha512:", "sha1-", "sha256-", "sha384-", "sha512-", "md5:", "SHA256:", "MD5:", "urn:", "did:", "h1:",
		"ssh-rsa ", "ssh-ed25519 ", "ssh-dss ", "ecdsa-sha2", "-----BEGIN CERT", "-----BEGIN PUBLIC", "-----BEGIN RSA PUBLIC", "ssh-rsa", "ssh-ed25519",
		"http://", "https://", "data:", "age1", "pk_live_", "pk_test_", "npub1"} {
		if strings.HasPrefix(v, start) {
			return true
		}
	}
	if v[0] == '/' || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../") || strings.HasPrefix(v, "~/") || len(v) > 3 && v[1] == ':' && v[2] == '\\' {
		return !drawn(v) || strings.Count(v, "/") > 1 && strings.Contains(v, ".")
	}
	if strings.Contains(v, "/") && strings.Contains(v, ".") && strings.IndexByte(v, '=') < 0 && !drawn(v) { // a file, or an image
		return true
	}
	if len(v) == 22 && v[1] == '_' && kindOf(v[0]) == 'l' && strings.Trim(v[2:], "0123456789abcdefghijklmnopqrstuv") == "" {
		return true // one of our own ids
	}
	return moment(v)
}

// moment reports whether v is a date, with a time or without.
func moment(v string) bool {
	return len(v) >= 10 && v[4] == '-' && v[7] == '-' && strings.Trim(v, "0123456789-:.TZ+ ") == ""
}
