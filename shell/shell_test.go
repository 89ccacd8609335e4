package shell

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jackline-ai/jackline/shell/source"
)

// TestReadOnly holds the short list: what is on it, and what looks as if it were.
func TestReadOnly(t *testing.T) {
	yes := []string{
		"pwd", "pwd -P", "whoami", "id", "id -un", "uname -a", "uname -s -r", "date", "date +%F",
		"date -u '+%F %T'", "uptime", "uptime -p",
		"nproc", "nproc --all", "true", "false", "echo", "echo hello", "echo '$(rm -rf /)'",
		`echo "a && rm -rf / || b"`, `echo a\ b`,
		`echo ":(){ :|:& };:"`, "echo {} a{b}c", "which go rm", "ls", "ls -l", "ls -lht -r", "ls\npwd",
		"ls\r\npwd", "ls; pwd", "ls && pwd || true",
		"git version", "git --version", "node --version", "npm --version", "python3 --version",
		"pip --version", "gcc --version",
		"make --version", `l"s"`, `\ls`, "ls # a comment", "echo HEAD~1 a=b c:d",
	}
	no := []string{
		"", " ", "# only a comment", "ls -a", "ls -la", "ls -A", "ls --all", "ls src", "ls -- x", "ls .",
		"ls ~", "ls *", "cat x", "ls | cat", "pwd | pwd",
		"ls &", "(ls)", "{ ls; }", "! ls", "ls > x", "ls 2>&1", "ls < x", "ls > /dev/null", "A=1 ls", "A=1",
		"echo $HOME", "echo $(pwd)", "echo `pwd`",
		`echo "$HOME"`, `echo "$(pwd)"`, "echo ~", "echo *", "echo a?b", "echo [a]", "echo {a,b}",
		"echo {1..3}", "echo $'a'", `echo $"a"`, "echo a=~", "echo @(a)",
		"if true; then ls; fi", "for x in a; do ls; done", "f() { ls; }; f", "time ls", "coproc ls",
		"[[ a ]]", "((1))", "export A=1",
		"date -s 12:00", "date 010203", "date --set=now", "date -f x", "date +%F +%T", "which /bin/ls",
		"which -a ls", "which", "/bin/ls", "./ls", "sudo ls",
		"go version", "go --version", "node version", "python3 version", "make version", "gcc version", "npm version patch",
		"go version -m x", "git version --build-options",
		"cargo --version", "rustc --version", "docker --version", "go --version x", "nproc --ignore=x",
		"pwd x", "true x", "true; rm x", "rm x; true",
		"true && rm x", "true || rm x", "true\nrm x", "echo a > b", "echo a >| b", "echo <(ls)", "ls -l$x",
		"ls -l'a'", "l's' -a", "ls \\-a", "ls -\\a",
		"command ls", "builtin pwd", "alias ls=rm; ls", "exec ls", "eval ls", "ls;ls;ls;rm x", "ls\\\n-a",
		"id root", "unam\u0435", "LS",
	}
	for _, c := range yes {
		if !ReadOnly(c) {
			t.Errorf("%q is not read-only, and should be", c)
		}
	}
	for _, c := range no {
		if ReadOnly(c) {
			t.Errorf("%q is read-only, and should not be", c)
		}
	}
}

