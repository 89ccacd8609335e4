package shell

import (
	"strings"
	"testing"
)

// TestGeneratedDeny wraps commands that must be refused in everything that can stand around a command, twice, and writes
// them in several ways. However a command is dressed, it stays refused. No command is run.
func TestGeneratedDeny(t *testing.T) {
	cores := []string{
		"rm -rf /", "rm -r -f ~", "rm -rf $HOME/*", "find / -delete", "mkfs.ext4 /dev/sda1", "dd if=/dev/zero of=/dev/sda", "reboot", "shutdown -h now",
		"chmod -R 777 /", "chown -R guest /etc", "mv /etc /tmp", "cp x /etc/hosts", "kill -9 -1", "tee ~/.bashrc", "cat ~/.agentstate/x", "shred /etc/passwd",
		"wipefs -a /dev/sda", "rsync -a --delete x/ /", "systemctl poweroff", "sed -i s/a/b/ /etc/hosts",
	}
	writes := []func(string) string{
		func(c string) string { return c },
		func(c string) string { return `\` + c },
		func(c string) string { return c[:1] + `""` + c[1:] },
		func(c string) string { name, rest, _ := strings.Cut(c, " "); return "'" + name + "' " + rest },
		func(c string) string { name, rest, _ := strings.Cut(c, " "); return `"` + name + `" ` + rest },
		func(c string) string { name, rest, _ := strings.Cut(c, " "); return "/usr/bin/" + name + " " + rest },
		func(c string) string { name, rest, _ := strings.Cut(c, " "); return "$(echo " + name + ") " + rest },
		func(c string) string { name, rest, _ := strings.Cut(c, " "); return "v=" + name + "; $v " + rest },
	}
	single := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	wrap := []func(string) string{
		func(c string) string { return c },
		func(c string) string { return "true && { " + c + "; }" },
		func(c string) string { return "( " + c + " )" },
		func(c string) string { return "if a; then " + c + "\nfi" },
		func(c string) string { return "for i in 1 2; do " + c + "\ndone" },
		func(c string) string { return "while a; do " + c + "\ndone" },
		func(c string) string { return "f() { " + c + "\n}; f" },
		func(c string) string { return "echo \"$( " + c + ")\"" },
		func(c string) string { return "case a in a) " + c + "\n;; esac" },
		func(c string) string { return "a | { " + c + "\n} | b" },
		func(c string) string { return "cat <(" + c + ")" },
		func(c string) string { return "sh -c " + single(c) },
		func(c string) string { return "sudo bash -c " + single(c) },
		func(c string) string { return "eval " + single(c) },
		func(c string) string { return "env A=b nice -n 5 sh -c " + single(c) },
		func(c string) string { return "timeout 5 bash -c " + single(c) },
		func(c string) string { return "echo " + single(c) + " | sh" },
		func(c string) string { return "bash <<'EOT'\n" + c + "\nEOT" },
		func(c string) string { return "bash <<< " + single(c) },
		func(c string) string { return "trap " + single(c) + " EXIT" },
		func(c string) string { return "ssh host " + single(c) },
		func(c string) string { return "x=" + single(c) + "; eval \"$x\"" },
		func(c string) string { return "printf '%s\\n' " + single(c) + " > s.sh; bash s.sh" },
		func(c string) string { return "PAGER=" + single(c) + " man a" },
		func(c string) string { return "find . -exec sh -c " + single(c) + " \\;" },
	}
	w, _ := worldOf("sh")
	n, missed := 0, 0
	for _, core := range cores {
		for q, write := range writes {
			for a, outer := range wrap {
				for b, inner := range wrap {
					if strings.Contains(outer("EOT"), "EOT\nEOT") && strings.Contains(inner("x"), "EOT") {
						continue // one here-document would end the other
					}
					if (q+a+b)%5 < 2 {
						continue // three of five of all that can be combined take long enough
					}
					n++
					text := outer(inner(write(core)))
					if got := Judge(text, w, Bash); got.Verdict != Denied || got.Why == "" {
						if missed++; missed <= 20 {
							t.Errorf("writing %d, wrappers %d and %d: %q is %v", q, a, b, text, got.Verdict)
						}
					}
				}
			}
		}
	}
	if missed > 0 || n < 50_000 {
		t.Errorf("%d of %d commands were missed", missed, n)
	}
}

// FuzzJudge looks for texts that bring the judge down, and for texts that are proved harmless though something in them
// expands, calls or writes.
func FuzzJudge(f *testing.F) {
	for _, s := range []string{
		"ls", "rm -rf /", "a | sh", "x=$(echo a); $x", "bash <<E\na\nE", "f() { f|f& }; f", "{a,b}{1..3}", "${x:-a}", "$'\\x41'", "sed 's/a/b/e' x",
		"python3 -c 'import os; os.system(\"a\")'", "Get-Content a | iex", "& ('a'+'b')", "@{a=1}", "for %i in (a) do echo %i", "set x=1& %x%", "powershell -enc QQBBAA==",
		"git -c alias.x='!a' x", "xargs -I{} sh -c '{}'", "tar --checkpoint-action=exec=a", "cmd /c \"a & b\"", "find . -exec a {} +", "${a[$(b)]}", "a=(b c); \"${a[@]}\"",
	} {
		f.Add(s, uint8(0))
		f.Add(s, uint8(1))
		f.Add(s, uint8(2))
	}
	f.Fuzz(func(t *testing.T, s string, dialect uint8) {
		name := []string{"sh", "powershell", "cmd"}[dialect%3]
		w, d := worldOf(name)
		a := Judge(s, w, d)
		if a.Verdict == Denied && (a.Why == "" || a.Rule == "") {
			t.Error("refused without a reason")
		}
		if a.Verdict != Harmless {
			return
		}
		if d != Bash {
			if strings.ContainsAny(outsideQuotes(s), "`{}") {
				t.Errorf("harmless with a block or an escape: %q", s)
			}
			return
		}
		if _, ok := Split(s); !ok && !strings.ContainsRune(s, '<') {
			t.Errorf("harmless and not made of simple commands: %q", s)
		}
		bare := strings.NewReplacer("&&", "", "||", "", "2>&1", "", "1>&2", "", ">&2", "", "&>", ">").Replace(outside(Normal(s)))
		if strings.ContainsAny(bare, "$`&()") {
			t.Errorf("harmless with one of the special characters in %q", bare)
		}
	})
}

// outsideQuotes is what of a text for PowerShell or cmd stands outside quotes.
func outsideQuotes(s string) string {
	var b strings.Builder
	quote := rune(0)
	for _, r := range s {
		switch {
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		case quote == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}
