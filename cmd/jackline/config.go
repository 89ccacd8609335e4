package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/jackline-ai/jackline"
)

//go:generate go test . -run ^TestDocs$ -count=1 -update

// A key is one setting. The table of keys is the only place that knows them: file, environment, help and the
// generated documentation all read it.
type key struct {
	path string // as in the file: agent.maxSteps
	kind kind
	def  any
	one  []string // the values it may have; nil for any
	min  int
	max  int
	env  string // a short name beside JACKLINE_ + path
	doc  string
	api  bool // can be stored by API and page
}

type kind int

const (
	text kind = iota
	number
	yes   // a boolean
	texts // a list of strings
	rules
)

// keys are all settings, in the order of the documentation.
func keys() []key {
	modes := jackline.Modes()
	return []key{
		{path: "model.name", env: "JACKLINE_MODEL", doc: "The model, as the engine calls it. script:FILE plays a transcript. Empty: the only one that the engine has."},
		{path: "model.baseUrl", def: "http://127.0.0.1:11434/v1", env: "JACKLINE_BASE_URL", doc: "Address of an engine with an OpenAI-compatible API. The default is where Ollama listens."},
		{path: "model.apiKeyEnv", doc: "Name of the environment variable that holds the engine's key. The key itself never stands in this file."},
		{path: "model.window", kind: number, max: 10_000_000, env: "JACKLINE_WINDOW", doc: "Context size in tokens. 0: unknown, taken to be 8192."},
		{path: "model.toolMode", def: "auto", one: []string{"auto", "native", "envelope", "text"}, env: "JACKLINE_TOOL_MODE", doc: "How the model calls tools: through the engine's own interface, or as text that Jackline reads. auto decides by the engine."},
		{path: "server.listen", def: "127.0.0.1:7717", doc: "Address of the page and the API."},
		{path: "server.hosts", kind: texts, doc: "More exact Host names, with port, under which the server may be called."},
		{path: "server.allowRemote", kind: yes, def: false, doc: "Listen on an address that other machines can reach. Whoever gets the token then controls this machine's files and shell."},
		{path: "permissions.mode", def: jackline.ModeAllowReads.String(), one: modes, api: true, env: "JACKLINE_MODE", doc: "What runs unasked in new chats."},
		{path: "permissions.toggles.readFiles", kind: yes, def: true, api: true, doc: "Off: no tool reads files."},
		{path: "permissions.toggles.writeFiles", kind: yes, def: true, api: true, doc: "Off: no tool writes or deletes files."},
		{path: "permissions.toggles.runShell", kind: yes, def: true, api: true, doc: "Off: no commands."},
		{path: "permissions.toggles.network", kind: yes, def: true, api: true, doc: "Off: no tool reaches the network. The model's own engine is not meant."},
		{path: "permissions.rules", kind: rules, api: true, doc: "Rules that refine the mode: a list of {do: allow|ask|deny, pattern: 'shell(git status*)'}, with match and not_match examples."},
		{path: "permissions.workspaceRoot", api: true, doc: "The workspace of new chats. Empty: the folder jackline in your home folder."},
		{path: "permissions.approvalTimeout", kind: number, def: 86400, min: 1, max: 30 * 86400, api: true, doc: "Seconds until an unanswered question expires."},
		{path: "permissions.onAsk", def: string(jackline.AskDeny), one: []string{"deny", "fail", "wait"}, api: true, env: "JACKLINE_ON_ASK", doc: "What becomes of a question when nobody is there to answer."},
		{path: "tools.disabled", kind: texts, api: true, doc: "Tools that are hidden and refused: names and globs."},
		{path: "agent.maxSteps", kind: number, max: 2000, api: true, env: "JACKLINE_MAX_STEPS", doc: "Model requests a turn may take; 1 turns tools off. 0: 6."},
		{path: "agent.callsPerStep", kind: number, max: 64, api: true, doc: "Calls a step may make. 0: 3 when calls are read from text, 16 when they are native."},
		{path: "agent.history", kind: number, max: 1000, api: true, doc: "Messages that a compaction keeps at most, and never fewer than 6. 0: as many as fit."},
		{path: "agent.prefetch", kind: yes, def: true, api: true, doc: "Look up live data before the model is asked (comes with the web tools)."},
		{path: "agent.persona", api: true, doc: "Who the model is, at most 400 characters."},
		{path: "agent.maxTokens", kind: number, max: 1 << 30, api: true, doc: "Tokens a turn may use. 0: no limit."},
		{path: "agent.maxTime", kind: number, max: 30 * 86400, api: true, doc: "Seconds a turn may run. 0: no limit."},
	}
}

