package engines

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/engine"
)

// keptName is the setting under which added engines are kept, sealed like all settings. It is no key of the configuration, so
// that no list of settings shows it.
const keptName = "engines.added"

// maxKept bounds the engines that persons add: all of them are asked with each look.
const maxKept = 32

// kept are the engines that persons added. They belong to the server, not to one of its owners.
type kept struct {
	Count   int         `json:"count"` // of all that ever were, so that no id comes twice
	Engines []keptEntry `json:"engines"`
}

type keptEntry struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	BaseURL string     `json:"baseUrl"`
	API     detect.API `json:"api"`
	Key     string     `json:"key"`
}

// sources are the engines as sources, before anybody asked them.
func (k kept) sources() []source {
	var all []source
	for _, x := range k.Engines {
		all = append(all, source{id: x.ID, name: x.Name, api: x.API, base: x.BaseURL, key: engine.Key(x.Key), origin: added})
	}
	return all
}

// added reads the engines that persons added.
func (e *Engines) added(ctx context.Context) (kept, error) {
	var k kept
	if e.o.Store == nil {
		return k, nil
	}
	raw, err := e.o.Store.Setting(ctx, jackline.Local, keptName)
	if err != nil || raw == nil {
		return k, err
	}
	if json.Unmarshal(raw, &k) != nil { // the cause would quote what may be a key
		return kept{}, jackline.E("engines.added", jackline.Internal, nil, "The list of added engines cannot be read.")
	}
	e.know(k)
	return k, nil
}

// know tells the keys of added engines to whoever hides them, if they are others than before.
func (e *Engines) know(k kept) {
	if e.o.Know == nil {
		return
	}
	var keys []string
	for _, x := range k.Engines {
		if x.Key != "" {
			keys = append(keys, x.Key)
		}
	}
	e.mu.Lock()
	same := slices.Equal(keys, e.keys)
	e.keys = keys
	e.mu.Unlock()
	if !same {
		e.o.Know("added engines", keys...)
	}
}

// keep stores them.
func (e *Engines) keep(ctx context.Context, k kept) error {
	const op = "engines.keep"
	if e.o.Store == nil {
		return jackline.E(op, jackline.Internal, nil, "Engines cannot be kept here.")
	}
	raw, err := json.Marshal(k)
	if err != nil {
		return jackline.E(op, jackline.Internal, nil, "The engine cannot be written down.")
	}
	e.know(k)
	return e.o.Store.PutSetting(ctx, jackline.Local, keptName, raw)
}

// with is k with one more engine, which gets the next id.
func (k kept) with(x keptEntry) (kept, keptEntry) {
	k.Count++
	x.ID = added + "-" + strconv.Itoa(k.Count)
	k.Engines = append(slices.Clone(k.Engines), x)
	return k, x
}

// without is k without one engine, if it is there.
func (k kept) without(id string) (kept, bool) {
	before := len(k.Engines)
	k.Engines = slices.DeleteFunc(slices.Clone(k.Engines), func(x keptEntry) bool { return x.ID == id })
	return k, len(k.Engines) < before
}
