// Package settings knows every setting: its place in the file, its variables in the environment, its default and what it means.
// It reads them, checks them, and says what is in force: a flag wins over the environment, that over what page and API stored,
// that over the file, that over the default. No other package reads settings.
package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline"
)

// A Key is one setting. The table of keys is the only place that knows them: file, environment, help and the
// generated documentation all read it.
type Key struct {
	Path    string   // as in the file: agent.maxSteps
	Default any      // nil for the zero value of its kind
	Short   string   // a short environment variable beside Env, or ""
	One     []string // the values it may have; nil for any
	Doc     string

	kind kind
	min  int
	max  int
	api  bool // can be stored by API and page
}

type kind int

const (
	text kind = iota
	number
	yes   // a boolean
	texts // a list of strings
	rules
	each // []ForModel
)

// ForModel is what differs for one model. Zero fields are as for all models.
type ForModel struct {
	Ref      string `json:"ref"` // the model's name, or a reference
	ToolMode string `json:"toolMode,omitempty"`
	Think    string `json:"think,omitempty"`
	Window   int    `json:"window,omitempty"`
	Tools    int    `json:"tools,omitempty"` // how many are offered at once
	Steps    int    `json:"steps,omitempty"` // model requests of a turn, where agent.maxSteps says nothing
}

// thinking are the ways to reason.
func thinking() []string { return []string{"off", "on", "low", "medium", "high"} }

// Keys are all settings, in the order of the documentation.
func Keys() []Key {
	modes := jackline.Modes()
	return []Key{
		{Path: "model.name", api: true, Short: "JACKLINE_MODEL", Doc: "The model of new chats: its name, or the id of its engine, a slash and its name. script:FILE plays a transcript. Empty: the only one there is."},
		{Path: "model.baseUrl", Short: "JACKLINE_BASE_URL", Doc: "Address of an engine. Empty: those on this machine are found."},
		{Path: "model.api", Default: "auto", One: []string{"auto", "ollama", "openai", "anthropic", "responses"}, Doc: "What that engine speaks. auto tells by the address: openai, but for Anthropic's own and for Ollama's without a path."},
		{Path: "model.apiKeyEnv", Doc: "Name of the environment variable that holds the engine's key. The key itself never stands in this file."},
		{Path: "model.detect", kind: yes, Default: true, Doc: "Look for engines on this machine. Where address and model are configured, nothing is looked for in any case."},
		{Path: "model.window", kind: number, max: 10_000_000, Short: "JACKLINE_WINDOW", Doc: "Context size in tokens. 0: as the engine says, or 8192."},
		{Path: "model.toolMode", Default: "auto", One: []string{"auto", "native", "envelope", "text"}, Short: "JACKLINE_TOOL_MODE", Doc: "How the model calls tools: through the engine's own interface, as JSON that the engine holds it to, or as text that Jackline reads. auto decides by what a probe found (jackline models probe), or else by what the engine says."},
		{Path: "model.vision", kind: yes, Default: false, Doc: "The model reads images. false: as the engine says. To a model that reads none, pictures that are attached are not sent, and it is told so."},
		{Path: "model.think", Default: "off", One: thinking(), Doc: "Whether and how much the model reasons before it answers, where the engine can be told."},
		{Path: "model.each", kind: each, Doc: "What differs for single models: a list of {ref: NAME, toolMode, think, window, tools, steps}, which counts above what a probe found."},
		{Path: "model.probeWhenIdle", kind: yes, Default: false, Doc: "Try the model of new chats out by itself, once, when nobody has asked a model anything for five minutes: only one that was never probed, or has other weights since, and only on this machine. Off, because it keeps the machine busy for minutes and may push another model out of its memory; jackline models probe does the same when you want it."},
		{Path: "model.fallback", kind: texts, Doc: "Models that are asked, in this order, when one fails before it says anything: because its engine is not there or not able to work."},
		{Path: "server.listen", Default: "127.0.0.1:7717", Doc: "Address of the page and the API."},
		{Path: "server.hosts", kind: texts, Doc: "More exact Host names, with port, under which the server may be called."},
		{Path: "server.allowRemote", kind: yes, Default: false, Doc: "Listen on an address that other machines can reach. Whoever gets the token then controls this machine's files and shell."},
		{Path: "permissions.mode", Default: jackline.ModeAllowReads.String(), One: modes, api: true, Short: "JACKLINE_MODE", Doc: "What runs unasked in new chats."},
		{Path: "permissions.toggles.readFiles", kind: yes, Default: true, api: true, Doc: "Off: no tool reads files."},
		{Path: "permissions.toggles.writeFiles", kind: yes, Default: true, api: true, Doc: "Off: no tool writes or deletes files."},
		{Path: "permissions.toggles.runShell", kind: yes, Default: true, api: true, Doc: "Off: no commands."},
		{Path: "permissions.toggles.network", kind: yes, Default: true, api: true, Doc: "Off: no tool reaches the network. The model's own engine is not meant."},
		{Path: "permissions.rules", kind: rules, api: true, Doc: "Rules that refine the mode: a list of {do: allow|ask|deny, pattern: 'shell(git status*)'}, with match and not_match examples."},
		{Path: "permissions.workspaceRoot", api: true, Doc: "The workspace of new chats. Empty: the folder jackline in your home folder."},
		{Path: "permissions.approvalTimeout", kind: number, Default: 86400, min: 1, max: 30 * 86400, api: true, Doc: "Seconds until an unanswered question expires."},
		{Path: "permissions.onAsk", Default: string(jackline.AskDeny), One: []string{"deny", "fail", "wait"}, api: true, Short: "JACKLINE_ON_ASK", Doc: "What becomes of a question when nobody is there to answer."},
		{Path: "sandbox.read", kind: texts, Doc: "Files and folders that every command may read besides the workspace, the system's programs and those on the search path: whole paths, or from ~/ on. Never a whole home folder, nor Jackline's own."},
		{Path: "sandbox.write", kind: texts, Doc: "Files and folders that every command may also write. The same holds for them."},
		{Path: "sandbox.keepEnv", kind: texts, Doc: "Names of environment variables that commands inherit although they look like secrets or lead to what is closed to them."},
		{Path: "tools.disabled", kind: texts, api: true, Doc: "Tools that are hidden and refused: names and globs."},
		{Path: "egress.allow", kind: texts, Doc: "Addresses on this machine or network that tools may fetch from besides the public web, as host:port: a dev server. Never our own."},
		{Path: "agent.maxSteps", kind: number, max: 2000, api: true, Short: "JACKLINE_MAX_STEPS", Doc: "Model requests a turn may take; 1 turns tools off. 0: as the model's card says after a probe, or 6."},
		{Path: "agent.callsPerStep", kind: number, max: 64, api: true, Doc: "Calls a step may make. 0: 3 when calls are read from text, 16 when they are native."},
		{Path: "agent.history", kind: number, max: 1000, api: true, Doc: "Messages that a compaction keeps at most, and never fewer than 6. 0: as many as fit."},
		{Path: "agent.prefetch", kind: yes, Default: true, api: true, Doc: "Look up what a prompt plainly asks for (time, weather, a search) before the model is asked."},
		{Path: "agent.persona", api: true, Doc: "Who the model is, at most 400 characters."},
		{Path: "agent.maxTokens", kind: number, max: 1 << 30, api: true, Doc: "Tokens a turn may use. 0: no limit."},
		{Path: "agent.maxTime", kind: number, max: 30 * 86400, api: true, Doc: "Seconds a turn may run. 0: no limit."},
	}
}

