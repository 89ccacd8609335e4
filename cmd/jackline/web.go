package main

import (
	"net"
	"net/netip"
	"strconv"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/egress"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/web"
)

// allTools are all tools there are, in the order in which models are told of them.
func allTools(b builtin.Deps, w web.Deps) []tool.Tool { return append(builtin.All(b), web.All(w)...) }

// newGuard makes the guard of addresses that models choose. hosts are the names under which this server is called.
func newGuard(conf *settings.Config, hosts []string) (*egress.Guard, error) {
	g, err := egress.New(egress.Options{
		Allow: conf.Texts("egress.allow"), Own: ownSockets(append([]string{conf.Text("server.listen")}, hosts...)),
	})
	if err != nil {
		return nil, jackline.E("config", jackline.Invalid, err, "egress.allow (%s): %s", conf.From("egress.allow"), jackline.Say(err))
	}
	return g, nil
}

// ownSockets says which sockets are ours: those on this machine at a port under which the server is called.
func ownSockets(hosts []string) func(netip.AddrPort) bool {
	ports := map[uint16]bool{}
	for _, h := range hosts {
		if _, port, err := net.SplitHostPort(h); err == nil {
			if n, err := strconv.ParseUint(port, 10, 16); err == nil {
				ports[uint16(n)] = true
			}
		}
	}
	return func(to netip.AddrPort) bool {
		return ports[to.Port()] && here(to.Addr().Unmap())
	}
}

// here reports whether an address is one of this machine.
func here(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true // it cannot be told
	}
	for _, own := range all {
		if p, err := netip.ParsePrefix(own.String()); err == nil && p.Addr().Unmap() == a.WithZone("") {
			return true
		}
	}
	return false
}
