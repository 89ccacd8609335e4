package jackline

import (
	"strings"
	"time"
)

// An Attachment is a file that a person gave to a chat. What it is was read off its bytes, never off its name. It belongs to its
// session, and goes with it.
type Attachment struct {
	ID      AttachmentID `json:"id"`
	Session SessionID    `json:"session"`
	Name    string       `json:"name"`           // as a person sees it: one line, no path; it names no file of ours
	Type    string       `json:"type"`           // media type, as in image/png, text/plain, application/pdf
	Size    int          `json:"size"`           // bytes
	Chars   int          `json:"chars"`          // characters of the text that was read out of it; 0 for an image
	Note    string       `json:"note,omitempty"` // what of the file is not in the text, a sentence
	Created time.Time    `json:"created"`
}

// attachmentRef begins a reference to an attachment.
const attachmentRef = "attachment:"

// Ref is how text names the attachment: attachment:ID. It stays the same as long as the attachment is there.
func (id AttachmentID) Ref() string { return attachmentRef + string(id) }

// AttachmentOf reads a reference.
func AttachmentOf(ref string) (AttachmentID, bool) {
	id, ok := strings.CutPrefix(ref, attachmentRef)
	return AttachmentID(id), ok && id != ""
}

// Image reports whether the attachment is a picture, which models see rather than read.
func (a Attachment) Image() bool { return strings.HasPrefix(a.Type, "image/") }
