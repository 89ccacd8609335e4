package builtin

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/job"
	"github.com/jackline-ai/jackline/workspace"
)

// environment is the name of the fact about the variables that a command gets.
const environment = "the environment"

// commandFacts are what a yes to a command is bound to besides its text: the shell, and what [processFacts] gives of what it names.
func commandFacts(ctx context.Context, d Deps, command, cwd string) ([]jackline.Fact, error) {
	folder, err := d.Root.Dir(cwd)
	if err != nil {
		return nil, err
	}
	dir := folder.Path
	folder.Close()
	uses := d.analyse(command, d.startsIn(cwd))
	if uses.Cut {
		return nil, jackline.E("builtin.facts", jackline.Unprocessed, nil,
			"The command names more files and programs than can be looked at; put it into a script, or run it in parts.")
	}
	// Those that are named by a path are among the files.
	found := slices.DeleteFunc(slices.Clone(uses.Programs), func(name string) bool { return strings.ContainsAny(name, "/?*") })
	uses.Programs = append([]string{job.Shell()}, found...)
	return processFacts(ctx, d, uses, dir)
}

// processFacts are what a yes to anything that starts processes in an absolute folder is bound to: that folder, the programs that
// would be found, the scripts and files that tell these what to do, and the variables that they get. What a program in turn loads is
// not among them, but for the files in which a project says what its own commands are.
func processFacts(ctx context.Context, d Deps, uses jackline.Uses, dir string) ([]jackline.Fact, error) {
	env := job.Env(d.Environ, d.Keep...)
	programs := []string{}
	for _, name := range uses.Programs {
		if p := lookPath(env, name); p != "" && !slices.Contains(programs, p) {
			programs = append(programs, p)
		}
	}
	files, patterns := []string{dir}, []string{}
	for _, f := range slices.Concat(uses.Files, uses.Reads, manifests(uses, dir)) {
		list := &files
		if strings.ContainsAny(f, "?*") {
			list = &patterns
		}
		if !slices.Contains(*list, f) {
			*list = append(*list, f)
		}
	}
	seen, err := workspace.ObserveAt(ctx, files, !uses.Data)
	if err != nil {
		return nil, err
	}
	facts := append(workspace.Identify(programs), seen...)
	if !uses.Data { // else what is in the files tells nothing to do
		of, err := patternFacts(ctx, patterns)
		if err != nil {
			return nil, err
		}
		facts = append(facts, of...)
	}
	return append(facts, jackline.Fact{Name: environment, Digest: environmentDigest(d.Key, env)}), nil
}

// Limits of the patterns in a command, if what is in the files that they stand for tells the command what to do.
const (
	// maxMatches is how many files they may stand for: a yes is bound to each of them.
	maxMatches = 2000
	// maxLooked is how many names are looked at for them: they come from a model, and may lead through the whole disk.
	maxLooked = 20_000
)

// patternFacts are what is true of the files that absolute patterns stand for just now: for each pattern which they are, and what is in
// them. Patterns whose text does not determine where they lead have none.
func patternFacts(ctx context.Context, patterns []string) ([]jackline.Fact, error) {
	var facts []jackline.Fact
	var all []string
	var ends []int // of the files of each fact, in all
	left := maxLooked
	for _, p := range patterns {
		if slices.Contains(strings.Split(filepath.ToSlash(p), "/"), "?") {
			continue
		}
		found, ok := matches(ctx, p, &left)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if all = append(all, found...); !ok || len(all) > maxMatches {
			return nil, jackline.E("builtin.facts", jackline.Unprocessed, nil,
				"The command reads more files than can be looked at before a yes (%d at most by patterns): run it in parts, or name a folder.", maxMatches)
		}
		facts, ends = append(facts, jackline.Fact{Name: p}), append(ends, len(all))
	}
	seen, err := workspace.ObserveAt(ctx, all, true)
	if err != nil {
		return nil, err
	}
	from := 0
	for k, to := range ends {
		h := sha256.New()
		for _, f := range seen[from:to] {
			fmt.Fprintf(h, "%q %q %q\n", f.Name, f.ID, f.Digest)
		}
		facts[k].Digest, from = hex.EncodeToString(h.Sum(nil)), to
	}
	return facts, nil
}

