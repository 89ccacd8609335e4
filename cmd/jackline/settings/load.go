package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/jackline-ai/jackline"
)

// A Config is the settings as they stand without what is stored in the database: flags, environment, file, defaults.
type Config struct {
	Places   Places
	Warnings []string // what was odd, in sentences

	values map[string]any
	from   map[string]string // "flag", "environment", "file"; absent for defaults
}

// Places are the folders that Jackline uses, all by their whole paths.
type Places struct {
	File      string // the configuration file
	Data      string // the store
	Logs      string
	Workspace string // the default workspace
}

// findPlaces follows JACKLINE_HOME, then the XDG variables, then the home folder.
func findPlaces(env func(string) string) (p Places, warnings []string, err error) {
	if home := env("JACKLINE_HOME"); home != "" {
		if !filepath.IsAbs(home) {
			return p, nil, jackline.E("config", jackline.Invalid, nil,
				"JACKLINE_HOME must be a whole path, not %q: it would mean another folder wherever Jackline is started.", home)
		}
		return Places{
			File: filepath.Join(home, "config.yaml"), Data: filepath.Join(home, "data"), Logs: filepath.Join(home, "logs"),
			Workspace: filepath.Join(home, "workspace"),
		}, nil, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return p, nil, jackline.E("config", jackline.Invalid, err, "There is no home folder. Set HOME, or JACKLINE_HOME to a folder for Jackline.")
	}
	if !filepath.IsAbs(home) {
		return p, nil, jackline.E("config", jackline.Invalid, nil, "HOME must be a whole path, not %q. Set it, or JACKLINE_HOME to a folder for Jackline.", home)
	}
	// The XDG Base Directory Specification has relative paths ignored.
	base := func(name, fallback string) string {
		v := env(name)
		if filepath.IsAbs(v) {
			return v
		}
		dir := filepath.Join(home, filepath.FromSlash(fallback))
		if v != "" {
			warnings = append(warnings, fmt.Sprintf("%s is not a whole path (%q) and is ignored: %s is used.", name, v, dir))
		}
		return dir
	}
	p.Workspace = filepath.Join(home, "jackline")
	if runtime.GOOS == "windows" {
		local := filepath.Join(base("LOCALAPPDATA", "AppData/Local"), "jackline")
		p.File, p.Data, p.Logs = filepath.Join(local, "config.yaml"), filepath.Join(local, "data"), filepath.Join(local, "logs")
		return p, warnings, nil
	}
	p.File = filepath.Join(base("XDG_CONFIG_HOME", ".config"), "jackline", "config.yaml")
	p.Data = filepath.Join(base("XDG_DATA_HOME", ".local/share"), "jackline")
	p.Logs = filepath.Join(base("XDG_STATE_HOME", ".local/state"), "jackline")
	return p, warnings, nil
}

// maxConfig bounds the configuration file; a few keys fit many times.
const maxConfig = 1 << 20

// Load reads the settings of file and environment, and of flags by path. An unknown key is a warning with its line and the nearest
// key; a wrong type or a file that is not YAML is an error with its line.
func Load(env func(string) string, flags map[string]any) (*Config, error) {
	p, warnings, err := findPlaces(env)
	if err != nil {
		return nil, err
	}
	c := &Config{Places: p, Warnings: warnings, values: map[string]any{}, from: map[string]string{}}
	raw, err := readWhole(p.File)
	if err != nil {
		return nil, err
	}
	if err := c.readFile(raw); err != nil {
		return nil, err
	}
	keys := Keys()
	for _, k := range keys {
		for _, name := range []string{k.Short, k.Env()} {
			if v := env(name); name != "" && v != "" {
				if err := c.set(k, v, "environment"); err != nil {
					return nil, jackline.E("config", jackline.Invalid, err, "%s: %v", name, err)
				}
			}
		}
		if v, ok := flags[k.Path]; ok {
			if err := c.set(k, v, "flag"); err != nil {
				return nil, jackline.E("config", jackline.Invalid, err, "%v", err)
			}
		}
	}
	// Every call is judged by what is in force: it must not take a walk over all keys to find a default.
	for _, k := range keys {
		if _, ok := c.values[k.Path]; !ok {
			c.values[k.Path] = k.otherwise()
		}
	}
	return c, nil
}

