//go:build unix && !linux

package workspace

import "os"

// exchange is in three steps where the system has none.
func exchange(a, b string) error {
	if err := os.Rename(a, b+".2"); err != nil {
		return err
	}
	if err := os.Rename(b, a); err != nil {
		return err
	}
	return os.Rename(b+".2", b)
}
