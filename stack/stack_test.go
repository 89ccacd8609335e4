package stack

import (
	"runtime/metrics"
	"testing"
)

// TestGrow: the stack has the room afterwards, and has it only then.
func TestGrow(t *testing.T) {
	const many = 64
	sizes := func(grow bool) uint64 {
		begun, end := make(chan struct{}), make(chan struct{})
		defer close(end)
		for range many {
			go func() {
				if grow {
					Grow()
				}
				begun <- struct{}{}
				<-end
			}()
		}
		for range many {
			<-begun
		}
		s := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	before := sizes(false)
	if grown := sizes(true); grown < before+many*room/2 { // some that were there before may be gone
		t.Errorf("the stacks of %d goroutines took %d bytes, and %d when they had grown", many, before, grown)
	}
}
