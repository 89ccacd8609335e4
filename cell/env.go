package cell

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/job"
)

// env is the environment of a held command. Its home is its own, so what points into the person's home falls away, unless it can
// be read there.
func (c *Cells) env(home, temp string) []string {
	var kept []string
	for _, e := range c.o.Environ {
		name, value, _ := strings.Cut(e, "=")
		if gone(name) || c.lost(value) && !strings.EqualFold(name, "PATH") || slices.Contains(caches, name) && !c.written(value) {
			continue
		}
		kept = append(kept, e)
	}
	set := []string{
		"HOME=" + home, "TMPDIR=" + temp, "TMP=" + temp, "TEMP=" + temp, "XDG_RUNTIME_DIR=" + temp,
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		"XDG_DATA_HOME=" + filepath.Join(home, ".local", "share"), "XDG_STATE_HOME=" + filepath.Join(home, ".local", "state"),
	}
	set = append(set, c.tools.env...)
	return job.Env(kept, append(set, c.keep()...)...)
}

// caches are the variables that name a folder which a program fills for itself. Where it cannot be written the program would fail,
// instead of taking the one in its home.
var caches = []string{
	"GOCACHE", "GOTMPDIR", "PIP_CACHE_DIR", "UV_CACHE_DIR", "npm_config_cache", "NPM_CONFIG_CACHE", "YARN_CACHE_FOLDER", "CCACHE_DIR", "SCCACHE_DIR",
}

// written reports whether a command can write in a folder that its owner named in a variable.
func (c *Cells) written(folder string) bool {
	return slices.ContainsFunc(c.o.Write, func(w string) bool { return inside(w, filepath.Clean(folder)) })
}

// keep are the variables that the owner lets through.
func (c *Cells) keep() []string { return Keep(c.o.Environ, c.o.KeepEnv) }

// Keep is what of an environment, in the form NAME=value, commands get whatever it looks like: the variables that an owner
// lets through by name.
func Keep(environ, names []string) []string {
	var set []string
	for _, name := range names {
		for _, e := range environ {
			if n, _, _ := strings.Cut(e, "="); n == name {
				set = append(set, e)
			}
		}
	}
	return set
}

// gone reports whether a variable leads to something of the person's session that a held command cannot reach.
func gone(name string) bool {
	switch name {
	case "HOME", "TMPDIR", "TMP", "TEMP", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "SSH_AGENT_PID", "GPG_AGENT_INFO",
		"DOCKER_HOST", "CONTAINER_HOST", "HISTFILE", "MAIL", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY",
		"ALL_PROXY", "NO_PROXY", "ftp_proxy", "FTP_PROXY":
		return true
	}
	return strings.HasPrefix(name, "XDG_")
}

// lost reports whether a value is a path in the person's home that cannot be read.
func (c *Cells) lost(value string) bool {
	if c.home == "" || !filepath.IsAbs(value) {
		return false
	}
	first := filepath.Clean(strings.Split(value, string(filepath.ListSeparator))[0])
	if !inside(c.home, first) {
		return false
	}
	reach := func(r string) bool { return inside(r, first) }
	return !slices.ContainsFunc(c.tools.read, reach) && !slices.ContainsFunc(c.o.Read, reach) && !slices.ContainsFunc(c.o.Write, reach)
}
