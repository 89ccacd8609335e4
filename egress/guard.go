// Package egress guards outgoing requests whose address a model, a page or a redirect chose.
//
// Such an address must not reach what only this machine can reach: its own services, the home or company network, a
// cloud's metadata. Three checks stand in a row, and each would do alone. The form of the address is checked on its raw
// text, before any mapping could make something else of it. Every answer of the look-up must be a public address. And the
// socket is checked once more in the dialler, at the address that it really connects to, so that there is no second look-up in
// which a name could change its mind. A redirect is a new request and begins at the first check.
//
// Addresses that the owner configured (engines, search services, connected servers) are not its business: their
// clients reach exactly the origin that they were given. Allow opens single origins for a dev server, never our own port.
package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
)

// Named limits.
const (
	// maxURL bounds an address, in characters: far above what servers take, far below what could be used to carry data away in
	// one piece.
	maxURL = 8192
	// maxAnswers bounds how many addresses of a host are looked at; a public host has a handful.
	maxAnswers = 64
	// maxTries bounds how many of them are dialled before the host counts as down.
	maxTries = 4
	// dialTime is how long one address may take to answer.
	dialTime = 8 * time.Second
)

// ports are where web servers for the public listen.
var ports = []uint16{80, 443, 8080, 8443}

// Options are what a guard may be told. The zero Options are the strict guard over the system's resolver.
type Options struct {
	Allow []string                  // origins that the owner opened, as host:port
	Own   func(netip.AddrPort) bool // whether this is a socket of our own, which nothing opens

	// Lookup gives all addresses of a host, and Dial connects to exactly the address it is given. Nil are the system's.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// A Guard says which addresses may be reached.
type Guard struct {
	allow  map[string]bool // canonical host:port
	own    func(netip.AddrPort) bool
	lookup func(context.Context, string) ([]netip.Addr, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// New makes a guard. An entry of Allow that is no host and port is an Invalid error.
func New(o Options) (*Guard, error) {
	g := &Guard{allow: map[string]bool{}, own: o.Own, lookup: o.Lookup, dial: o.Dial}
	for _, entry := range o.Allow {
		host, port, err := net.SplitHostPort(entry)
		if err != nil {
			return nil, jackline.E("egress.New", jackline.Invalid, err, "%q is not of the form host:port, as in localhost:3000.", clip(entry))
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return nil, jackline.E("egress.New", jackline.Invalid, err, "%q has no port between 1 and 65535.", clip(entry))
		}
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		h, err := canonical(host)
		if err != nil {
			return nil, jackline.E("egress.New", jackline.Invalid, err, "%q names no host: %s", clip(entry), jackline.Say(err))
		}
		g.allow[net.JoinHostPort(h.name, strconv.FormatUint(n, 10))] = true
	}
	if g.lookup == nil {
		g.lookup = system
	}
	return g, nil
}

// Check says whether an address may be asked for, as far as its text tells: rules U1 to U3, and U4 where the host is an
// address itself. It opens nothing and looks nothing up. The URL that it returns has a canonical host. Its errors are
// Forbidden, or Invalid where the text is no web address at all, and their sentences never repeat raw text.
func (g *Guard) Check(raw string) (*url.URL, error) {
	t, err := g.parse(raw)
	if err != nil {
		return nil, err
	}
	return t.url, nil
}

// A target is an address that passed the check of its form.
type target struct {
	url  *url.URL
	host host
	port uint16
	open bool // the owner opened it
}

func invalid(format string, a ...any) error {
	return jackline.E("egress.Check", jackline.Invalid, nil, format, a...)
}

func forbidden(format string, a ...any) error {
	return jackline.E("egress.Check", jackline.Forbidden, nil, format, a...)
}

func (g *Guard) parse(raw string) (target, error) {
	if err := plain(raw); err != nil {
		return target{}, err
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if scheme = strings.ToLower(scheme); !ok || scheme != "http" && scheme != "https" {
		return target{}, invalid("The address must begin with http:// or https://.")
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	switch {
	case authority == "":
		return target{}, invalid("The address names no host.")
	case strings.Contains(authority, "@"):
		return target{}, forbidden("The address has a user name in front of its host. Leave it out.")
	case strings.Contains(authority, "%"):
		return target{}, forbidden("The host of the address has a percent sign.")
	}
	name, port, err := splitPort(authority, scheme)
	if err != nil {
		return target{}, err
	}
	h, err := canonical(name)
	if err != nil {
		return target{}, err
	}
	t := target{host: h, port: port}
	origin := net.JoinHostPort(h.name, strconv.Itoa(int(port)))
	t.open = g.allow[origin]
	if !t.open {
		if !slices.Contains(ports, port) {
			return target{}, forbidden("Port %d is not one of those that web pages are fetched from: 80, 443, 8080 and 8443.", port)
		}
		if local(h) {
			return target{}, forbidden("%s is a name of a local network.", h.name)
		}
	}
	if h.addr.IsValid() {
		if err := g.judge(netip.AddrPortFrom(h.addr, port), t.open); err != nil {
			return target{}, err
		}
	}
	text := h.name
	if h.addr.Is6() {
		text = "[" + h.name + "]"
	}
	if scheme == "http" && port != 80 || scheme == "https" && port != 443 {
		text += ":" + strconv.Itoa(int(port))
	}
	if t.url, err = url.Parse(scheme + "://" + text + rest); err != nil || t.url.Host != text || t.url.User != nil {
		return target{}, invalid("The address cannot be read: check its percent signs.")
	}
	t.url.RawQuery = escaped(t.url.RawQuery)
	return t, nil
}

// escaped writes what is not ASCII as it has to be sent.
func escaped(query string) string {
	var b strings.Builder
	for _, c := range []byte(query) {
		if c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// plain is the part of U1 that is about characters. It looks at the raw text: a mapping would drop what is invisible.
func plain(raw string) error {
	switch {
	case raw == "":
		return invalid("There is no address.")
	case !utf8.ValidString(raw):
		return invalid("The address is not valid UTF-8.")
	case utf8.RuneCountInString(raw) > maxURL:
		return invalid("The address is longer than %d characters.", maxURL)
	}
	for _, r := range raw {
		switch {
		case r == '\\':
			return forbidden("The address has a backslash.")
		case r == ' ':
			return forbidden("The address has a space. Write %%20.")
		case invisible(r):
			return forbidden("The address has an invisible character (U+%04X).", r)
		}
	}
	return nil
}

// splitPort cuts the port off an authority. Without one it is the scheme's.
func splitPort(authority, scheme string) (name string, port uint16, err error) {
	name, digits := authority, ""
	if k := strings.LastIndexByte(authority, ':'); k > strings.LastIndexByte(authority, ']') {
		name, digits = authority[:k], authority[k+1:]
	}
	if digits == "" {
		if scheme == "https" {
			return name, 443, nil
		}
		return name, 80, nil
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || digits != strconv.FormatUint(n, 10) {
		return "", 0, invalid("The port of the address is not a number between 1 and 65535.")
	}
	return name, uint16(n), nil
}

// judge is rule U4 for one socket.
func (g *Guard) judge(to netip.AddrPort, open bool) error {
	if g.own != nil && g.own(to) {
		return forbidden("%s is Jackline's own server.", to.Addr())
	}
	if open || public(to.Addr()) {
		return nil
	}
	return forbidden("%s is not a public address. The owner can open a dev server with the setting egress.allow.", to.Addr())
}

// addresses looks a target up, once, and judges every answer: one that is bad refuses all.
func (g *Guard) addresses(ctx context.Context, t target) ([]netip.AddrPort, error) {
	found := []netip.Addr{t.host.addr}
	if !t.host.addr.IsValid() {
		var err error
		if found, err = g.lookup(ctx, t.host.name); err != nil || len(found) == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, jackline.E("egress.lookup", jackline.NotFound, err, "The host %s was not found. Check its name, and that this machine is online.", t.host.name)
		}
	}
	if len(found) > maxAnswers {
		return nil, forbidden("The host %s has more than %d addresses.", t.host.name, maxAnswers)
	}
	sockets := make([]netip.AddrPort, 0, len(found))
	for _, a := range found {
		to := netip.AddrPortFrom(a, t.port)
		if err := g.judge(to, t.open); err != nil {
			if t.host.addr.IsValid() {
				return nil, err
			}
			return nil, jackline.E("egress.lookup", jackline.Forbidden, err, "The host %s leads to an address that is refused. %s", t.host.name, jackline.Say(err))
		}
		sockets = append(sockets, to)
	}
	return sockets, nil
}

// connect looks a target up and connects to one of the addresses that were judged.
func (g *Guard) connect(ctx context.Context, t target) (net.Conn, error) {
	sockets, err := g.addresses(ctx, t)
	if err != nil {
		return nil, err
	}
	dial := g.dial
	if dial == nil {
		d := &net.Dialer{Timeout: dialTime, ControlContext: g.control(t.open)}
		dial = d.DialContext
	}
	var last error
	for _, to := range sockets[:min(len(sockets), maxTries)] {
		conn, err := dial(ctx, "tcp", to.String())
		if err == nil {
			return conn, nil
		}
		if last = err; ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if jackline.KindOf(err) == jackline.Forbidden {
			return nil, err
		}
	}
	return nil, jackline.E("egress.connect", jackline.Unavailable, last, "The host %s does not answer on port %d.", t.host.name, t.port)
}

// control judges a socket just before it connects, at the address that the kernel is given.
func (g *Guard) control(open bool) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !strings.HasPrefix(network, "tcp") {
			return jackline.E("egress.control", jackline.Forbidden, fmt.Errorf("%s %s: %w", network, address, err), "This is no address of a web server.")
		}
		return g.judge(to, open)
	}
}

// system asks the machine's resolver. A name of the public web is rooted, so that no search list can make another one of it;
// one of the local network, which the owner opened, is for that list and the hosts file.
func system(ctx context.Context, name string) ([]netip.Addr, error) {
	if !local(host{name: name}) {
		name += "."
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	for k := range found {
		found[k] = found[k].Unmap() // how the resolver writes the four bytes is its own affair
	}
	return found, err
}

// clip makes outside text fit for a sentence.
func clip(s string) string {
	const most = 60
	s = strings.Map(func(r rune) rune {
		if invisible(r) && r != ' ' {
			return '�'
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
