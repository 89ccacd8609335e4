package jackline

import (
	"encoding/json"
	"time"
)

// An AuditEntry is one line of the audit: who decided what about which call, by which rule, and how it ended. It names
// things by their ids and never by what is in them: no argument, path, host, title or word of a person stands in it. What was
// asked for is there as a digest that only the holder of the store's key can make, so that a text can be compared with it and
// not be guessed from it.
//
// A store writes the lines of a [Record] together with the record, in one chain over all owners, and gives each its number.
// Most lines follow from the rest of the record; see package store.
type AuditEntry struct {
	N       int64     `json:"n"` // its place in the chain, from 1, without gaps
	At      time.Time `json:"at"`
	Owner   Owner     `json:"owner"`
	Kind    AuditKind `json:"kind"`
	Session SessionID `json:"session,omitempty"`
	Turn    TurnID    `json:"turn,omitempty"`
	Call    CallID    `json:"call,omitempty"`
	Tool    string    `json:"tool,omitempty"`   // its name; "(unknown)" where a model asked for none that there is
	Source  Source    `json:"source,omitempty"` // what made the call
	By      string    `json:"by,omitempty"`     // who answered or changed something: page, cli, api, or who denied a call

	Verdict  string     `json:"verdict,omitempty"` // allow, ask, deny
	Rule     string     `json:"rule,omitempty"`    // that decided
	Stage    string     `json:"stage,omitempty"`   // of the gate, where it was decided
	Approval ApprovalID `json:"approval,omitempty"`
	Grant    GrantID    `json:"grant,omitempty"`
	Scope    Scope      `json:"scope,omitempty"`
	Outcome  string     `json:"outcome,omitempty"` // of a call that ended
	What     string     `json:"what,omitempty"`    // which setting or switch, to what mode, or what an undo takes back: a name of the program's own

	MS      int64        `json:"ms,omitempty"`        // how long the call ran
	In      int64        `json:"bytes_in,omitempty"`  // of its arguments
	Out     int64        `json:"bytes_out,omitempty"` // of its result
	Labels  Labels       `json:"labels"`              // the session's
	Sandbox SandboxLevel `json:"sandbox"`             // what held its processes

	Args  string `json:"args,omitempty"`  // keyed digest of the canonical arguments, or of the value of a setting, in hex
	Chain string `json:"chain,omitempty"` // keyed digest of all rulings on the call, in hex

	Prev string `json:"prev,omitempty"` // the MAC of the line before, in hex
	MAC  string `json:"mac,omitempty"`  // over the line before and this one, in hex

	// What the digests are of. The store digests it and keeps nothing else of it.
	Value   json.RawMessage `json:"-"`
	Rulings []Ruling        `json:"-"`
}

// AuditKind says what a line of the audit is about.
type AuditKind string

// The kinds of lines. A read that changes nothing has one line, decision and outcome together; a call that may act has one
// before it begins and one after it ended.
const (
	AuditRan     AuditKind = "call.ran"
	AuditStarted AuditKind = "call.started"
	AuditEnded   AuditKind = "call.ended"
	AuditRefused AuditKind = "call.refused" // it did not run: denied, or not fit to run

	AuditAsked     AuditKind = "approval.opened"
	AuditApproved  AuditKind = "approval.approved"
	AuditDenied    AuditKind = "approval.denied"
	AuditLapsed    AuditKind = "approval.expired"
	AuditWithdrawn AuditKind = "approval.cancelled"
	AuditUsed      AuditKind = "approval.used"

	AuditGranted AuditKind = "grant.made"
	AuditRevoked AuditKind = "grant.revoked"

	AuditUndoing AuditKind = "undo.started" // a person takes back what a turn, a call or an undo did to files
	AuditUndone  AuditKind = "undo.ended"

	AuditSession AuditKind = "session.created"
	AuditMode    AuditKind = "session.mode"
	AuditTaint   AuditKind = "session.taint-gate" // a person switched it on or off
	AuditDeleted AuditKind = "session.deleted"
	AuditSetting AuditKind = "setting.changed"
	AuditFlagOn  AuditKind = "switch.on" // a switch of the whole store, such as the kill switch
	AuditFlagOff AuditKind = "switch.off"
	AuditToken   AuditKind = "token.made"
	AuditLogin   AuditKind = "login"
	AuditFault   AuditKind = "audit.fault" // what did not fit when the chain was sealed
)

// A Ruling is one word that was said on a call, as it was when it was said: at which stage of the gate, by which rule.
type Ruling struct {
	Stage string `json:"stage"`
	Decision
}

// An AuditQuery says which lines of the audit to read. Zero fields let everything through.
type AuditQuery struct {
	// Everybody reads the lines of all owners: for an administrator.
	Everybody bool

	Session SessionID
	Call    CallID
	Tool    string
	Kind    AuditKind
	Verdict string
	Since   time.Time // from this moment on
	Until   time.Time // before this moment
	After   int64     // lines behind this one
	Before  int64     // lines before this one; 0 is from the end
	Oldest  bool      // the oldest first, else the newest
	Limit   int       // at most; 0 is the most that a read gives
}

// An AuditReport is what a look at the chain found.
type AuditReport struct {
	OK      bool      `json:"ok"`             // every line that was looked at is as it was written, and none is missing
	Full    bool      `json:"full"`           // all lines were looked at, not only the last ones
	Keyed   bool      `json:"keyed"`          // the lines themselves were checked, for which the key is needed
	Gaps    bool      `json:"gaps,omitempty"` // lines were left out because nobody asked for them, so that none can be found missing
	Checked int64     `json:"checked"`        // lines
	First   int64     `json:"first"`          // the first and the last line that were looked at; 0 is none
	Last    int64     `json:"last"`
	Head    int64     `json:"head"`               // the line that the sealed head names; 0 is none
	Sealed  time.Time `json:"sealed,omitzero"`    // when it was sealed
	Since   int64     `json:"unsealed,omitempty"` // lines behind the head, which only the chain holds

	Faults []AuditProblem `json:"faults"` // what is wrong, the first ones
	Noted  []AuditEntry   `json:"noted"`  // faults that were found, and written down, while the program ran
	More   int            `json:"more,omitempty"`
}

// An AuditProblem is one thing that does not fit.
type AuditProblem struct {
	N    int64      `json:"n"` // of the line
	Kind AuditBreak `json:"kind"`
	Text string     `json:"text"` // a sentence for a person
}

// AuditBreak names what was done to a chain.
type AuditBreak string

// What can be wrong with a chain.
const (
	BreakAltered AuditBreak = "altered"  // a line is not as it was written
	BreakMissing AuditBreak = "missing"  // lines are missing in the middle
	BreakCut     AuditBreak = "cut"      // the last lines are missing: the head names a later one
	BreakHead    AuditBreak = "head"     // the head is not one that the program sealed
	BreakOldHead AuditBreak = "old-head" // an earlier head was put back
	BreakNoHead  AuditBreak = "no-head"  // the head is gone
	BreakUnread  AuditBreak = "unread"   // a line of an export is none
	BreakNoChain AuditBreak = "no-chain" // the head names a line of another chain
)
