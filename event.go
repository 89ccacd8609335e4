package jackline

import (
	"bytes"
	"encoding/json"
	"time"
)

// EventVersion is the version of the event schema, as "v" in each event.
const EventVersion = 1

// An Event is one line of a session's log. ID rises without gaps within a session, Seq over the whole
// store with gaps. A transient event has neither: it is live text that a logged event will supersede, and it is
// never replayed.
type Event struct {
	V       int             `json:"v"`
	ID      int64           `json:"id,omitempty"`
	Seq     int64           `json:"seq,omitempty"`
	TS      time.Time       `json:"ts"`
	Session SessionID       `json:"session"`
	Turn    TurnID          `json:"turn,omitempty"`
	Parent  TurnID          `json:"parent,omitempty"`
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data"`
}

// A Body is what an event says. Its type is the event's.
type Body interface{ Type() string }

// NewEvent makes an event of a body, without ID and Seq, which the store gives.
func NewEvent(s SessionID, t TurnID, b Body) Event {
	data, err := json.Marshal(b)
	if err != nil {
		// Bodies are structs of plain fields; only a raw message that is not JSON can get here.
		data, _ = json.Marshal(map[string]string{"unreadable": err.Error()})
	}
	return Event{V: EventVersion, TS: time.Now().UTC(), Session: s, Turn: t, Type: b.Type(), Data: data}
}

// EventTextLimit is how many characters of a string an event holds: enough to recognise a thing by. The whole
// text lives in the call row.
const EventTextLimit = 2000

