package script

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
)

// Parse reads a transcript. The name is what errors call it, usually the file's. Errors have kind invalid
// and name the line.
func Parse(name string, text []byte) (*Script, error) {
	if !utf8.Valid(text) {
		return nil, jackline.E("script.Parse", jackline.Invalid, nil, "The script %s is not UTF-8 text.", name)
	}
	p := parser{s: &Script{name: name}}
	all := strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n")
	for line := range strings.SplitSeq(all, "\n") {
		p.n++
		if err := p.line(line); err != nil {
			return nil, p.fail(p.n, err)
		}
	}
	if p.raw > 0 {
		return nil, p.fail(p.raw, fmt.Errorf(`"--- raw" has no "--- end"`))
	}
	p.flush()
	if p.block == nil {
		return nil, jackline.E("script.Parse", jackline.Invalid, nil,
			"The script %s has no answer: a block begins with a line \"===\".", name)
	}
	p.close()
	return p.s, nil
}

// A parser reads line by line: what a line means depends on the block and the stretch it stands in.
type parser struct {
	s *Script
	n int // of the line being read, from 1

	block *Answer
	kind  blockKind

	lines   []string // the stretch being read
	thought bool     // it is reasoning
	raw     int      // the line of the "--- raw" that is open, or 0
	pieces  int
}

type blockKind int

const (
	mainBlock blockKind = iota
	restBlock
	sideBlock
)

func (p *parser) fail(line int, err error) error {
	return jackline.E("script.Parse", jackline.Invalid, nil, "%s:%d: %s.", p.s.name, line, err)
}

func (p *parser) line(line string) error {
	if p.raw > 0 {
		if strings.TrimRight(line, " \t") == "--- end" {
			p.endRaw()
			return nil
		}
		p.lines = append(p.lines, line)
		return nil
	}
	trimmed := strings.TrimRight(line, " \t")
	switch {
	case trimmed == "===" || strings.HasPrefix(trimmed, "=== "):
		p.flush()
		p.close()
		return p.open(strings.TrimSpace(trimmed[3:]))
	case p.block == nil:
		if trimmed == "" || trimmed == "#" || strings.HasPrefix(trimmed, "# ") {
			return nil
		}
		return fmt.Errorf(`text before the first block: a block begins with a line "==="`)
	case strings.HasPrefix(trimmed, "--- "):
		word, rest, _ := strings.Cut(strings.TrimSpace(trimmed[4:]), " ")
		return p.directive(word, strings.TrimSpace(rest))
	}
	p.lines = append(p.lines, line)
	return nil
}

func (p *parser) open(head string) error {
	p.block, p.kind, p.thought, p.pieces = &Answer{line: p.n}, mainBlock, false, 0
	switch head {
	case "side":
		p.kind = sideBlock
		return nil
	case "*":
		if p.s.rest != nil {
			return fmt.Errorf(`a second "=== *"`)
		}
		p.kind = restBlock
		return nil
	}
	if p.s.rest != nil {
		return fmt.Errorf(`a main block after "=== *", which answers everything from there on`)
	}
	want := len(p.s.main) + 1
	if head == "" {
		return nil
	}
	n, err := strconv.Atoi(head)
	if err != nil {
		return fmt.Errorf(`"=== %s" is no block: use "===", "=== %d", "=== side" or "=== *"`, head, want)
	}
	if n != want {
		return fmt.Errorf("block %d stands where block %d belongs", n, want)
	}
	return nil
}

// close files the block that is open.
func (p *parser) close() {
	if p.block == nil {
		return
	}
	switch p.kind {
	case sideBlock:
		p.s.side = append(p.s.side, *p.block)
	case restBlock:
		p.s.rest = p.block
	case mainBlock:
		p.s.main = append(p.s.main, *p.block)
	}
	p.block = nil
}

