package jackline

// A Snapshot is one file, folder or link as somebody's work found it and as that work left it: what is needed to take a change
// back, and to see whether that would overwrite what came later.
type Snapshot struct {
	// Unit is whose work it was: a turn, a person's own call, or an undo.
	Unit string `json:"-"`
	Path string `json:"path"` // from the workspace, links resolved

	Before Kept `json:"before"`
	After  Kept `json:"after"`

	// Seen says that After is how the work left it. It is false while a call runs, and stays so where a crash cut one short.
	Seen bool `json:"seen"`
}

// A Kept is what stood at a path at one moment. The zero Kept is nothing.
type Kept struct {
	Kind KeptKind `json:"kind,omitempty"`
	Mode uint32   `json:"mode,omitempty"` // permission bits
	Size int64    `json:"size,omitempty"` // bytes of a file
	ID   string   `json:"id,omitempty"`   // device, inode, size and times: two equal ones are one unchanged thing
	Sum  string   `json:"sum,omitempty"`  // SHA-256 of a file's content, in hex; "" where it was not read
	Link string   `json:"link,omitempty"` // where a link leads, as it is written
	Held bool     `json:"held,omitempty"` // the content of this Sum is kept
	Why  string   `json:"why,omitempty"`  // why it is not, in words for a person
}

// KeptKind says what stood there.
type KeptKind string

// The kinds. KeptNothing is the zero value.
const (
	KeptNothing KeptKind = ""
	KeptFile    KeptKind = "file"
	KeptFolder  KeptKind = "folder"
	KeptLink    KeptKind = "link"
	KeptOther   KeptKind = "other" // pipes, sockets, devices: nobody can make them anew

	// KeptWorkspace is no thing of its own: it stands for all of a workspace, which a command may have changed and which is
	// compared when the command has ended. Sum says with what.
	KeptWorkspace KeptKind = "workspace"
)

// Same reports whether two moments saw the same: the same thing untouched, or another one that holds the same.
func (k Kept) Same(o Kept) bool {
	if k.Kind != o.Kind {
		return false
	}
	switch k.Kind {
	case KeptNothing:
		return true
	case KeptFolder:
		return k.Mode == o.Mode
	case KeptLink:
		return k.Link == o.Link
	case KeptFile:
		return k.Mode == o.Mode && (k.Sum != "" && k.Sum == o.Sum || k.ID != "" && k.ID == o.ID)
	case KeptOther, KeptWorkspace:
	}
	return k.ID == o.ID
}

// A Content is what a file held.
type Content struct {
	Sum  string // SHA-256 in hex
	Data []byte
}

// Undoing is what an undo does to one file, or would do.
type Undoing struct {
	Path   string    `json:"path"`
	Does   string    `json:"does"`  // restore, delete, nothing
	State  UndoState `json:"state"` //
	Why    string    `json:"why,omitempty"`
	Change string    `json:"change"`          // what the turn did: create, edit, delete
	Added  int       `json:"added"`           // lines of the turn's change
	Gone   int       `json:"gone"`            //
	Patch  string    `json:"patch,omitempty"` // the turn's change, as a unified diff without file header
}

// UndoState is how far an undo of one file can come, or came.
type UndoState string

// The states.
const (
	UndoReady    UndoState = "ready"    // it can be taken back
	UndoDone     UndoState = "done"     // it was
	UndoAlready  UndoState = "already"  // it is already as it was before
	UndoConflict UndoState = "conflict" // it was changed since; only a second, explicit choice goes over that
	UndoCannot   UndoState = "cannot"   // what was there is not kept, or cannot be put back
)

// NewUndo names a new undo.
func NewUndo() string { return NewID[string](undoPrefix) }

const undoPrefix = "u_"

// Undone says that a person took changes back.
type Undone struct {
	ID    string   `json:"id"`   // by which this undo can be undone
	Unit  string   `json:"turn"` // the turn, or the undo, that was taken back
	By    string   `json:"by"`   // page, cli, api
	Force bool     `json:"force,omitempty"`
	Files []Change `json:"files"` // what changed by it
	Left  int      `json:"left"`  // files that stayed as they were, for conflicts and the like
}

// Type is the name of the event.
func (Undone) Type() string { return "undo" }
