package jackline

import (
	"encoding/json"
	"time"
)

// A Call is a model's, a person's or a schedule's request to run a tool: the row that holds the exact arguments
// and the exact result, once. It is not a permission.
type Call struct {
	ID      CallID    `json:"id"`
	Session SessionID `json:"session"`
	Turn    TurnID    `json:"turn,omitempty"` // empty for a person's own call
	Step    int       `json:"step"`           // from 1; 0 was looked up before the first
	Index   int       `json:"index"`          // place within the step, from 0
	Native  string    `json:"-"`              // the engine's own id for it

	Asked string          `json:"asked"` // the name as it was asked for
	Name  string          `json:"name"`  // the tool's, or Asked where there is none
	Args  json.RawMessage `json:"args"`  // one JSON object, canonical
	Cut   bool            `json:"-"`     // it did not arrive whole

	State   CallState `json:"state"`
	Outcome Outcome   `json:"outcome"`
	Text    string    `json:"text,omitempty"`   // what the model reads
	Source  Integrity `json:"source"`           // who could have written Text
	Origin  string    `json:"origin,omitempty"` // where the text is from, as in "file src/main.go"
	Dropped int       `json:"cut,omitempty"`    // characters left out of Text
	Stamp   string    `json:"-"`                // facts under which a cached result holds
	Cached  CallID    `json:"cached,omitempty"` // the earlier equal call whose result this one was given
	By      string    `json:"by,omitempty"`     // who denied it: [ByPerson], [ByNobody], or a rule's name
	Reason  string    `json:"reason,omitempty"` // and why, in words for a person
	Title   string    `json:"title"`            // "Edit src/main.go"
	Changes []Change  `json:"changes,omitempty"`
	Acts    bool      `json:"acts"` // it could have changed something
	MS      int64     `json:"ms"`
	Started time.Time `json:"started,omitzero"`
}

// Who denied a call, where it was not a rule.
const (
	ByPerson = "person"
	ByNobody = "not_shown" // there was nobody to ask
)

// CallState is where a call is on its way through the gate.
type CallState string

// The states of a call.
const (
	CallNew     CallState = "new"     // recorded, not judged
	CallWaiting CallState = "waiting" // on a person
	CallStarted CallState = "started" // its intent is on disk: it may have acted
	CallEnded   CallState = "ended"   // it has its one outcome
)

// Outcome is how a call ended. The zero Outcome is a denial.
type Outcome int

// The outcomes. Every call ends in exactly one.
const (
	Denied    Outcome = iota // by a person, by a rule, or because there was nobody to ask
	OK                       //
	Errored                  // it ran, or was not fit to run, and failed
	Expired                  // nobody answered in time
	Cancelled                // stopped, or superseded by the person's next words
	Unknown                  // the program died while it ran: nobody knows whether it acted
)

var outcomeNames = []string{"denied", "ok", "error", "expired", "cancelled", "unknown"}

// String is the outcome's name.
func (o Outcome) String() string { return name(outcomeNames, int(o)) }

// MarshalText writes the name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads a name.
func (o *Outcome) UnmarshalText(b []byte) error { return unname(outcomeNames, b, (*int)(o)) }

// A View is what a person is shown of a call: one of a closed set of shapes, so that the page knows no tool by name.
type View struct {
	Shape ViewShape  `json:"shape"`
	Text  string     `json:"text,omitempty"`  // text and terminal
	Exit  *int       `json:"exit,omitempty"`  // terminal: exit code
	Files []Diff     `json:"files,omitempty"` // diff
	Head  []string   `json:"head,omitempty"`  // table
	Rows  [][]string `json:"rows,omitempty"`
}

// ViewShape names a shape.
type ViewShape string

// The shapes of views.
const (
	ViewText     ViewShape = "text"
	ViewDiff     ViewShape = "diff"
	ViewTable    ViewShape = "table"
	ViewTerminal ViewShape = "terminal"
	ViewList     ViewShape = "list" // Rows of one column: a plan, a todo list, hits
)

