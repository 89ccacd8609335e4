package tool

import (
	"fmt"
	"iter"
	"strings"
	"sync"
	"unicode"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/retrieve"
)

// A Set is the tools that exist for somebody: a fixed list in which no two answer to one name.
type Set struct {
	tools []Tool
	names map[string]int // folded names and aliases → index

	docs    func() []retrieve.Doc // of the tools, in their order; made when somebody searches for the first time
	indexes *retrieve.Cache
}

// NewSet makes a set. A name or alias that is taken twice is an error, and so is a second pager: a cut result names the
// one tool that reads on.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{names: make(map[string]int), indexes: new(retrieve.Cache)}
	for _, t := range tools {
		for k, n := range append([]string{t.facts.Name}, t.facts.Aliases...) {
			// An alias may repeat another of the same tool: spellings differ, folded they do not.
			if at, taken := s.names[fold(n)]; taken && at < len(s.tools) {
				if s.tools[at].facts.Name == t.facts.Name && k == 0 {
					return nil, jackline.E("tool.NewSet", jackline.Conflict, nil, "The tool %s is listed twice.", n)
				}
				return nil, jackline.E("tool.NewSet", jackline.Conflict, nil,
					"The tools %s and %s both answer to %q.", s.tools[at].facts.Name, t.facts.Name, n)
			}
			s.names[fold(n)] = len(s.tools)
		}
		if first := s.Pager(); first != "" && t.facts.Pager {
			return nil, jackline.E("tool.NewSet", jackline.Conflict, nil, "The tools %s and %s both page through results.", first, t.facts.Name)
		}
		s.tools = append(s.tools, t)
	}
	s.docs = sync.OnceValue(func() []retrieve.Doc {
		docs := make([]retrieve.Doc, 0, len(s.tools))
		for _, t := range s.tools {
			docs = append(docs, t.document())
		}
		return docs
	})
	return s, nil
}

// Share makes the set keep its indexes with those of others. Sets whose tools say the same about themselves have one for all. It is
// called before anybody searches.
func (s *Set) Share(indexes *retrieve.Cache) { s.indexes = indexes }

// fold makes names comparable as models confuse them: without case and separators.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', '.', ' ':
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// Lookup finds a tool by its name or one of its aliases, without regard to case and separators.
func (s *Set) Lookup(name string) (Tool, bool) {
	i, ok := s.names[fold(name)]
	if !ok {
		return Tool{}, false
	}
	return s.tools[i], true
}

// All yields the tools in the order in which they were listed.
func (s *Set) All() iter.Seq[Tool] {
	return func(yield func(Tool) bool) {
		for _, t := range s.tools {
			if !yield(t) {
				return
			}
		}
	}
}

// Names are the names of all tools, in order.
func (s *Set) Names() []string {
	names := make([]string, 0, len(s.tools))
	for _, t := range s.tools {
		names = append(names, t.facts.Name)
	}
	return names
}

// A Match is a tool that words point at, and how well they do.
type Match struct {
	Tool Tool
	retrieve.Hit
}

// Search gives the tools that share words with a query, as retrieve.Words takes it apart, the best first. off says which tools are left out: they count for
// nothing, as if they were not there. nil leaves out none.
func (s *Set) Search(query []string, off func(Tool) bool) []Match {
	if s.docs == nil { // the zero set is empty
		return nil
	}
	var disabled []string
	var places []int
	for k, t := range s.tools {
		if off != nil && off(t) {
			disabled = append(disabled, t.facts.Name)
			continue
		}
		places = append(places, k)
	}
	all := s.docs()
	x := s.indexes.Index(retrieve.KeyOf(all, disabled), func() []retrieve.Doc {
		docs := make([]retrieve.Doc, 0, len(places))
		for _, k := range places {
			docs = append(docs, all[k])
		}
		return docs
	})
	hits := x.Search(query)
	found := make([]Match, 0, len(hits))
	for _, h := range hits {
		found = append(found, Match{Tool: s.tools[places[h.At]], Hit: h})
	}
	return found
}

// Only is the set of those of its tools that are named.
func (s *Set) Only(names ...string) (*Set, error) {
	var some []Tool
	for _, n := range names {
		t, ok := s.Lookup(n)
		if !ok {
			return nil, fmt.Errorf("tool: no tool is called %q", n)
		}
		some = append(some, t)
	}
	return NewSet(some...)
}

// Pager is the name of the tool that pages through cut results, or "".
func (s *Set) Pager() string {
	for _, t := range s.tools {
		if t.facts.Pager {
			return t.facts.Name
		}
	}
	return ""
}
