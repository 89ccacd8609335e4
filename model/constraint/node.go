package constraint

// A node is what is kept of a schema. The tree has no cycles.
type node struct {
	kind   kind
	fields []field // of an object, the required ones first
	extra  *node   // of an object without fields: what stands under keys of the model's choice; nil is none
	items  *node   // of a list
	min    int     // characters of a text, elements of a list
	max    int     // less than 0 is no bound
	low    *bound  // of a number
	high   *bound
	values []string // the JSON of what is allowed
	of     []*node  // the choices of a union
	level  int      // of any value: how deep it may go
}

type kind int

const (
	anyValue kind = iota
	object
	list
	text
	integer
	number
	boolean
	null
	literals
	union
)

type field struct {
	name     string
	value    *node
	required bool
}

// A bound is the edge of a range of numbers.
type bound struct {
	value float64
	open  bool // the edge itself is not in it
}

// anyDepth is how deep a value may go of which nothing is known: an object of lists of words, say. Deeper ones are rare, and
// cost a rule a level.
const anyDepth = 2

func anything(level int) *node { return &node{kind: anyValue, level: max(level, 0)} }

// choice joins nodes into one. What allows anything leaves nothing to choose.
func choice(of []*node) *node {
	var flat []*node
	for _, n := range of {
		switch n.kind {
		case anyValue:
			return n
		case union:
			flat = append(flat, n.of...)
		default:
			flat = append(flat, n)
		}
	}
	if len(flat) == 1 {
		return flat[0]
	}
	if len(flat) == 0 || len(flat) > maxChoices {
		return anything(anyDepth)
	}
	return &node{kind: union, of: flat}
}

// maxChoices bounds a union: each choice multiplies what an engine has to keep in mind.
const maxChoices = 12
