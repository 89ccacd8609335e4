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
