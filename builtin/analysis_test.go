package builtin

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/workspace"
)

// What a command names becomes touches: relative inside, absolute and asked about outside, and asked about where it is protected or
// leads out. Words that are no paths become none.
func TestCommandTouches(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	for name, text := range map[string]string{"a.txt": "a", ".env": "x", "src/b": "b", ".git/config": "[core]\n\tfsmonitor = evil\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Skip("no links here: ", err)
	}
	root, err := workspace.Open(dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	dir = root.Path()
	var a jackline.Uses
	d := Deps{Root: root, Analyse: func(string, string) jackline.Uses { return a }, GitHelper: func(text string) string {
		if strings.Contains(text, "fsmonitor") {
			return "core.fsmonitor"
		}
		return ""
	}}
	in := func(name string) string { return dir + "/" + name }
	a = jackline.Uses{
		Reads:  []string{in("a.txt"), in("status"), in("link"), in(".env"), dir, in("?"), in("src/*.go"), "/srv/x", "/dev/null"},
		Writes: []string{in("new"), "/tmp/y"}, Deletes: []string{in("src/b")}, Hosts: []string{"a.test"}, Programs: []string{"cat"}, Git: true, Settings: true,
	}
	want := map[string]bool{ // and whether a person is asked about it
		"delete,exec src/b": false, "write,exec new": false, "write,exec /tmp/y": true, "read,exec a.txt": false, "read,exec link": true, "read,exec .env": true,
		"read,exec ?": false, "read,exec src/*.go": false, "read,exec /srv/x": true, "exec,network a.test": false, "exec cat": false, "write,exec .git/config": true,
	}
	touches := d.commandTouches("git status", "src", false)
	if first := touches[0]; first.Kind != "command" || first.Dir != "src" || !strings.Contains(first.Doubt, "core.fsmonitor") || first.Effect != jackline.Exec {
		t.Errorf("the command: %+v", first)
	}
	for _, touch := range touches[1:] {
		key := touch.Effect.String() + " " + touch.Name
		if touch.Asks != "" && (strings.HasSuffix(touch.Name, "link") || touch.Name == ".env") {
			key = "read,exec " + filepath.Base(touch.Name)
		}
		asks, known := want[key]
		if !known || asks != (touch.Asks != "") || touch.Refused != "" {
			t.Errorf("%s: %+v", key, touch)
		}
		delete(want, key)
	}
	for key := range want {
		t.Errorf("%s is missing", key)
	}
	a = jackline.Uses{}
	for k := range 200 {
		a.Programs = append(a.Programs, "p"+strconv.Itoa(k))
	}
	touches = d.commandTouches("x", "", false)
	if last := touches[len(touches)-1]; len(touches) != maxTouches+1 || last.Asks == "" {
		t.Errorf("%d touches, the last %+v", len(touches), last)
	}
}
