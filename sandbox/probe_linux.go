//go:build linux && (amd64 || arm64)

package sandbox


func (l *Launcher) probe() Report {
	l.learn()
	r := Report{ABI: l.abi, Processes: "none"}
	if l.abi > 0 {
		r.Level = l.atMost
	}
	return r
}
