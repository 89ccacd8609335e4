package dialect

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
)

// A Catalog knows the tools that may be called, under all the names that models give
// them. It does not change and may be shared.
type Catalog struct {
	tools   map[string]*entry
	aliases map[string]*entry
	folded  func() map[string]*entry // made for the first name that is not written as it is
}

// entry is one tool. Its schema is read when it is first called: most tools of a conversation never are.
type entry struct {
	name   string
	schema func() *args.Schema
}

// NewCatalog returns a catalog of tools with their aliases.
func NewCatalog(tools []model.Tool) *Catalog { return NewCatalogWith(tools, nil) }

// NewCatalogWith returns a catalog of tools that knows further aliases, each with the name
// of the tool that it stands for. Those of tools that are not there do not count.
func NewCatalogWith(tools []model.Tool, aliases map[string]string) *Catalog {
	c := &Catalog{
		tools:   make(map[string]*entry, len(tools)),
		aliases: make(map[string]*entry),
	}
	for _, t := range tools {
		if _, twice := c.tools[t.Name]; twice {
			continue
		}
		c.tools[t.Name] = &entry{t.Name, sync.OnceValue(func() *args.Schema {
			schema, err := args.Parse(t.Schema)
			if err != nil {
				schema, _ = args.Parse(nil)
			}
			return schema
		})}
	}
	for _, t := range tools {
		for _, a := range t.Aliases {
			c.alias(a, t.Name)
		}
	}
	for a, name := range aliases {
		c.alias(a, name)
	}
	c.folded = sync.OnceValue(func() map[string]*entry {
		folded := make(map[string]*entry)
		add := func(name string, e *entry) {
			if key := fold(name); folded[key] == nil && e != nil {
				folded[key] = e
			}
		}
		// Names come before aliases, and the first of two names that look the same wins.
		for _, t := range tools {
			add(t.Name, c.tools[t.Name])
		}
		for _, t := range tools {
			for _, a := range t.Aliases {
				add(a, c.aliases[a])
			}
		}
		for _, a := range slices.Sorted(maps.Keys(aliases)) {
			add(a, c.aliases[a])
		}
		return folded
	})
	return c
}

func (c *Catalog) alias(a, name string) {
	if e := c.tools[name]; e != nil && c.aliases[a] == nil {
		c.aliases[a] = e
	}
}

// fold takes away what models get wrong in a name: case and separators.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', '.', ' ':
			return -1
		}
		return r
	}, strings.ToLower(args.Trim(name)))
}

// Find returns the name of the tool that is meant by name.
func (c *Catalog) Find(name string) (string, bool) {
	e, ok := c.find(name)
	if !ok {
		return "", false
	}
	return e.name, true
}

// Schema returns the schema of the tool that is meant by name, or nil.
func (c *Catalog) Schema(name string) *args.Schema {
	e, ok := c.find(name)
	if !ok {
		return nil
	}
	return e.schema()
}

// find looks a name up: as it is, without what engines put around names, among the aliases, and
// last without regard to case and separators.
func (c *Catalog) find(name string) (*entry, bool) {
	if len(name) > longestName || name == "" {
		return nil, false
	}
	if e := c.tools[name]; e != nil {
		return e, true
	}
	bare := strip(name)
	for _, names := range []map[string]*entry{c.tools, c.aliases} {
		if e := names[bare]; e != nil {
			return e, true
		}
		if e := names[name]; e != nil {
			return e, true
		}
	}
	for _, n := range []string{bare, name} {
		if key := fold(n); key != "" {
			if e := c.folded()[key]; e != nil {
				return e, true
			}
		}
	}
	return nil, false
}

// longestName bounds what is taken for the name of a tool.
const longestName = 200

// lookup finds the tool that is meant by name. It remembers the last one, since a name is asked about several times.
func (s *scanner) lookup(name string) (*entry, bool) {
	if name == "" || name != s.asked {
		s.asked = name
		s.found, _ = s.catalog.find(name)
	}
	return s.found, s.found != nil
}

// known reports whether name means a tool.
func (s *scanner) known(name string) bool {
	_, ok := s.lookup(name)
	return ok
}

// schemaOf returns the schema of the tool that is meant by name, or nil.
func (s *scanner) schemaOf(name string) *args.Schema {
	if t, ok := s.lookup(name); ok {
		return t.schema()
	}
	return nil
}

// splitName takes apart a tool's name and the name of a parameter that ran into it.
func (c *Catalog) splitName(text string) (tool, key string, ok bool) {
	for _, names := range []map[string]*entry{c.tools, c.aliases} {
		for name, t := range names {
			if rest, is := strings.CutPrefix(text, name); is && len(name) > len(tool) && t.schema().Field(rest) != nil {
				tool, key, ok = name, rest, true
			}
		}
	}
	return tool, key, ok
}

// strip takes away the prefixes and suffixes under which engines show tools to models.
func strip(name string) string {
	name = args.Trim(name)
	for {
		before := name
		for _, p := range []string{"functions::", "functions.", "tools.", "tool.", "default_api.", "default.", "function:", "tool:"} {
			name = strings.TrimPrefix(name, p)
		}
		name = strings.TrimSuffix(strings.TrimSuffix(name, "()"), ".call")
		if i := strings.LastIndexByte(name, ':'); i > 0 && number(name[i+1:]) {
			name = name[:i]
		}
		if name == before {
			return name
		}
	}
}

func number(text string) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return text != ""
}
