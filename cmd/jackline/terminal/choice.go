package terminal

import (
	"fmt"
	"slices"
	"strings"
)

// A Choice is the value of a flag that has only a few.
type Choice struct {
	Of []string
	V  *string
}

// String implements pflag.Value.
func (c Choice) String() string {
	if c.V == nil {
		return ""
	}
	return *c.V
}

// Type implements pflag.Value.
func (Choice) Type() string { return "string" }

// Set implements pflag.Value.
func (c Choice) Set(s string) error {
	if !slices.Contains(c.Of, s) {
		return fmt.Errorf("it must be one of %s", strings.Join(c.Of, ", "))
	}
	*c.V = s
	return nil
}
