package workspace

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/jackline-ai/jackline"
)

// Vet says whether dir may be a workspace, and gives its real absolute path. ~ is the home folder of whom the program
// runs for. A refusal says what to do.
func Vet(dir string, o Options) (string, error) {
	const op = "workspace.Vet"
	home, _ := os.UserHomeDir()
	real, err := realFolder(op, dir)
	if err != nil {
		return "", err
	}
	home = realHome(home)
	if why := unfit(filepath.ToSlash(real), filepath.ToSlash(home)); why != "" {
		return "", jackline.E(op, jackline.Forbidden, nil, "%s %s; make a folder of its own for the work, for example %s.",
			quote(dir), why, quote(filepath.Join(home, "jackline")))
	}
	if err := apart(dir, real, o.State); err != nil {
		return "", err
	}
	if err := usable(real); err != nil {
		return "", jackline.E(op, jackline.Forbidden, err, "%s cannot be read and written by the user that Jackline runs as; change its owner or mode, or take another folder.", quote(dir))
	}
	return real, nil
}

// realFolder is the real absolute path of a folder that a person named. ~ is the home folder.
func realFolder(op, dir string) (string, error) {
	home, _ := os.UserHomeDir()
	if strings.TrimSpace(dir) == "" {
		return "", jackline.E(op, jackline.Invalid, nil, "Say which folder is to be the workspace.")
	}
	if len(dir) > maxPath {
		return "", jackline.E(op, jackline.Invalid, nil, "The folder's path is longer than %d bytes.", maxPath)
	}
	if r, bad := badRune(dir); bad {
		return "", jackline.E(op, jackline.Invalid, nil, "The folder's name holds the control or invisible character U+%04X.", r)
	}
	if home != "" && (dir == "~" || strings.HasPrefix(dir, "~/") || strings.HasPrefix(dir, `~\`)) {
		dir = filepath.Join(home, dir[1:])
	}
	if !filepath.IsAbs(dir) {
		return "", jackline.E(op, jackline.Invalid, nil, "%s is not an absolute path; write the folder out from %s on.", quote(dir), rootName())
	}
	real, err := filepath.EvalSymlinks(filepath.Clean(dir))
	if err != nil {
		if kindOf(err) == jackline.NotFound {
			return "", jackline.E(op, jackline.NotFound, err, "%s does not exist; make the folder first.", quote(dir))
		}
		return "", jackline.E(op, kindOf(err), err, "%s cannot be used: %s.", quote(dir), reason(err))
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", jackline.E(op, kindOf(err), err, "%s cannot be used: %s.", quote(dir), reason(err))
	}
	if !info.IsDir() {
		return "", jackline.E(op, jackline.Invalid, nil, "%s is a file; a workspace is a folder.", quote(dir))
	}
	return real, nil
}

// realHome is the home folder without links.
func realHome(home string) string {
	if real, err := filepath.EvalSymlinks(home); err == nil && home != "" {
		return real
	}
	return home
}

// Why a folder is unfit that may all the same be looked into, on the way to one that is not.
const (
	wholeHome  = "is the whole home folder"
	aboveHomes = "holds the home folders"
	someHome   = "is a whole home folder"
	shared     = "is a folder that the whole system shares"
)

// unfit says why a folder is one that many programs or people share. Both paths have forward slashes.
func unfit(path, home string) string {
	up := strings.TrimSuffix(path, "/")
	if len(up) > 1 && up[1] == ':' { // C:/Users/x
		return unfitWindows(strings.ToLower(up), strings.ToLower(strings.TrimSuffix(home, "/")))
	}
	e := solid(split(path))
	switch {
	case len(e) == 0:
		return "is the whole file system"
	case home != "" && path == home:
		return wholeHome
	case home != "" && strings.HasPrefix(home, up+"/"):
		return aboveHomes
	case home != "" && len(solid(split(home))) > 0 && strings.HasPrefix(path, strings.TrimSuffix(home, "/")+"/"):
		return "" // whatever home is, as for a user called root
	case len(e) == 2 && (e[0] == "home" || e[0] == "Users"):
		return someHome
	case len(e) == 2 && e[0] == "usr" && e[1] == "local", len(e) == 2 && e[0] == "mnt" && len(e[1]) == 1:
		return "is a folder of the system"
	case e[0] == "usr" && len(e) > 2 && e[1] == "local":
		return ""
	}
	switch first := e[0]; first {
	case "bin", "boot", "dev", "etc", "proc", "root", "sbin", "sys", "usr", "System", "Library", "Applications":
		return "is a folder of the system"
	case "home", "Users", "var", "opt", "srv", "mnt", "media", "run", "Volumes", "tmp", "private":
		if len(e) == 1 {
			return shared
		}
	default:
		if strings.HasPrefix(first, "lib") && (first == "lib" || first == "lib32" || first == "lib64" || first == "libx32") {
			return "is a folder of the system"
		}
	}
	return ""
}

func unfitWindows(path, home string) string {
	e := solid(split(path[2:]))
	switch {
	case len(e) == 0:
		return "is a whole drive"
	case path == home:
		return wholeHome
	case strings.HasPrefix(home, path+"/"):
		return aboveHomes
	case e[0] == "users" && len(e) == 2:
		return someHome
	case e[0] == "windows", strings.HasPrefix(e[0], "program files"), e[0] == "programdata":
		return "is a folder of the system"
	}
	return ""
}

// apart refuses a workspace that lies in one of the program's own folders or holds one. The folder workspace/ in such a
// folder is meant for work.
func apart(given, real string, state []string) error {
	const op = "workspace.Vet"
	for _, s := range state {
		if r, err := filepath.EvalSymlinks(s); err == nil {
			s = r
		}
		s = filepath.Clean(s)
		switch {
		case inFolder(filepath.Join(s, "workspace"), real):
			continue
		case inFolder(s, real):
			return jackline.E(op, jackline.Forbidden, nil, "%s holds Jackline's own settings and data; take another folder.", quote(given))
		case inFolder(real, s):
			return jackline.E(op, jackline.Forbidden, nil,
				"Jackline's own settings and data lie in %s, so it cannot be a workspace; take a folder in it, or another one.", quote(given))
		}
	}
	return nil
}

// inFolder reports whether path is folder or lies in it.
func inFolder(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func rootName() string {
	if host() == Windows {
		return "the drive"
	}
	return "/"
}