// matches is what an absolute pattern stands for, in order; all is false if there is too much to look at: left is how many names still
// may be. Its stars reach into no other folder, and its question marks stand for one letter: the analysis has put stars for all other
// signs of a shell.
func matches(ctx context.Context, pattern string, left *int) (found []string, all bool) {
	top := filepath.VolumeName(pattern) + string(filepath.Separator)
	found = []string{top}
	for _, part := range strings.Split(strings.Trim(filepath.ToSlash(pattern[len(top)-1:]), "/"), "/") {
		var next []string
		for _, at := range found {
			names := []string{part}
			if strings.ContainsAny(part, "?*") {
				// Nothing but a folder is opened: a pipe would wait for somebody who writes.
				if st, err := os.Stat(at); err != nil || !st.IsDir() {
					continue
				}
				folder, err := os.Open(at)
				if err != nil {
					continue // it is closed to the command as well
				}
				names, err = folder.Readdirnames(*left + 1)
				_ = folder.Close() // only read from
				if *left -= len(names); *left < 0 || ctx.Err() != nil {
					return nil, false
				}
				if err != nil && !errors.Is(err, io.EOF) {
					continue
				}
				sign := strings.NewReplacer(`\`, `\\`, "[", `\[`).Replace(part)
				names = slices.DeleteFunc(names, func(name string) bool { ok, err := path.Match(sign, name); return !ok || err != nil })
			}
			for _, name := range names {
				p := filepath.Join(at, name)
				if _, err := os.Lstat(p); err == nil {
					next = append(next, p)
				}
			}
			if len(next) > maxMatches {
				return nil, false
			}
		}
		found = next
	}
	slices.Sort(found)
	return found, true
}

// ownFiles are where programs read by themselves what they are to run, looked up in the folders that a command works in. Git's are its
// settings and hooks, which name programs.
var ownFiles = map[string][]string{
	"make": {"GNUmakefile", "makefile", "Makefile"}, "gmake": {"GNUmakefile", "makefile", "Makefile"},
	"npm": {"package.json", ".npmrc"}, "npx": {"package.json", ".npmrc"}, "yarn": {"package.json", ".yarnrc", ".yarnrc.yml"}, "pnpm": {"package.json"},
	"bun": {"package.json"}, "deno": {"deno.json", "deno.jsonc"}, "just": {"justfile", "Justfile"}, "task": {"Taskfile.yml", "Taskfile.yaml"},
	"cargo": {"Cargo.toml", "build.rs"}, "rake": {"Rakefile"}, "bundle": {"Gemfile"}, "mvn": {"pom.xml"}, "cmake": {"CMakeLists.txt"},
	"gradle": {"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"}, "ant": {"build.xml"}, "composer": {"composer.json"},
	"pytest": {"conftest.py", "pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"}, "tox": {"tox.ini", "pyproject.toml", "setup.cfg"},
	"nox": {"noxfile.py"}, "pip": {"setup.py", "pyproject.toml"}, "pip3": {"setup.py", "pyproject.toml"},
	"docker": {"Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yml"}, "podman": {"Containerfile", "Dockerfile", "compose.yaml"},
	"git": {".git/config", ".git/hooks", ".gitattributes", ".gitmodules"}, "pre-commit": {".pre-commit-config.yaml"}, "lefthook": {"lefthook.yml"},
}

// manifests are the files of ownFiles that the programs of a command would find.
func manifests(u jackline.Uses, dir string) []string {
	folders := []string{dir}
	for _, f := range slices.Concat(u.Files, u.Reads) {
		if st, err := os.Stat(f); err == nil && st.IsDir() && !slices.Contains(folders, f) {
			folders = append(folders, f)
		}
	}
	var list []string
	for _, p := range u.Programs {
		for _, f := range folders {
			for _, own := range ownFiles[p] {
				list = append(list, filepath.Join(f, filepath.FromSlash(own)))
			}
		}
	}
	return list
}

// lookPath finds a program as a shell would: in the PATH of an environment, or as the path that it is. "" is none.
func lookPath(env []string, name string) string {
	ends := []string{""}
	if runtime.GOOS == "windows" {
		ends = []string{"", ".exe", ".com", ".cmd", ".bat"}
	}
	var folders []string
	for _, e := range env {
		if k, v, _ := strings.Cut(e, "="); strings.EqualFold(k, "PATH") {
			folders = filepath.SplitList(v)
		}
	}
	if filepath.IsAbs(name) {
		folders = []string{""}
	}
	for _, f := range folders {
		for _, end := range ends {
			p := filepath.Join(f, name+end)
			if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && (st.Mode().Perm()&0o111 != 0 || runtime.GOOS == "windows") {
				return p
			}
		}
	}
	return ""
}

// restless are the variables that only say which terminal or login a program was started from: a card that was asked from one
// terminal may be answered when the program runs from another.
var restless = []string{
	"_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES", "WINDOWID", "TTY", "GPG_TTY", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "INVOCATION_ID",
	"JOURNAL_STREAM", "XDG_SESSION_ID", "XDG_VTNR", "TERM_SESSION_ID", "TMUX", "TMUX_PANE", "STY", "WINDOW",
	"TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "VTE_VERSION", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS",
	"SSH_AGENT_PID", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "XDG_SESSION_CLASS", "XDG_SESSION_DESKTOP", "XDG_CURRENT_DESKTOP", "XDG_SEAT", "DESKTOP_SESSION",
}

// environmentDigest is a keyed digest of names and values, in any order: what a variable holds can be short enough to be guessed.
func environmentDigest(key []byte, env []string) string {
	list := slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		// Ours say which model is asked, and the like: the command that answers may be given others.
		return slices.Contains(restless, name) || strings.HasPrefix(name, "JACKLINE_")
	})
	slices.Sort(list)
	h := hmac.New(sha256.New, key)
	for _, e := range list {
		h.Write([]byte(e))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
