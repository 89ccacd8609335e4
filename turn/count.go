package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
)

// Memory keeps small facts over restarts, as settings.
type Memory interface {
	Setting(ctx context.Context, o jackline.Owner, name string) (json.RawMessage, error)
	PutSetting(ctx context.Context, o jackline.Owner, name string, value json.RawMessage) error
}

// counts is how engines count: the tokens that they counted for each token that was estimated, by what is counted. The zero value
// knows nothing and is ready.
type counts struct {
	mu    sync.Mutex
	read  bool // what was kept
	known map[string]count
	kept  map[string]float64 // the ratios as they are kept
}

type count struct {
	Ratio float64   `json:"ratio"`
	Seen  time.Time `json:"seen"`
}

const (
	// CountsKey is the setting that keeps the ratios. It is no key of the configuration, so that no list of settings shows it.
	CountsKey = "models.counted"
	// mostCounts bounds the models that are remembered: more than anybody tries.
	mostCounts = 200
	// leastRatio and mostRatio bound what can be true of an engine that counts. A vocabulary that is made for a script joins its letters
	// where the first estimate takes each for a token.
	leastRatio, mostRatio = 0.25, 3.0
	// newWeight is what one more request counts against those before it.
	newWeight = 0.3
	// worthKeeping is the change of a ratio, as a share, that is written down: a smaller one makes no difference, and the disk has
	// better things to do.
	worthKeeping = 0.05
)

// counted names what is counted: the weights, under whatever name, in one way of calling tools, since each way writes a request in
// another form.
func counted(i model.Info, mode string) string { return cmp.Or(i.Weights, i.Name) + " " + mode }

// estimated is what a request takes before anybody has counted: characters by their weight, and messages.
func estimated(chars, messages int) float64 {
	return float64(chars)/contract.CharsPerToken + float64(messages*tokensPerMsg)
}

// tokens estimates a request, corrected by what the engine has counted before.
func (c *counts) tokens(key string, chars, messages int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	ratio := c.known[key].Ratio
	if ratio == 0 {
		ratio = 1
	}
	return int(ratio * estimated(chars, messages))
}

// learn takes down what an engine counted for one request. Figures that cannot be true are ignored.
func (c *counts) learn(key string, chars, messages, counted int) {
	seen := float64(counted) / estimated(chars, messages)
	if counted <= 0 || seen < leastRatio || seen > mostRatio {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.known[key].Ratio; old != 0 {
		seen = old + newWeight*(seen-old)
	}
	if c.known == nil {
		c.known = map[string]count{}
	}
	c.known[key] = count{Ratio: seen, Seen: time.Now().UTC()}
}

// recall reads what was kept, once. What cannot be read is learnt again.
func (c *counts) recall(ctx context.Context, m Memory) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read || m == nil {
		return nil
	}
	raw, err := m.Setting(ctx, jackline.Local, CountsKey)
	if err != nil {
		return err
	}
	c.read = true
	var kept map[string]count
	if len(raw) == 0 || json.Unmarshal(raw, &kept) != nil {
		return nil
	}
	c.kept = map[string]float64{}
	for key, k := range kept {
		if k.Ratio < leastRatio || k.Ratio > mostRatio || math.IsNaN(k.Ratio) || len(c.kept) == mostCounts {
			continue
		}
		c.kept[key] = k.Ratio
		if _, ok := c.known[key]; !ok {
			if c.known == nil {
				c.known = map[string]count{}
			}
			c.known[key] = k
		}
	}
	return nil
}

// keep writes the ratios down if one of them has changed by enough. It is for the time between turns: it may wait for the disk.
func (c *counts) keep(ctx context.Context, m Memory) error {
	raw, ratios := c.worth()
	if m == nil || raw == nil {
		return nil
	}
	if err := m.PutSetting(ctx, jackline.Local, CountsKey, raw); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = ratios
	return nil
}

// worth is what there is to write, or nil.
func (c *counts) worth() (json.RawMessage, map[string]float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := false
	for key, k := range c.known {
		old, ok := c.kept[key]
		changed = changed || !ok || math.Abs(k.Ratio-old) > old*worthKeeping
	}
	if !changed {
		return nil, nil
	}
	for len(c.known) > mostCounts {
		delete(c.known, slices.MinFunc(slices.Collect(maps.Keys(c.known)), func(a, b string) int {
			return cmp.Or(c.known[a].Seen.Compare(c.known[b].Seen), cmp.Compare(a, b))
		}))
	}
	raw, err := json.Marshal(c.known)
	if err != nil { // names and finite figures always encode
		return nil, nil
	}
	ratios := map[string]float64{}
	for key, k := range c.known {
		ratios[key] = k.Ratio
	}
	return raw, ratios
}