// name is the key's environment variable: JACKLINE_AGENT_MAX_STEPS for agent.maxSteps.
func (k key) name() string {
	var b strings.Builder
	b.WriteString("JACKLINE_")
	for _, r := range k.path {
		switch {
		case r == '.':
			b.WriteByte('_')
		case r >= 'A' && r <= 'Z':
			b.WriteByte('_')
			b.WriteRune(r)
		default:
			b.WriteString(strings.ToUpper(string(r)))
		}
	}
	return b.String()
}

// check says whether v fits the key; v comes from YAML, JSON or text.
func (k key) check(v any) (any, error) {
	bad := func(want string) (any, error) { return nil, fmt.Errorf("%s must be %s, not %v", k.path, want, v) }
	switch k.kind {
	case text:
		s, ok := v.(string)
		if !ok {
			return bad("text")
		}
		if k.one != nil && !slices.Contains(k.one, s) {
			return bad("one of " + strings.Join(k.one, ", "))
		}
		return s, nil
	case number:
		n, ok := whole(v)
		if !ok {
			return bad("a whole number")
		}
		if n < k.min || k.max > 0 && n > k.max {
			return bad(fmt.Sprintf("from %d to %d", k.min, k.max))
		}
		return n, nil
	case yes:
		switch v {
		case true, "true", "yes", "on", "1":
			return true, nil
		case false, "false", "no", "off", "0":
			return false, nil
		}
		return bad("true or false")
	case texts:
		list, ok := listed(v)
		if !ok {
			return bad("a list of texts")
		}
		return list, nil
	case rules:
		b, err := json.Marshal(v)
		if s, ok := v.(string); ok { // from the environment
			b, err = []byte(s), nil
		}
		list := []jackline.Rule{}
		if err == nil {
			err = json.Unmarshal(b, &list)
		}
		if err != nil {
			return bad("a list of rules, each with do and pattern (" + err.Error() + ")")
		}
		return list, nil
	}
	return nil, errors.New("unknown kind")
}

// whole takes a whole number from whatever YAML, JSON or a person made of it.
func whole(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int64:
		return int(v), true
	case uint64:
		return int(v), v <= 1<<53
	case float64:
		return int(v), v == float64(int(v))
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		return n, err == nil
	}
	return 0, false
}

// listed takes a list of texts; text from the environment is cut at commas.
func listed(v any) ([]string, bool) {
	list := []string{}
	switch v := v.(type) {
	case nil:
	case string:
		for _, s := range strings.Split(v, ",") {
			if s = strings.TrimSpace(s); s != "" {
				list = append(list, s)
			}
		}
	case []string:
		list = v
	case []any:
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, false
			}
			list = append(list, s)
		}
	default:
		return nil, false
	}
	return list, true
}

// A config is the settings as they stand without what is stored in the database: flags, environment, file, defaults.
type config struct {
	values   map[string]any
	from     map[string]string // "flag", "environment", "file"; absent for defaults
	warnings []string
	places   places
}

// places are the folders that Jackline uses.
type places struct {
	file      string // the configuration file
	data      string // the store
	logs      string
	workspace string // the default workspace
}

// findPlaces follows JACKLINE_HOME, then the XDG variables, then the home folder.
func findPlaces(env func(string) string) (places, error) {
	if home := env("JACKLINE_HOME"); home != "" {
		abs, err := filepath.Abs(home)
		if err != nil {
			return places{}, jackline.E("config", jackline.Invalid, err, "JACKLINE_HOME is not a folder: %s", home)
		}
		return places{
			file: filepath.Join(abs, "config.yaml"), data: filepath.Join(abs, "data"), logs: filepath.Join(abs, "logs"),
			workspace: filepath.Join(abs, "workspace"),
		}, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return places{}, jackline.E("config", jackline.Invalid, err, "There is no home folder. Set HOME, or JACKLINE_HOME to a folder for Jackline.")
	}
	base := func(name, fallback string) string {
		if v := env(name); filepath.IsAbs(v) {
			return v
		}
		return filepath.Join(home, filepath.FromSlash(fallback))
	}
	p := places{workspace: filepath.Join(home, "jackline")}
	if runtime.GOOS == "windows" {
		local := base("LOCALAPPDATA", "AppData/Local")
		p.file, p.data, p.logs = filepath.Join(local, "jackline", "config.yaml"), filepath.Join(local, "jackline", "data"), filepath.Join(local, "jackline", "logs")
		return p, nil
	}
	p.file = filepath.Join(base("XDG_CONFIG_HOME", ".config"), "jackline", "config.yaml")
	p.data = filepath.Join(base("XDG_DATA_HOME", ".local/share"), "jackline")
	p.logs = filepath.Join(base("XDG_STATE_HOME", ".local/state"), "jackline")
	return p, nil
}

