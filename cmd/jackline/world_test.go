package main

import "testing"

// The program's own server is known by every name and every spelling of this machine's addresses.
func TestOwnServer(t *testing.T) {
	w := newWorld(nil, []string{"127.0.0.1:7717", "box.lan:7717", "[::1]:7717"})
	for host, want := range map[string]bool{
		"127.0.0.1:7717": true, "127.0.0.1": true, "localhost:7717": true, "LOCALHOST:7717": true, "localhost.:7717": true, "a.localhost:7717": true,
		"127.1:7717": true, "127.8.9.1:7717": true, "2130706433:7717": true, "0x7f000001:7717": true, "0x7f.1:7717": true, "0177.0.0.1:7717": true, "017700000001": true,
		"0:7717": true, "0.0.0.0:7717": true, "[::1]:7717": true, "[::]:7717": true, "[::ffff:127.0.0.1]:7717": true, "box.lan:7717": true, "BOX.lan": true,
		"127.0.0.1:8080": false, "example.org:7717": false, "10.0.0.1:7717": false, "box.lan:80": false, "notlocalhost:7717": false, "": false, "1.2.3.4.5": false,
		"localhost.example.org:7717": false,
	} {
		if w.own(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
	if newWorld(nil, nil).own("localhost:7717") {
		t.Error("no server runs, and one is known")
	}
	for shell, want := range map[string]string{"/bin/bash": "sh", "/bin/sh": "sh", "powershell": "powershell", `C:/x/pwsh.exe`: "powershell", "cmd": "cmd", "": "sh"} {
		if got := grammar(shell); got != want {
			t.Errorf("%q: %s", shell, got)
		}
	}
}
