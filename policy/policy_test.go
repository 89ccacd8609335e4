package policy_test

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/policy"
	"github.com/jackline-ai/jackline/shell"
)

// config wires the real reader of commands and a few tools with other names.
func config() policy.Config {
	return policy.Config{
		Lookup: func(name string) (string, jackline.Effect, bool) {
			switch name {
			case "shell", "bash":
				return "shell", jackline.Exec, true
			case "file_write", "write_file":
				return "file_write", jackline.Write | jackline.Read, true
			case "file_read", "file_move", "file_copy":
				return name, jackline.Read | jackline.Write | jackline.Delete, true
			case "web_fetch":
				return name, jackline.Network, true
			case "calculator":
				return name, jackline.Pure, true
			}
			return "", 0, false
		},
		ReadShell: shell.Read,
	}
}

// TestCases tries every line of testdata/*.txt.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 3 {
		t.Fatalf("cases are missing: %v %v", files, err)
	}
	lines := 0
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		s := bufio.NewScanner(f)
		for n := 1; s.Scan(); n++ {
			line := strings.TrimSpace(s.Text())
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			lines++
			i, settings, conf, want := readCase(t, line)
			d := policy.New(conf).With(settings).Judge(i)
			got := d.Verdict.String()
			if d.Hard {
				got += "!"
			}
			if got += "  " + d.Rule; got != want {
				t.Errorf("%s:%d: got %s, want %s\n\t%s\n\t%s", name, n, got, want, line, d.Reason)
			}
			if d.Reason == "" || !strings.HasSuffix(d.Reason, ".") {
				t.Errorf("%s:%d: the reason %q is no sentence", name, n, d.Reason)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d cases", lines)
}

var gap = regexp.MustCompile(`\s{2,}`)

// readCase reads one line: mode, overlay, tool, effect, touches, settings, rules => verdict, rule.
func readCase(t *testing.T, line string) (i jackline.Intent, s jackline.Permissions, conf policy.Config, want string) {
	t.Helper()
	conf = config()
	left, right, ok := strings.Cut(line, "=>")
	f := gap.Split(strings.TrimSpace(left), -1)
	if !ok || len(f) != 7 {
		t.Fatalf("%d fields: %q", len(f), line)
	}
	want = strings.Join(gap.Split(strings.TrimSpace(right), 2), "  ")
	if n, err := strconv.Atoi(f[0]); err == nil {
		i.Actor.Session.Mode = jackline.Mode(n)
	} else {
		must(t, i.Actor.Session.Mode.UnmarshalText([]byte(f[0])))
	}
	o := &i.Actor.Turn.Options
	o.Plan, o.Guide, o.AskFirst, o.Offline = f[1] == "plan", f[1] == "guide", f[1] == "ask-first", f[1] == "offline"
	i.Tool, i.Effect, i.Actor.Source, i.Actor.Admin = f[2], effect(t, f[3]), jackline.FromModel, true
	if f[4] != "-" {
		for _, part := range strings.Split(f[4], " + ") {
			p := strings.SplitN(part, ":", 3)
			touch := jackline.Touch{Kind: p[0], Effect: effect(t, p[1]), Name: p[2]}
			if name, why, ok := strings.Cut(p[2], ":"); ok && p[0] == "path" {
				touch.Name, touch.Refused = name, why
			}
			i.Touches = append(i.Touches, touch)
		}
	}
	s.Toggles = jackline.AllOn
	if f[5] != "-" {
		for _, part := range strings.Fields(f[5]) {
			key, list, _ := strings.Cut(part, ":")
			switch key {
			case "source":
				i.Actor.Source = jackline.Source(list)
			case "disabled":
				s.Disabled = strings.Split(list, ",")
			case "off":
				for _, n := range strings.Split(list, ",") {
					*map[string]*bool{"readFiles": &s.Toggles.ReadFiles, "writeFiles": &s.Toggles.WriteFiles,
						"runShell": &s.Toggles.RunShell, "network": &s.Toggles.Network}[n] = false
				}
			case "member":
				i.Actor.Admin = false
			case "root":
				conf.Root = true
			case "own":
				conf.Own = func(host string) bool { return host == list }
			case "read":
				i.Labels.Tainted = strings.Contains(list, "tainted")
				i.Labels.Private = strings.Contains(list, "private")
			case "ungated":
				i.Actor.Session.Ungated = true
			case "sandbox":
				level, leaks, _ := strings.Cut(list, ":")
				must(t, i.Sandbox.Level.UnmarshalText([]byte(level)))
				i.Sandbox.Leaks = leaks
			case "hosts":
				i.Sandbox.Hosts = []string{list}
			case "writes":
				i.Sandbox.Write = []string{list}
			case "repository":
				i.Sandbox.Repository = true
			case "said":
				i.Said = []string{list}
			case "found":
				i.Found = []string{list}
			case "server":
				i.Connected = list
			case "address", "service", "outside", "doubt":
				last := &i.Touches[len(i.Touches)-1]
				switch key {
				case "address":
					last.Address = list
				case "service":
					last.Service = true
				case "outside":
					last.Asks = "It lies outside the workspace."
				case "doubt":
					i.Touches[0].Doubt = "The repository names a helper."
				}
			default:
				t.Fatalf("setting %q", part)
			}
		}
	}
	if f[6] != "-" {
		for _, part := range strings.Split(f[6], " + ") {
			if p, ok := strings.CutPrefix(part, "turn:"); ok {
				o.Allow = append(o.Allow, jackline.Rule{Pattern: p})
				continue
			}
			verb, p, _ := strings.Cut(part, " ")
			r := jackline.Rule{Pattern: p}
			r.Pattern, r.EvenTainted = strings.CutPrefix(p, "even:")
			must(t, r.Do.UnmarshalText([]byte(verb)))
			s.Rules = append(s.Rules, r)
		}
	}
	return i, s, conf, want
}

func effect(t *testing.T, s string) (e jackline.Effect) {
	t.Helper()
	must(t, e.UnmarshalJSON([]byte(`["`+strings.ReplaceAll(s, ",", `","`)+`"]`)))
	return e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