// maxConfig bounds the configuration file; a few keys fit many times.
const maxConfig = 1 << 20

// loadConfig reads the settings. An unknown key is a warning with its line and the nearest key; a wrong type or a file that
// is not YAML is an error with its line.
func loadConfig(env func(string) string, flags map[string]any) (*config, error) {
	p, err := findPlaces(env)
	if err != nil {
		return nil, err
	}
	c := &config{values: map[string]any{}, from: map[string]string{}, places: p}
	f, err := os.Open(p.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, jackline.E("config", jackline.Invalid, err, "The configuration file %s cannot be read. Check its permissions.", p.file)
	default:
		raw := make([]byte, maxConfig+1)
		n, rerr := readFull(f, raw)
		_ = f.Close()
		if rerr != nil {
			return nil, jackline.E("config", jackline.Invalid, rerr, "The configuration file %s cannot be read.", p.file)
		}
		if n > maxConfig {
			return nil, jackline.E("config", jackline.Invalid, nil, "The configuration file %s is larger than %d bytes.", p.file, maxConfig)
		}
		if err := c.readFile(raw[:n]); err != nil {
			return nil, err
		}
	}
	for _, k := range keys() {
		for _, name := range []string{k.env, k.name()} {
			if v := env(name); name != "" && v != "" {
				if err := c.set(k, v, "environment"); err != nil {
					return nil, jackline.E("config", jackline.Invalid, err, "%s: %v", name, err)
				}
			}
		}
		if v, ok := flags[k.path]; ok {
			if err := c.set(k, v, "flag"); err != nil {
				return nil, jackline.E("config", jackline.Invalid, err, "%v", err)
			}
		}
	}
	return c, nil
}

func readFull(f *os.File, b []byte) (int, error) {
	n := 0
	for n < len(b) {
		m, err := f.Read(b[n:])
		n += m
		if err != nil {
			if err.Error() == "EOF" {
				return n, nil
			}
			return n, err
		}
	}
	return n, nil
}

func (c *config) set(k key, v any, from string) error {
	v, err := k.check(v)
	if err != nil {
		return err
	}
	c.values[k.path], c.from[k.path] = v, from
	return nil
}

// readFile takes the keys of a YAML file over.
func (c *config) readFile(raw []byte) error {
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return jackline.E("config", jackline.Invalid, err, "%s is not right:\n%s", c.places.file, yaml.FormatError(err, false, true))
	}
	byPath := map[string]key{}
	for _, k := range keys() {
		byPath[k.path] = k
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
				return jackline.E("config", jackline.Invalid, err, "%s, line %d: %s cannot be read.", c.places.file, line, path)
			}
			if v == nil && k.kind == text {
				v = ""
			}
			if err := c.set(k, v, "file"); err != nil {
				return jackline.E("config", jackline.Invalid, err, "%s, line %d: %v.", c.places.file, line, err)
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
		c.warnings = append(c.warnings, fmt.Sprintf("%s, line %d: there is no setting %s; did you mean %s?", c.places.file, line, path, nearest(path)))
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
			return jackline.E("config", jackline.Invalid, nil, "%s, line %d: %s must hold settings as name: value.", c.places.file, n.GetToken().Position.Line, where)
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

// nearest is the key whose path takes the fewest changes of letters.
func nearest(path string) string {
	best, least := "", 1<<30
	for _, k := range keys() {
		if d := distance(strings.ToLower(path), strings.ToLower(k.path)); d < least {
			best, least = k.path, d
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diag, row[j] = row[j], min(row[j]+1, row[j-1]+1, diag+cost)
		}
	}
	return row[len(b)]
}

// get is a setting's value: what was set, or the default.
func (c *config) get(path string) any {
	if v, ok := c.values[path]; ok {
		return v
	}
	for _, k := range keys() {
		if k.path == path {
			if k.def != nil {
				return k.def
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
			}
		}
	}
	panic("config: no such key: " + path)
}

func (c *config) text(path string) string    { return c.get(path).(string) }
func (c *config) number(path string) int     { return c.get(path).(int) }
func (c *config) yes(path string) bool       { return c.get(path).(bool) }
func (c *config) texts(path string) []string { return c.get(path).([]string) }
