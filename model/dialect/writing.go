package dialect

import (
	"slices"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
)

// writing is the call that is being written, for whoever watches. It decides nothing: what was announced may turn out to
// be no call.
type writing struct {
	name string
	at   int  // where its arguments begin, if they are a member of an object
	from int  // where the text of them begins that was not told yet; -1 while they have not begun
	to   int  // where the call ends, once it is over
	told bool // the name was
	over bool

	begun bool // something of the arguments was told
}

// announce tells whoever watches that a call of this tool is being written. At is where its arguments begin, or -1.
func (s *scanner) announce(name string, at int) {
	if s.ended || len(s.calls) >= s.limit {
		return
	}
	if t, ok := s.lookup(name); ok {
		s.writing = writing{name: t.name, from: at}
	}
}

// named announces a call as soon as its name has been read.
func (s *scanner) named(key, text string) {
	if slices.Contains(nameKeys, key) {
		s.announce(text, -1)
	}
}

// argumentsAt notes where the arguments of an announced call begin, and where they end.
func (s *scanner) argumentsAt(key string, from, to int) {
	w := &s.writing
	switch {
	case w.name == "" || w.over:
	case w.from < 0 && to == args.End && slices.Contains(args.ArgumentKeys(), key):
		w.from, w.at = from, from
	case w.at > 0 && w.at == from && to != args.End:
		w.end(to)
	}
}

// end notes that whatever was being written ends at i.
func (w *writing) end(i int) {
	if w.name != "" && !w.over {
		w.over, w.to = true, i
	}
}

// news is what has not been told yet: the name, or else more of the arguments, in whole characters.
func (w *writing) news(in *args.Input) model.Preview {
	if w.name == "" {
		return model.Preview{}
	}
	p := model.Preview{Name: w.name}
	if !w.told {
		w.told = true
		return p
	}
	to := in.Known()
	if w.over {
		to = min(w.to, to)
		w.name = ""
	}
	if w.from < 0 || w.from >= to {
		return model.Preview{}
	}
	text := in.Bytes()[w.from:to]
	if !w.over {
		text = text[:args.Characters(text)]
	}
	w.from += len(text)
	if !w.begun {
		text = args.TrimLeft(text)
	}
	if len(text) == 0 {
		return model.Preview{}
	}
	w.begun = true
	p.Args = string(text)
	return p
}
