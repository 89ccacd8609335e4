// Package doctor looks at what the program stands on, and says what is wrong and what to do about it: one [jackline.Check]
// for each thing. It changes nothing unless it is told to mend, and then only what is safe: folders that are missing, and
// files that others can read.
package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/engines"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/model"
)

// Settings reports the configuration file: c is nil where it could not be read, for the reason err.
func Settings(c *settings.Config, err error) jackline.Check {
	k := jackline.Check{ID: "config", Title: "Settings", State: jackline.CheckOK}
	switch {
	case err != nil:
		k.State, k.Text, k.Fix = jackline.CheckFail, jackline.Say(err), "Correct it; jackline config --help explains every setting."
	case len(c.Warnings) > 0:
		k.State, k.Text, k.Fix = jackline.CheckWarn, strings.Join(c.Warnings, " "), "Correct the names; jackline config --help lists all settings."
	default:
		k.Text = "No complaints. The file is " + c.Places.File + "."
	}
	return k
}

// Files looks at the folders of the program's state and at the files in them that nobody else may read. With mend it makes what is
// missing and closes what is open.
func Files(p settings.Places, mend bool) []jackline.Check {
	list := []jackline.Check{folder("folder.data", "Data folder", p.Data, mend), folder("folder.logs", "Log folder", p.Logs, mend)}
	for _, f := range []struct{ id, title, name string }{
		{"file.store", "Store", "jackline.db"}, {"file.key", "Key of the store", "key"}, {"file.token", "Token of the API", "token"},
	} {
		list = append(list, secret("store."+strings.TrimPrefix(f.id, "file."), f.title, filepath.Join(p.Data, f.name), mend))
	}
	return list
}

// others reports permissions of anybody but the owner. On Windows modes say nothing.
func others(m fs.FileMode) bool { return runtime.GOOS != "windows" && m.Perm()&0o077 != 0 }

func folder(id, title, dir string, mend bool) jackline.Check {
	k := jackline.Check{ID: id, Title: title, State: jackline.CheckOK, Text: dir}
	st, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) && mend {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			st, err = os.Stat(dir)
			k.Text = dir + " was made."
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		k.State, k.Text, k.Fix = jackline.CheckWarn, dir+" is not there yet.", "It is made at the first start, or now: jackline doctor --fix"
	case err != nil:
		k.State, k.Text, k.Fix = jackline.CheckFail, dir+" cannot be looked at.", "Give this user the right to use it, or choose another place with JACKLINE_HOME."
	case !st.IsDir():
		k.State, k.Text, k.Fix = jackline.CheckFail, dir+" is no folder.", "Move the file away, or choose another place with JACKLINE_HOME."
	case others(st.Mode()):
		return closed(k, dir, 0o700, mend)
	}
	return k
}

func secret(id, title, file string, mend bool) jackline.Check {
	k := jackline.Check{ID: id, Title: title, State: jackline.CheckOK, Text: file + " is yours alone."}
	st, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		k.Text = "It is made at the first start."
	case err != nil:
		k.State, k.Text, k.Fix = jackline.CheckFail, file+" cannot be looked at.", "Give this user the right to read it."
	case !st.Mode().IsRegular():
		k.State, k.Text, k.Fix = jackline.CheckFail, file+" is no plain file.", "Put the real file there: a link may lead to one that others can change."
	case others(st.Mode()):
		return closed(k, file, 0o600, mend)
	}
	return k
}

// closed reports what others can reach, or ends that.
func closed(k jackline.Check, path string, mode fs.FileMode, mend bool) jackline.Check {
	if mend && os.Chmod(path, mode) == nil {
		k.Text = path + " was open to other users of this machine, and is yours alone now."
		return k
	}
	k.State, k.Text = jackline.CheckWarn, path+" is open to other users of this machine."
	k.Fix = fmt.Sprintf("chmod %o %s, or: jackline doctor --fix", mode, path)
	return k
}

// Store reports whether the store could be opened.
func Store(err error) jackline.Check {
	k := jackline.Check{ID: "store", Title: "Store opens", State: jackline.CheckOK, Text: "It opens."}
	if err != nil {
		k.State, k.Text, k.Fix = jackline.CheckFail, jackline.Say(err), "See “The store cannot be opened” in docs/troubleshooting.md."
	}
	return k
}

