// Package terminal is a person in front of text: it shows the events of a turn as they come, puts cards and questions where they
// can be answered, and makes harmless whatever is written there.
package terminal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
)

// A Terminal is where a person watches and answers.
type Terminal struct {
	Out, Err    io.Writer
	Color       bool
	Interactive bool          // a person can answer
	Quiet       bool          // no progress
	Stream      bool          // the answer is shown as it comes
	Lines       <-chan string // what the person types, by [ReadLines]; nil where nobody does
}

// ReadLines reads a person's lines until in ends. The goroutine ends with in, which for a terminal is the end of the program.
func ReadLines(in io.Reader) <-chan string {
	ch := make(chan string)
	go func() {
		defer close(ch)
		sc := bufio.NewScanner(in)
		const longest = 1 << 20
		sc.Buffer(make([]byte, 0, 4096), longest)
		for sc.Scan() {
			ch <- sc.Text()
		}
	}()
	return ch
}

// Say writes progress to Err, unless the terminal is quiet.
func (t *Terminal) Say(format string, a ...any) {
	if !t.Quiet {
		fmt.Fprintf(t.Err, format, a...)
	}
}

// JSON writes v to Out, as one line.
func (t *Terminal) JSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	if err == nil {
		err = t.Raw(b.Bytes())
	}
	if err != nil {
		return &Exit{Code: ExitFailed, Err: err}
	}
	return nil
}

// Raw prints JSON on a line of its own. What could change how a terminal shows it is written as an escape, which for whoever reads JSON
// is the same.
func (t *Terminal) Raw(text []byte) error {
	var b strings.Builder
	for _, r := range string(bytes.TrimSpace(text)) {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			b.WriteRune(r)
		case r > 0xffff:
			one, two := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, one, two)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	_, err := fmt.Fprintln(t.Out, b.String())
	return err
}

// Paint wraps s in an SGR code where colour is wanted.
func (t *Terminal) Paint(code, s string) string {
	if !t.Color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Plain makes text from outside harmless to a terminal: control characters, escapes, and marks that nobody sees or that change
// the direction of writing become visible.
func Plain(s string) string {
	const joiner, nonJoiner = '\u200d', '\u200c' // emoji and some scripts cannot be written without them
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == joiner || r == nonJoiner:
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			return '�'
		}
		return r
	}, s)
}

// inset is plain text for a place of a card that is one line: further lines are marked, so that none of them passes for a line
// of the card itself.
func inset(s string) string { return strings.ReplaceAll(Bare(s), "\n", "\n  | ") }

// Bare is text on a card, where nothing may hide: what nobody sees, what turns the direction of writing, blanks that are no space, and
// letters of other scripts in a word of ASCII ones, which may imitate them, are written as their numbers.
func Bare(s string) string {
	var b strings.Builder
	word := []rune{}
	flush := func() {
		latin := slices.ContainsFunc(word, func(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) })
		for _, r := range word {
			if latin && r > unicode.MaxLatin1 && !european(r) {
				fmt.Fprintf(&b, "%c", r)
				fmt.Fprintf(&b, "\\u{%x}", r)
				continue
			}
			b.WriteRune(r)
		}
		word = word[:0]
	}
	for _, r := range s {
		if unicode.In(r, unicode.L, unicode.M, unicode.N) {
			word = append(word, r)
			continue
		}
		flush()
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r != ' ' && unicode.IsSpace(r), unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp), r == unicode.ReplacementChar:
			fmt.Fprintf(&b, "\\u{%x}", r)
		default:
			b.WriteRune(r)
		}
	}
	flush()
	return b.String()
}

// european reports whether a letter is one that European languages write among ASCII ones, and nobody takes for another.
func european(r rune) bool { return r >= 0x100 && r <= 0x17e && r != 0x131 && r != 0x138 && r != 0x149 }

// OneLine is plain text for a cell of a table.
func OneLine(s string) string { return strings.NewReplacer("\n", " ", "\t", " ").Replace(Plain(s)) }

// Sentence is what a person may be told about an error of the client, fit for a terminal.
func Sentence(err error) string {
	var p *client.Problem
	if errors.As(err, &p) {
		return Plain(p.Detail)
	}
	return Plain(jackline.Say(err))
}

// event shows one event of the watched turn. Its text is shown by the watch.
func (t *Terminal) event(ev jackline.Event) {
	get := func(v any) bool { return json.Unmarshal(ev.Data, v) == nil }
	switch ev.Type {
	case "prep":
		var b jackline.Prep
		if get(&b) && b.Assumed {
			t.Say("%s\n", t.Paint("2", fmt.Sprintf("  window unknown, taken to be %d tokens", b.Window)))
		}
	case "tool.result":
		var b jackline.ToolResult
		if get(&b) {
			t.result(b)
		}
	case "tool.call":
		var b jackline.ToolCall
		if get(&b) {
			if t.Stream {
				t.Say("\n")
			}
			t.Say("  %s %s\n", t.Paint("36", "›"), Plain(b.Title))
		}
	case "nudge":
		var b jackline.Nudge
		if get(&b) {
			t.Say("%s\n", t.Paint("2", "  ("+Plain(b.Text)+")"))
		}
	case "tools.done":
		var b jackline.ToolsDone
		if get(&b) {
			for _, s := range b.Skipped {
				t.Say("%s\n", t.Paint("2", "  (not looked up: "+inset(s.Title+". "+s.Why)+")"))
			}
		}
	case "loop.guard":
		var b jackline.LoopGuard
		if get(&b) {
			t.Say("%s\n", t.Paint("33", "  "+Plain(b.Reason)))
		}
	case "compaction.done":
		t.Say("%s\n", t.Paint("2", "  (older parts of the conversation were summed up to make room)"))
	case "plan.update":
		var b jackline.PlanUpdate
		if get(&b) {
			for _, s := range b.Steps {
				mark := map[string]string{"done": "x", "active": ">"}[s.State]
				if mark == "" {
					mark = " "
				}
				t.Say("    [%s] %s\n", mark, Plain(s.Text))
			}
		}
	}
}

func (t *Terminal) result(b jackline.ToolResult) {
	word := b.Outcome.String()
	code := "32"
	switch b.Outcome {
	case jackline.OK:
	case jackline.Errored, jackline.Denied, jackline.Unknown:
		code = "31"
	case jackline.Expired, jackline.Cancelled:
		code = "33"
	}
	detail := ""
	if b.Outcome != jackline.OK {
		detail = ": " + firstLine(b.Text)
	} else if b.View.Shape == jackline.ViewDiff {
		for _, f := range b.View.Files {
			detail += fmt.Sprintf("  %s +%d -%d", f.Path, f.Added, f.Gone)
		}
	}
	t.Say("    %s%s %s\n", t.Paint(code, word), Plain(detail), t.Paint("2", (time.Duration(b.MS)*time.Millisecond).String()))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	const longest = 200
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	return s
}

// Finish shows what is missing of the answer of a turn that was watched to its end: it may have begun before.
func (t *Terminal) Finish(w Watched) {
	answer, said := strings.TrimSpace(w.End.Answer), strings.TrimSpace(w.Said)
	if rest, ok := strings.CutPrefix(answer, said); ok {
		fmt.Fprint(t.Out, Plain(rest))
	} else if head, ok := strings.CutSuffix(answer, said); ok {
		fmt.Fprintln(t.Out)
		t.Say("%s\n", t.Paint("2", "  (before that: "+Plain(head)+")"))
		return
	}
	fmt.Fprintln(t.Out)
}