// Brief cuts s to [EventTextLimit] characters and says how many are gone.
func Brief(s string) string {
	if len(s) <= EventTextLimit {
		return s
	}
	n := 0
	for i := range s {
		if n == EventTextLimit {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// CutArgs is arguments with each of their strings made short. What is no JSON is an empty object.
func CutArgs(raw json.RawMessage, short func(string) string) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return json.RawMessage(`{}`)
	}
	var cut func(any) any
	cut = func(v any) any {
		switch v := v.(type) {
		case string:
			return short(v)
		case map[string]any:
			for k := range v {
				v[k] = cut(v[k])
			}
		case []any:
			for k := range v {
				v[k] = cut(v[k])
			}
		}
		return v
	}
	b, err := json.Marshal(cut(v))
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return b
}

// The bodies of logged events.
type (
	// TurnStart opens a turn.
	TurnStart struct {
		Prompt string `json:"prompt"`
		Mode   Mode   `json:"mode"`
		Model  string `json:"model"`
		OnAsk  OnAsk  `json:"onAsk"`

		Attachments []Attachment `json:"attachments,omitempty"` // the files that came with the prompt
	}

	// Prep says with what a turn goes to the model.
	Prep struct {
		Window   int      `json:"window"`
		Assumed  bool     `json:"assumed,omitempty"` // the window is a guess
		Budget   int      `json:"budget"`            // tokens for the request
		Tools    []string `json:"tools"`             // offered
		ToolMode string   `json:"mode"`              // native, envelope or text
		MaxSteps int      `json:"max_steps"`
	}

	// Text is a piece of the model's visible text. It supersedes the text deltas since the last one.
	Text struct {
		Text string `json:"text"`
	}

	// Thought is a piece of the model's reasoning.
	Thought struct {
		Text string `json:"text"`
	}

	// ToolCall is a call as the gate knows it, before it is judged.
	ToolCall struct {
		Call  CallID          `json:"call"`
		Name  string          `json:"name"`
		Title string          `json:"title"`
		Kind  string          `json:"kind"` // icon: read, edit, delete, move, search, execute, think, fetch, other
		Args  json.RawMessage `json:"args"` // long strings cut
		Step  int             `json:"step"`
	}

	// ToolProgress is output of a call that still runs. Transient.
	ToolProgress struct {
		Call CallID `json:"call"`
		Text string `json:"text"`
	}

	// ToolResult is the one outcome of a call.
	ToolResult struct {
		Call    CallID    `json:"call"`
		Name    string    `json:"name"`
		Outcome Outcome   `json:"outcome"`
		Text    string    `json:"text"`
		View    View      `json:"view"`
		MS      int64     `json:"ms"`
		Cut     int       `json:"cut,omitempty"`
		Label   Integrity `json:"label"`
		Cached  CallID    `json:"cached,omitempty"`
		By      string    `json:"by,omitempty"` // of a denial
	}

	// ApprovalNeeded says that a row stands on the desk. The row itself is asked for by its id.
	ApprovalNeeded struct {
		Approval ApprovalID   `json:"approval"`
		Kind     ApprovalKind `json:"kind"`
		Call     CallID       `json:"call"`
		Title    string       `json:"title"`
		Risk     string       `json:"risk"`
		Why      string       `json:"why"`
		Touches  []Touch      `json:"touches"`
		Scopes   []Scope      `json:"scopes"`
		Expires  time.Time    `json:"expires"`
	}

	// ApprovalClosed says how a row ended. Its event type is one of tool.approved, tool.denied, tool.expired
	// and tool.cancelled.
	ApprovalClosed struct {
		Approval ApprovalID    `json:"approval"`
		Call     CallID        `json:"call"`
		State    ApprovalState `json:"state"`
		Scope    Scope         `json:"scope,omitempty"`
		By       string        `json:"by,omitempty"`
		Reason   string        `json:"reason,omitempty"`
	}

	// ApprovalExtended says that a row waits longer than it said.
	ApprovalExtended struct {
		Approval ApprovalID `json:"approval"`
		Call     CallID     `json:"call"`
		Expires  time.Time  `json:"expires"`
		By       string     `json:"by,omitempty"`
	}

	// Step is one model request in readable words.
	Step struct {
		N    int    `json:"n"`
		Kind string `json:"kind"` // tool or answer
		Text string `json:"text"`
	}

	// TurnEnd closes a turn. A turn that waits, or carries on after a restart, has not ended.
	TurnEnd struct {
		Status    Status     `json:"status"`
		Answer    string     `json:"answer"`
		Reason    string     `json:"reason,omitempty"`
		ToolCalls int        `json:"tool_calls"`
		Skills    []string   `json:"skills"`
		Usage     Usage      `json:"usage"`
		Denied    []DeniedAs `json:"denied"`
		Changes   []Change   `json:"changes"`
		Error     *Problem   `json:"error,omitempty"`
	}

	// TurnStatus says that a turn moved without ending: it waits, or runs again.
	TurnStatus struct {
		Status Status `json:"status"`
	}

	// PlanUpdate is the task's plan as it stands now.
	PlanUpdate struct {
		Steps []PlanStep `json:"steps"`
	}

	// TodoUpdate is the session's list as it stands now.
	TodoUpdate struct {
		Items []PlanStep `json:"items"`
	}

	// QueueChanged lists the prompts that wait for their turn.
	QueueChanged struct {
		Turns []TurnID `json:"turns"`
	}

	// Steered is a prompt delivered into a running turn.
	Steered struct {
		Text string `json:"text"`
	}

	// LabelChanged says that the session's labels grew, or that a person switched its taint gate off or on.
	LabelChanged struct {
		Labels Labels `json:"labels"`

		Ungated bool `json:"ungated,omitempty"`

		Why string `json:"why"`
	}

	// ModeChanged says that the session's mode is another.
	ModeChanged struct {
		Mode Mode   `json:"mode"`
		By   string `json:"by"`
	}

	// PermissionsChanged is the owner's settings after a change.
	PermissionsChanged struct {
		Permissions Permissions `json:"permissions"`
	}

	// Budget says how full the model's window is.
	Budget struct {
		Window int `json:"window"`
		Used   int `json:"used"`   // tokens of the last request, measured or estimated
		Usable int `json:"usable"` // window less the reserve for the answer
		Cached int `json:"cached,omitempty"`
	}

	// Nudge says that the loop reminded the model of something.
	Nudge struct {
		Kind string `json:"kind"` // realtime, thought, announced, retry, cut, directive; model: another answers; window: the engine cuts prompts
		Text string `json:"text"`
	}

	// LoopGuard says that the loop was going nowhere.
	LoopGuard struct {
		Reason string `json:"reason"`
	}

	// Metrics are the times of one model request.
	Metrics struct {
		Step         int   `json:"step"`
		FirstMS      int64 `json:"first_ms"` // until the first chunk
		TotalMS      int64 `json:"total_ms"`
		Prompt       int   `json:"prompt"`
		Cached       *int  `json:"cached,omitempty"` // of Prompt from the engine's cache; missing where the engine does not tell
		Completion   int   `json:"completion"`
		RequestChars int   `json:"request_chars"`
		Mended       int   `json:"mended,omitempty"` // calls whose arguments were no JSON, and were repaired

		// Model is which answered, where it is not the one of turn.start.
		Model string `json:"model,omitempty"`
	}

	// ToolsStart says what is looked up before the first model request.
	ToolsStart struct {
		Calls []CallID `json:"calls"`
	}

	// ToolsDone says what came of it, and how much of it stands in front of the prompt.
	ToolsDone struct {
		Calls   []CallID  `json:"calls"`
		Skipped []Skipped `json:"skipped"`
		MS      int64     `json:"ms"`
		Chars   int       `json:"chars"`
	}

	// SearchStart and SearchDone frame a search of the web among them.
	SearchStart struct {
		Call  CallID `json:"call"`
		Title string `json:"title"`
	}
	// SearchDone says how the search ended.
	SearchDone struct {
		Call    CallID  `json:"call"`
		Outcome Outcome `json:"outcome"`
	}

	// CompactionStart and CompactionDone frame a compaction of the history.
	CompactionStart struct {
		Chars int `json:"chars"`
	}
	// CompactionDone says what it came to.
	CompactionDone struct {
		Before  int    `json:"before"`
		After   int    `json:"after"`
		Summary string `json:"summary,omitempty"`
		Kept    bool   `json:"kept"` // false: it did not shrink and was discarded
	}

	// ErrorEvent is something that went wrong and did not end the turn.
	ErrorEvent struct {
		Problem
	}

	// Killed says that the kill switch was thrown or lifted.
	Killed struct {
		On bool   `json:"on"`
		By string `json:"by"`
	}
)

// The bodies of transient events.
type (
	// TextDelta is visible text as it comes.
	TextDelta struct {
		Text string `json:"text"`
	}
	// ThoughtDelta is reasoning as it comes.
	ThoughtDelta struct {
		Text string `json:"text"`
	}
	// ToolPreview says that a call is being written. Args is its arguments so far, as the model writes them, or the
	// end of them where they are long. It is for the eye only: what is called is in ToolCall.
	ToolPreview struct {
		Name string `json:"name"`
		Args string `json:"args,omitempty"`
	}
)

// Type names of all bodies, in the order of the declarations above.
func (TurnStart) Type() string          { return "turn.start" }
func (Prep) Type() string               { return "prep" }
func (Text) Type() string               { return "text" }
func (Thought) Type() string            { return "thought" }
func (ToolCall) Type() string           { return "tool.call" }
func (ToolProgress) Type() string       { return "tool.progress" }
func (ToolResult) Type() string         { return "tool.result" }
func (ApprovalNeeded) Type() string     { return "tool.approval_needed" }
func (ApprovalExtended) Type() string   { return "tool.approval_extended" }
func (Step) Type() string               { return "step" }
func (TurnEnd) Type() string            { return "turn.end" }
func (TurnStatus) Type() string         { return "turn.status" }
func (PlanUpdate) Type() string         { return "plan.update" }
func (TodoUpdate) Type() string         { return "todo.update" }
func (QueueChanged) Type() string       { return "queue.changed" }
func (Steered) Type() string            { return "steer" }
func (LabelChanged) Type() string       { return "label" }
func (ModeChanged) Type() string        { return "mode" }
func (PermissionsChanged) Type() string { return "permissions" }
func (Budget) Type() string             { return "budget" }
func (Nudge) Type() string              { return "nudge" }
func (LoopGuard) Type() string          { return "loop.guard" }
func (Metrics) Type() string            { return "metrics" }
func (ToolsStart) Type() string         { return "tools.start" }
func (ToolsDone) Type() string          { return "tools.done" }
func (SearchStart) Type() string        { return "web_search.start" }
func (SearchDone) Type() string         { return "web_search.done" }
func (CompactionStart) Type() string    { return "compaction.start" }
func (CompactionDone) Type() string     { return "compaction.done" }
func (ErrorEvent) Type() string         { return "error" }
func (Killed) Type() string             { return "killed" }
func (TextDelta) Type() string          { return "text.delta" }
func (ThoughtDelta) Type() string       { return "thought.delta" }
func (ToolPreview) Type() string        { return "tool.preview" }

// Type follows the state: tool.approved, tool.denied, tool.expired or tool.cancelled.
func (a ApprovalClosed) Type() string {
	switch a.State {
	case Approved, Used:
		return "tool.approved"
	case Lapsed:
		return "tool.expired"
	case Withdrawn:
		return "tool.cancelled"
	case Pending, Refused:
	}
	return "tool.denied"
}

// A PlanStep is one line of a plan or a list.
type PlanStep struct {
	Text  string `json:"text" doc:"what is to be done"`
	State string `json:"state,omitempty" doc:"pending, active or done" enum:"pending,active,done"`
}

// A Change is one file that a turn changed.
type Change struct {
	Path   string `json:"path"`
	Change string `json:"change"` // create, edit, delete, move, copy
	Added  int    `json:"added"`
	Gone   int    `json:"gone"`
	Lost   string `json:"lost,omitempty"` // why it cannot be undone, in words; "" where it can
}

// DeniedAs is one call that did not run for want of permission.
type DeniedAs struct {
	Call    CallID  `json:"call"`
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Outcome Outcome `json:"outcome"` // denied, expired, cancelled
	By      string  `json:"by"`      // a person, a rule's name, not_shown
	Reason  string  `json:"reason"`
}

// Skipped is a look-up before the first model request that was not made.
type Skipped struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Why   string `json:"why"`
}