// A Diff is what happened, or would happen, to one file.
type Diff struct {
	Path   string `json:"path"`
	To     string `json:"to,omitempty"` // of a move or copy
	Change string `json:"change"`       // create, edit, delete, move, copy
	Added  int    `json:"added"`        // lines
	Gone   int    `json:"gone"`
	Patch  string `json:"patch,omitempty"` // unified diff, without file header
}

// An Actor is who a call runs for. It is built once from the authenticated request or the stored session, never
// from anything a model wrote.
type Actor struct {
	Owner   Owner
	Admin   bool
	Session Session
	Turn    Turn // the zero Turn for a person's own call
	Source  Source
}

// Source says what made a call.
type Source string

// The sources of calls.
const (
	FromModel Source = "model"
	FromAgent Source = "agent" // a sub-agent's model
	FromUser  Source = "user"
	FromAPI   Source = "api"

	// FromPrefetch is the loop itself, which looks up what a prompt asks for before the model is asked. Nobody wants to be asked
	// about such a call.
	FromPrefetch Source = "prefetch"
)

// An Intent is a call with all that a judge needs.
type Intent struct {
	Actor   Actor
	Call    CallID
	Tool    string
	Digest  string // of the tool's definition
	Title   string // "Edit src/main.go"
	Args    json.RawMessage
	Effect  Effect
	Touches []Touch
	Labels  Labels
	Facts   []Fact  // what is true now of what it names; nil where nobody needed to know
	Sandbox Sandbox // what would hold its processes; the zero Sandbox for a call that starts none, and where nothing does

	// Connected is the server that the tool comes from; "" for a tool of the program's own.
	Connected string

	// Said and Found are addresses that the model did not make up, as far as the touches name any: what stands letter for
	// letter in the owner's own messages of this session, and what a search of it brought.
	Said, Found []string
}

// Verdict is a judge's word. The zero Verdict denies.
type Verdict int

// The verdicts.
const (
	Deny Verdict = iota
	Ask
	Allow
)

var verdictNames = []string{"deny", "ask", "allow"}

// String is the verdict's name.
func (v Verdict) String() string { return name(verdictNames, int(v)) }

// MarshalText writes the name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a name.
func (v *Verdict) UnmarshalText(b []byte) error { return unname(verdictNames, b, (*int)(v)) }

// A Decision is a verdict with the rule that gave it and the reason in words for a person.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Rule    string  `json:"rule"`
	Reason  string  `json:"reason"`
	Hard    bool    `json:"hard,omitempty"` // nobody may allow it
}

// RuleDisabled is the name of the rule that refuses a tool that somebody switched off. Such a tool is not offered either.
const RuleDisabled = "disabled"

// RuleOffline is the name of the rule that refuses the network in a turn that is to do without it.
const RuleOffline = "offline"

// RuleHalted is by whom a call was denied while the kill switch was on.
const RuleHalted = "kill-switch"

// PlanKey is the session fact that holds the plan of the task.
const PlanKey = "plan"

// A Rule refines the table of modes for calls that match its pattern. See package policy for the grammar.
type Rule struct {
	Do       Verdict  `json:"do" yaml:"do"`
	Pattern  string   `json:"pattern" yaml:"pattern"` // shell(git status*), file_write(src/**), mcp__github__*
	Match    []string `json:"match,omitempty" yaml:"match,omitempty"`
	NotMatch []string `json:"not_match,omitempty" yaml:"not_match,omitempty"`

	// EvenTainted lets an allow rule count in a chat that has read text by others. Only an exact command that runs in the
	// sandbox without network, or writes in one named folder, can be allowed so.
	EvenTainted bool `json:"even_tainted,omitempty" yaml:"even_tainted,omitempty"`

	// Workspace is the folder, as an absolute path, in whose chats the rule holds; "" is everywhere.
	Workspace string `json:"workspace,omitempty" yaml:"workspace,omitempty"`
}

// Toggles switch whole categories off. The zero Toggles allow nothing; see AllOn.
type Toggles struct {
	ReadFiles  bool `json:"readFiles"`
	WriteFiles bool `json:"writeFiles"` // covers deleting
	RunShell   bool `json:"runShell"`
	Network    bool `json:"network"`
}

// AllOn are the toggles of a fresh install.
var AllOn = Toggles{ReadFiles: true, WriteFiles: true, RunShell: true, Network: true}
