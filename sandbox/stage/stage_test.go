//go:build linux && (amd64 || arm64)

package stage

import (
	"encoding/binary"
	"reflect"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

func TestPlan(t *testing.T) {
	p := &Plan{
		Path: "/bin/true", Dir: "/w", Args: []string{"true", ""}, Env: []string{"A=1"}, UID: 1000, GID: 1001,
		Steps:  []Step{{Kind: BindFrom, From: "/a", Path: "/b", ReadOnly: true, Dev: 1 << 40, Ino: 7}, {Kind: Memory, Path: "/tmp", Devices: true}},
		Rules:  []Rule{{"/", Reads}, {"/w", Writes}},
		Domain: DomainFor(7, false), Limits: []Limit{{unix.RLIMIT_CORE, 1}}, Filter: Filter(OwnNetwork, OwnWorld), Proxy: true, Processes: "/g",
	}
	b := p.Marshal()
	got, err := unmarshal(b)
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%v\n%+v\n%+v", err, got, p)
	}
	for i := range b {
		if _, err := unmarshal(b[:i]); err == nil {
			t.Fatalf("the first %d bytes of %d are taken for a plan", i, len(b))
		}
	}
	if _, err := unmarshal(append(b, 0)); err == nil {
		t.Error("a plan with more behind it is taken for one")
	}
}

func FuzzPlan(f *testing.F) {
	p := Plan{Path: "/bin/true", Args: []string{"true"}, Filter: Filter(NoSockets, SharedWorld), Steps: []Step{{Path: "/a"}}}
	f.Add(p.Marshal())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := unmarshal(b)
		if err != nil {
			return
		}
		again, err := unmarshal(p.Marshal())
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%v\n%+v\n%+v", err, again, p)
		}
	})
}

