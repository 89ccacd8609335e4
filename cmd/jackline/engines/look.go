package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/engine"
)

// A source is one engine, with what is needed to ask it.
type source struct {
	id, name string
	family   string // as in model.Card.Engine; "" is unknown
	api      detect.API
	base     string
	keyEnv   string
	key      engine.Key
	origin   string
	version  string
	state    detect.State // "" is that nobody asked yet
	why      string
	cards    []model.Card
	learnt   *cards // what was found out about its models, and those of others
}

// Format writes the id alone, whatever the verb: the key is no exported field, so that its own care for itself would not help here.
func (s source) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.id) }

// The origins of engines.
const (
	configured = "configured" // by flag, environment or file; its id too
	added      = "added"      // by a person, on the page or the command line; the beginning of their ids too
	found      = "found"      // on this machine
	cloud      = "cloud"      // a service for which the environment holds a key
)

const (
	// fresh is how long a look holds: engines and models come and go while somebody works, but not by the second.
	fresh = 30 * time.Second
	// justNow is how old a look may be that did not find what is asked for, before another one is worth the wait.
	justNow = 2 * time.Second
	// lookTime is how long one engine may take to say what it has. A person waits for the list.
	lookTime = 4 * time.Second
	// moment is how long a page waits for the first look: an engine on this machine has answered by then.
	moment = 300 * time.Millisecond
	// maxShown is what is shown of a name that somebody sent, in bytes.
	maxShown = 120
)

// A look is what the engines answered, at one time.
type look struct {
	at         time.Time // zero where the next list has to be a new one
	whole      bool      // everybody was asked
	configured source
	added      map[string]source
	found      []source
}

// A sight is all that is known of the engines now.
type sight struct {
	all    []source
	looked bool // all of them were asked, at some time
	alone  bool // nothing is looked for on this machine
}

// by gives the engine of an id.
func (k sight) by(id string) (source, bool) {
	at := slices.IndexFunc(k.all, func(s source) bool { return s.id == id })
	if at < 0 {
		return source{}, false
	}
	return k.all[at], true
}

