package detect

import (
	"net/netip"
	"sync"
)

// Memory keeps what need not be asked again with the next look: what engines said about models whose digest stays the same,
// and the way from a container to its host. The zero Memory is ready, and safe for use by several goroutines at once.
type Memory struct {
	mu     sync.Mutex
	said   map[string]profile
	ways   [][]netip.Addr
	looked bool // for the ways to the host
}

func (m *Memory) profile(key string) (profile, bool) {
	if m == nil {
		return profile{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.said[key]
	return p, ok
}

// setProfile keeps an answer. When there are too many, all are forgotten: they are soon asked for again.
func (m *Memory) setProfile(key string, p profile) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.said == nil || len(m.said) >= maxKnown {
		m.said = map[string]profile{}
	}
	m.said[key] = p
}

// gateways are the ways to a container's host, which do not change while it runs.
func (m *Memory) gateways() ([][]netip.Addr, bool) {
	if m == nil {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ways, m.looked
}

func (m *Memory) setGateways(ways [][]netip.Addr) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ways, m.looked = ways, true
}
