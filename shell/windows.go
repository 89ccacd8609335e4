package shell

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf16"
)

// winPath is the path that a word of a Windows shell names. A path without a drive lies on the working folder's.
func (w World) winPath(dir, p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if k := strings.Index(p, "::"); k >= 0 && !strings.Contains(p[:k], "/../") { // a provider's prefix
		p = p[k+2:]
	}
	for _, prefix := range []string{"//?/", "//./"} {
		if rest, ok := strings.CutPrefix(p, prefix); ok && len(rest) > 2 && drive(rest) {
			p = rest
		}
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		p = w.Home + p[1:]
	}
	if strings.HasPrefix(p, "//") {
		return p
	}
	if strings.HasPrefix(p, "/") && drive(dir) {
		return at(dir, dir[:2]+p)
	}
	return at(dir, p)
}

// device reports whether a path is a raw disk or volume.
func device(p string) bool {
	p = strings.ToLower(strings.ReplaceAll(p, `\`, "/"))
	return strings.HasPrefix(p, "//./") && !strings.HasPrefix(p, "//./pipe/") && !strings.HasPrefix(p, "//./nul")
}

// winEffect judges what is done to a path of a Windows shell. A path from the root may be meant as one of Unix.
func (j *windows) winEffect(kind TouchKind, dir, p string, tree bool) {
	if p == "" {
		return
	}
	low := strings.ToLower(p)
	if tree && kind == Deletes {
		for _, hive := range []string{"hklm:", "hkcu:", "hkcr:", "hku:", "hkcc:", "registry::", "hkey_"} {
			if strings.HasPrefix(low, hive) || strings.Contains(low, `registry::`) {
				j.deny("W1", "It would delete a tree of the registry, which nothing brings back. Do that by hand.")
			}
		}
	}
	if kind != Reads && device(p) {
		j.deny("W4", "It would write to a raw disk or volume. Do that by hand.")
	}
	slashed := strings.ReplaceAll(p, `\`, "/")
	j.effect(kind, j.world.winPath(dir, p), tree)
	if strings.HasPrefix(slashed, "/") && !strings.HasPrefix(slashed, "//") && drive(dir) && j.world.system(at("/", slashed)) {
		j.effect(kind, at("/", slashed), tree)
	}
}

// windows judges what is written for Windows, together with the judge of everything else.
type windows struct{ *judge }

// Program judges a program of Windows, where c is one. It reports whether that is all there is to say about it.
func (j *windows) Program(c command) (out set, is bool) {
	switch strings.ToLower(c.name) {
	case "cmd", "command.com":
		return j.oldShell(c), true
	case "powershell", "pwsh", "powershell_ise":
		return j.newShell(c), true
	}
	j.windowsProgram(c)
	return nil, false
}

// Script judges a file of commands for cmd.
func (j *windows) Script(e *env, text string, in set) { j.cmd(e, text, in) }

// windowsProgram judges the programs of Windows that stop the machine, wipe disks, and open it to others.
func (j *windows) windowsProgram(c command) {
	name := strings.ToLower(c.name)
	low := make([]string, len(c.args))
	for k, a := range c.args {
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
			return len(a) >= 2 && drive(a) && len(a) <= 3 || device(a) || strings.HasPrefix(a, `\\?\volume`)
		}) {
			j.deny("W4", disk)
		}
	case "diskpart", "bcdedit", "bootsect", "format-volume", "clear-disk", "initialize-disk", "remove-partition", "bootrec":
		if !has("/?") && (name != "bcdedit" || len(c.args) > 0 && first != "/enum" && !has("/enum")) {
			j.deny("W4", disk)
		}
	case "shutdown", "restart-computer", "stop-computer":
		if has("/a", "-a", "/?") || name == "shutdown" && len(c.args) == 0 && drive(c.dir) {
			return
		}
		j.deny("W6", "It would stop or restart the machine. Do that by hand.")
	case "reg":
		if first == "delete" {
			j.deny("W7", "It would delete from the registry, which nothing brings back. Do that by hand.")
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
		switch {
		case strings.Contains(line, "shadowcopy") && strings.Contains(line, "delete"):
			j.shadow()
		case strings.Contains(line, "win32shutdown") || strings.Contains(line, " os ") && (strings.Contains(line, "reboot") || strings.Contains(line, "shutdown")):
			j.deny("W6", "It would stop or restart the machine. Do that by hand.")
		}
		if k := slices.Index(low, "create"); k > 0 && k+1 < len(c.args) && slices.Contains(low, "process") {
			j.cmd(j.clone(c.env), strings.Trim(strings.Join(c.args[k+1:], " "), `"'`), nil)
		}
	case "cipher":
		if slices.ContainsFunc(low, func(a string) bool { return strings.HasPrefix(a, "/w") || strings.HasPrefix(a, "-w") }) {
			j.deny("W8", "It would wipe what could still be recovered from the disk. Do that by hand.")
		}
	case "fsutil":
		if first == "usn" && has("deletejournal") {
			j.deny("W8", "It would delete the journal of a volume. Do that by hand.")
		}
	case "net", "net1":
		if (first == "user" || first == "localgroup" || first == "group") && has("/add", "/ad") {
			j.account()
		}
	case "icacls", "cacls", "xcacls":
		for k, a := range low {
			a = strings.Trim(a, `"'*`)
			if !strings.HasPrefix(a, "everyone:") && !strings.HasPrefix(a, "s-1-1-0:") {
				if k+1 < len(low) && (a == "everyone" || a == "s-1-1-0") && strings.HasPrefix(low[k+1], ":") {
					a += low[k+1]
				} else {
					continue
				}
			}
			if right := a[strings.LastIndexAny(a, ":)")+1:]; strings.Contains(right, "f") || strings.HasSuffix(a, "(f)") {
				j.deny("W9", "It would give everybody full control. Name who needs it, and what for.")
			}
		}
	case "takeown":
		for k, a := range low {
			if a == "/f" && k+1 < len(c.args) {
				if p := j.world.winPath(c.dir, c.args[k+1]); j.world.whole(p) || j.world.windowsTree(p) {
					j.deny("W9", "It would take %s from the system. Do that by hand.", shown(p))
				}
			}
		}
	case "mshta", "regsvr32", "rundll32", "msiexec", "wscript", "cscript", "installutil", "regasm", "odbcconf", "cmstp":
		if strings.Contains(line, "http:") || strings.Contains(line, "https:") || strings.Contains(line, "javascript:") || strings.Contains(line, "vbscript:") {
			j.deny("W3", "Text from the network would be run as a program. Save it to a file, and look at it first.")
		}
	case "robocopy":
		if o := getopt(c.args, ""); has("/mir", "/purge") && len(o.rest) > 1 {
			j.winEffect(Deletes, c.dir, o.rest[1], true)
		}
	case "certutil", "bitsadmin", "certreq":
		j.saves(c, low)
	case "forfiles":
		j.forfiles(c, low)
	case "schtasks":
		if k := slices.Index(low, "/tr"); k >= 0 && k+1 < len(c.args) {
			j.cmd(j.clone(c.env), c.args[k+1], nil)
		}
	}
}

