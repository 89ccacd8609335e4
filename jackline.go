// Package jackline holds the nouns of Jackline: the words that code, API, page and
// documents all use, and nothing else. It does no I/O, starts no goroutine and imports only the standard
// library.
//
// A [Session] is a chat bound to one workspace folder. A [Turn] is one prompt in it and all that
// answers it; a turn takes steps, each one model request, and makes calls. A [Call] is what a model asks for: it is
// a request, never a permission. Before it runs, its [Effect] and the things it
// would touch (each a [Touch]) make it an [Intent], which a policy judges: a [Decision] allows,
// asks or denies, and names the rule that decided. To ask is to open an [Approval], a sealed question about one
// exact call. A person's answer may leave a [Grant], a standing permission with a scope.
//
// Everything that happens is an [Event] of a session's log, written together with the state it changes as one
// [Record]. The log is the truth: page, terminal, audit and resumption read it.
//
// Zero values are the safe ones: the zero [Verdict] denies, the zero [Effect] is unknown and judged
// as the worst, the zero [Integrity] is outside text, the zero [Mode] asks for everything, and the zero [Outcome]
// is a refusal.
package jackline

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"
)

// An Owner is whose rows these are. Every store call takes one.
type Owner string

// Local is the one owner of a server without login. It administers it.
const Local Owner = "local"

// Identifiers. They are opaque, sort by time of creation, and hold only letters and digits behind a prefix that
// says what they name.
type (
	SessionID  string // s_…
	TurnID     string // t_…
	CallID     string // c_…
	ApprovalID string // a_…
	GrantID    string // g_…

	AttachmentID string // f_…
)

// NewID makes an identifier: the prefix, then 9 characters of time and 11 of chance.
func NewID[T ~string](prefix string) T {
	var b [12]byte
	binary.BigEndian.PutUint64(b[:8], uint64(time.Now().UnixMicro())<<8)
	// crypto/rand.Read never fails: it ends the program when the system has no chance left.
	_, _ = rand.Read(b[7:])
	return T(prefix + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])))
}

