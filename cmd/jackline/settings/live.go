package settings

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
)

// A Keeper keeps settings by owner and key: package store does.
type Keeper interface {
	Settings(context.Context, jackline.Owner) (map[string]json.RawMessage, error)
	PutSettings(ctx context.Context, o jackline.Owner, values map[string]json.RawMessage) error
}

// Live is what is in force: flags and environment over what page and API stored, that over the file, that over the
// defaults.
type Live struct {
	conf *Config
	db   Keeper
	keys []Key

	mu   sync.Mutex
	read map[jackline.Owner]*stored
}

// New puts what db keeps between the layers of conf.
func New(conf *Config, db Keeper) *Live { return &Live{conf: conf, db: db, keys: Keys()} }

// stored is what was read of the store, and when.
type stored struct {
	values map[string]json.RawMessage
	at     time.Time
	rights *jackline.Permissions // made of them, once somebody asks
}

// fresh is how long what was read holds. Every call is judged by the settings; only another process on the same store
// can change them behind our back, and its change is seen this much later.
const fresh = time.Second

func (s *Live) stored(ctx context.Context, o jackline.Owner) (*stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.read[o]; ok && time.Since(r.at) < fresh {
		return r, nil
	}
	values, err := s.db.Settings(ctx, o)
	if err != nil {
		return nil, err
	}
	if s.read == nil {
		s.read = map[jackline.Owner]*stored{}
	}
	s.read[o] = &stored{values: values, at: time.Now()}
	return s.read[o], nil
}

// in gives a settings value as it stands for an owner.
func (s *Live) in(ctx context.Context, o jackline.Owner) (func(path string) any, error) {
	read, err := s.stored(ctx, o)
	if err != nil {
		return nil, err
	}
	return s.of(read), nil
}

// of gives a settings value as it stands with what was read of the store.
func (s *Live) of(read *stored) func(path string) any {
	byPath := map[string]any{}
	for _, k := range s.keys {
		raw, ok := read.values[k.Path]
		if from := s.conf.from[k.Path]; !ok || !k.api || from == "flag" || from == "environment" {
			continue
		}
		var v any
		if json.Unmarshal(raw, &v) != nil {
			continue
		}
		// What an older or newer version stored and this one does not take falls back to the file.
		if v, err := k.check(v); err == nil {
			byPath[k.Path] = v
		}
	}
	return func(path string) any {
		if v, ok := byPath[path]; ok {
			return v
		}
		return s.conf.Get(path)
	}
}

// Permissions implements server.Settings. Every call is judged by them, so they are put together once for as long as what was
// read of the store holds.
func (s *Live) Permissions(ctx context.Context, o jackline.Owner) (jackline.Permissions, error) {
	read, err := s.stored(ctx, o)
	if err != nil {
		return jackline.Permissions{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if read.rights == nil {
		p, err := s.permissions(s.of(read))
		if err != nil {
			return p, err
		}
		read.rights = &p
	}
	return *read.rights, nil
}

func (s *Live) permissions(get func(path string) any) (jackline.Permissions, error) {
	p := jackline.Permissions{
		Toggles: jackline.Toggles{
			ReadFiles: get("permissions.toggles.readFiles").(bool), WriteFiles: get("permissions.toggles.writeFiles").(bool),
			RunShell: get("permissions.toggles.runShell").(bool), Network: get("permissions.toggles.network").(bool),
		},
		Rules:           get("permissions.rules").([]jackline.Rule),
		WorkspaceRoot:   get("permissions.workspaceRoot").(string),
		ApprovalTimeout: get("permissions.approvalTimeout").(int),
		OnAsk:           jackline.OnAsk(get("permissions.onAsk").(string)),
		Disabled:        get("tools.disabled").([]string),
	}
	if p.WorkspaceRoot == "" {
		p.WorkspaceRoot = s.conf.Places.Workspace
	}
	return p, p.Mode.UnmarshalText([]byte(get("permissions.mode").(string)))
}

// Agent implements server.Settings.
func (s *Live) Agent(ctx context.Context, o jackline.Owner) (jackline.AgentSettings, error) {
	get, err := s.in(ctx, o)
	if err != nil {
		return jackline.AgentSettings{}, err
	}
	return jackline.AgentSettings{
		MaxSteps: get("agent.maxSteps").(int), CallsPerStep: get("agent.callsPerStep").(int), History: get("agent.history").(int),
		Prefetch: get("agent.prefetch").(bool), Persona: get("agent.persona").(string), MaxTokens: get("agent.maxTokens").(int),
		MaxTime: get("agent.maxTime").(int),
	}, nil
}

// Text is a setting that is a text, as it stands for an owner. Like [Config.Text] it panics for a key of another kind.
func (s *Live) Text(ctx context.Context, o jackline.Owner, path string) (string, error) {
	get, err := s.in(ctx, o)
	if err != nil {
		return "", err
	}
	return get(path).(string), nil
}

// Fixed implements server.Settings.
func (s *Live) Fixed() []string {
	var fixed []string
	for _, k := range s.keys {
		if from := s.conf.from[k.Path]; k.api && (from == "flag" || from == "environment") {
			fixed = append(fixed, k.Path)
		}
	}
	return fixed
}

// Put implements server.Settings. All values are checked first, and stored together or not at all.
func (s *Live) Put(ctx context.Context, o jackline.Owner, values map[string]json.RawMessage) error {
	for path, raw := range values {
		ok := false
		for _, k := range s.keys {
			if k.Path != path || !k.api {
				continue
			}
			ok = true
			if raw == nil {
				continue // takes it back
			}
			var v any
			if err := json.Unmarshal(raw, &v); err != nil {
				return jackline.E("settings.Put", jackline.Invalid, err, "%s cannot be read.", path)
			}
			if _, err := k.check(v); err != nil {
				return jackline.E("settings.Put", jackline.Unprocessed, err, "%v.", err)
			}
		}
		if !ok {
			return jackline.E("settings.Put", jackline.Unprocessed, nil, "There is no setting %s that can be stored.", path)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.read, o)
	return s.db.PutSettings(ctx, o, values)
}
