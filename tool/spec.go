// Package tool is a capability declared once and run one way.
//
// A tool is one [Spec] literal: its name, what the model is told, what it can do to the world, how its card reads,
// and the function that does it. [Define] turns the literal into a [Tool], from which nothing can be run: the
// run function is not exported, and only the [Gate] of this package holds it. So there is one way to an effect,
// and it leads past look-up, schema, judge, approval and log, in that order.
//
// Two properties hold for every call. What is approved is what runs: arguments are decoded once, and the touches
// that were judged and the function that runs close over the same value. And touches name things without
// opening them, so that asking for permission can't be used to find out whether a secret exists.
package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/retrieve"
)

// A Spec declares a tool whose arguments are an A: a struct whose fields carry json and doc tags.
type Spec[A any] struct {
	Name    string
	Aliases []string // what models call it instead; a clash with any other name is an error of [NewSet]
	Group   string   // files, run, web, pure, agents
	Summary string   // what it does, one short sentence; the model reads it
	Use     string   // when to use it; may be empty
	Find    string   // more words by which it may be searched for

	// Effect is all that a call could do. What one call does is narrowed by its touches.
	Effect jackline.Effect
	Source jackline.Integrity // who could have written its results
	Secret bool               // results hold text of the owner's own: the session becomes private
	Pin    int                // the smallest window, in tokens, from which on it is always offered; 0 is never
	Cache  bool               // a pure read: an equal call of the same turn gets the same result while nothing acted
	Icon   string             // read, edit, delete, move, search, execute, think, fetch, other
	Final  bool               // the same call twice is no sign of a loop (time, questions)
	Body   string             // the argument, a string, that may be as long as a file; "" is none
	Pager  bool               // it pages through results that were cut; at most one tool of a set is it

	// Connected is the server that the tool comes from; "" for a tool of the program's own. What such a tool does is what its
	// server says, and may stay unknown: then Effect is 0, and Touches may be nil.
	Connected string

	Title   func(A) string                                      // "Edit src/main.go"; required
	Touches func(In, A) ([]jackline.Touch, error)               // nil where Effect is Pure
	Preview func(context.Context, In, A) (jackline.View, error) // what the card shows; nil shows the arguments

	// Facts are what a person's yes is bound to besides the arguments, the touches and what the gate looks at by itself: for a command
	// the programs and scripts that it names, for one. It opens what it must, and changes nothing.
	Facts func(context.Context, In, A) ([]jackline.Fact, error)

	Run     func(context.Context, In, A) (Out, error) // exactly one of Run and Ask
	Ask     func(A) ([]jackline.Question, error)      // a question to the person is the call
	Missing func() string                             // why it cannot be used now; nil or "" if it can

	// Sandbox is what would hold the processes of a call. It starts nothing, and opens nothing but what the level and the
	// workspace ask for. What it says is judged, allowed by a person and given to Run, the very same. Nil is the zero Sandbox.
	Sandbox func(In, A) (jackline.Sandbox, error)

	// Prefetch reads from one sentence of a prompt, whole and without its closing mark, the call that it surely asks for, so that
	// the call can run before the model is asked. It must take linear time, and be sure: a miss costs a step, a false hit a call that
	// nobody wanted. Nil never is.
	Prefetch func(sentence string) (A, bool)

	Changed func(context.Context, In, A, string) bool // whether a cached result's stamp no longer holds
}

// In is what a running tool knows besides its arguments.
type In struct {
	Actor    jackline.Actor
	Call     jackline.CallID
	Tools    *Set
	Off      func(Tool) bool                           // which of them are not there for this turn; nil is none
	Limit    int                                       // characters of the result that the model will read; more is spilled
	Zone     *time.Location                            // the client's
	State    func(key string) (json.RawMessage, error) // the session's own small facts; nil where there is none
	Progress func(text string)                         // shows output while the call runs
	Sandbox  jackline.Sandbox                          // what was judged to hold the call's processes; [Spec.Run] and [Spec.Preview] have it
	Facts    []jackline.Fact                           // what was true when a person allowed the call; nil where nobody was asked
}