// A Session is a chat. Its workspace never changes.
type Session struct {
	ID        SessionID `json:"id"`
	Owner     Owner     `json:"-"`
	Title     string    `json:"title"`     // the first words of the first prompt, or what a person called it
	Workspace string    `json:"workspace"` // absolute path
	Mode      Mode      `json:"mode"`
	Model     string    `json:"model,omitempty"` // "" is the server's default
	Labels    Labels    `json:"labels"`
	Ungated   bool      `json:"ungated"` // a person switched the taint gate off for this chat
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`

	// Gen is the generation of the model history: it rises by one with each compaction.
	Gen int `json:"-"`
}

// Labels say what the model of a session has read. They are set before the text reaches the model and never cleared.
type Labels struct {
	Tainted bool `json:"tainted"` // text that someone else could have written
	Private bool `json:"private"` // text of the owner's own
}

// A Turn is one prompt and all that is done to answer it. A sub-agent's work is a turn with a Parent.
type Turn struct {
	ID      TurnID      `json:"id"`
	Session SessionID   `json:"session"`
	Owner   Owner       `json:"-"`
	Parent  TurnID      `json:"parent,omitempty"`
	Depth   int         `json:"depth,omitempty"`
	Prompt  string      `json:"prompt"`
	Options TurnOptions `json:"options"`
	Status  Status      `json:"status"`
	Answer  string      `json:"answer,omitempty"`
	Reason  string      `json:"reason,omitempty"` // why it ended as it did, a sentence for a person
	Usage   Usage       `json:"usage"`
	Created time.Time   `json:"created"`
	Started time.Time   `json:"started,omitzero"`
	Ended   time.Time   `json:"ended,omitzero"`

	// Progress is what the loop must remember of a turn across a wait or a restart.
	Progress Progress `json:"-"`
}

// TurnOptions are what a person chose for one turn. Zero fields leave it to the session and the settings.
type TurnOptions struct {
	Plan      bool   `json:"plan,omitempty"`      // look, do not change: mode plan for this turn
	Guide     bool   `json:"guide,omitempty"`     // answer in words: no tools at all
	AskFirst  bool   `json:"ask_first,omitempty"` // mode ask for this turn
	Offline   bool   `json:"offline,omitempty"`   // no tools that reach the network
	OnAsk     OnAsk  `json:"onAsk,omitempty"`     // what an ask becomes; "" is deny
	TZ        string `json:"tz,omitempty"`        // the client's time zone, as in Europe/Berlin
	MaxSteps  int    `json:"max_steps,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"`
	MaxTimeMS int64  `json:"max_time_ms,omitempty"`
	Continues TurnID `json:"continues,omitempty"` // the turn at its step limit that this one carries on
	Allow     []Rule `json:"allow,omitempty"`     // narrow rights that hold for this turn only
	Source    string `json:"source,omitempty"`    // who asked: page, cli, api

	// Attachments are the files that go with the prompt, in the order in which the model reads them.
	Attachments []AttachmentID `json:"attachments,omitempty"`
}

// Mode is the mode that holds for a turn with these options in a session of the mode m.
func (o TurnOptions) Mode(m Mode) Mode {
	switch {
	case o.Plan:
		return ModePlan
	case o.AskFirst && m != ModePlan:
		return ModeAsk
	}
	return m
}

// Progress is the loop's own memory of a turn.
type Progress struct {
	Ahead     bool     `json:"ahead,omitempty"`     // something is still looked up, and the prompt is not in the history yet
	Step      int      `json:"step"`                // model requests made
	Retries   int      `json:"retries,omitempty"`   // unreadable calls answered with a retry, in all
	Streak    int      `json:"streak,omitempty"`    // and since the last readable answer
	Nudged    bool     `json:"nudged,omitempty"`    // reminded of the live-data rule
	Thought   bool     `json:"thought,omitempty"`   // asked for the answer after a thought without one
	Announced int      `json:"announced,omitempty"` // reminded to do what it announced
	Salvage   bool     `json:"salvage,omitempty"`   // the loop guard tripped: one last round without tools
	Guard     string   `json:"guard,omitempty"`     // and why
	CutRetry  bool     `json:"cut_retry,omitempty"` // a cut-off call was sent back once
	Found     []string `json:"found,omitempty"`     // tools that a step found and the model is to be told about
	Dropped   int      `json:"dropped,omitempty"`   // calls of the last step that were beyond the cap
	LastNote  bool     `json:"last_note,omitempty"` // the note of the last step was sent
	SpentMS   int64    `json:"spent_ms,omitempty"`  // time spent running, waiting not counted
}

// Usage is what a turn has used, summed over its steps.
type Usage struct {
	Prompt     int `json:"prompt"`
	Cached     int `json:"cached"`              // of CachedOf, from the engine's cache
	CachedOf   int `json:"cached_of,omitempty"` // of Prompt, as far as engines tell what comes from their caches
	Completion int `json:"completion"`
	Steps      int `json:"steps"`
	Calls      int `json:"calls"`
}

// Status is where a turn is.
type Status string

// The states of a turn. Queued, Running and Waiting are the ones it leaves again.
const (
	Queued      Status = "queued"
	Running     Status = "running"
	Waiting     Status = "waiting" // for a person; it holds no thread
	Done        Status = "done"
	Stopped     Status = "stopped"
	StepLimit   Status = "step-limit"
	Failed      Status = "failed"
	Interrupted Status = "interrupted"
)

// Over reports whether a turn in this state has ended.
func (s Status) Over() bool {
	return s != Queued && s != Running && s != Waiting
}

// OnAsk says what becomes of a call that would need a person.
type OnAsk string

// What an ask becomes. The zero value is deny.
const (
	AskDeny OnAsk = "deny" // the call is denied, the model is told, the run goes on
	AskFail OnAsk = "fail" // the run ends
	AskWait OnAsk = "wait" // a card is opened and the turn waits
)

// An Item is one element of a session's model history, kept as it was sent. Results are named, not copied: their text
// lives once, in the call row.
type Item struct {
	Turn  TurnID   `json:"turn"`
	Role  ItemRole `json:"role"`
	Text  string   `json:"text,omitempty"`
	Calls []CallID `json:"calls,omitempty"` // of an assistant item
	Call  CallID   `json:"call,omitempty"`  // of a result item
	Keep  int      `json:"keep,omitempty"`  // compaction: characters kept of the result, or of each string in the calls; 0 is all

	// Images are the pictures that go with a prompt item. They are named, not copied: their bytes live in the attachment.
	Images []AttachmentID `json:"images,omitempty"`

	// Opaque is, of an assistant item, what the engine wants back with it, unread: signed reasoning, for one.
	Opaque string `json:"opaque,omitempty"`
}

// ItemRole says what an item is.
type ItemRole string

// The kinds of history items.
const (
	ItemPrompt    ItemRole = "prompt"    // a person's words, with what stood in front of them
	ItemAssistant ItemRole = "assistant" // the model's
	ItemResult    ItemRole = "result"    // the result of one call
	ItemNote      ItemRole = "note"      // the program's own, headed [note]
	ItemSummary   ItemRole = "summary"   // what a compaction made of older items; it stands in the system message
)
