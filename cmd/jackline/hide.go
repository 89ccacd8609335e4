package main

import (
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"strings"

	"github.com/jackline-ai/jackline/redact"
	"github.com/jackline-ai/jackline/web"
)

// crash is what is printed of a panic that nobody else took: what went wrong, without secrets.
func (m *Main) crash(v any) {
	fmt.Fprintln(m.Err, m.hider.Text(fmt.Sprintf("jackline: panic: %v\n\n%s", v, debug.Stack())))
}

// knowEnvironment tells the redactor of the secrets that the environment holds: those of variables that no child is given, and of those that
// set up a search, whose addresses may hold a password.
func (m *Main) knowEnvironment(keyEnv string) {
	var values []string
	for _, name := range append(os.Environ(), keyEnv) {
		name, _, _ = strings.Cut(name, "=")
		if name == "" || name != keyEnv && !redact.Secret(name) && !web.IsSearchKey(name) {
			continue
		}
		values = append(values, secretsIn(m.Env(name))...)
	}
	m.hider.Know("environment", values...)
}

// secretsIn is what of a variable is secret: of an address its password, of anything else that could be a key all of it.
func secretsIn(value string) []string {
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		if pass, ok := u.User.Password(); ok {
			return []string{pass}
		}
		return nil
	}
	if strings.ContainsAny(value, " /\\") || strings.Trim(value, "0123456789") == "" || !mixed(value) {
		return nil // a name, a path or a number, which may well occur in a text
	}
	return []string{value}
}

// mixed reports whether a value has letters and digits, as a key has and a word has not.
func mixed(value string) bool {
	return strings.ContainsAny(value, "0123456789") && strings.Trim(value, "0123456789") != "" && len(value) >= 2*redact.LeastKnown
}
