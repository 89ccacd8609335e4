//go:build !linux && !darwin

package engines

// MachineMemory is the memory of this machine in bytes; 0 is unknown, as here.
func MachineMemory() int64 { return 0 }
