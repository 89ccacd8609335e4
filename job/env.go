package job

import (
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/redact"
)

// safePath is where commands are looked for when nothing better is known.
const safePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Env is the environment for a command: environ without what [Hidden] hides, and set on top of it. Relative folders are
// taken out of PATH, so that no command of a workspace passes for one of the system; pagers, editors and prompts
// that would wait for a person are switched off.
func Env(environ []string, set ...string) []string {
	var env []string
	at := map[string]int{}
	put := func(name, value string) {
		entry := name + "=" + value
		if i, ok := at[name]; ok {
			env[i] = entry
			return
		}
		at[name] = len(env)
		env = append(env, entry)
	}
	for _, e := range environ {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" || Hidden(name) || strings.Contains(e, "\x00") {
			continue
		}
		if strings.EqualFold(name, "PATH") {
			value = absolute(value)
		}
		put(name, value)
	}
	if _, ok := at["PATH"]; !ok && listSeparator == ":" {
		put("PATH", safePath)
	}
	if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "LANG=") || strings.HasPrefix(e, "LC_ALL=") }) {
		put("LANG", "C.UTF-8")
	}
	for _, e := range append([]string{
		"TERM=dumb", "PAGER=cat", "MANPAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true",
		"GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_OPTIONAL_LOCKS=0",
		// A repository may name a program that is started when it is merely looked at; and what tidies up goes on in the
		// background, where the end of the command would cut it off.
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=gc.autoDetach", "GIT_CONFIG_VALUE_1=false", "GIT_CONFIG_KEY_2=maintenance.autoDetach", "GIT_CONFIG_VALUE_2=false",
	}, set...) {
		name, value, _ := strings.Cut(e, "=")
		put(name, value)
	}
	return env
}

// absolute keeps the absolute folders of a search path.
func absolute(path string) string {
	parts := slices.DeleteFunc(strings.Split(path, listSeparator), func(p string) bool { return !isAbs(p) })
	if len(parts) == 0 && listSeparator == ":" {
		return safePath
	}
	return strings.Join(parts, listSeparator)
}

// Hidden reports whether a variable of this name stays behind: one that looks as if it held a secret, or that makes
// programs load or run something.
func Hidden(name string) bool {
	upper := strings.ToUpper(name)
	switch upper {
	case "PWD", "OLDPWD": // set by the runner
		return false
	case "BASH_ENV", "ENV", "PROMPT_COMMAND", "NODE_OPTIONS", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "GIT_SSH_COMMAND",
		"GIT_EXTERNAL_DIFF", "SSH_AUTH_SOCK", "KUBECONFIG":
		return true
	}
	for _, start := range [...]string{"LD_", "DYLD_", "BASH_FUNC_"} {
		if strings.HasPrefix(upper, start) {
			return true
		}
	}
	return redact.Secret(name)
}
