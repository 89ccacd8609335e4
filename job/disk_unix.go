//go:build linux || darwin

package job

import "golang.org/x/sys/unix"

// freeAt is how many bytes an ordinary user may still write on the disk of a folder.
func freeAt(folder string) (uint64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil || s.Blocks == 0 {
		return 0, false // some file systems have no size
	}
	return s.Bavail * uint64(s.Bsize), true //nolint:gosec // a block's size is positive
}
