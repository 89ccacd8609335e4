// Package redact hides secrets in text. Everything that leaves the server's sealed columns goes through it: events, live
// text, logs, crash text, errors, exports, titles, what a model reads of the world around it.
//
// What is hidden, by the names of the rules that the cases in secrets.jsonl are kept under:
//
//   - T1: what proves somebody in authorization and cookie headers.
//   - T2: the values of assignments, JSON members, markup and settings lines whose name is that of a secret ([Secret]).
//   - T3: tokens of well-known shapes, at their full length.
//   - T4: private key blocks, also cut off.
//   - T5: passwords, secret query values, login codes and webhook paths in addresses.
//   - T6: the values of command options.
//   - T7: the values that the server itself holds ([Redactor.Know]), also in base64, percent signs or hexadecimal, and with colour
//     codes inside.
//
// And what is left alone (T9): identifiers, digests, public keys and certificates, placeholders, references such as ${VAR},
// what is hidden already, ordinary words and picture data. A value is judged by how surely its name speaks of a secret: behind
// "password" anything that is no word about passwords is hidden, behind "key" only what looks drawn by lot.
//
// # One machine
//
// There is one machine, which reads forward and holds back no more than it must: see [Stream]. A whole text is a stream of one
// piece, so that the two cannot differ (T8). Each look ahead is bounded by a constant, so the time is linear. To hide a text that
// is hidden already changes nothing: the machine knows its own placeholders, and what it remembers of the text before follows from what it
// gave out.
package redact

import (
	"strings"
	"sync"
	"sync/atomic"
)

// What placeholders call what they stand for.
const (
	kindPassword = "password"
	kindToken    = "token"
	kindKey      = "key"
	kindSecret   = "secret"
	kindCookie   = "cookie"
	kindPrivate  = "private-key"
	kindCode     = "code"
	kindWebhook  = "webhook"
)

// A placeholder is opening, kind and closing, such as [hidden:token]. There is no blank in it, so that it stands in addresses and
// commands like the value that it replaces, and no sign that JSON or a shell's quotes would change.
const (
	opening = "[hidden:"
	closing = "]"

	longestPlaceholder = len(opening) + len(kindPrivate) + len(closing)
)

// placeholder is how long the placeholder is that text starts with; 0 if there is none.
func placeholder(text string) int {
	if !strings.HasPrefix(text, opening) {
		return 0
	}
	for _, k := range [...]string{kindPassword, kindToken, kindKey, kindSecret, kindCookie, kindPrivate, kindCode, kindWebhook} {
		if strings.HasPrefix(text[len(opening):], k+closing) {
			return len(opening) + len(k) + len(closing)
		}
	}
	return 0
}

// Holds reports whether a text holds a placeholder: then it is not what it was made from, and must not be written over it.
func Holds(text string) bool {
	for {
		k := strings.Index(text, opening)
		if k < 0 {
			return false
		}
		if placeholder(text[k:]) > 0 {
			return true
		}
		text = text[k+len(opening):]
	}
}

// A Redactor hides secrets. The zero value and nil know all rules and no value; it may be used from any goroutine.
type Redactor struct {
	mu    sync.Mutex
	named map[string][]string // values by what they are known as
	known atomic.Pointer[forms]
}

// LeastKnown is how many bytes a value must have to be looked for: shorter ones occur in ordinary text.
const LeastKnown = 8

// Know sets the values that are secret under a name, in place of those that were: a key that is changed or removed is no longer
// looked for. Values shorter than [LeastKnown] are not. They are kept in memory only.
func (r *Redactor) Know(name string, values ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named == nil {
		r.named = map[string][]string{}
	}
	delete(r.named, name)
	if len(values) > 0 {
		r.named[name] = append([]string(nil), values...)
	}
	r.known.Store(newForms(r.named))
}

// forms are the known values in all their forms; nil if there are none.
func (r *Redactor) forms() *forms {
	if r == nil {
		return nil
	}
	return r.known.Load()
}

// Text is a whole text with its secrets hidden. It is the same string if there are none.
func (r *Redactor) Text(text string) string {
	if f := r.forms(); f != nil {
		m := matcher{forms: f}
		text = m.feed(text, true)
	}
	s := scan{shapes: table()}
	return s.feed(text, true)
}

// A Stream hides secrets in text that comes in pieces. What it gives out, put together, is what [Redactor.Text] makes of the whole. It
// holds back what may be, or become, part of a secret: a few kilobytes at most. It is not for several goroutines at once.
type Stream struct {
	known matcher
	rules scan
}

// Stream begins a text. The values known now are those it looks for.
func (r *Redactor) Stream() *Stream {
	return &Stream{known: matcher{forms: r.forms()}, rules: scan{shapes: table()}}
}

// Feed takes the next piece and gives what can be shown by now.
func (s *Stream) Feed(piece string) string { return s.pass(piece, false) }

// Close gives what was held back. The stream may then begin another text.
func (s *Stream) Close() string {
	out := s.pass("", true)
	s.known = matcher{forms: s.known.forms}
	s.rules = scan{shapes: s.rules.shapes}
	return out
}

func (s *Stream) pass(piece string, final bool) string {
	if s.known.forms != nil {
		piece = s.known.feed(piece, final)
	}
	return s.rules.feed(piece, final)
}
