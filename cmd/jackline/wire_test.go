package main

import (
	"slices"
	"testing"
)

// The variable of the engine's key has any name, and does not reach commands; neither does a search's.
func TestInherited(t *testing.T) {
	for keyEnv, want := range map[string][]string{
		"MYLLM": {"PATH=/bin", "MYLLMS=b", "X"}, "myllm": {"PATH=/bin", "MYLLMS=b", "X"}, "": {"PATH=/bin", "MYLLM=a=b", "MYLLMS=b", "X"},
	} {
		if got := inherited([]string{"PATH=/bin", "MYLLM=a=b", "JACKLINE_SEARXNG_URL=http://me:word@search.test", "MYLLMS=b", "X"}, keyEnv); !slices.Equal(got, want) {
			t.Errorf("without %q: %q, want %q", keyEnv, got, want)
		}
	}
}