// Workspace reports the folder of chats that name none.
func Workspace(dir string, err error) jackline.Check {
	k := jackline.Check{ID: "workspace", Title: "Workspace", State: jackline.CheckOK, Text: dir}
	if err != nil {
		k.State, k.Text, k.Fix = jackline.CheckFail, jackline.Say(err), "Name another folder with permissions.workspaceRoot, or -C."
		return k
	}
	probe, err := os.CreateTemp(dir, ".jackline-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		k.State, k.Text, k.Fix = jackline.CheckWarn, "Nothing can be written in "+dir+".", "Give this user the right to write there, or name another folder with permissions.workspaceRoot."
	}
	return k
}

// Permissions reports what runs unasked.
func Permissions(p jackline.Permissions, err error) jackline.Check {
	k := jackline.Check{ID: "permissions", Title: "Permissions", State: jackline.CheckOK}
	if err != nil {
		k.State, k.Text = jackline.CheckFail, jackline.Say(err)
		return k
	}
	off := []string{}
	for name, on := range map[string]bool{
		"reading files": p.Toggles.ReadFiles, "writing files": p.Toggles.WriteFiles, "commands": p.Toggles.RunShell, "network": p.Toggles.Network,
	} {
		if !on {
			off = append(off, name)
		}
	}
	slices.Sort(off)
	k.Text = fmt.Sprintf("New chats are in mode %s; %d rules.", p.Mode, len(p.Rules))
	if len(off) > 0 {
		k.Text += " Switched off: " + strings.Join(off, ", ") + "."
	}
	if p.Mode == jackline.ModeAllowAll {
		k.State, k.Fix = jackline.CheckWarn, "In allow-all everything but hard refusals runs unasked. allow-edits asks before commands and deletions."
	}
	return k
}

// Sandbox reports what commands are held by: the level, why it is not higher, and what holds their number.
func Sandbox(level jackline.SandboxLevel, why, processes string) jackline.Check {
	k := jackline.Check{ID: "sandbox", Title: "Sandbox", State: jackline.CheckOK}
	switch level {
	case jackline.SandboxNamespaces:
		k.Text = "Level namespaces: commands see a machine of their own, with the workspace and without protected files, network and other processes."
	case jackline.SandboxLandlock:
		k.State = jackline.CheckWarn
		k.Text = "Level landlock: commands are held to the workspace and have no network, but protected files in a workspace cannot be kept from them. Where there are any (.git is one), commands that do more than read are asked about."
		k.Fix = "See docs/sandbox.md for what a system has to allow for the level namespaces."
	default:
		k.State = jackline.CheckWarn
		k.Text = "Level none: commands run with all rights of this user. Only commands that read run unasked, in every mode but allow-all."
		k.Fix = "See docs/sandbox.md for what a system has to have."
	}
	for _, more := range []string{why, processes} {
		if more = strings.TrimSpace(more); more != "" {
			k.Text += " " + more
		}
	}
	return k
}

// Port reports the address of page and API. serving says that a server listens there now, and asks not.
func Port(listen string, serving, remote bool) jackline.Check {
	k := jackline.Check{ID: "port", Title: "Address", State: jackline.CheckOK, Text: "A server is up at " + listen + "."}
	if remote {
		k.State, k.Fix = jackline.CheckWarn, "server.allowRemote is on: whoever gets the token controls this machine's files and shell. Switch it off unless you need it."
	}
	if serving {
		return k
	}
	l, err := net.Listen("tcp", listen)
	switch {
	case err == nil:
		_ = l.Close() // it was only tried
		k.Text = listen + " is free for page and API."
	case errors.Is(err, syscall.EADDRINUSE):
		k.State = jackline.CheckWarn
		k.Text, k.Fix = listen+" is taken by another program; the next free port is used instead.", "Choose another with server.listen, if you want always the same."
	default:
		k.State, k.Text, k.Fix = jackline.CheckFail, listen+" cannot be listened at.", "Set server.listen to an address of this machine, such as 127.0.0.1:7717."
	}
	return k
}

