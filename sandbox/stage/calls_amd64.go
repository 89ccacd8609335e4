//go:build linux

package stage

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// foreignBit marks calls by the numbers of x32.
const foreignBit = 0x40000000

// refusedHere are refused calls that only this machine has.
var refusedHere = [...]uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_CREATE_MODULE}

// modes are the calls that give a file its mode, and the argument that has it.
var modes = [...]struct{ call, arg uint32 }{
	{unix.SYS_CHMOD, 1}, {unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2}, {unix.SYS_MKNOD, 1}, {unix.SYS_MKNODAT, 2},
	{unix.SYS_CREAT, 1},
}

// Facts are the calls that change what is known about a file.
var Facts = [...]Fact{
	{unix.SYS_CHMOD, -1, 0, -1, Mode, 1}, {unix.SYS_FCHMOD, 0, -1, -1, Mode, 1}, {unix.SYS_FCHMODAT, 0, 1, -1, Mode, 2}, {unix.SYS_FCHMODAT2, 0, 1, 3, Mode, 2},
	{unix.SYS_CHOWN, -1, 0, -1, Owner, 1}, {unix.SYS_LCHOWN, -1, 0, NoFollow, Owner, 1}, {unix.SYS_FCHOWN, 0, -1, -1, Owner, 1},
	{unix.SYS_FCHOWNAT, 0, 1, 4, Owner, 2},
	{unix.SYS_UTIME, -1, 0, -1, Seconds, 1}, {unix.SYS_UTIMES, -1, 0, -1, Microseconds, 1}, {unix.SYS_FUTIMESAT, 0, 1, -1, Microseconds, 2},
	{unix.SYS_UTIMENSAT, 0, 1, 3, Nanoseconds, 2},
}