func (j *windows) shadow() {
	j.deny("W8", "It would delete the copies that a backup comes from. Do that by hand.")
}

func (j *windows) account() {
	j.deny("W9", "It would make an account, or give it rights. Do that by hand.")
}

// saves notes what certutil and bitsadmin write.
func (j *windows) saves(c command, low []string) {
	if len(c.args) < 2 {
		return
	}
	p := j.world.winPath(c.dir, c.args[len(c.args)-1])
	switch {
	case slices.ContainsFunc(low, func(a string) bool { return strings.Contains(a, "://") }):
		j.save(c.env, p, set{string(fromNet)})
	case slices.ContainsFunc(low, func(a string) bool { return strings.Contains(a, "decode") }):
		j.save(c.env, p, set{string(decoded)})
	}
}

// forfiles judges the command that is run for each file of a tree.
func (j *windows) forfiles(c command, low []string) {
	dir, text := c.dir, ""
	for k := 0; k+1 < len(low); k++ {
		switch low[k] {
		case "/p":
			dir = j.world.winPath(c.dir, c.args[k+1])
		case "/c":
			text = strings.Trim(c.args[k+1], `"`)
		}
	}
	child := j.clone(c.env)
	child.cwd = set{dir}
	for _, p := range []string{dir, dir + "/" + string(some)} {
		j.cmd(child, strings.NewReplacer("@path", p, "@PATH", p, "@file", p).Replace(text), nil)
	}
}

// oldShell judges cmd: what stands behind /c or /k, or its input.
func (j *windows) oldShell(c command) set {
	for k, a := range c.args {
		low := strings.ToLower(a)
		if low == "/c" || low == "/k" || low == "/r" {
			text := strings.Join(c.args[k+1:], " ")
			j.inner(c.env, Cmd, text, c.in)
			return set{string(hole) + c.in.taint()}
		}
		if strings.HasPrefix(low, "/c") || strings.HasPrefix(low, "/k") {
			j.inner(c.env, Cmd, a[2:]+" "+strings.Join(c.args[k+1:], " "), c.in)
			return unknown
		}
	}
	for _, text := range known(c.in) {
		j.inner(c.env, Cmd, text, nil)
	}
	return set{string(driven)}
}

