package doctor_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/doctor"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/model"
)

func states(checks []jackline.Check) map[string]jackline.CheckState {
	all := map[string]jackline.CheckState{}
	for _, c := range checks {
		all[c.ID] = c.State
	}
	return all
}

// What is missing or open is said, and mended only when that is asked for.
func TestFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing on Windows")
	}
	dir := t.TempDir()
	p := settings.Places{Data: filepath.Join(dir, "data"), Logs: filepath.Join(dir, "logs")}
	if got := states(doctor.Files(p, false)); got["folder.data"] != jackline.CheckWarn || got["store.key"] != jackline.CheckOK {
		t.Errorf("nothing there: %v", got)
	}
	if _, err := os.Stat(p.Data); !os.IsNotExist(err) {
		t.Errorf("looking made it: %v", err)
	}
	if got := states(doctor.Files(p, true)); got["folder.data"] != jackline.CheckOK || got["folder.logs"] != jackline.CheckOK {
		t.Errorf("made: %v", got)
	}
	key := filepath.Join(p.Data, "key")
	if err := errors.Join(os.WriteFile(key, []byte("k"), 0o600), os.Chmod(key, 0o640), os.Symlink(key, filepath.Join(p.Data, "token"))); err != nil {
		t.Fatal(err)
	}
	if got := states(doctor.Files(p, false)); got["store.key"] != jackline.CheckWarn || got["store.token"] != jackline.CheckFail {
		t.Errorf("open: %v", got)
	}
	if st, _ := os.Stat(key); st.Mode().Perm() != 0o640 {
		t.Errorf("looking changed it to %v", st.Mode())
	}
	if got := states(doctor.Files(p, true)); got["store.key"] != jackline.CheckOK || got["store.token"] != jackline.CheckFail {
		t.Errorf("mended: %v", got)
	}
	if st, _ := os.Stat(key); st.Mode().Perm() != 0o600 {
		t.Errorf("it is still %v", st.Mode())
	}
}

// A port in use, a folder that is none, a mode that allows all.
func TestSurroundings(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for what, c := range map[string]struct {
		got  jackline.Check
		want jackline.CheckState
	}{
		"taken":   {doctor.Port(l.Addr().String(), false, false), jackline.CheckWarn},
		"ours":    {doctor.Port(l.Addr().String(), true, false), jackline.CheckOK},
		"remote":  {doctor.Port(l.Addr().String(), true, true), jackline.CheckWarn},
		"nowhere": {doctor.Port("nonsense", false, false), jackline.CheckFail},
		"gone":    {doctor.Workspace("", jackline.E("t", jackline.Invalid, nil, "It is gone.")), jackline.CheckFail},
		"there":   {doctor.Workspace(t.TempDir(), nil), jackline.CheckOK},
		"all":     {doctor.Permissions(jackline.Permissions{Mode: jackline.ModeAllowAll, Toggles: jackline.AllOn}, nil), jackline.CheckWarn},
		"reads":   {doctor.Permissions(jackline.Permissions{Mode: jackline.ModeAllowReads}, nil), jackline.CheckOK},
		"none":    {doctor.Sandbox(jackline.SandboxNone, "It is too old.", ""), jackline.CheckWarn},
		"part":    {doctor.Sandbox(jackline.SandboxLandlock, "", ""), jackline.CheckWarn},
		"whole":   {doctor.Sandbox(jackline.SandboxNamespaces, "", ""), jackline.CheckOK},
		"store":   {doctor.Store(jackline.E("t", jackline.Invalid, nil, "It is damaged.")), jackline.CheckFail},
		"config":  {doctor.Settings(nil, errors.New("x")), jackline.CheckFail},
	} {
		if c.got.State != c.want || c.got.Title == "" || c.got.Text == "" || c.want != jackline.CheckOK && c.got.Fix == "" && what != "none" {
			t.Errorf("%s: %+v, want %s", what, c.got, c.want)
		}
	}
	if k := doctor.Permissions(jackline.Permissions{Mode: jackline.ModeAllowReads}, nil); !strings.Contains(k.Text, "commands, network, reading files, writing files") {
		t.Errorf("switched off: %s", k.Text)
	}
}

// Without an engine something is wrong; a service that was not asked is none of it.
func TestEngines(t *testing.T) {
	if got := doctor.Engines(model.Catalogue{}, nil); len(got) != 1 || got[0].State != jackline.CheckFail {
		t.Errorf("none: %+v", got)
	}
	got := states(doctor.Engines(model.Catalogue{Engines: []model.Engine{
		{ID: "ollama", State: "ready", Origin: "found"}, {ID: "added-1", State: "down", Origin: "added"},
		{ID: "configured", State: "down", Origin: "configured"}, {ID: "openai", State: "unknown", Origin: "cloud"}, {ID: "lm-studio", State: "needs-key", Origin: "found"},
	}}, nil))
	for id, want := range map[string]jackline.CheckState{
		"engine.ollama": jackline.CheckOK, "engine.added-1": jackline.CheckWarn, "engine.configured": jackline.CheckFail,
		"engine.openai": jackline.CheckOK, "engine.lm-studio": jackline.CheckWarn,
	} {
		if got[id] != want {
			t.Errorf("%s is %s, want %s", id, got[id], want)
		}
	}
}