// Env is the key's environment variable: JACKLINE_AGENT_MAX_STEPS for agent.maxSteps.
func (k Key) Env() string {
	var b strings.Builder
	b.WriteString("JACKLINE_")
	for _, r := range k.Path {
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
func (k Key) check(v any) (any, error) {
	bad := func(want string) (any, error) { return nil, fmt.Errorf("%s must be %s, not %v", k.Path, want, v) }
	switch k.kind {
	case text:
		s, ok := v.(string)
		if !ok {
			return bad("text")
		}
		if k.One != nil && !slices.Contains(k.One, s) {
			return bad("one of " + strings.Join(k.One, ", "))
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
	case each:
		list, err := forModels(v)
		if err != nil {
			return bad("a list of models, each with ref and what differs (" + err.Error() + ")")
		}
		return list, nil
	}
	return nil, errors.New("unknown kind")
}

// mostEach bounds the steps and tools of one model, as agent.maxSteps is.
const mostEach = 2000

// forModels takes what differs for single models from YAML, JSON or the text of a variable.
func forModels(v any) ([]ForModel, error) {
	b, err := json.Marshal(v)
	if s, ok := v.(string); ok { // from the environment
		b, err = []byte(s), nil
	}
	if err != nil {
		return nil, err
	}
	list := []ForModel{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	for _, m := range list {
		switch {
		case m.Ref == "":
			return nil, errors.New("ref is missing")
		case !slices.Contains([]string{"", "auto", "native", "envelope", "text"}, m.ToolMode):
			return nil, errors.New("toolMode must be auto, native, envelope or text")
		case m.Think != "" && !slices.Contains(thinking(), m.Think):
			return nil, fmt.Errorf("think must be one of %s", strings.Join(thinking(), ", "))
		case m.Window < 0:
			return nil, errors.New("window must be a number of tokens")
		case m.Tools < 0 || m.Tools > mostEach:
			return nil, fmt.Errorf("tools must be a number up to %d", mostEach)
		case m.Steps < 0 || m.Steps > mostEach:
			return nil, fmt.Errorf("steps must be a number up to %d", mostEach)
		}
	}
	return list, nil
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
