//go:build linux

package stage

import "golang.org/x/sys/unix"

// statat is the call that describes a file by its path.
const statat = unix.SYS_NEWFSTATAT