// Engines reports the engines that are known, one each, and that there are none.
func Engines(c model.Catalogue, err error) []jackline.Check {
	if err != nil {
		return []jackline.Check{{ID: "engines", Title: "Engines", State: jackline.CheckUnknown, Text: jackline.Say(err)}}
	}
	var list []jackline.Check
	usable := 0
	for _, e := range c.Engines {
		k := jackline.Check{ID: "engine." + e.ID, Title: "Engine " + cmp.Or(e.Name, e.ID), Text: e.Why}
		if e.Origin != "cloud" || e.State != "unknown" {
			k.Text = strings.TrimSpace(e.BaseURL + ": " + e.Why)
		}
		switch e.State {
		case "ready":
			k.State = jackline.CheckOK
			usable++
		case "unknown":
			k.State = jackline.CheckUnknown
			if e.Origin == "cloud" {
				k.State = jackline.CheckOK
				usable++
			}
		case "down":
			k.State = jackline.CheckWarn
			if e.Origin == "configured" {
				k.State = jackline.CheckFail
			}
			k.Fix = "Start it, or correct its address."
		default: // loading, needs-key, no-model: the sentence says what to do
			k.State = jackline.CheckWarn
		}
		list = append(list, k)
	}
	if usable == 0 && len(c.Engines) == 0 {
		list = append(list, jackline.Check{
			ID: "engines", Title: "Engines", State: jackline.CheckFail, Text: "No engine is found on this machine, and none is configured.",
			Fix: "Install Ollama (https://ollama.com) and fetch a model: ollama pull qwen3:4b. Or name an engine elsewhere: jackline models add ADDRESS.",
		})
	}
	return list
}

// Model reports the model of new chats: whether there is one, its window, and how it calls tools.
func Model(st engines.Status, a engines.Account, err error) []jackline.Check {
	k := jackline.Check{ID: "model", Title: "Model", State: jackline.CheckOK}
	if err != nil {
		k.State, k.Text, k.Fix = jackline.CheckFail, jackline.Say(err), "jackline models list shows what there is, jackline models use NAME chooses."
		return []jackline.Check{k}
	}
	k.Text = a.Ref + "."
	if !st.Ready {
		k.State, k.Text = jackline.CheckFail, a.Ref+": "+st.Why
	}
	w := jackline.Check{ID: "window", Title: "Window", State: jackline.CheckOK, Text: fmt.Sprintf("%d tokens. %s", st.Window, a.Window)}
	if a.Small {
		w.State, w.Fix = jackline.CheckWarn, "Set model.window (or --window) to the number of tokens that the engine really gives; 8192 and more is good for tools."
	}
	list := []jackline.Check{k, w, {ID: "tools", Title: "Tool calls", State: jackline.CheckOK, Text: fmt.Sprintf("%s. %s", st.Mode, a.Mode)}}
	if a.Card == "" { // a transcript
		return list
	}
	c := jackline.Check{ID: "card", Title: "Model card", State: jackline.CheckOK, Text: a.Card, Fix: a.Poor}
	if a.Poor != "" {
		c.State = jackline.CheckWarn
	}
	return append(list, c)
}

// Fallback reports the models that stand in for others: how many there are, and what is wrong with those that could not.
func Fallback(n int, unfit []string) []jackline.Check {
	if n == 0 {
		return nil
	}
	k := jackline.Check{ID: "fallback", Title: "Fallback models", State: jackline.CheckOK, Text: fmt.Sprintf("%d, and all are there.", n)}
	if len(unfit) > 0 {
		k.State, k.Text, k.Fix = jackline.CheckWarn, strings.Join(unfit, " "), "Correct model.fallback, or start what is missing."
	}
	return []jackline.Check{k}
}

// Search reports the services that searches go to, the last of which needs no key. keys names what sets up a better one.
func Search(services []string, keys string) jackline.Check {
	k := jackline.Check{ID: "search", Title: "Web search", State: jackline.CheckOK, Text: strings.Join(services, ", then ") + "."}
	if len(services) < 2 {
		k.State = jackline.CheckWarn
		k.Text = strings.Join(services, "") + " alone, which needs no key and often answers with a check for robots."
		k.Fix = "Set one of " + keys + "."
	}
	return k
}
