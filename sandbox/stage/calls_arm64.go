//go:build linux

package stage

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// foreignBit is none: 32-bit programs have an architecture of their own.
const foreignBit = 0

// refusedHere are refused calls that only this machine has.
var refusedHere = [...]uint32{}

// modes are the calls that give a file its mode, and the argument that has it.
var modes = [...]struct{ call, arg uint32 }{
	{unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2}, {unix.SYS_MKNODAT, 2},
}

// Facts are the calls that change what is known about a file.
var Facts = [...]Fact{
	{unix.SYS_FCHMOD, 0, -1, -1, Mode, 1}, {unix.SYS_FCHMODAT, 0, 1, -1, Mode, 2}, {unix.SYS_FCHMODAT2, 0, 1, 3, Mode, 2},
	{unix.SYS_FCHOWN, 0, -1, -1, Owner, 1}, {unix.SYS_FCHOWNAT, 0, 1, 4, Owner, 2}, {unix.SYS_UTIMENSAT, 0, 1, 3, Nanoseconds, 2},
}
