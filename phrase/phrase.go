// Package phrase finds phrases in what people and models write.
//
// A phrase is a regular expression that is compiled when the first text comes that may hold it. There are some dozens, and
// most of them are never needed: a program that is started for one question must not pay for all.
package phrase

import (
	"regexp"
	"strings"
	"sync"
)

// A Phrase is a pattern. Its methods are those of [regexp.Regexp] with the same names. It is safe for several goroutines.
type Phrase struct {
	compile func() *regexp.Regexp
	holds   []string
}

// New makes a phrase of a regular expression. One that cannot be compiled panics at its first use.
//
// Each text that matches holds at least one of the words in holds, whatever its case; they are written in lower case. A text
// that holds none is answered at a glance. Without words every text is looked at.
func New(expr string, holds ...string) *Phrase {
	return &Phrase{compile: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) }), holds: holds}
}

// in is the compiled pattern, or nil where s cannot match.
func (p *Phrase) in(s string) *regexp.Regexp {
	if len(p.holds) == 0 {
		return p.compile()
	}
	lower := strings.ToLower(s)
	for _, word := range p.holds {
		if strings.Contains(lower, word) {
			return p.compile()
		}
	}
	return nil
}

// MatchString reports whether s holds the phrase.
func (p *Phrase) MatchString(s string) bool {
	re := p.in(s)
	return re != nil && re.MatchString(s)
}

// FindStringSubmatch gives the first match and its groups, or nil.
func (p *Phrase) FindStringSubmatch(s string) []string {
	if re := p.in(s); re != nil {
		return re.FindStringSubmatch(s)
	}
	return nil
}

// FindAllString gives the first n matches, all of them where n is negative.
func (p *Phrase) FindAllString(s string, n int) []string {
	if re := p.in(s); re != nil {
		return re.FindAllString(s, n)
	}
	return nil
}

// FindString gives the first match, or "".
func (p *Phrase) FindString(s string) string {
	if re := p.in(s); re != nil {
		return re.FindString(s)
	}
	return ""
}

// FindStringSubmatchIndex gives where the first match and its groups stand, or nil.
func (p *Phrase) FindStringSubmatchIndex(s string) []int {
	if re := p.in(s); re != nil {
		return re.FindStringSubmatchIndex(s)
	}
	return nil
}

// FindAllStringSubmatch gives the first n matches with their groups, all of them where n is negative.
func (p *Phrase) FindAllStringSubmatch(s string, n int) [][]string {
	if re := p.in(s); re != nil {
		return re.FindAllStringSubmatch(s, n)
	}
	return nil
}

// FindAllStringSubmatchIndex gives where the first n matches and their groups stand, all of them where n is negative.
func (p *Phrase) FindAllStringSubmatchIndex(s string, n int) [][]int {
	if re := p.in(s); re != nil {
		return re.FindAllStringSubmatchIndex(s, n)
	}
	return nil
}

// ReplaceAllString puts repl, in which $1 is the first group, in the place of each match.
func (p *Phrase) ReplaceAllString(s, repl string) string {
	if re := p.in(s); re != nil {
		return re.ReplaceAllString(s, repl)
	}
	return s
}

// SubexpIndex is the number of a named group.
func (p *Phrase) SubexpIndex(name string) int { return p.compile().SubexpIndex(name) }
