package guard

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackline-ai/jackline"
)

// DefaultAddress is where the server listens unless it is told otherwise.
const DefaultAddress = "127.0.0.1:7717"

// nextPorts is how many ports after a taken one are tried.
const nextPorts = 20

// Listen opens the address to serve at. When the port is taken it takes the next free one of the next 20, and note says
// so. An address that other machines can reach is refused unless remote is true.
func Listen(address string, remote bool) (l net.Listener, note string, err error) {
	const op = "guard.Listen"
	if address == "" {
		address = DefaultAddress
	}
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", jackline.E(op, jackline.Invalid, err, "%q is no address to listen at: write HOST:PORT, as in %s.", address, DefaultAddress)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, "", jackline.E(op, jackline.Invalid, err, "%q is no port: write a number from 0 to 65535.", portText)
	}
	if !Loopback(address) && !remote {
		return nil, "", jackline.E(op, jackline.Forbidden, nil,
			"%s can be reached from other machines, and whoever reaches Jackline and has its token commands your files and shell. "+
				"Listen at 127.0.0.1, or set server.allowRemote: true if you mean it and stand a TLS proxy in front.", address)
	}
	last := min(port+nextPorts, 65535)
	for p := port; ; p++ {
		l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.FormatUint(p, 10)))
		switch {
		case err == nil && p == port:
			return l, "", nil
		case err == nil:
			return l, fmt.Sprintf("Port %d is taken, so this is port %d.", port, p), nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return nil, "", jackline.E(op, jackline.Unavailable, err, "Jackline cannot listen at %s: %s.", address, reason(err))
		case port == 0 || p == last:
			return nil, "", jackline.E(op, jackline.Conflict, err,
				"Port %d and the %d after it are taken: choose another with --listen HOST:PORT.", port, last-port)
		}
	}
}

// reason is what the system says, without addresses.
func reason(err error) string {
	var number syscall.Errno
	var dns *net.DNSError
	switch {
	case errors.As(err, &number):
		return number.Error()
	case errors.As(err, &dns):
		return "there is no host of that name"
	}
	return "the system does not say why"
}

// HostsOf are the names under which a server at an address may be called, for [Config]: exactly these, with port.
// The further names are a person's own, from server.hosts.
func HostsOf(a net.Addr, further ...string) []string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return further
	}
	names := []string{net.JoinHostPort(host, port)}
	if ip := net.ParseIP(host); ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		names = []string{net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("localhost", port), net.JoinHostPort("::1", port)}
	}
	if port == "80" {
		for _, n := range names { // a browser leaves the port of http away
			further = append(further, strings.TrimSuffix(n, ":80"))
		}
	}
	return append(names, further...)
}
