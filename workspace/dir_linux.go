package workspace

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openat opens one name. The kernel is told once more what this package takes care of: no link, no other mount, nothing
// above. Where it is too old or forbids the call, the plain one does.
func openat(dirfd int, name string, flags int) (int, error) {
	fd, err := unix.Openat2(dirfd, name, &unix.OpenHow{
		Flags:   uint64(flags),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return unix.Openat(dirfd, name, flags, 0)
	}
	return fd, err
}

func renameNew(from int, name string, to int, toName string) error {
	err := unix.Renameat2(from, name, to, toName, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return renameChecked(from, name, to, toName)
	}
	return err
}
