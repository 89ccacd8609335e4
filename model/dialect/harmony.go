package dialect

import (
	"strings"

	"github.com/jackline-ai/jackline/args"
)

// header is what gpt-oss writes in front of a message: who speaks, in which channel, to whom.
type header struct {
	channel string
	to      string // the tool that is addressed
	end     int
}

// plain reports whether the header says no more than that text follows.
func (h header) plain() bool {
	return h.to == "" && (h.channel == "final" || h.channel == "commentary" || h.channel == "")
}

// longestHeader bounds the words of a header.
const longestHeader = 200

// header reads the header at i: <|start|>assistant…<|channel|>…<|message|>, or a part of it.
func (s *scanner) header(i int) (header, bool) {
	var h header
	if s.in.At(i) != '<' || s.in.At(i+1) != '|' {
		return h, false
	}
	k := i
	started := false
	if s.in.Has(k, "<|start|>assistant") {
		started = true
		k += len("<|start|>assistant")
		h.to, k = s.recipient(k)
	}
	if next := s.in.Skip(k); s.in.Has(next, "<|channel|>") {
		k = next + len("<|channel|>")
		end := k
		for letter(s.in.At(end)) {
			end++
		}
		h.channel = s.in.Slice(k, end)
		switch h.channel {
		case "analysis", "commentary", "final":
		default:
			return h, false
		}
		k = end
		if to, next := s.recipient(k); to != "" {
			h.to, k = to, next
		}
	} else if !started {
		return h, false
	} else if h.to == "" { // the rest of the header is missing
		h.end = k
		return h, true
	}
	return s.message(h, k)
}

// recipient reads " to=NAME" at i. Tools of the engine's own are none of ours.
func (s *scanner) recipient(i int) (string, int) {
	next := s.in.Skip(i)
	if !s.in.Has(next, "to=") {
		return "", i
	}
	next += len("to=")
	end := s.name(next)
	return s.in.Slice(next, end), end
}

// message reads the end of a header: the format of the message, and the token before it.
func (s *scanner) message(h header, i int) (header, bool) {
	i = s.in.Skip(i)
	if s.in.Has(i, "<|constrain|>") {
		i = s.in.Skip(i + len("<|constrain|>"))
	}
	end := i
	for c := s.in.At(end); letter(c) && end-i < longestHeader; c = s.in.At(end) {
		end++
	}
	i = s.in.Skip(end)
	switch {
	case s.in.Has(i, "<|message|>"):
		h.end = i + len("<|message|>")
		return h, true
	case s.in.At(i) == '{' && h.to != "":
		h.end = i
		return h, true
	}
	return h, false
}

// harmony reads a message to a tool.
func harmony(s *scanner, i int) (result, bool) {
	h, ok := s.header(i)
	if !ok || h.to == "" || h.channel == "analysis" {
		return result{}, false
	}
	if !strings.HasPrefix(h.to, "functions.") && !s.known(h.to) {
		return result{}, false
	}
	return s.addressed(h.to, h.end)
}

var harmonyEnds = []string{"<|call|>", "<|end|>", "<|return|>", "<|start|>", "<|channel|>"}

// addressed reads the arguments in a message to a tool, which begins at i.
func (s *scanner) addressed(to string, i int) (result, bool) {
	closers := harmonyEnds
	w := written{name: to, given: true}
	s.announce(to, i)
	next := s.gap(i)
	if c := s.in.At(next); c == '{' || c == '[' || c == '"' {
		if found, ok := s.value(next, s.region(closers, fence{})); ok {
			w.args, w.cut = found.Value, cut(found, found.Value)
			return result{calls: []written{w}, end: s.swallow(s.between(found.End), closers[:1])}, true
		}
	}
	if end := s.oneOf(next, closers[:1]); end > 0 && s.known(to) {
		return result{calls: []written{w}, end: end}, true
	}
	return s.unusable(next, body{end: next}, closers[:3])
}

const stripped = "assistantcommentary to=functions."

// strippedHarmony reads a message to a tool whose tokens a server has taken out.
func strippedHarmony(s *scanner, i int) (result, bool) {
	start := s.oneOf(i, []string{stripped})
	if start == 0 && s.first {
		start = s.oneOf(i, []string{"commentary to=functions.", "to=functions."})
	}
	if start == 0 {
		return result{}, false
	}
	end := s.name(start)
	if end == start {
		return result{}, false
	}
	name := s.in.Slice(start, end)
	next := s.gap(end)
	for _, word := range []string{"json", "code"} {
		if s.in.Has(next, word) {
			next = s.gap(next + len(word))
			break
		}
	}
	if s.in.At(next) == '{' {
		return s.addressed(name, next)
	}
	if s.in.At(next) == args.End {
		return result{bad: true, end: next}, true
	}
	return result{}, false
}
