package detect

import (
	"net/netip"
	"net/url"
	"strconv"
)

// At makes Find look at these addresses and nowhere else.
func (o Options) At(addresses ...string) Options {
	o.only = []place{}
	for _, a := range addresses {
		u, err := url.Parse(a)
		if err != nil {
			panic(err)
		}
		port, err := strconv.Atoi(u.Port())
		if err != nil {
			panic(err)
		}
		hosts := loopback()
		if h := netip.MustParseAddr(u.Hostname()); !h.Is4() {
			hosts = []netip.Addr{h}
		}
		o.only = append(o.only, place{hosts: hosts, port: port, prefix: u.Path})
	}
	return o
}