// TestCheck holds what is refused outright.
func TestCheck(t *testing.T) {
	refused := map[string]string{
		"":                                     "no command",
		" \n\t ":                               "no command",
		"# note":                               "no command",
		"echo 'a":                              "cannot be read",
		`echo "a`:                              "cannot be read",
		"cat <<EOF\nno end":                    "cannot be read",
		"echo $(ls":                            "cannot be read",
		"if true; then ls":                     "cannot be read",
		"ls &&":                                "cannot be read",
		"ls \x00-la":                           "control",
		"ls \x1b[0m":                           "control",
		"ls\x7f":                               "control",
		"ls\u0085":                             "control",
		"ls\rrm x":                             "carriage return",
		"ls\r":                                 "carriage return",
		"ls\r\r\npwd":                          "carriage return",
		"cat \u2066notes.txt\u2069":            "direction",
		"ls \u202etxt":                         "direction",
		"\ufeffgit status":                     "width",
		"l\u200bs":                             "width",
		"git status\u2028rm -rf build":         "line separator",
		"ls\u3000-la":                          "another kind",
		"ls\u00a0-la":                          "another kind",
		"ls # a\u00a0b":                        "another kind",
		"echo \"$(ls\u00a0-la)\"":              "another kind",
		"echo \"a\u00a0b\" c\u00a0d":           "another kind",
		"echo 'a\u00a0b'; x\u00a0y":            "another kind",
		"\xff\xfe":                             "UTF-8",
		strings.Repeat("a", source.MaxText+1):  "longer",
		strings.Repeat("( ", source.MaxOpen+1): "brackets",
		"cat <<A <<B\na\nA\nb\nB\nls\u2003":    "another kind",
		"rm -rf /":                             "delete",
		"cat ~/.jackline/secrets":              "belongs to this program",
	}
	for c, want := range refused {
		got := Check(c)
		if got == "" || !strings.Contains(got, want) {
			t.Errorf("Check(%.40q) = %q, want something about %q", c, got, want)
		}
	}
	fine := []string{
		"ls", "ls\r\npwd", "echo 'a\u00a0b'", "echo \"a\u3000b\"", "echo \"$(ls 'a\u00a0b') \u00a0\"",
		"echo caf\u00e9 \u4f60\u597d",
		"cat > x <<'EOF'\na\u3000b\nEOF", "cat <<EOF > x\n\u00a0\nEOF\nls", "A=1", "> x", "rm -rf x", "echo \u200d",
		strings.Repeat("a", source.MaxText),
	}
	for _, c := range fine {
		if why := Check(c); why != "" {
			t.Errorf("Check(%.60q) = %q, want nothing", c, why)
		}
	}
}

func TestSplit(t *testing.T) {
	k := func(words ...string) []Word {
		var list []Word
		for _, w := range words {
			if w == "?" {
				list = append(list, Word{})
			} else {
				list = append(list, Word{Text: w, Known: true})
			}
		}
		return list
	}
	cases := map[string][][]Word{
		"npm test":                             {k("npm", "test")},
		"npm test; ls -l\npwd":                 {k("npm", "test"), k("ls", "-l"), k("pwd")},
		"a && b || c | d":                      {k("a"), k("b"), k("c"), k("d")},
		`git commit -m "a b" 'c d' e\ f`:       {k("git", "commit", "-m", "a b", "c d", "e f")},
		`echo "a\"b\\c\d" a\"b`:                {k("echo", `a"b\c\d`, `a"b`)},
		"rg --outpu\\t x":                      {k("rg", "--output", "x")},
		"rm \\\n-rf x":                         {k("rm", "-rf", "x")},
		"echo $A \"$B\" `c` $(d) *.go ~/x":     {k("echo", "?", "?", "?", "?", "?", "?")},
		"$A b":                                 {k("?", "b")},
		"find . -exec x {} \\;":                {k("find", ".", "-exec", "x", "{}", ";")},
		"a {b,c} {1..2} b{c}d":                 {k("a", "?", "?", "b{c}d")},
		"a 'b'\"c\"d":                          {k("a", "bcd")},
		"a '' \"\"":                            {{{Text: "a", Known: true}, {Known: true}, {Known: true}}},
		"npm test 2>&1 | tail -5":              {k("npm", "test"), k("tail", "-5")},
		"a >/dev/null 2>/dev/null &>/dev/null": {k("a")},
		"git show HEAD~1 a=~/x x:~":            {k("git", "show", "HEAD~1", "?", "?")},
		"echo 'a\nb'":                          {k("echo", "a\nb")},
		`echo "*" '$x' \$y`:                    {k("echo", "*", "$x", "$y")},
	}
	for c, want := range cases {
		got, ok := Split(c)
		if !ok {
			t.Errorf("Split(%q) is not ok", c)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("Split(%q):\n%s", c, d)
		}
	}
	for _, c := range []string{
		"", "A=1 npm test", "A=1", "(a)", "{ a; }", "a &", "! a", "a > x", "a >> x", "a < x", "a <<E\nE",
		"a <<<b", "a 3>&1", "a >&3", "a >& x", "a 2>&-", "a > $x",
		"if a; then b; fi", "while a; do b; done", "for i in a; do b; done", "case a in b) c;; esac",
		"f() { a; }", "time a", "coproc a", "[[ a ]]", "((a))",
		"export A=1", "declare a", "let a", "a |& b", "> /dev/null", "echo 'a", "a && (b)", "a | { b; }", "a <&0",
	} {
		if parts, ok := Split(c); ok {
			t.Errorf("Split(%q) = %v, want not ok", c, parts)
		}
	}
}

