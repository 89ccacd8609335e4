package detect

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A place is a port that is asked, on one machine.
type place struct {
	scheme string // "" is http
	hosts  []netip.Addr
	port   int
	prefix string // of paths, no trailing slash
}

func (p place) url(host netip.Addr) *url.URL {
	scheme := p.scheme
	if scheme == "" {
		scheme = "http"
	}
	return &url.URL{Scheme: scheme, Host: netip.AddrPortFrom(host, uint16(p.port)).String(), Path: p.prefix}
}

// places are all that is asked on these machines, each given by its addresses: the usual ports, those of the environment
// and those that the caller wants.
func (o Options) places(machines ...[]netip.Addr) []place {
	ports := []int{}
	for _, f := range families {
		if f.port != 0 && !slices.Contains(ports, f.port) {
			ports = append(ports, f.port)
		}
	}
	var all []place
	for _, n := range o.named() {
		switch {
		case n.port == 0:
		case n.prefix == "" && n.scheme == "http" && n.local():
			ports = append(ports, n.port)
		case n.local():
			for _, hosts := range machines {
				all = append(all, place{scheme: n.scheme, hosts: hosts, port: n.port, prefix: n.prefix})
			}
		}
	}
	ports = append(ports, o.Ports...)
	for _, hosts := range machines {
		for _, p := range ports {
			all = append(all, place{hosts: hosts, port: p})
		}
	}
	kept := []place{}
	for _, p := range all {
		twice := slices.ContainsFunc(kept, func(k place) bool {
			return k.scheme == p.scheme && k.port == p.port && k.prefix == p.prefix && k.hosts[0] == p.hosts[0]
		})
		if p.port > 0 && p.port <= 0xffff && !twice && !slices.Contains(o.Skip, p.port) {
			kept = append(kept, p)
		}
	}
	return kept
}

// A mention is an address in the environment.
type mention struct {
	scheme, host string
	port         int
	prefix       string
}

// local reports that the address means this machine. An engine that listens everywhere does so here too; in a container
// the names of the host are asked as gateways anyway.
func (m mention) local() bool {
	if m.host == "" || strings.EqualFold(m.host, "localhost") || strings.HasSuffix(strings.ToLower(m.host), ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(m.host)
	return err == nil && (a.Unmap().IsLoopback() || a.IsUnspecified())
}

// named are the addresses that the environment gives to engines.
func (o Options) named() []mention {
	env := func(name string) string { return strings.Trim(strings.TrimSpace(o.Env(name)), `"'`) }
	var all []mention
	add := func(text string, usual int) {
		if m, ok := parseMention(text, usual); ok {
			all = append(all, m)
		}
	}
	add(env("OLLAMA_HOST"), of(Ollama).port)
	add(env("MODEL_RUNNER_HOST"), of(Docker).port)
	add(env("LOCALAI_ADDRESS"), of(LocalAI).port)
	for _, v := range []struct{ host, port string }{
		{"LLAMA_ARG_HOST", "LLAMA_ARG_PORT"}, {"", "MODEL_RUNNER_PORT"},
	} {
		host := ""
		if v.host != "" {
			host = env(v.host)
		}
		if p, err := strconv.Atoi(env(v.port)); err == nil && p > 0 && p <= 0xffff {
			all = append(all, mention{scheme: "http", host: host, port: p})
		}
	}
	return all
}

// parseMention reads an address as Ollama reads OLLAMA_HOST: scheme, host, port and path may each be missing.
func parseMention(text string, usual int) (mention, bool) {
	if text == "" {
		return mention{}, false
	}
	m := mention{scheme: "http", port: usual}
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		text = rest
		switch strings.ToLower(scheme) {
		case "http":
			m.port = 80
		case "https":
			m.scheme, m.port = "https", 443
		default:
			return mention{}, false
		}
	}
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		return mention{}, false // a password, which nobody is shown or sent
	}
	text, path, _ := strings.Cut(text, "/")
	if path = strings.Trim(path, "/"); path != "" {
		m.prefix = "/" + path
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.Trim(text, "[]"), ""
	}
	if port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 0 || n > 0xffff {
			return mention{}, false
		}
		if n > 0 {
			m.port = n
		}
	}
	if strings.ContainsFunc(host+m.prefix, hidden) || strings.ContainsAny(host, " ?#\\") {
		return mention{}, false
	}
	m.host = host
	return m, true
}

// Elsewhere lists the addresses that the environment names for engines and that [Find] does not ask, because they lie on
// other machines. A person may have them tried with [Read].
func Elsewhere(env func(string) string) []string {
	found := []string{}
	for _, m := range (Options{Env: env}).named() {
		if m.local() {
			continue
		}
		u := url.URL{Scheme: m.scheme, Host: net.JoinHostPort(m.host, strconv.Itoa(m.port)), Path: m.prefix}
		if s := u.String(); !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return found
}

// inContainer reports the marks that Docker and Podman leave. Others look like any machine, and loopback is asked there.
func inContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return false
}

// gateways are the ways from a container to its host: the names that Docker and Podman give it, and the default route.
// Only private addresses are taken: whoever answers for those names with a public one is not the host.
func (o Options) gateways(ctx context.Context) [][]netip.Addr {
	if !inContainer() {
		return nil
	}
	if known, ok := o.Memory.gateways(); ok {
		return known
	}
	limited, cancel := context.WithTimeout(ctx, nameTime)
	defer cancel()
	var all []netip.Addr
	names := []string{"host.docker.internal", "host.containers.internal"}
	answers := make([][]netip.Addr, len(names))
	each(len(names), len(names), func(i int) {
		answers[i], _ = net.DefaultResolver.LookupNetIP(limited, "ip4", names[i]) // an unknown name is no news
	})
	for _, a := range answers {
		all = append(all, a...)
	}
	if raw, err := os.ReadFile("/proc/net/route"); err == nil {
		all = append(all, defaultRoutes(string(raw))...)
	}
	machines := private(all)
	if ctx.Err() == nil {
		o.Memory.setGateways(machines)
	}
	return machines
}

// private are the machines behind the first two private ones of these addresses.
func private(all []netip.Addr) [][]netip.Addr {
	machines := [][]netip.Addr{}
	for _, a := range all {
		known := slices.ContainsFunc(machines, func(m []netip.Addr) bool { return m[0] == a.Unmap() })
		if a = a.Unmap(); a.IsPrivate() && !known && len(machines) < 2 {
			machines = append(machines, []netip.Addr{a})
		}
	}
	return machines
}

// defaultRoutes reads the gateways of the default routes from Linux's table: of a line the second field is the
// destination, the third the gateway, each in hexadecimal and little endian.
func defaultRoutes(table string) []netip.Addr {
	var found []netip.Addr
	lines := bufio.NewScanner(strings.NewReader(table))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 3 || f[1] != "00000000" || len(f[2]) != 8 {
			continue
		}
		raw, err := hex.DecodeString(f[2])
		if err != nil {
			continue
		}
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], binary.LittleEndian.Uint32(raw))
		if a := netip.AddrFrom4(b); !a.IsUnspecified() {
			found = append(found, a)
		}
	}
	return found
}
