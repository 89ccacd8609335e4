package store

import (
	"fmt"
	"testing"
)

// More queries than are kept are answered like the others, and no more are kept.
func TestManyStatements(t *testing.T) {
	d := openTest(t, t.TempDir())
	for round := range 2 {
		for n := range maxStatements + 20 {
			got, err := one(t.Context(), d, "test", "row", func(s scanner) (v int, err error) { return v, s.Scan(&v) }, fmt.Sprintf("SELECT %d", n))
			if err != nil || got != n {
				t.Fatalf("round %d: %d, %v", round, got, err)
			}
		}
	}
	if n := len(d.statements.made); n != maxStatements {
		t.Errorf("%d are kept", n)
	}
}