// TestCorpus compares with the cases that the full classifier will have to pass. What is short now may be too strict
// there, and never too lax.
func TestCorpus(t *testing.T) {
	text, err := os.ReadFile("../testdata/cases/shell.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var c struct{ ID, Shell, Command, Want, Why string }
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.Shell != "sh" {
			continue
		}
		counts["all"]++
		why, reads := Check(c.Command), ReadOnly(c.Command)
		if d := quickest(func() { Check(c.Command) }, 50*time.Millisecond); d > 50*time.Millisecond {
			t.Errorf("%s took %v", c.ID, d)
		}
		if why != "" {
			counts["refused"]++
			if c.Want != "deny" {
				t.Errorf("%s: refused (%s), want %s", c.ID, why, c.Want)
			}
		}
		if reads {
			counts["read-only"]++
			if c.Want != "read_only" {
				t.Errorf("%s: read-only, want %s: %s", c.ID, c.Want, c.Why)
			}
		}
		if why == "" && c.Want == "deny" && (strings.HasPrefix(c.Why, "S1") || strings.HasPrefix(c.Why, "S2")) {
			t.Errorf("%s: not refused: %s", c.ID, c.Why)
		}
	}
	t.Log(counts)
}

// TestBounded feeds the largest texts that nest in every way the grammar has.
func TestBounded(t *testing.T) {
	for _, piece := range []string{
		"(", "{ ", "$(", "`", "if ", "while ", "\"$(", "${x:-", "$((", "((", "a[", "<(", "a|", "a&&", "a;",
		"f()", "case x in a) ", "<<a ", "time ", "a=b ",
		"\"", "'", "\\", "$((1+(", "[[ -n a && ", "let a+", "x\u00a0", "'\u00a0'", "echo \"\u00a0$(", "\"\u00a0\" ",
	} {
		text := strings.Repeat(piece, source.MaxText/len(piece))
		if ReadOnly(text) {
			t.Errorf("%q again and again is read-only", piece)
		}
		Split(text)
		const limit = 2 * time.Second // a tenth of that, on a machine that has nothing else to do
		if d := quickest(func() { Check(text) }, limit); d > limit {
			t.Errorf("%q again and again took %v", piece, d)
		}
	}
}

// quickest is how long f takes on a machine that is busy with other things: the best of a few tries.
func quickest(f func(), enough time.Duration) time.Duration {
	best := time.Duration(1 << 62)
	for try := 0; try < 5 && best > enough; try++ {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

func FuzzShell(f *testing.F) {
	for _, s := range []string{
		"ls", "ls && pwd", "echo $(a)", "echo 'a' \"b\" \\c", "a <<E\nb\nE", "echo \"\u00a0$(a)\"", "date +%F", "{a,b}",
		"\r\n", "a[b]=c",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		why := Check(s)
		reads := ReadOnly(s)
		parts, ok := Split(s)
		if d := quickest(func() { Check(s) }, time.Second); d > time.Second {
			t.Errorf("took %v", d)
		}
		if why != "" && (reads || ok) {
			t.Errorf("refused, and yet read-only %v or split %v", reads, ok)
		}
		if !reads {
			return
		}
		if !ok {
			t.Error("read-only and not made of simple commands")
		}
		for _, words := range parts {
			for _, w := range words {
				if !w.Known {
					t.Error("read-only with an unknown word")
				}
			}
		}
		// Nothing that expands, redirects, pipes or groups may be left, however it is written.
		bare := strings.NewReplacer("&&", "", "||", "").Replace(outside(Normal(s)))
		if strings.ContainsAny(bare, "$`*?<>&|()") {
			t.Errorf("read-only with one of the special characters in %q", bare)
		}
	})
}

// outside is what of a text stands outside quotes, comments and backslashes, read by hand. What expands within double
// quotes counts as outside.
func outside(s string) string {
	var b strings.Builder
	for k := 0; k < len(s); k++ {
		switch s[k] {
		case '\\':
			k++
		case '\'':
			for k++; k < len(s) && s[k] != '\''; k++ {
			}
		case '"':
			for k++; k < len(s) && s[k] != '"'; k++ {
				switch s[k] {
				case '\\':
					k++
				case '$', '`':
					b.WriteByte(s[k])
				}
			}
		case '#':
			if k == 0 || strings.IndexByte(" \t\n;&|", s[k-1]) >= 0 {
				for ; k < len(s) && s[k] != '\n'; k++ {
				}
			}
		default:
			b.WriteByte(s[k])
		}
	}
	return b.String()
}
