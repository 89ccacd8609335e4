package cell

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackline-ai/jackline"
)

// maxGitSettings bounds the person's git settings that are looked at.
const maxGitSettings = 64 << 10

// home makes the folder that commands of a workspace have for a home, if it is not there. It is kept, so that what programs
// fetch and build for later is found again.
func (c *Cells) makeHome(workspace string) (string, error) {
	const op = "cell.home"
	dir := c.Home(workspace)
	made := errors.Is(stat(dir), fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", jackline.E(op, jackline.Unavailable, err, "The home folder of commands cannot be made in Jackline's data folder: is the disk full?")
	}
	if made {
		// Who one is to git is no secret, and every commit needs it. The rest of the settings may name programs and hold keys.
		if text := identity(c.o.Home); text != "" {
			_ = os.WriteFile(filepath.Join(dir, ".gitconfig"), []byte(text), 0o600) // without it git asks, and says how to answer
		}
		_ = os.WriteFile(filepath.Join(filepath.Dir(dir), filepath.Base(dir)+".workspace"), []byte(workspace+"\n"), 0o600) // for people
	}
	return dir, nil
}

func stat(path string) error {
	_, err := os.Lstat(path)
	return err
}

// identity is the name and address of the person's git settings, as settings of their own; "" where there are none.
func identity(home string) string {
	if home == "" {
		return ""
	}
	for _, file := range []string{".gitconfig", ".config/git/config"} {
		f := filepath.Join(home, file)
		if st, err := os.Stat(f); err != nil || !st.Mode().IsRegular() || st.Size() > maxGitSettings {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		var out []string
		section := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "[") {
				section = strings.ToLower(strings.Trim(line, "[] \t"))
				continue
			}
			key, value, ok := strings.Cut(line, "=")
			key = strings.ToLower(strings.TrimSpace(key))
			plain := !strings.ContainsAny(value, "\"\\#;[]")
			if ok && plain && (section == "user" && (key == "name" || key == "email") || section == "init" && key == "defaultbranch") {
				out = append(out, "["+section+"]\n\t"+key+" = "+strings.TrimSpace(value))
			}
		}
		if len(out) > 0 {
			return strings.Join(out, "\n") + "\n"
		}
	}
	return ""
}

// RemoveHome removes the home folder of a workspace's commands, with all that programs kept there. It reports whether there was one.
func (c *Cells) RemoveHome(workspace string) (bool, error) {
	dir := c.Home(workspace)
	if errors.Is(stat(dir), fs.ErrNotExist) {
		return false, nil
	}
	if notes := discard(dir); len(notes) > 0 {
		return true, jackline.E("cell.RemoveHome", jackline.Unavailable, nil, "%s could not be removed. End the programs that use it.", dir)
	}
	_ = os.Remove(dir + ".workspace") // it only tells people whose folder it was
	return true, nil
}
