package workspace

import (
	"os"

	"golang.org/x/sys/windows"
)

// linkCount is the number of names of a file; 2 where it cannot be told, so that it is not written.
func linkCount(r *os.Root, name string) uint64 {
	const unknown = 2
	f, err := r.Open(name)
	if err != nil {
		return unknown
	}
	var info windows.ByHandleFileInformation
	err = windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info)
	if f.Close() != nil || err != nil {
		return unknown
	}
	return uint64(info.NumberOfLinks)
}