// The windows, in tokens, from which on a tool is always offered: what [Spec.Pin] of most is.
const (
	PinSmall  = contract.Small
	PinMiddle = contract.Middle
	PinLarge  = contract.Large
)

// noLimit is how much of a result is given where nobody said how much is wanted, in characters.
const noLimit = 20_000

// AtMost is how many characters of a result are wanted: Limit, or what is given where it is not set.
func (in In) AtMost() int {
	if in.Limit > 0 {
		return in.Limit
	}
	return noLimit
}

// Out is what a tool gives back.
type Out struct {
	Text   string        // what the model reads
	View   jackline.View // what a person sees; the zero View shows Text
	Origin string        // where Text is from, for the line that frames it: "file src/main.go"
	Failed bool          // it ran and failed, and Text tells how

	// Label replaces the spec's Source and Secret, for a tool that passes on somebody else's text.
	Label *Label

	Changes []jackline.Change
	State   map[string]json.RawMessage // facts of the session to store with the outcome
	Events  []jackline.Body            // events to log with the outcome
	Stamp   string                     // facts under which a cached result still holds
	Found   []string                   // tools to describe to the model from now on

	// Addresses are those that a search brought, as the model reads them: it did not make them up.
	Addresses []string
}

// Label says who could have written a text, and whether it is the owner's own.
type Label struct {
	Source jackline.Integrity
	Secret bool
}

// A Tool is a defined capability. Nothing of it is exported: it can be described, and a [Gate] can run it.
type Tool struct {
	facts   Facts
	schema  func() *args.Schema // made when the first call comes: most tools of a task are never called
	secret  bool
	cache   bool
	missing func() string
	bind    func(json.RawMessage) (bound, error)
	ahead   func(string) (json.RawMessage, bool)
}

// bound is a tool together with one decoded argument value.
type bound struct {
	title   string
	touches func(In) ([]jackline.Touch, error)
	sandbox func(In) (jackline.Sandbox, error)
	preview func(context.Context, In) (jackline.View, error)
	facts   func(context.Context, In) ([]jackline.Fact, error)
	run     func(context.Context, In) (Out, error)
	ask     func() ([]jackline.Question, error)
	changed func(context.Context, In, string) bool
}

// Facts are what may be known about a tool.
type Facts struct {
	Name      string
	Aliases   []string
	Group     string
	Summary   string
	Use       string
	Find      string
	Schema    json.RawMessage
	Effect    jackline.Effect
	Source    jackline.Integrity
	Pin       int
	Icon      string
	Final     bool
	Pager     bool
	Body      string // the argument that may be as long as a file
	Asks      bool   // it is a question to the person
	Digest    string // of all that a model and a person are told
	WhyNot    string // why it cannot be used now
	Connected string // the server it comes from; "" for a built-in tool
}

