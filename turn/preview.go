package turn

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/redact"
)

const (
	// previewMost is how many bytes of a call's arguments are shown while it is written: some screens of a terminal, and
	// little enough to be sent again and again. Of longer ones it is the end, which is what grows.
	previewMost = 2000

	// previewEvery is how often they are shown anew: as often as an eye can follow, whatever the speed of the model.
	previewEvery = 100 * time.Millisecond

	// previewBegins is how many beginnings of an answer are shown at once, more than a step has calls. One that goes to and fro
	// between two calls begins one with every piece.
	previewBegins = 50
)

// A preview is the call that is being written, as far as it is shown.
type preview struct {
	hider  *redact.Redactor
	pieces *redact.Stream // hides secrets in the arguments

	name  string
	args  string
	total int       // bytes of the arguments so far
	told  int       // how many there were when they were shown last
	at    time.Time // when that was, or when another call's were
	begun int       // beginnings in this answer
}

// take adds news of a call and reports whether it is time to show it. The beginning is shown at once, and so is what has
// doubled since: short arguments are seen even where they are written within a moment.
func (p *preview) take(news model.Preview, now time.Time) bool {
	if news.Args == "" || news.Name != p.name {
		*p = preview{hider: p.hider, pieces: p.hider.Stream(), name: news.Name, at: p.at, begun: p.begun + 1}
	}
	p.total += len(news.Args)
	p.args += p.pieces.Feed(news.Args)
	if over := len(p.args) - previewMost; over > previewMost { // not for each token
		p.args = p.args[over:]
	}
	grown := p.total == 0 || p.total >= 2*p.told
	if now.Sub(p.at) < previewEvery && (!grown || p.begun > previewBegins) {
		return false
	}
	p.at = now
	return true
}

// event is what is shown. What was not yet is then no longer waiting.
func (p *preview) event() jackline.ToolPreview {
	p.told = p.total
	tail := p.args
	if over := len(tail) - previewMost; over > 0 {
		for tail = tail[over:]; tail != "" && !utf8.RuneStart(tail[0]); {
			tail = tail[1:]
		}
	}
	return jackline.ToolPreview{Name: seemly(brief(p.name)), Args: seemly(tail)}
}

// rest is what is still to be shown once a call is whole; ok is false if that is nothing.
func (p *preview) rest() (b jackline.ToolPreview, ok bool) {
	if p.name == "" || p.told == p.total {
		return b, false
	}
	p.args += p.pieces.Close()
	return p.event(), true
}

// brief cuts a name that a model made up.
func brief(name string) string {
	if len(name) > longestName {
		return strings.ToValidUTF8(name[:longestName], "") + "…"
	}
	return name
}

// seemly leaves out what could move, hide or turn round the text around it.
func seemly(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}
