package job

import "strings"

const (
	// leastRoom is how many bytes stay free on a disk that a command writes to: enough for the server's own records, for whatever else
	// runs on the machine, and for what the command writes before it is ended, a tick later.
	leastRoom = 256 << 20

	// share is what part of the room that was there must stay where that is little.
	share = 2
)

// A room is the free space of the disks that a command writes to: a command that would fill one is ended.
type room struct {
	folders []string
	least   []uint64
}

// newRoom looks at the disks of the folder that a command starts in, its home and the place of its temporary files.
func newRoom(s Spec) *room {
	r := &room{}
	folders := []string{s.Dir}
	for _, e := range s.Env {
		if name, value, _ := strings.Cut(e, "="); name == "HOME" || name == "TMPDIR" {
			folders = append(folders, value)
		}
	}
	for _, f := range folders {
		if free, ok := freeAt(f); ok {
			r.folders, r.least = append(r.folders, f), append(r.least, min(leastRoom, free/share))
		}
	}
	return r
}

// low reports whether a disk has less room than must stay. One that cannot be asked any more counts as well enough.
func (r *room) low() bool {
	for k, f := range r.folders {
		if free, ok := freeAt(f); ok && free < r.least[k] {
			return true
		}
	}
	return false
}