// readWhole reads the configuration file. One that is not there is empty.
func readWhole(file string) ([]byte, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, jackline.E("config", jackline.Invalid, err, "The configuration file %s cannot be read. Check its permissions.", file)
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, jackline.E("config", jackline.Invalid, err, "The configuration file %s cannot be read.", file)
	}
	if len(raw) > maxConfig {
		return nil, jackline.E("config", jackline.Invalid, nil, "The configuration file %s is larger than %d bytes.", file, maxConfig)
	}
	return raw, nil
}

func (c *Config) set(k Key, v any, from string) error {
	v, err := k.check(v)
	if err != nil {
		return err
	}
	c.values[k.Path], c.from[k.Path] = v, from
	return nil
}

// readFile takes the keys of a YAML file over.
func (c *Config) readFile(raw []byte) error {
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return jackline.E("config", jackline.Invalid, err, "%s is not right:\n%s", c.Places.File, yaml.FormatError(err, false, true))
	}
	byPath := map[string]Key{}
	for _, k := range Keys() {
		byPath[k.Path] = k
	}
	var walk func(prefix string, n ast.Node) error
	entry := func(prefix string, mv *ast.MappingValueNode) error {
		path := strings.Trim(mv.Key.GetToken().Value, "\"'")
		if prefix != "" {
			path = prefix + "." + path
		}
		line := mv.Key.GetToken().Position.Line
		if k, ok := byPath[path]; ok {
			var v any
			if err := yaml.NodeToValue(mv.Value, &v); err != nil {
				return jackline.E("config", jackline.Invalid, err, "%s, line %d: %s cannot be read.", c.Places.File, line, path)
			}
			if v == nil && k.kind == text {
				v = ""
			}
			if err := c.set(k, v, "file"); err != nil {
				return jackline.E("config", jackline.Invalid, err, "%s, line %d: %v.", c.Places.File, line, err)
			}
			return nil
		}
		for known := range byPath {
			if strings.HasPrefix(known, path+".") {
				if _, null := mv.Value.(*ast.NullNode); null {
					return nil
				}
				return walk(path, mv.Value)
			}
		}
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s, line %d: there is no setting %s; did you mean %s?", c.Places.File, line, path, nearestKey(path)))
		return nil
	}
	walk = func(prefix string, n ast.Node) error {
		switch n := n.(type) {
		case *ast.MappingNode:
			for _, mv := range n.Values {
				if err := entry(prefix, mv); err != nil {
					return err
				}
			}
		case *ast.MappingValueNode:
			return entry(prefix, n)
		case nil, *ast.NullNode, *ast.CommentGroupNode:
		default:
			where := prefix
			if where == "" {
				where = "the file"
			}
			return jackline.E("config", jackline.Invalid, nil, "%s, line %d: %s must hold settings as name: value.", c.Places.File, n.GetToken().Position.Line, where)
		}
		return nil
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if err := walk("", doc.Body); err != nil {
			return err
		}
	}
	return nil
}

// Get is a setting's value: what was set, or the default. It panics for a key that does not exist.
func (c *Config) Get(path string) any {
	if v, ok := c.values[path]; ok {
		return v
	}
	for _, k := range Keys() {
		if k.Path == path {
			return k.otherwise()
		}
	}
	panic("config: no such key: " + path)
}

// otherwise is the value of a key that nobody set.
func (k Key) otherwise() any {
	if k.Default != nil {
		return k.Default
	}
	switch k.kind {
	case text:
		return ""
	case number:
		return 0
	case yes:
		return false
	case texts:
		return []string{}
	case rules:
		return []jackline.Rule{}
	case each:
		return []ForModel{}
	}
	panic("config: no kind of key: " + k.Path)
}

// Text is the value of a setting that is a text. Like the others it panics for a key of another kind.
func (c *Config) Text(path string) string { return c.Get(path).(string) }

// Number is the value of a setting that is a whole number.
func (c *Config) Number(path string) int { return c.Get(path).(int) }

// Yes is the value of a setting that is on or off.
func (c *Config) Yes(path string) bool { return c.Get(path).(bool) }

// Texts is the value of a setting that is a list of texts.
func (c *Config) Texts(path string) []string { return c.Get(path).([]string) }

// From says where a setting's value comes from: "flag", "environment", "file" or "default".
func (c *Config) From(path string) string {
	if from, ok := c.from[path]; ok {
		return from
	}
	return "default"
}