// flush ends the stretch of text or thought that is being read.
func (p *parser) flush() {
	lines := p.lines
	p.lines = nil
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 || p.block == nil {
		return
	}
	p.say(strings.Join(lines, "\n"), p.thought)
}

func (p *parser) endRaw() {
	p.say(strings.Join(p.lines, "\n"), false)
	p.lines, p.raw = nil, 0
}

func (p *parser) say(text string, thought bool) {
	if text == "" {
		return
	}
	p.add(part{text: text, thought: thought})
}

func (p *parser) add(what part) {
	what.pieces = p.pieces
	p.block.parts = append(p.block.parts, what)
}

func (p *parser) directive(word, rest string) error {
	p.flush()
	b := p.block
	switch word {
	case "thought", "text", "raw", "cut", "wait", "end":
		if rest != "" {
			return fmt.Errorf(`"--- %s" stands alone on its line`, word)
		}
	default:
		if rest == "" {
			return fmt.Errorf(`"--- %s" needs something behind it, or is no directive`, word)
		}
	}
	switch word {
	case "thought", "text":
		p.thought = word == "thought"
		return nil
	case "raw":
		p.raw = p.n
		return nil
	case "end":
		return fmt.Errorf(`"--- end" without "--- raw"`)
	case "cut":
		p.add(part{step: Step{Cut: true}})
		return nil
	case "wait":
		p.add(part{step: Step{Wait: true}})
		return nil
	case "expect", "refuse":
		b.checks = append(b.checks, check{line: p.n, text: rest, refuse: word == "refuse"})
		return nil
	}
	return p.valued(word, rest)
}

// valued reads the directives that carry a value of their own.
func (p *parser) valued(word, rest string) error {
	b := p.block
	switch word {
	case "call", "garbled":
		return p.call(word, rest)
	case "pieces":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 {
			return fmt.Errorf(`"--- pieces" takes a number of bytes from 1`)
		}
		p.pieces = n
	case "usage":
		u, err := usage(strings.Fields(rest))
		if err != nil {
			return err
		}
		p.add(part{step: Step{Usage: u}})
	case "finish":
		f := model.Finish(rest)
		if !slices.Contains([]model.Finish{model.Stop, model.Length, model.Calls}, f) {
			return fmt.Errorf(`"--- finish" takes stop, length or tool_calls`)
		}
		b.finish = f
	case "error":
		status, text, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(status)
		if err != nil || n < 400 || n > 599 {
			return fmt.Errorf(`"--- error" takes a status from 400 to 599 and a text`)
		}
		if text == "" {
			text = http.StatusText(n)
		}
		p.add(part{step: Step{Fail: &Failure{Status: n, Text: strings.TrimSpace(text)}}})
	default:
		return fmt.Errorf(`"--- %s" is no directive`, word)
	}
	return nil
}

func (p *parser) call(word, rest string) error {
	name, args, _ := strings.Cut(rest, " ")
	args = strings.TrimSpace(args)
	if word == "garbled" {
		p.add(part{step: Step{Garbled: &Garble{Name: name, Args: args}}})
		return nil
	}
	if args == "" {
		args = "{}"
	}
	object, ok := canonical(args)
	if !ok {
		return fmt.Errorf("the arguments of %s are not one JSON object on this line", name)
	}
	p.add(part{written: args, step: Step{Call: &model.Call{Name: name, Args: object}}})
	return nil
}

func usage(fields []string) (*model.Usage, error) {
	if len(fields) != 2 && len(fields) != 3 {
		return nil, fmt.Errorf(`"--- usage" takes two or three numbers: prompt, completion, cached`)
	}
	var n [3]int
	for i, f := range fields {
		v, err := strconv.Atoi(f)
		if err != nil || v < 0 {
			return nil, fmt.Errorf(`"--- usage" takes numbers from 0: %q is none`, f)
		}
		n[i] = v
	}
	return &model.Usage{Prompt: n[0], Completion: n[1], Cached: n[2], CacheTold: len(fields) == 3}, nil
}
