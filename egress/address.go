package egress

import "net/netip"

// inner are the blocks that are not public (rule U4): what is private, local to a link, reserved, for documentation and
// benchmarks, for groups, and every form that carries another address inside.
var inner = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("224.0.0.0/4"),
	netip.MustParsePrefix("240.0.0.0/4"),

	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("::ffff:0:0/96"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("3fff::/20"), // documentation since RFC 9637
	netip.MustParsePrefix("fc00::/7"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fec0::/10"),
	netip.MustParsePrefix("ff00::/8"),
}

// public reports whether a is an address of the public internet. An address with a zone is not, and neither is the
// invalid one.
func public(a netip.Addr) bool {
	// The only block of the new family from which public unicast addresses are given out (RFC 4291, IANA).
	global := netip.MustParsePrefix("2000::/3")
	if !a.IsValid() || a.Zone() != "" || a.Is6() && !global.Contains(a) {
		return false
	}
	for _, p := range inner {
		if p.Contains(a) { // never true across the families: a mapped address is of the new one
			return false
		}
	}
	return true
}
