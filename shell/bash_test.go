package shell

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestBashDispatches runs random programs in a real Bash and asks whether everything that Bash started was seen. There is
// nothing in these programs that could do harm: their words come from a list of made-up names, PATH holds nothing but one
// program under those names that writes down how it was called, and the working folder is empty. JACKLINE_DISPATCHES is how
// many starts are compared, for a long run: 20000 take a minute.
func TestBashDispatches(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no Bash on this machine to compare with")
	}
	bin, dir := t.TempDir(), t.TempDir()
	logs := t.TempDir()
	recorder := "#!" + bash + "\nl=${0##*/}; for a; do printf -v q %q \"$a\"; l+=\" $q\"; done\nprintf '%s\\n' \"$l\" >> \"$RECORD\"\nprintf '%s\\n' \"$*\"\n"
	for _, name := range fakes {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(recorder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	want := 1_000
	if n, err := strconv.Atoi(os.Getenv("JACKLINE_DISPATCHES")); err == nil {
		want = n
	}
	r := rand.New(rand.NewPCG(7, 11))
	dispatches := 0
	for programs := 0; dispatches < want && !t.Failed(); programs++ {
		if programs > want {
			t.Fatalf("only %d dispatches of %d programs", dispatches, programs)
		}
		text := strings.Join(many(r, 3+r.IntN(12), func() string { return statement(r, 3) }), "\n")
		got := Judge(text, World{Home: "/home/owner", Workspace: dir, Dir: dir}, Bash)
		if got.Rule == "S1" {
			continue // not even Bash
		}
		if got.Verdict == Denied {
			continue // refused as a whole: nothing of it would have run
		}
		seen := map[string]bool{}
		for _, part := range got.Parts {
			seen[part[0]] = true
		}
		for _, line := range dispatched(t, bash, bin, dir, filepath.Join(logs, fmt.Sprint(programs)), text) {
			dispatches++
			if name, _, _ := strings.Cut(line, " "); !seen[name] {
				t.Errorf("Bash started %q, which the analysis did not see, in\n%s\nseen: %v", line, text, got.Parts)
			}
		}
	}
	t.Logf("%d dispatches", dispatches)
}

// fakes are the names of programs that do nothing.
var fakes = []string{"alfa", "bravo", "charlie", "delta", "echoes", "foxtrot", "golf", "hotel"}

// dispatched is what Bash starts for a text, one line for each start.
func dispatched(t *testing.T, bash, bin, dir, log, text string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "--noprofile", "--norc", "-c", text+"\nwait")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin, "HOME=/nonexistent", "RECORD=" + log}
	cmd.Stdin = bytes.NewReader(nil)
	cmd.WaitDelay = time.Second
	_ = cmd.Run() // it may well fail: only what it started counts
	b, _ := os.ReadFile(log)
	return slices.DeleteFunc(strings.Split(string(b), "\n"), func(s string) bool { return s == "" })
}

func many(r *rand.Rand, n int, f func() string) []string {
	list := make([]string, n)
	for k := range list {
		list[k] = f()
	}
	return list
}

// statement is a random statement that ends: loops run over words only.
func statement(r *rand.Rand, depth int) string {
	sub := func() string { return statement(r, depth-1) }
	if depth == 0 {
		return command(r)
	}
	switch r.IntN(22) {
	case 0:
		return sub() + " && " + sub()
	case 1:
		return sub() + " || " + sub()
	case 2:
		return sub() + " | " + sub()
	case 3:
		return "( " + sub() + " )"
	case 4:
		return "{ " + sub() + "\n}"
	case 5:
		return "if " + sub() + "\nthen " + sub() + "\nelse " + sub() + "\nfi"
	case 6:
		return "for v in " + word(r) + " " + word(r) + "; do " + sub() + "\n" + callBy(r, "$v") + "\ndone"
	case 7:
		return "case " + word(r) + " in a*) " + sub() + "\n;; *) " + sub() + "\n;; esac"
	case 8:
		f := "f" + fmt.Sprint(depth)
		return f + "() { " + sub() + "\n}\n" + f + " " + word(r)
	case 9:
		return name(r) + " \"$( " + sub() + ")\""
	case 10:
		return "eval " + single(sub())
	case 11:
		return name(r) + " <<E\n$( " + strings.ReplaceAll(command(r), "\n", " ") + ")\nE"
	case 12:
		return name(r) + " <( " + sub() + ")"
	case 13:
		return "x=" + name(r) + "; $x " + word(r)
	case 14:
		return "x=" + single(name(r)+" "+fakes[r.IntN(len(fakes))]) + "; $x"
	case 15:
		return "a=(" + name(r) + " b); \"${a[@]}\""
	case 16:
		return "set -- " + name(r) + " b; \"$@\""
	case 17:
		return "while " + name(r) + "; do " + sub() + "\nbreak; done"
	case 18:
		return "y=${z:-" + fakes[r.IntN(len(fakes))] + "}; $y"
	case 19:
		return "trap " + single(command(r)) + " EXIT"
	case 20:
		return "! " + sub()
	}
	return command(r)
}

func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func callBy(r *rand.Rand, v string) string {
	return []string{"alfa " + v, "x=bravo; $x " + v, "${q:-charlie} " + v}[r.IntN(3)]
}

// command is a random call of a fake.
func command(r *rand.Rand) string {
	c := name(r)
	for range r.IntN(3) {
		c += " " + word(r)
	}
	switch r.IntN(12) {
	case 0:
		return "A=b " + c
	case 1:
		return "command " + c
	case 2:
		return "exec " + c + " &"
	case 3:
		return c + " > /dev/null"
	}
	return c
}

// name is the name of a fake, written in one of many ways.
func name(r *rand.Rand) string {
	f := fakes[r.IntN(len(fakes))]
	k := 1 + r.IntN(len(f)-1)
	switch r.IntN(14) {
	case 0:
		return "'" + f[:k] + "'" + f[k:]
	case 1:
		return f[:k] + `\` + f[k:]
	case 2:
		return `"` + f + `"`
	case 3:
		return f[:k] + "''" + f[k:]
	case 4:
		return fmt.Sprintf(`$'\x%x'`, f[0]) + f[1:]
	case 5:
		return fmt.Sprintf(`$'\%o'`, f[0]) + f[1:]
	case 6:
		return f[:k] + "$@" + f[k:]
	case 7:
		return "$(printf %s " + f + ")"
	case 8:
		return f[:k] + "{" + f[k:] + ",}"
	case 9:
		return "${u:-" + f + "}"
	case 10:
		return "${u-" + f[:k] + "}" + f[k:]
	}
	return f
}

func word(r *rand.Rand) string {
	return []string{"a", "b c", "'d e'", `"f"`, "$u", `"$u"`, "{g,h}", "i*", "$'j'", "k=l", "-m", "$(printf n)", "${u:-o}", `\p`, "~"}[r.IntN(15)]
}
