package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/jackline-ai/jackline/shell/source"
)

// Split takes a command apart into its simple commands, in the order in which they stand, and each of these into
// its words. It is ok only where there is nothing but simple commands, joined by &&, ||, |, ; and line ends: no
// assignment, no group, loop, condition, function or background job, no redirection but one that throws output away
// or joins the two streams. A substitution within a word makes the word unknown.
func Split(command string) (parts [][]Word, ok bool) {
	file, why := source.Parse(command)
	if why != "" {
		return nil, false
	}
	s := splitter{pipes: true, redirections: true}
	for _, stmt := range file.Stmts {
		if !s.stmt(stmt) {
			return nil, false
		}
	}
	return s.parts, true
}

// A splitter collects simple commands. It knows how much it may let through.
type splitter struct {
	pipes        bool
	redirections bool
	parts        [][]Word
}

func (s *splitter) stmt(st *syntax.Stmt) bool {
	if st.Negated || st.Background || st.Coprocess || st.Disown {
		return false
	}
	for _, r := range st.Redirs {
		if !s.redirections || !harmless(r) {
			return false
		}
	}
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt && (c.Op != syntax.Pipe || !s.pipes) {
			return false
		}
		return s.stmt(c.X) && s.stmt(c.Y)
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 || len(c.Args) == 0 {
			return false
		}
		words := make([]Word, 0, len(c.Args))
		for _, w := range c.Args {
			words = append(words, resolve(w))
		}
		s.parts = append(s.parts, words)
		return true
	}
	return false
}

// harmless reports whether a redirection only throws output away or joins the two output streams.
func harmless(r *syntax.Redirect) bool {
	if r.Hdoc != nil || r.Word == nil {
		return false
	}
	if r.N != nil && r.N.Value != "1" && r.N.Value != "2" {
		return false
	}
	to := resolve(r.Word)
	if !to.Known {
		return false
	}
	if r.Op == syntax.DplOut {
		return to.Text == "1" || to.Text == "2"
	}
	out := []syntax.RedirOperator{syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll}
	return to.Text == "/dev/null" && slices.Contains(out, r.Op)
}

// resolve is the value of a word as far as the text determines it: quotes and backslashes are removed, and whatever
// the shell would expand makes it unknown.
func resolve(w *syntax.Word) Word {
	var v source.Literal
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			v.Bare(p.Value)
		case *syntax.SglQuoted:
			v.Open = v.Open || p.Dollar
			v.Text.WriteString(p.Value)
		case *syntax.DblQuoted:
			v.Open = v.Open || p.Dollar
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok {
					return Word{}
				}
				v.Within(lit.Value)
			}
		default:
			return Word{}
		}
	}
	if v.Open || v.Brace && v.List {
		return Word{}
	}
	return Word{Text: v.Text.String(), Known: true}
}
