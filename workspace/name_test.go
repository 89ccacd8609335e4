package workspace

import (
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

func TestCheck(t *testing.T) {
	long := strings.Repeat("x", 255)
	for _, c := range []struct {
		target Target
		want   bool // it passes
		paths  []string
	}{
		{Posix, true, []string{
			".", "a", "a/b.txt", "./a", "a//b", "a/../b", "..a", "a..", "...", "-rf", "%2e%2e/x", "$HOME/x", "a~b", "./~", "a/~root", "10:30.log",
			"./a:b", "src/a:b", "notes:today.txt", "a.txt:stream", "./file:x", "a b", " a", "é", "漢字/かな", "con.txt", "NUL", "aux", "a.txt.", "PROGRA~1/x", long, strings.Repeat("a/", 2047) + "b",
			"क\u094d\u200dष.txt", "می\u200cخواهم.txt", "❤\ufe0f.txt", "👩.txt",
			".env.example", ".env.sample", ".env.template", "prod.env", "env", ".github/x", ".gitignore", ".gitattributes", "git", "docs/git", "id_rs", "my_id_rsa",
			"identity_rsa", ".sshx", ".awsome", ".kubernetes", "netrc", ".agentstates", ".jacklines", "agentstate", "a/../../b",
		}},
		{Posix, false, []string{
			"", " ", "\t", "\u00a0", "\u3164", "\u200d", "..", "../a", "./..", "./../a", "/..", "~", "~/x", "~root", "~notes.txt",
			"a\x00", "a\nb", "a\x7f", "a\u0085b", "a\u200eb", "a\u200fb", "a\u202ab", "a\u202eb", "a\u2066b", "a\u2069b", "a\u061cb", "a\u200bb", "a\u2060b", "\ufeffa",
			"a\u00adb", "a\u200cb", "a\u200d.txt", "\u200cم", "م\u200c", "م\u200ca", "👩\u200d👧", "a\u2028b", "a\xffb", "\xc0\xaf", "a\\b", "\\\\server\\x",
			"C:", "C:\\x", "C:/x", "c:x", "http://x", "file:/etc/passwd", "FILE:x", "mailto:a", "x-y+z.1:/foo", "javascript:x", "data:text/plain,x", "a\ufffdb", "//server/share", "//?/C:/x", "/??/C:/x", "//./x",
			long + "x", "a/" + long + "x", strings.Repeat("a/", 2048) + "b", strings.Repeat("é", 128),
			".git", ".git/config", "a/.git", ".GIT", ".Git/x", ".git.", ".git ", ".git. .", ".git::$INDEX_ALLOCATION", ".git:x", "a/.git\u00a0", ".g\ufe0fit", ".g\u034fit", "．git", ".ｇｉｔ",
			"．ｅｎｖ", ".ſsh/id", "git~1", "GIT~1/x", ".env", ".env.local", ".envrc", ".ENV.production", ".environment", ".env.example.local", ".env.example.bak",
			".netrc", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".ssh/known_hosts", ".gnupg", ".aws/x", ".Kube", "id_rsa", "id_rsa.pub", "ID_DSA", "x/id_ecdsa-old", "id_ed25519_sk",
			".agentstate/x", ".jackline", ".Jackline/data", "id_r\u017fa", "a／.git",
		}},
		{Folding, true, []string{"A.TXT", "SRC/../a"}},
		{Folding, false, []string{".GiT/x", "SRC/../.GIT/config", "Id_Rsa"}},
		{Windows, true, []string{"a.txt", "com10.txt", "nullable.go", "console", "auxiliary", "lpt", "com", "com0x", "longername~1", "a~b", "x~", ".", "..a", "CONIN", "file~1.txt"}},
		{Windows, false, []string{
			"NUL", "nul.txt", "sub/COM1", "com1.tar.gz", "LPT9", "com¹", "COM².txt", "lpt³", "CONIN$", "conout$.x", "aux .txt", "con .a.b", "prn", "a.txt.", "a ", "a. ", "a/b./c", "...",
			"a:b", "a/b:c", "x.txt::$DATA", "PROGRA~1/x", "a~1", "ABCDE~12", "/Windows/win.ini", "/a",
		}},
	} {
		n := Names{Target: c.target, State: StateNames()}
		for _, p := range c.paths {
			err := n.Check(p)
			if (err == nil) != c.want {
				t.Errorf("target %d, %.60q: %v, want it to pass: %v", c.target, p, err, c.want)
			}
			if err != nil && (jackline.Say(err) == "" || strings.ContainsAny(jackline.Say(err), "\x00\x1b\u202e\n")) {
				t.Errorf("%.60q: %q", p, jackline.Say(err))
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"a/b", ".g\u200cit", "C:x", "//x", "~", "a\u200db", "．．/x", "NUL.", "a\xff", strings.Repeat("..", 90)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, target := range []Target{Posix, Folding, Windows} {
			n := Names{Target: target, State: StateNames()}
			if n.Check(s) != nil {
				continue
			}
			for _, e := range split(s) {
				if n.Protected(e) {
					t.Errorf("%q passes with %q in it", s, e)
				}
			}
			lower := strings.ToLower(s)
			for _, bad := range []string{"/.git/", "/.ssh/", "/.env/", "/.jackline/"} {
				if strings.Contains("/"+lower+"/", bad) {
					t.Errorf("%q passes", s)
				}
			}
			if s == ".." || strings.HasPrefix(s, "../") || strings.ContainsAny(s, "\\\x00\n\x1b") {
				t.Errorf("%q passes", s)
			}
		}
	})
}
