package guard

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"
)

const (
	// codeTime is how long a login code works, and maxCodes how many may be open at once: a code is for the person who
	// reads it off a terminal now.
	codeTime = 10 * time.Minute
	maxCodes = 16
)

// Codes are one-time login codes. A code stands in the fragment of an address, which no browser sends anywhere; the
// page trades it for the token.
type Codes struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]time.Time // digest → until when it works
}

// NewCodes makes a set without codes.
func NewCodes() *Codes { return &Codes{open: map[[sha256.Size]byte]time.Time{}} }

// New opens a code. It works once, for ten minutes. When too many are open the oldest is closed.
func (c *Codes) New() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	code := hex.EncodeToString(b[:])
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	var oldest [sha256.Size]byte
	for sum, until := range c.open {
		if !now.Before(until) {
			delete(c.open, sum)
		} else if first, ok := c.open[oldest]; !ok || until.Before(first) {
			oldest = sum
		}
	}
	if len(c.open) >= maxCodes {
		delete(c.open, oldest)
	}
	c.open[sha256.Sum256([]byte(code))] = now.Add(codeTime)
	return code
}

// Use closes a code and reports whether it was open.
func (c *Codes) Use(code string) bool {
	sum := sha256.Sum256([]byte(code))
	c.mu.Lock()
	defer c.mu.Unlock()
	until, ok := c.open[sum]
	delete(c.open, sum)
	return ok && time.Now().Before(until)
}

// A Limiter lets a number of things through each minute.
type Limiter struct {
	mu    sync.Mutex
	most  int
	count int
	since time.Time
}

// NewLimiter makes a limiter that lets most things through each minute.
func NewLimiter(most int) *Limiter { return &Limiter{most: most} }

// Allow counts one thing, and reports whether it may pass.
func (l *Limiter) Allow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.since) >= time.Minute {
		l.since, l.count = now, 0
	}
	l.count++
	return l.count <= l.most
}