// sight puts together what is configured, what persons added, what was found, and what the environment has keys for.
func (e *Engines) sight(ctx context.Context) (sight, error) {
	kept, err := e.added(ctx)
	if err != nil {
		return sight{}, err
	}
	own, err := e.chosen(ctx)
	if err != nil {
		return sight{}, err
	}
	known, err := e.cards(ctx)
	if err != nil {
		return sight{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	k := sight{looked: e.last != nil && e.last.whole, alone: e.o.Alone || e.o.BaseURL != "" && own != ""}
	if e.o.BaseURL != "" {
		s := e.configured()
		if e.last != nil {
			s = merged(s, e.last.configured)
			if own == "" && (e.o.API == "" || e.o.API == auto) && s.cards != nil { // it may be a better way than the address tells
				s.api, s.base = e.last.configured.api, e.last.configured.base
			}
		}
		k.all = append(k.all, s)
	}
	for _, s := range kept.sources() {
		if e.last != nil {
			s = merged(s, e.last.added[s.id])
		}
		k.all = append(k.all, s)
	}
	if e.last != nil && !k.alone {
		for _, f := range e.last.found {
			if !slices.ContainsFunc(k.all, func(s source) bool { return sameOrigin(s.base, f.base) }) { // else it is known already
				k.all = append(k.all, f)
			}
		}
	}
	for _, c := range detect.Keys(e.o.Env) {
		s := source{
			id: slug(c.Provider), name: c.Provider, family: string(detect.OpenAI), api: c.API, base: c.BaseURL, keyEnv: c.Env,
			key: engine.Key(strings.TrimSpace(e.o.Env(c.Env))), origin: cloud, why: c.Provider + " is asked once you choose it: the environment holds a key for it.",
		}
		if c.API == detect.APIAnthropic {
			s.family = detect.Anthropic
		}
		k.all = append(k.all, merged(s, e.clouds[s.id]))
	}
	for i := range k.all {
		k.all[i].learnt = known
	}
	return k, nil
}

// merged is s with what a look brought about the same address.
func merged(s, seen source) source {
	if seen.id != s.id || seen.key != s.key {
		return s
	}
	s.family, s.version, s.state, s.why, s.cards = cmp.Or(seen.family, s.family), seen.version, seen.state, seen.why, seen.cards
	return s
}

// slug is a provider's name as an id.
func slug(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

// configured is the engine of the settings, before anybody asked it.
func (e *Engines) configured() source {
	s := source{id: configured, api: apiOf(e.o.API, e.o.BaseURL), base: strings.TrimSpace(e.o.BaseURL), keyEnv: e.o.KeyEnv, origin: configured}
	if s.keyEnv != "" {
		s.key = engine.Key(strings.TrimSpace(e.o.Env(s.keyEnv)))
	}
	switch s.api {
	case detect.APIOllama:
		s.family = detect.Ollama
	case detect.APIAnthropic:
		s.family = detect.Anthropic
	case detect.APIOpenAI, detect.APIResponses:
	}
	return s
}

// apiOf is what an engine speaks, by what the owner says or else by its address.
func apiOf(said, base string) detect.API {
	if said != "" && said != auto {
		return detect.API(said)
	}
	u, err := url.Parse(strings.TrimSpace(base))
	switch {
	case err != nil:
	case u.Hostname() == "api.anthropic.com":
		return detect.APIAnthropic
	case u.Port() == strconv.Itoa(detect.Port(detect.Ollama)) && strings.Trim(u.Path, "/") == "":
		return detect.APIOllama
	}
	return detect.APIOpenAI
}

// freshen begins a look in the background, if the last one is old.
func (e *Engines) freshen(ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last == nil || time.Since(e.last.at) >= fresh {
		e.begin(ctx)
	}
}

// A looking is a look that is under way.
type looking struct {
	found chan struct{} // closed when the engines of this machine are known
	done  chan struct{} // closed at the end
}

// begin begins a look unless one is under way. The caller holds e.mu.
func (e *Engines) begin(ctx context.Context) *looking {
	if e.looking != nil {
		return e.looking
	}
	g := &looking{found: make(chan struct{}), done: make(chan struct{})}
	end := func() {
		e.looking = nil
		close(g.done)
	}
	e.looking = g
	if _, ok := e.later(ctx, func(ctx context.Context) {
		l := e.see(ctx, g)
		e.mu.Lock()
		defer e.mu.Unlock()
		if l != nil && ctx.Err() == nil {
			e.last = l
		}
		end()
	}); !ok {
		close(g.found)
		end()
	}
	return g
}

// look waits until a look is there that is not older than that. Only an end of ctx is an error.
func (e *Engines) look(ctx context.Context, old time.Duration) error {
	e.mu.Lock()
	if e.last != nil && time.Since(e.last.at) < old {
		e.mu.Unlock()
		return nil
	}
	g := e.begin(ctx)
	e.mu.Unlock()
	return wait(ctx, g.done)
}

// lookHere waits until the engines of this machine are known anew, whatever others take for their answers.
func (e *Engines) lookHere(ctx context.Context) error {
	e.mu.Lock()
	g := e.begin(ctx)
	e.mu.Unlock()
	return wait(ctx, g.found)
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Warm begins the first look, so that it is done when somebody comes, and waits for idle hours if it is to use them.
func (e *Engines) Warm(ctx context.Context) {
	if e.o.Idle > 0 {
		e.mu.Lock()
		e.later(ctx, e.rest)
		e.mu.Unlock()
	}
	k, err := e.sight(ctx)
	if err != nil || k.alone {
		return // whoever comes is told
	}
	if own, err := e.chosen(ctx); err == nil && !strings.HasPrefix(own, scriptPrefix) {
		e.freshen(ctx)
	}
}

// see asks all engines that may be asked. nil is that it could not find out which.
func (e *Engines) see(ctx context.Context, g *looking) *look {
	l := &look{added: map[string]source{}}
	k, err := e.sight(ctx)
	if err != nil {
		close(g.found)
		return nil
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, s := range k.all {
		if s.origin != configured && s.origin != added {
			continue
		}
		if s.origin == configured {
			s = e.configured()
		}
		wg.Go(func() {
			s := e.read(ctx, s)
			mu.Lock()
			defer mu.Unlock()
			if s.origin == configured {
				l.configured = s
			} else {
				l.added[s.id] = s
			}
		})
	}
	if !k.alone {
		l.found = e.named(e.o.Find(ctx, detect.Options{Env: e.o.Env, Skip: e.o.Skip, Memory: &e.known}))
		e.tell(ctx, l.found)
	}
	close(g.found)
	wg.Wait()
	l.at, l.whole = time.Now(), true
	return l
}

// tell publishes the engines of this machine, while others are still waited for.
func (e *Engines) tell(ctx context.Context, here []source) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	var l look
	if e.last != nil {
		l = *e.last
	}
	l.found = here
	e.last = &l
}

func sameOrigin(a, b string) bool {
	return originOf(a) != "" && originOf(a) == originOf(b)
}

// originOf is scheme, host and port of an address. The names of this machine are one.
func originOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if host == "localhost" || host == "::1" {
		host = "127.0.0.1"
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(host, port)
}

// read asks one engine what it has. What is wrong with it is its state and why.
func (e *Engines) read(ctx context.Context, s source) source {
	limited, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	f, err := detect.Read(limited, s.base, string(s.key))
	if f.Engine != "" {
		s.family, s.version, s.state, s.why, s.cards = f.Engine, f.Version, f.State, f.Why, f.Cards
		if s.api == "" || s.api == f.API || s.origin == configured && (e.o.API == "" || e.o.API == auto) {
			s.api, s.base = f.API, f.BaseURL
		}
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		s.state, s.why = "", "It was not asked to the end."
	case limited.Err() != nil && errors.Is(err, limited.Err()):
		s.state, s.why = detect.Down, "The engine does not answer within a few seconds. It may be busy, or the address may be wrong."
	default:
		if s.why = jackline.Say(err); f.Engine == "" {
			s.state = stateOf(err)
		}
	}
	return s
}

// stateOf is the state of an engine that could not be recognised.
func stateOf(err error) detect.State {
	switch jackline.KindOf(err) { //nolint:exhaustive // all others are one
	case jackline.Forbidden:
		return detect.NeedsKey
	case jackline.NoModel:
		return detect.NoModel
	}
	return detect.Down
}

// named gives the engines that were found their ids: that of their family where they listen at its usual port, else with the port
// behind it, so that an id stays with its engine whatever else comes and goes.
func (e *Engines) named(all []detect.Found) []source {
	var list []source
	for _, f := range all {
		s := source{
			family: f.Engine, api: f.API, base: f.BaseURL, version: f.Version, state: f.State, why: f.Why, keyEnv: f.KeyEnv,
			origin: found, cards: f.Cards,
		}
		if s.keyEnv != "" {
			s.key = engine.Key(strings.TrimSpace(e.o.Env(s.keyEnv)))
		}
		id, usual := f.Engine, detect.Port(f.Engine)
		if port := portOf(f.BaseURL); usual == 0 || port != strconv.Itoa(usual) {
			id += "-" + port
		}
		s.id = id
		for n := 2; slices.ContainsFunc(list, func(o source) bool { return o.id == s.id }); n++ {
			s.id = id + "-" + strconv.Itoa(n)
		}
		list = append(list, s)
	}
	return list
}

func portOf(base string) string {
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(strings.TrimPrefix(originOf(base), "http://"), "https://"))
	return port
}
