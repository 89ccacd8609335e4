package workspace

import (
	"errors"
	"io"
	"io/fs"

	"github.com/jackline-ai/jackline"
)

// maxGitConfig is the largest file of repository settings that is read, in bytes. Real ones are a hundredth of it.
const maxGitConfig = 64 << 10

// GitConfig is the text of the settings of the workspace's own repository; "" where there is no repository. It is for whoever
// judges commands: no tool reads it. A repository whose settings lie elsewhere is an error.
func (r *Root) GitConfig() (string, error) {
	const op = "workspace.GitConfig"
	bad := func(err error) error {
		return jackline.E(op, jackline.Unprocessed, err, "The settings of the repository cannot be read.")
	}
	e, err := r.top.lstat(".git")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", bad(err)
	case !e.mode.IsDir():
		return "", bad(nil) // a link, or a file that names another folder
	}
	git, err := r.top.folder(".git", e)
	if err != nil {
		return "", bad(err)
	}
	defer func() { _ = git.close() }()
	e, err = git.lstat("config")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", bad(err)
	case !e.mode.IsRegular() || e.size > maxGitConfig:
		return "", bad(nil)
	}
	f, _, err := git.file("config", e)
	if err != nil {
		return "", bad(err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxGitConfig+1))
	if err != nil || len(text) > maxGitConfig {
		return "", bad(err)
	}
	return string(text), nil
}
