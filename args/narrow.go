package args

// narrow is the value as it would be if it ended at the first closing marker. It is only made when it is wanted: what is
// read behind that marker goes on in the same objects, which are then cut back.
type narrow struct {
	is   bool
	end  int
	cut  bool
	text string // the string in which the marker stands, up to there
	key  bool   // and that is a key, which has no value
	open []half // the brackets that were open there, outermost first
	made any    // the value, where it had to be made at once
	done bool
}

// half is a container as far as it was read.
type half struct {
	object *Object // or else
	list   []any
	n      int // members of the object
	key    string
	keyed  bool // key waits for its value
}

// keep remembers the value as it would be if the region ended at end, inside or right behind the given text.
func (r *reader) keep(text string, end int, key, cut bool) {
	r.narrow = narrow{is: true, end: end, cut: cut, text: text, key: key, open: r.narrow.open[:0]}
	for _, f := range r.frames {
		h := half{object: f.object, list: f.list, key: f.key, keyed: f.keyed}
		if h.object != nil {
			h.n = h.object.Len()
		}
		r.narrow.open = append(r.narrow.open, h)
	}
}

// mind is asked before key is set in o. If that is about to replace what belongs to the narrow value, the value is made now.
func (n *narrow) mind(o *Object, key string) {
	if n.done || o.find(key) < 0 {
		return
	}
	for i := range n.open {
		if h := &n.open[i]; h.object != nil {
			h.object = h.object.clone()
		}
	}
	n.made, n.done = n.value(), true
}

// value makes the narrow value. What was read after it is lost.
func (n *narrow) value() any {
	if n.done {
		return n.made
	}
	var value any = n.text
	have := !n.key
	for i := len(n.open) - 1; i >= 0; i-- {
		h := &n.open[i]
		if o := h.object; o != nil {
			o.cut(h.n)
			o.open = true
			if have && h.keyed {
				o.Set(h.key, value)
			}
			value = o
		} else {
			list := h.list[:len(h.list):len(h.list)]
			if have {
				list = append(list, value)
			}
			value = list
		}
		have = true
	}
	return value
}