// newShell judges powershell: a text, an encoded text, a file or its input.
func (j *windows) newShell(c command) set {
	args := c.args
	for len(args) > 0 {
		a := strings.ToLower(args[0])
		name := strings.TrimLeft(a, "-/")
		if name == a && a != "-" {
			break
		}
		args = args[1:]
		name, _, _ = strings.Cut(name, ":")
		is := func(full string, least int) bool { return len(name) >= least && strings.HasPrefix(full, name) }
		value := ""
		if len(args) > 0 {
			value = args[0]
		}
		switch {
		case a == "-":
			args = nil
		case is("encodedcommand", 1) && name != "ex" || name == "ec":
			text, ok := encoded(value)
			if !ok {
				j.deny("W2", "The encoded command cannot be decoded, so nobody can see what it does. Write it out.")
				return nil
			}
			j.inner(c.env, PowerShell, text, c.in)
			return unknown
		case is("command", 1):
			text := strings.Join(args, " ")
			if text == "-" {
				args = nil
				break
			}
			j.inner(c.env, PowerShell, text, c.in)
			return set{string(hole) + c.in.taint()}
		case is("file", 1):
			j.ranFile(c, value)
			return unknown
		case is("executionpolicy", 2) || name == "ep" || is("windowstyle", 1) || is("version", 1) || is("inputformat", 2) || is("outputformat", 1) || is("workingdirectory", 2) || name == "wd" ||
			is("configurationname", 2) || is("psconsolefile", 2) || is("custompipename", 2) || is("settingsfile", 2):
			args = args[min(1, len(args)):]
		}
	}
	if len(args) > 0 {
		if called(c.name) == "pwsh" && strings.HasSuffix(strings.ToLower(args[0]), ".ps1") {
			j.ranFile(c, args[0])
			return unknown
		}
		j.inner(c.env, PowerShell, strings.Join(args, " "), c.in)
		return unknown
	}
	for _, text := range known(c.in) {
		j.inner(c.env, PowerShell, text, nil)
	}
	return set{string(driven)}
}

// ranFile judges a script that is run, where this command line wrote it.
func (j *windows) ranFile(c command, name string) {
	p := j.world.winPath(c.dir, name)
	j.effect(Reads, p, false)
	for _, text := range c.saved[p] {
		if taint(text) != "" {
			j.denyFedWindows()
		} else if text != string(hole) {
			j.inner(c.env, PowerShell, text, nil)
		}
	}
}

// denyFedWindows refuses text from elsewhere that becomes a program.
func (j *windows) denyFedWindows() {
	j.deny("W3", "Text that was fetched or decoded would be run as a program. Save it to a file, and look at it first.")
}

// foreign judges a text that is given to a shell of Windows, one level down.
func (j *windows) inner(e *env, d Dialect, text string, in set) {
	if taint(text) != "" {
		j.denyFedWindows()
		return
	}
	j.deeper(func() {
		child := j.clone(e)
		if d == PowerShell {
			j.powershell(child, text, in)
		} else {
			j.cmd(child, text, in)
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
	if _, why := characters(Normal(text)); why != "" || strings.ContainsRune(text, 0xfffd) {
		return "", false
	}
	return Normal(text), true
}

// windowsVariable is the value of an environment variable of Windows, by its name in lower case.
func (j *windows) windowsVariable(e *env, name string) (set, bool) {
	home := j.world.Home
	switch name {
	case "userprofile", "home":
		return set{home}, true
	case "homedrive":
		if drive(home) {
			return set{home[:2]}, true
		}
		return set{""}, true
	case "homepath":
		if drive(home) {
			return set{home[2:]}, true
		}
		return set{home}, true
	case "systemroot", "windir":
		return set{"C:/Windows"}, true
	case "systemdrive":
		return set{"C:"}, true
	case "programfiles", "programw6432":
		return set{"C:/Program Files"}, true
	case "programfiles(x86)":
		return set{"C:/Program Files (x86)"}, true
	case "programdata", "allusersprofile":
		return set{"C:/ProgramData"}, true
	case "public":
		return set{"C:/Users/Public"}, true
	case "appdata":
		return set{home + "/AppData/Roaming"}, true
	case "localappdata":
		return set{home + "/AppData/Local"}, true
	case "temp", "tmp":
		return set{home + "/AppData/Local/Temp"}, true
	case "comspec":
		return set{"C:/Windows/System32/cmd.exe"}, true
	case "username":
		return set{j.world.User}, true
	case "cd":
		return e.cwd, true
	}
	v, ok := e.vars["%"+name]
	return v, ok
}