// TestFilter runs the filters on a machine for them.
func TestFilter(t *testing.T) {
	const eperm, eacces, enosys, notsup = unix.SECCOMP_RET_ERRNO | 1, unix.SECCOMP_RET_ERRNO | 13, unix.SECCOMP_RET_ERRNO | 38, unix.SECCOMP_RET_ERRNO | 95
	inet, stream, dgram := uint32(unix.AF_INET), uint32(unix.SOCK_STREAM|unix.SOCK_CLOEXEC), uint32(unix.SOCK_DGRAM)
	for _, c := range []struct {
		name    string
		sockets Sockets
		world   World
		call    uint32
		args    []uint32
		want    uint32
	}{
		{"read", NoSockets, SharedWorld, unix.SYS_READ, nil, allow},
		{"the highest", NoSockets, SharedWorld, 500, nil, allow},
		{"execve", NoSockets, SharedWorld, unix.SYS_EXECVE, nil, allow},
		{"mount", OwnNetwork, OwnWorld, unix.SYS_MOUNT, nil, eperm},
		{"open_tree_attr", OwnNetwork, OwnWorld, unix.SYS_OPEN_TREE_ATTR, nil, eperm},
		{"clone3", OwnNetwork, OwnWorld, unix.SYS_CLONE3, nil, enosys},
		{"openat2", OwnNetwork, OwnWorld, unix.SYS_OPENAT2, nil, enosys},
		{"clone a thread", NoSockets, SharedWorld, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD}, allow},
		{"clone a namespace", NoSockets, SharedWorld, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_NEWNET}, eperm},
		{"trace me", NoSockets, SharedWorld, unix.SYS_PTRACE, []uint32{0}, allow},
		{"let go", NoSockets, SharedWorld, unix.SYS_PTRACE, []uint32{17}, allow},
		{"trace", NoSockets, SharedWorld, unix.SYS_PTRACE, []uint32{16}, eperm},
		{"seize", NoSockets, SharedWorld, unix.SYS_PTRACE, []uint32{0x4206}, eperm},
		{"window size", NoSockets, SharedWorld, unix.SYS_IOCTL, []uint32{0, unix.TIOCGWINSZ}, allow},
		{"push input", NoSockets, OwnWorld, unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, eperm},
		{"console", NoSockets, OwnWorld, unix.SYS_IOCTL, []uint32{0, unix.TIOCLINUX}, eperm},
		{"open to read", NoSockets, OwnWorld, unix.SYS_OPENAT, []uint32{0, 0, 0, 0o4755}, allow},
		{"make", NoSockets, OwnWorld, unix.SYS_OPENAT, []uint32{0, 0, unix.O_CREAT, 0o755}, allow},
		{"make with its owner's rights", NoSockets, OwnWorld, unix.SYS_OPENAT, []uint32{0, 0, unix.O_CREAT, 0o4755}, eperm},
		{"mode", NoSockets, OwnWorld, unix.SYS_FCHMOD, []uint32{3, 0o755}, allow},
		{"mode in a shared world", NoSockets, SharedWorld, unix.SYS_FCHMOD, []uint32{3, 0o755}, ask},
		{"mode with its owner's rights", NoSockets, SharedWorld, unix.SYS_FCHMOD, []uint32{3, 0o4755}, eperm},
		{"times", NoSockets, SharedWorld, unix.SYS_UTIMENSAT, nil, ask},
		{"times of one's own world", NoSockets, OwnWorld, unix.SYS_UTIMENSAT, nil, allow},
		{"attributes", NoSockets, SharedWorld, unix.SYS_SETXATTR, nil, notsup},
		{"shared memory", NoSockets, SharedWorld, unix.SYS_SHMGET, nil, eacces},
		{"shared memory of one's own", NoSockets, OwnWorld, unix.SYS_SHMGET, nil, allow},
		{"own limits", NoSockets, SharedWorld, unix.SYS_PRLIMIT64, []uint32{0}, allow},
		{"limits of another", NoSockets, SharedWorld, unix.SYS_PRLIMIT64, []uint32{77}, eperm},
		{"no socket", NoSockets, SharedWorld, unix.SYS_SOCKET, []uint32{inet, stream}, eacces},
		{"no local socket", NoSockets, SharedWorld, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, stream}, eacces},
		{"a pair", NoSockets, SharedWorld, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, stream}, allow},
		{"a local socket", LocalSockets, SharedWorld, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, stream}, allow},
		{"only local sockets", LocalSockets, SharedWorld, unix.SYS_SOCKET, []uint32{inet, stream}, eacces},
		{"own network", OwnNetwork, OwnWorld, unix.SYS_SOCKET, []uint32{inet, dgram}, allow},
		{"own network, 6", OwnNetwork, OwnWorld, unix.SYS_SOCKET, []uint32{unix.AF_INET6, stream}, allow},
		{"no netlink", OwnNetwork, OwnWorld, unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW}, eacces},
		{"no packets", OwnNetwork, OwnWorld, unix.SYS_SOCKET, []uint32{unix.AF_PACKET, unix.SOCK_RAW}, eacces},
		{"tcp", OnlyTCP, SharedWorld, unix.SYS_SOCKET, []uint32{inet, stream, 0}, allow},
		{"tcp by name", OnlyTCP, SharedWorld, unix.SYS_SOCKET, []uint32{unix.AF_INET6, stream, 6}, allow},
		{"no udp", OnlyTCP, SharedWorld, unix.SYS_SOCKET, []uint32{inet, dgram, 0}, eacces},
		{"no multipath", OnlyTCP, SharedWorld, unix.SYS_SOCKET, []uint32{inet, stream, 262}, eacces},
		{"no local socket beside tcp", OnlyTCP, SharedWorld, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, stream, 0}, eacces},
	} {
		if got := judge(t, Filter(c.sockets, c.world), auditArch, c.call, c.args...); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
	if got := judge(t, Filter(NoSockets, OwnWorld), unix.AUDIT_ARCH_I386, unix.SYS_READ); got != kill {
		t.Errorf("another architecture: %#x", got)
	}
	if foreignBit != 0 {
		if got := judge(t, Filter(NoSockets, OwnWorld), auditArch, foreignBit|unix.SYS_READ); got != kill {
			t.Errorf("foreign numbers: %#x", got)
		}
	}
	for _, call := range refused {
		if got := judge(t, Filter(NoSockets, OwnWorld), auditArch, call); got != eperm {
			t.Errorf("%d: %#x", call, got)
		}
	}
}

// judge runs a filter on a call. The machine for packets reads big-endian words, so they are written so.
func judge(t *testing.T, filter []Instruction, arch, call uint32, args ...uint32) uint32 {
	t.Helper()
	var list []bpf.Instruction
	for _, i := range filter {
		list = append(list, bpf.RawInstruction{Op: i.Code, Jt: i.JT, Jf: i.JF, K: i.K}.Disassemble())
	}
	vm, err := bpf.NewVM(list)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[atNumber:], call)
	binary.BigEndian.PutUint32(data[atArch:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[atArgs+8*i:], a)
	}
	n, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n) //nolint:gosec // 32 bits
}

func TestDomain(t *testing.T) {
	if d := DomainFor(0, false); d != (Domain{}) {
		t.Errorf("%+v", d)
	}
	for abi, want := range map[int]Domain{
		1: {Files: 0x1fff}, 2: {Files: 0x3fff}, 3: {Files: 0x7fff}, 4: {Files: 0x7fff, Net: 3}, 5: {Files: 0xffff, Net: 3},
		6: {Files: 0xffff, Net: 3, Scoped: 3}, 7: {Files: 0xffff, Net: 3, Scoped: 3}, 9: {Files: 0x1ffff, Net: 3, Scoped: 3}, 12: {Files: 0x1ffff, Net: 3, Scoped: 3},
	} {
		if d := DomainFor(abi, false); d != want {
			t.Errorf("%d: %+v, want %+v", abi, d, want)
		}
		if d := DomainFor(abi, true); d.Net != 0 || d.Files != want.Files {
			t.Errorf("%d with a loopback: %+v", abi, d)
		}
	}
}