// A Problem is an error as a client sees it: its kind and its sentence.
type Problem struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// ProblemOf is err as a client sees it.
func ProblemOf(err error) *Problem { return &Problem{Kind: KindOf(err).String(), Text: Say(err)} }

// A Record is what one moment writes: events and the state that they change. A store writes all of it
// or nothing, and shows none of it before it is written.
//
// Rows are whole: a row with an ID that exists replaces it. An approval that exists is replaced only while the stored
// one is in the state From; else the whole record fails with a [Conflict], so that the first answer wins.
type Record struct {
	Session   SessionID
	Events    []Event
	Title     string     // the session's new title; "" leaves it
	Mode      *Mode      // the session's new mode
	Model     *string    // the session's new model; "" is the server's own
	Ungated   *bool      // whether the session's taint gate is off; nil leaves it
	Labels    Labels     // added to the session's, never taken away
	Turn      *Turn      // new, or replaced
	Calls     []Call     // new, or replaced
	Items     []Item     // appended to the model history of the session's generation
	Compacted []Item     // a new generation of the history, in place of the old one
	Approvals []Approval // new, or moved on
	From      ApprovalState
	Grants    []Grant
	Snapshots []Snapshot                 // new, or replaced: one for each unit and path
	State     map[string]json.RawMessage // the session's own small facts: plan, todo; null deletes

	// Audit are lines of the audit that do not follow from the rest. A record whose lines cannot be written is not written.
	Audit []AuditEntry

	// Sync makes the record survive a power cut before Append returns, not only the death of the program.
	Sync bool

	// Soon lets Append return before the record is written: for what may be done again after a crash, such as the outcome of
	// a read. It is written before any later record, and the next record of its turn fails if it could not be.
	Soon bool
}
