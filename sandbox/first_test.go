//go:build linux

package sandbox

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/jackline-ai/jackline"
)

func TestFirst(t *testing.T) {
	l, _ := Open(t.Context(), Options{AtMost: jackline.SandboxNamespaces})
	ws, home, tmp := t.TempDir(), t.TempDir(), t.TempDir()
	cmd := exec.Command("/bin/bash", "-c", `id; ls /root; cat /etc/shadow; echo hi > f && cat f; ulimit -a | head -30; echo x > /tmp/yyy; cat /proc/self/status|head -3; cat <(echo sub); ps aux; mount; ls -la . / /dev /root /etc/shadow; cat .env; echo x > .env; kill -TERM $$`)
	cmd.Dir = ws
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	r, err := l.start(cmd, Spec{Workspace: ws, Home: home, Temp: tmp, Masks: []string{ws + "/.env", ws + "/secret"}}, jackline.SandboxNamespaces)
	if err != nil {
		t.Fatal(err, err.(*jackline.Error).Err)
	}
	err = cmd.Wait()
	r.Close()
	t.Log(out.String(), err)
}

func TestReport(t *testing.T) {
	l, _ := Open(t.Context(), Options{})
	r := l.Report()
	t.Logf("%+v", r)
	l, _ = Open(t.Context(), Options{AtMost: jackline.SandboxLandlock})
	r = l.Report()
	t.Logf("%+v", r)
}
