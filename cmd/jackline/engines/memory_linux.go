package engines

import "golang.org/x/sys/unix"

// MachineMemory is the memory of this machine in bytes; 0 is unknown.
func MachineMemory() int64 {
	var i unix.Sysinfo_t
	if unix.Sysinfo(&i) != nil {
		return 0
	}
	return int64(uint64(i.Totalram) * uint64(i.Unit)) //nolint:gosec,unconvert // 32-bit systems have another type; no machine has 2^63 bytes
}