// Define makes a tool of a spec. It panics on a spec that cannot work, which is a mistake in this program; nothing
// from outside comes here.
func Define[A any](s Spec[A]) Tool {
	switch {
	case s.Name == "" || s.Summary == "" || s.Group == "":
		panic("tool: a spec needs a name, a summary and a group: " + s.Name)
	case s.Effect == 0 && s.Connected == "":
		panic("tool: unknown effect: " + s.Name)
	case s.Title == nil:
		panic("tool: no title: " + s.Name)
	case (s.Run == nil) == (s.Ask == nil):
		panic("tool: exactly one of Run and Ask: " + s.Name)
	case s.Touches == nil && s.Effect != jackline.Pure && s.Connected == "":
		panic("tool: a tool with effects must name its touches: " + s.Name)
	case s.Sandbox != nil && !s.Effect.Has(jackline.Exec):
		panic("tool: only what starts processes has a sandbox: " + s.Name)
	case s.Cache && s.Effect.Acts():
		panic("tool: only a pure read may be cached: " + s.Name)
	}
	raw := args.For[A]()
	schema := sync.OnceValue(func() *args.Schema {
		schema, err := args.Parse(raw)
		if err != nil { // cannot be: it was written for a Go type
			panic(fmt.Sprintf("tool: schema of %s: %v", s.Name, err))
		}
		return schema
	})
	t := Tool{
		facts: Facts{
			Name: s.Name, Aliases: s.Aliases, Group: s.Group, Summary: s.Summary, Use: s.Use, Find: s.Find,
			Schema: raw, Effect: s.Effect, Source: s.Source, Pin: s.Pin, Icon: s.Icon, Final: s.Final, Pager: s.Pager, Body: s.Body, Asks: s.Ask != nil, Connected: s.Connected,
		},
		schema: schema, secret: s.Secret, cache: s.Cache, missing: s.Missing,
	}
	t.facts.Digest = digest(t.facts)
	if s.Prefetch != nil {
		t.ahead = func(sentence string) (json.RawMessage, bool) {
			a, ok := s.Prefetch(sentence)
			if !ok {
				return nil, false
			}
			raw, err := json.Marshal(a)
			return raw, err == nil
		}
	}
	t.bind = func(raw json.RawMessage) (bound, error) {
		var a A
		dec := json.NewDecoder(bytes.NewReader(raw))
		if err := dec.Decode(&a); err != nil {
			return bound{}, jackline.E("tool.bind", jackline.Unprocessed, err, "The arguments do not fit %s.", s.Name)
		}
		b := bound{title: s.Title(a)}
		if s.Touches != nil {
			b.touches = func(in In) ([]jackline.Touch, error) { return s.Touches(in, a) }
		}
		if s.Sandbox != nil {
			b.sandbox = func(in In) (jackline.Sandbox, error) { return s.Sandbox(in, a) }
		}
		if s.Preview != nil {
			b.preview = func(ctx context.Context, in In) (jackline.View, error) { return s.Preview(ctx, in, a) }
		}
		if s.Facts != nil {
			b.facts = func(ctx context.Context, in In) ([]jackline.Fact, error) { return s.Facts(ctx, in, a) }
		}
		if s.Run != nil {
			b.run = func(ctx context.Context, in In) (Out, error) { return s.Run(ctx, in, a) }
		}
		if s.Ask != nil {
			b.ask = func() ([]jackline.Question, error) { return s.Ask(a) }
		}
		if s.Changed != nil {
			b.changed = func(ctx context.Context, in In, stamp string) bool { return s.Changed(ctx, in, a, stamp) }
		}
		return b, nil
	}
	return t
}

// digest identifies a definition: an approval of one definition is none of another.
func digest(f Facts) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %s", f.Name, f.Summary, f.Use, f.Effect.String(), f.Schema)
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// Facts is what may be known about the tool, with why it cannot be used at this moment.
func (t Tool) Facts() Facts {
	f := t.facts
	if t.missing != nil {
		f.WhyNot = t.missing()
	}
	return f
}

// Prefetch is the arguments of the call that a sentence of a prompt surely asks for; ok is false where it asks for none.
func (t Tool) Prefetch(sentence string) (raw json.RawMessage, ok bool) {
	if t.ahead == nil {
		return nil, false
	}
	return t.ahead(sentence)
}

// document is what the tool is searched for by.
func (t Tool) document() retrieve.Doc {
	f := t.facts
	d := retrieve.Doc{Name: f.Name, Aliases: f.Aliases, Server: f.Connected, Text: strings.Join([]string{f.Summary, f.Use, f.Find}, " ")}
	if parts := strings.SplitN(f.Name, "__", 3); d.Server == "" && len(parts) == 3 { // mcp__server__tool
		d.Server = parts[1]
	}
	// The names alone are a small part of what the schema is made of, and the first prompt waits for them.
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(f.Schema, &s) == nil {
		d.Params = slices.Sorted(maps.Keys(s.Properties))
	}
	return d
}
