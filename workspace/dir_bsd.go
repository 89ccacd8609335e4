//go:build unix && !linux

package workspace

import "golang.org/x/sys/unix"

func openat(dirfd int, name string, flags int) (int, error) {
	return unix.Openat(dirfd, name, flags, 0)
}

func renameNew(from int, name string, to int, toName string) error {
	return renameChecked(from, name, to, toName)
}
