// Package windows judges what is written for PowerShell and cmd, and the programs of Windows: the rules W of the corpus.
// It knows the part of both grammars that decides what runs, and takes what it does not understand for a command.
package windows

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/jackline-ai/jackline/shell/posix"
	"github.com/jackline-ai/jackline/shell/source"
	"github.com/jackline-ai/jackline/shell/value"
)

// device reports whether a path is a raw disk or volume.
func device(p string) bool {
	p = strings.ToLower(strings.ReplaceAll(p, `\`, "/"))
	return strings.HasPrefix(p, "//./") && !strings.HasPrefix(p, "//./pipe/") && !strings.HasPrefix(p, "//./nul")
}

// winEffect judges what is done to a path of a Windows shell. A path from the root may be meant as one of Unix.
func (j *Shells) winEffect(kind value.TouchKind, dir, p string, tree bool) {
	if p == "" {
		return
	}
	low := strings.ToLower(p)
	if tree && kind == value.Deletes {
		for _, hive := range []string{"hklm:", "hkcu:", "hkcr:", "hku:", "hkcc:", "registry::", "hkey_"} {
			if strings.HasPrefix(low, hive) || strings.Contains(low, `registry::`) {
				j.Deny("W1", "It would delete a tree of the registry, which nothing brings back. Do that by hand.")
			}
		}
	}
	if kind != value.Reads && device(p) {
		j.Deny("W4", "It would write to a raw disk or volume. Do that by hand.")
	}
	slashed := strings.ReplaceAll(p, `\`, "/")
	j.Effect(kind, j.World.WinPath(dir, p), tree)
	if strings.HasPrefix(slashed, "/") && !strings.HasPrefix(slashed, "//") && value.Drive(dir) && j.World.System(value.At("/", slashed)) {
		j.Effect(kind, value.At("/", slashed), tree)
	}
}

// Shells judges what is written for Windows, together with the judge of everything else.
type Shells struct{ *posix.Judge }

// New makes the part of j that knows Windows, and tells j of it.
func New(j *posix.Judge) *Shells {
	s := &Shells{j}
	j.Foreign = s
	return s
}

// Program judges a program of Windows, where c is one. It reports whether that is all there is to say about it.
func (j *Shells) Program(c posix.Command) (out value.Set, is bool) {
	switch strings.ToLower(c.Name) {
	case "cmd", "command.com":
		return j.oldShell(c), true
	case "powershell", "pwsh", "powershell_ise":
		return j.newShell(c), true
	}
	j.windowsProgram(c)
	return nil, false
}

// Script judges a file of commands for cmd.
func (j *Shells) Script(e *posix.Env, text string, in value.Set) { j.Cmd(e, text, in) }

// windowsProgram judges the programs of Windows that stop the machine, wipe disks, and open it to others.
func (j *Shells) windowsProgram(c posix.Command) {
	name := strings.ToLower(c.Name)
	low := make([]string, len(c.Args))
	for k, a := range c.Args {
		low[k] = strings.ToLower(a)
	}
	line := " " + strings.Join(low, " ") + " "
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(low, w) })
	}
	first := ""
	for _, a := range low {
		if !strings.HasPrefix(a, "/") && !strings.HasPrefix(a, "-") {
			first = a
			break
		}
	}
	const disk = "It would change or wipe a whole disk, volume or boot record, which nothing brings back. Do that by hand."
	switch name {
	case "format":
		if !has("/?", "-?") && slices.ContainsFunc(low, func(a string) bool {
			return len(a) >= 2 && value.Drive(a) && len(a) <= 3 || device(a) || strings.HasPrefix(a, `\\?\volume`)
		}) {
			j.Deny("W4", disk)
		}
	case "diskpart", "bcdedit", "bootsect", "format-volume", "clear-disk", "initialize-disk", "remove-partition", "bootrec":
		if !has("/?") && (name != "bcdedit" || len(c.Args) > 0 && first != "/enum" && !has("/enum")) {
			j.Deny("W4", disk)
		}
	case "shutdown", "restart-computer", "stop-computer":
		if has("/a", "-a", "/?") || name == "shutdown" && len(c.Args) == 0 && value.Drive(c.Dir) {
			return
		}
		j.Deny("W6", "It would stop or restart the machine. Do that by hand.")
	case "reg":
		if first == "delete" {
			j.Deny("W7", "It would delete from the registry, which nothing brings back. Do that by hand.")
		}
	case "vssadmin":
		if first == "delete" || first == "resize" {
			j.shadow()
		}
	case "diskshadow":
		j.shadow()
	case "wbadmin":
		if first == "delete" {
			j.shadow()
		}
	case "wmic":
		j.wmic(c, low, line)
	case "cipher":
		if slices.ContainsFunc(low, func(a string) bool { return strings.HasPrefix(a, "/w") || strings.HasPrefix(a, "-w") }) {
			j.Deny("W8", "It would wipe what could still be recovered from the disk. Do that by hand.")
		}
	case "fsutil":
		if first == "usn" && has("deletejournal") {
			j.Deny("W8", "It would delete the journal of a volume. Do that by hand.")
		}
	case "net", "net1", "icacls", "cacls", "xcacls", "takeown":
		j.rights(c, name, first, low)
	case "mshta", "regsvr32", "rundll32", "msiexec", "wscript", "cscript", "installutil", "regasm", "odbcconf", "cmstp":
		if strings.Contains(line, "http:") || strings.Contains(line, "https:") || strings.Contains(line, "javascript:") || strings.Contains(line, "vbscript:") {
			j.Deny("W3", "Text from the network would be run as a program. Save it to a file, and look at it first.")
		}
	case "robocopy":
		if o := value.Getopt(c.Args, ""); has("/mir", "/purge") && len(o.Rest) > 1 {
			j.winEffect(value.Deletes, c.Dir, o.Rest[1], true)
		}
	case "certutil", "bitsadmin", "certreq":
		j.saves(c, low)
	case "forfiles":
		j.forfiles(c, low)
	case "schtasks":
		if k := slices.Index(low, "/tr"); k >= 0 && k+1 < len(c.Args) {
			j.Cmd(j.Clone(c.Env), c.Args[k+1], nil)
		}
	}
}

// wmic judges what is asked of the management of Windows.
func (j *Shells) wmic(c posix.Command, low []string, line string) {
	switch {
	case strings.Contains(line, "shadowcopy") && strings.Contains(line, "delete"):
		j.shadow()
	case strings.Contains(line, "win32shutdown") || strings.Contains(line, " os ") && (strings.Contains(line, "reboot") || strings.Contains(line, "shutdown")):
		j.Deny("W6", "It would stop or restart the machine. Do that by hand.")
	}
	if k := slices.Index(low, "create"); k > 0 && k+1 < len(c.Args) && slices.Contains(low, "process") {
		j.Cmd(j.Clone(c.Env), strings.Trim(strings.Join(c.Args[k+1:], " "), `"'`), nil)
	}
}

// rights judges who gets accounts and access.
func (j *Shells) rights(c posix.Command, name, first string, low []string) {
	switch name {
	case "net", "net1":
		if (first == "user" || first == "localgroup" || first == "group") && (slices.Contains(low, "/add") || slices.Contains(low, "/ad")) {
			j.account()
		}
	case "icacls", "cacls", "xcacls":
		for k, a := range low {
			a = strings.Trim(value.Protect(a), `"'*`)
			if !strings.HasPrefix(a, "everyone:") && !strings.HasPrefix(a, "s-1-1-0:") {
				if k+1 < len(low) && (a == "everyone" || a == "s-1-1-0") && strings.HasPrefix(low[k+1], ":") {
					a += low[k+1]
				} else {
					continue
				}
			}
			if right := a[strings.LastIndexAny(a, ":)")+1:]; strings.Contains(right, "f") || strings.HasSuffix(a, "(f)") {
				j.Deny("W9", "It would give everybody full control. Name who needs it, and what for.")
			}
		}
	case "takeown":
		for k, a := range low {
			if a == "/f" && k+1 < len(c.Args) {
				if p := j.World.WinPath(c.Dir, c.Args[k+1]); j.World.Whole(p) || j.World.WindowsTree(p) {
					j.Deny("W9", "It would take %s from the system. Do that by hand.", value.Shown(p))
				}
			}
		}
	}
}

func (j *Shells) shadow() {
	j.Deny("W8", "It would delete the copies that a backup comes from. Do that by hand.")
}

func (j *Shells) account() {
	j.Deny("W9", "It would make an account, or give it rights. Do that by hand.")
}

// saves notes what certutil and bitsadmin write.
func (j *Shells) saves(c posix.Command, low []string) {
	if len(c.Args) < 2 {
		return
	}
	p := j.World.WinPath(c.Dir, c.Args[len(c.Args)-1])
	switch {
	case slices.ContainsFunc(low, func(a string) bool { return strings.Contains(a, "://") }):
		j.Save(c.Env, p, value.Set{string(value.FromNet)})
	case slices.ContainsFunc(low, func(a string) bool { return strings.Contains(a, "decode") }):
		j.Save(c.Env, p, value.Set{string(value.Decoded)})
	}
}

// forfiles judges the command that is run for each file of a tree.
func (j *Shells) forfiles(c posix.Command, low []string) {
	dir, text := c.Dir, ""
	for k := 0; k+1 < len(low); k++ {
		switch low[k] {
		case "/p":
			dir = j.World.WinPath(c.Dir, c.Args[k+1])
		case "/c":
			text = strings.Trim(c.Args[k+1], `"`)
		}
	}
	words := strings.Fields(strings.ToLower(text))
	if slices.Contains(low, "/s") && slices.ContainsFunc(words, func(w string) bool { return w == "del" || w == "erase" || w == "rd" || w == "rmdir" }) {
		j.winEffect(value.Deletes, c.Dir, dir, true)
	}
	child := j.Clone(c.Env)
	child.Cwd = value.Set{dir}
	for _, p := range []string{dir, dir + "/" + string(value.Some)} {
		j.Cmd(child, strings.NewReplacer("@path", p, "@PATH", p, "@file", p).Replace(text), nil)
	}
}

// oldShell judges cmd: what stands behind /c or /k, or its input.
func (j *Shells) oldShell(c posix.Command) value.Set {
	for k, a := range c.Args {
		low := strings.ToLower(a)
		if low == "/c" || low == "/k" || low == "/r" {
			text := strings.Join(c.Args[k+1:], " ")
			j.inner(c.Env, value.Cmd, text, c.In)
			return value.Set{string(value.Hole) + c.In.Taint()}
		}
		if strings.HasPrefix(low, "/c") || strings.HasPrefix(low, "/k") {
			j.inner(c.Env, value.Cmd, a[2:]+" "+strings.Join(c.Args[k+1:], " "), c.In)
			return value.Anything()
		}
	}
	for _, text := range posix.Known(c.In) {
		j.inner(c.Env, value.Cmd, text, nil)
	}
	return value.Set{string(value.Driven)}
}

// newShell judges powershell: a text, an encoded text, a file or its input.
func (j *Shells) newShell(c posix.Command) value.Set {
	args := c.Args
	for len(args) > 0 {
		a := strings.ToLower(args[0])
		name := strings.TrimLeft(a, "-/")
		if name == a && a != "-" {
			break
		}
		args = args[1:]
		name, _, _ = strings.Cut(name, ":")
		is := func(full string, least int) bool { return len(name) >= least && strings.HasPrefix(full, name) }
		given := ""
		if len(args) > 0 {
			given = args[0]
		}
		switch {
		case a == "-":
			args = nil
		case is("encodedcommand", 1) && name != "ex" || name == "ec":
			text, ok := encoded(given)
			if !ok {
				j.Deny("W2", "The encoded command cannot be decoded, so nobody can see what it does. Write it out.")
				return nil
			}
			j.inner(c.Env, value.PowerShell, text, c.In)
			return value.Anything()
		case is("command", 1):
			text := strings.Join(args, " ")
			if text == "-" {
				args = nil
				break
			}
			j.inner(c.Env, value.PowerShell, text, c.In)
			return value.Set{string(value.Hole) + c.In.Taint()}
		case is("file", 1):
			j.ranFile(c, given)
			return value.Anything()
		case is("executionpolicy", 2) || name == "ep" || is("windowstyle", 1) || is("version", 1) || is("inputformat", 2) || is("outputformat", 1) || is("workingdirectory", 2) || name == "wd" ||
			is("configurationname", 2) || is("psconsolefile", 2) || is("custompipename", 2) || is("settingsfile", 2):
			args = args[min(1, len(args)):]
		}
	}
	if len(args) > 0 {
		if value.Called(c.Name) == "pwsh" && strings.HasSuffix(strings.ToLower(args[0]), ".ps1") {
			j.ranFile(c, args[0])
			return value.Anything()
		}
		j.inner(c.Env, value.PowerShell, strings.Join(args, " "), c.In)
		return value.Anything()
	}
	for _, text := range posix.Known(c.In) {
		j.inner(c.Env, value.PowerShell, text, nil)
	}
	return value.Set{string(value.Driven)}
}

// ranFile judges a script that is run, where this command line wrote it.
func (j *Shells) ranFile(c posix.Command, name string) {
	p := j.World.WinPath(c.Dir, name)
	j.Effect(value.Reads, p, false)
	for _, text := range c.Saved[p] {
		if value.Taint(text) != "" {
			j.denyFedWindows()
		} else if text != string(value.Hole) {
			j.inner(c.Env, value.PowerShell, text, nil)
		}
	}
}

// denyFedWindows refuses text from elsewhere that becomes a program.
func (j *Shells) denyFedWindows() {
	j.Deny("W3", "Text that was fetched or decoded would be run as a program. Save it to a file, and look at it first.")
}

// foreign judges a text that is given to a shell of Windows, one level down.
func (j *Shells) inner(e *posix.Env, d value.Dialect, text string, in value.Set) {
	if value.Taint(text) != "" {
		j.denyFedWindows()
		return
	}
	j.Deeper(func() {
		child := j.Clone(e)
		if d == value.PowerShell {
			j.PowerShell(child, text, in)
		} else {
			j.Cmd(child, text, in)
		}
	})
}

// encoded decodes the text of -EncodedCommand: base64 of UTF-16, low byte first.
func encoded(s string) (string, bool) {
	b, err := base64.StdEncoding.DecodeString(strings.Trim(s, `"'`))
	if err != nil || len(b)%2 != 0 || len(b) == 0 {
		return "", false
	}
	units := make([]uint16, len(b)/2)
	for k := range units {
		units[k] = uint16(b[2*k]) | uint16(b[2*k+1])<<8
	}
	text := string(utf16.Decode(units))
	if _, why := source.Characters(source.Normal(text)); why != "" || strings.ContainsRune(text, 0xfffd) {
		return "", false
	}
	return source.Normal(text), true
}

// windowsVariable is the value of an environment variable of Windows, by its name in lower case.
func (j *Shells) windowsVariable(e *posix.Env, name string) (value.Set, bool) {
	home := j.World.Home
	switch name {
	case "userprofile", "home":
		return value.Set{home}, true
	case "homedrive":
		if value.Drive(home) {
			return value.Set{home[:2]}, true
		}
		return value.Set{""}, true
	case "homepath":
		if value.Drive(home) {
			return value.Set{home[2:]}, true
		}
		return value.Set{home}, true
	case "systemroot", "windir":
		return value.Set{"C:/Windows"}, true
	case "systemdrive":
		return value.Set{"C:"}, true
	case "programfiles", "programw6432":
		return value.Set{"C:/Program Files"}, true
	case "programfiles(x86)":
		return value.Set{"C:/Program Files (x86)"}, true
	case "programdata", "allusersprofile":
		return value.Set{"C:/ProgramData"}, true
	case "public":
		return value.Set{"C:/Users/Public"}, true
	case "appdata":
		return value.Set{home + "/AppData/Roaming"}, true
	case "localappdata":
		return value.Set{home + "/AppData/Local"}, true
	case "temp", "tmp":
		return value.Set{home + "/AppData/Local/Temp"}, true
	case "comspec":
		return value.Set{"C:/Windows/System32/cmd.exe"}, true
	case "username":
		return value.Set{j.World.User}, true
	case "cd":
		return e.Cwd, true
	}
	v, ok := e.Vars["%"+name]
	return v, ok
}
