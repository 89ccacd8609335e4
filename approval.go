package jackline

import (
	"encoding/json"
	"time"
)

// An Approval is a question to a person about one exact call, or a question the model asks through a tool. It is a
// stored row: it survives a restart and can be answered from anywhere, once.
//
// The seal binds it to owner, session, turn, tool, arguments, touches and expiry. What the card shows is the sealed
// intent, and what runs is what was sealed; an answer to anything else is void.
type Approval struct {
	ID      ApprovalID   `json:"id"`
	Kind    ApprovalKind `json:"kind"`
	Owner   Owner        `json:"-"`
	Session SessionID    `json:"session"`
	Turn    TurnID       `json:"turn,omitempty"`
	Step    int          `json:"step"`
	Call    CallID       `json:"call"`

	Tool    string          `json:"tool"`
	Digest  string          `json:"-"`
	Title   string          `json:"title"`
	Args    json.RawMessage `json:"args"`
	Effect  Effect          `json:"effects"`
	Touches []Touch         `json:"touches"`
	Labels  Labels          `json:"labels"`
	Sandbox Sandbox         `json:"sandbox"`
	Facts   []Fact          `json:"-"`    // the files that it names, as they were when it was asked
	View    View            `json:"view"` // the diff or command that the card shows

	Risk    string     `json:"risk"` // high, medium, low
	Why     string     `json:"why"`  // the rule's reason
	Rule    string     `json:"rule"`
	Scopes  []Scope    `json:"scopes"`            // what may be answered besides no
	Covers  string     `json:"covers,omitempty"`  // what a task or chat grant would cover, in words
	Pattern string     `json:"pattern,omitempty"` // and as a pattern
	Folder  string     `json:"folder"`            // where it runs: the workspace
	Mode    Mode       `json:"mode"`              // the session's when it was asked: a grant holds in no stricter one
	Undo    string     `json:"undo,omitempty"`    // what can be taken back
	Ask     []Question `json:"questions,omitempty"`

	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Seal    []byte    `json:"-"`

	State  ApprovalState `json:"state"`
	Answer Answer        `json:"answer,omitzero"`
}

// ApprovalKind tells the rows of the desk apart.
type ApprovalKind string

// The kinds of rows.
const (
	KindCall     ApprovalKind = "call"
	KindQuestion ApprovalKind = "question"
)

// ApprovalState is where a row is. Pending is the only state that an answer may leave.
type ApprovalState string

// The states of a row.
const (
	Pending   ApprovalState = "pending"
	Approved  ApprovalState = "approved" // not used yet
	Refused   ApprovalState = "denied"
	Lapsed    ApprovalState = "expired"
	Withdrawn ApprovalState = "cancelled"
	Used      ApprovalState = "used"
)

// An ApprovalFilter says which rows of an owner to read. Zero fields let everything through.
type ApprovalFilter struct {
	Session SessionID
	Turn    TurnID
	Call    CallID
	States  []ApprovalState
}

// Scope is how far a yes reaches.
type Scope string

// The scopes, narrowest first.
const (
	Once Scope = "once" // this sealed call
	Task Scope = "task" // this turn, the same pattern
	Chat Scope = "chat" // this session, the same pattern

	// Lasting is every chat in this workspace from now on: a rule among the owner's rules, which can be seen and taken out there.
	Lasting Scope = "workspace"
)

// An Answer is what a person said to an approval.
type Answer struct {
	Yes     bool            `json:"yes"`
	Scope   Scope           `json:"scope,omitempty"`
	Reason  string          `json:"reason,omitempty"`  // deny and say why
	Args    json.RawMessage `json:"args,omitempty"`    // edit then allow
	Pattern string          `json:"pattern,omitempty"` // with a scope beyond once: what it covers, where a person changed that
	Answers [][]string      `json:"answers,omitempty"` // of a question row: one list a question
	By      string          `json:"by,omitempty"`      // page, cli, api
	At      time.Time       `json:"at,omitzero"`
}

// A Question is one thing the model wants to know from a person. Free text is always allowed.
type Question struct {
	Text    string   `json:"text" doc:"the question"`
	Options []string `json:"options,omitempty" doc:"answers to choose from"`
	Many    bool     `json:"many,omitempty" doc:"several may be chosen"`
}

// A Card is what an approval shows besides its intent.
type Card struct {
	View      View
	Questions []Question // it is a question row where there are any
}

// A Grant is a standing permission that an answer left.
type Grant struct {
	ID       GrantID    `json:"id"`
	Owner    Owner      `json:"-"`
	Session  SessionID  `json:"session"`
	Turn     TurnID     `json:"turn,omitempty"` // set for a task grant
	Scope    Scope      `json:"scope"`
	Tool     string     `json:"tool"`
	Kind     GrantKind  `json:"kind"`
	Value    string     `json:"value"` // a folder, a command, a host, or canonical arguments
	Mode     Mode       `json:"mode"`  // the session's when it was given; a stricter one ignores it
	Approval ApprovalID `json:"approval"`
	Terms    string     `json:"-"` // a keyed digest of under what it was given: the sandbox, and what the command touches
	Created  time.Time  `json:"created"`
	Revoked  time.Time  `json:"revoked,omitzero"`
}

// GrantKind is what a grant's value is compared with.
type GrantKind string

// The kinds of grants.
const (
	GrantFolder  GrantKind = "folder"  // writes in this folder itself
	GrantCommand GrantKind = "command" // this exact command
	GrantHost    GrantKind = "host"    // reads from this host
	GrantExact   GrantKind = "exact"   // these exact arguments
	GrantPattern GrantKind = "pattern" // what fits this pattern of a rule, which a person wrote
)

// Permissions are the owner's standing settings.
type Permissions struct {
	Mode            Mode     `json:"mode"`
	Toggles         Toggles  `json:"toggles"`
	Rules           []Rule   `json:"rules"`
	WorkspaceRoot   string   `json:"workspaceRoot"`
	ApprovalTimeout int      `json:"approvalTimeout"` // seconds
	OnAsk           OnAsk    `json:"onAsk"`
	Disabled        []string `json:"tools.disabled"` // names and globs
}

// AgentSettings are the owner's standing settings of the loop. Zero means the default.
type AgentSettings struct {
	MaxSteps     int    `json:"maxSteps"`
	CallsPerStep int    `json:"callsPerStep"`
	History      int    `json:"history"`
	Prefetch     bool   `json:"prefetch"`
	Persona      string `json:"persona"`
	MaxTokens    int    `json:"maxTokens"`
	MaxTime      int    `json:"maxTime"` // seconds
}
