package engine

import (
	"crypto/sha256"
	"sync"
)

// maxStates is how many states are remembered: those of many long chats. When there are more, all are forgotten, and
// each costs one refused request again.
const maxStates = 10_000

// States are opaque states that a server did not take back. A state that was refused once is refused always: what stood before
// it has changed, and does not change back. The zero value remembers nothing yet. It is safe for use by several
// goroutines at once.
type States struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]bool
}

// Has reports whether s was refused.
func (k *States) Has(s string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.seen[sha256.Sum256([]byte(s))]
}

// Add remembers that s was refused.
func (k *States) Add(s string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.seen) >= maxStates || k.seen == nil {
		k.seen = map[[sha256.Size]byte]bool{}
	}
	k.seen[sha256.Sum256([]byte(s))] = true
}
