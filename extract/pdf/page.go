package pdf

import (
	"bytes"
	"math"
	"strings"
	"unicode"
)

// A page is a leaf of the tree of pages, with what it inherits.
type page struct {
	dict      dict
	resources dict
}

// pages lists the pages in order. Where the tree is broken they are the page objects in the order of the file.
func (f *file) pages() []page {
	root, _ := f.get(f.trailer["Root"]).(dict)
	var all []page
	seen := map[int]bool{}
	var walk func(o any, inherited dict, depth int)
	walk = func(o any, inherited dict, depth int) {
		f.spend(1)
		if r, ok := o.(ref); ok {
			if seen[r.num] {
				return
			}
			seen[r.num] = true
		}
		d, ok := f.get(o).(dict)
		if !ok || depth > maxDepth || len(all) >= maxPages {
			return
		}
		if own, ok := f.get(d["Resources"]).(dict); ok {
			inherited = own
		}
		kids := f.list(d["Kids"])
		if d["Kids"] == nil {
			all = append(all, page{d, inherited})
			return
		}
		for _, k := range kids {
			walk(k, inherited, depth+1)
		}
	}
	if root["Pages"] != nil {
		walk(root["Pages"], nil, 0)
	}
	if len(all) > 0 && all[0].dict["Type"] != name("Catalog") {
		return all
	}
	all = nil
	for _, num := range f.order {
		if d, ok := f.get(ref{num}).(dict); ok && d["Type"] == name("Page") && len(all) < maxPages {
			resources, _ := f.get(d["Resources"]).(dict)
			all = append(all, page{d, resources})
		}
	}
	return all
}

// page reads the text of one page.
func (f *file) page(p page, fonts map[any]*font) string {
	var program []byte
	for _, o := range f.list(p.dict["Contents"]) {
		if s, ok := f.get(o).(stream); ok {
			program = append(append(program, f.decode(s)...), '\n')
		}
	}
	w := &writer{f: f, fonts: fonts, now: state{at: unit(), scale: 1}}
	w.run(program, p.resources, 0)
	return w.text()
}

// A matrix moves points: [a b c d e f] of the specification.
type matrix [6]float64

// unit moves nothing.
func unit() matrix { return matrix{1, 0, 0, 1, 0, 0} }

// then is m followed by n.
func (m matrix) then(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// A state is what a program can save and restore.
type state struct {
	at                   matrix // of the page
	font                 *font
	size, scale          float64
	char, word, lead, up float64
}

// A writer runs a page's program and writes down the text that it shows.
type writer struct {
	f     *file
	fonts map[any]*font
	now   state
	saved []state

	pen, line  matrix // where the next glyph goes, and where its line began
	out        strings.Builder
	any        bool    // something was shown
	x, y, tall float64 // where the last glyph ended, and how tall it was
}

// maxSaved bounds saved states; real programs stay below 30.
const maxSaved = 1000

// run runs a program.
func (w *writer) run(program []byte, resources dict, depth int) {
	l := &lexer{f: w.f, data: program, packed: true}
	const most = 64 // operands; text arrays are one
	var args []any
	for {
		o := l.object(0)
		op, ok := o.(keyword)
		if !ok {
			if len(args) < most {
				args = append(args, o)
			}
			continue
		}
		w.f.spend(16) // an operator costs more than its bytes
		switch op {
		case end:
			return
		case "BI": // a picture in the program
			if k := bytes.Index(program[l.at:], []byte("EI")); k >= 0 {
				l.at += k + 2
			} else {
				return
			}
		case "Do":
			w.form(first[name](args), resources, depth)
		case "Tf":
			w.setFont(args, resources)
		case "gs":
		default:
			w.do(string(op), args)
		}
		args = args[:0]
	}
}

func first[T any](args []any) (v T) {
	if len(args) > 0 {
		v, _ = args[0].(T)
	}
	return v
}

func (w *writer) setFont(args []any, resources dict) {
	if len(args) < 2 {
		return
	}
	w.now.size = w.f.number(args[1], 0)
	all, _ := w.f.get(resources["Font"]).(dict)
	o := all[first[name](args)]
	key := any(nil)
	if r, ok := o.(ref); ok {
		if key = r; w.fonts[key] != nil {
			w.now.font = w.fonts[key]
			return
		}
	}
	d, _ := w.f.get(o).(dict)
	w.now.font = w.f.loadFont(d)
	if key != nil {
		w.fonts[key] = w.now.font
	}
}

// form runs the program of a form that the page shows.
func (w *writer) form(n name, resources dict, depth int) {
	all, _ := w.f.get(resources["XObject"]).(dict)
	s, ok := w.f.get(all[n]).(stream)
	if !ok || depth >= maxForms || w.f.get(s.dict["Subtype"]) != name("Form") {
		return
	}
	if own, ok := w.f.get(s.dict["Resources"]).(dict); ok {
		resources = own
	}
	w.f.spend(1000)
	before, saved := w.now, w.saved
	if m, ok := w.matrix(w.f.list(s.dict["Matrix"])); ok {
		w.now.at = m.then(w.now.at)
	}
	w.saved = nil
	w.run(w.f.decode(s), resources, depth+1)
	w.now, w.saved = before, saved
}

func (w *writer) matrix(args []any) (m matrix, ok bool) {
	if len(args) != len(m) {
		return unit(), false
	}
	for k, a := range args {
		m[k] = w.f.number(a, 0)
	}
	return m, true
}

// do does one operator that has to do with text or with where it goes.
func (w *writer) do(op string, args []any) {
	n := func(k int) float64 {
		if k < len(args) {
			return w.f.number(args[k], 0)
		}
		return 0
	}
	switch op {
	case "q":
		if len(w.saved) < maxSaved {
			w.saved = append(w.saved, w.now)
		}
	case "Q":
		if k := len(w.saved) - 1; k >= 0 {
			w.now, w.saved = w.saved[k], w.saved[:k]
		}
	case "cm":
		if m, ok := w.matrix(args); ok {
			w.now.at = m.then(w.now.at)
		}
	case "BT":
		w.pen, w.line = unit(), unit()
	case "Tm":
		if m, ok := w.matrix(args); ok {
			w.pen, w.line = m, m
		}
	case "Td":
		w.move(n(0), n(1))
	case "TD":
		w.now.lead = -n(1)
		w.move(n(0), n(1))
	case "T*":
		w.move(0, -w.now.lead)
	case "TL":
		w.now.lead = n(0)
	case "Tc":
		w.now.char = n(0)
	case "Tw":
		w.now.word = n(0)
	case "Tz":
		w.now.scale = n(0) / 100
	case "Ts":
		w.now.up = n(0)
	case "Tj":
		w.show(first[text](args))
	case "'":
		w.move(0, -w.now.lead)
		w.show(first[text](args))
	case "\"":
		w.now.word, w.now.char = n(0), n(1)
		w.move(0, -w.now.lead)
		if len(args) > 2 {
			w.show(first[text](args[2:]))
		}
	case "TJ":
		for _, o := range first[[]any](args) {
			if s, ok := o.(text); ok {
				w.show(s)
			} else {
				w.advance(-w.f.number(o, 0) / 1000 * w.now.size * w.now.scale)
			}
		}
	}
}

func (w *writer) move(x, y float64) {
	w.line = matrix{1, 0, 0, 1, x, y}.then(w.line)
	w.pen = w.line
}

func (w *writer) advance(x float64) { w.pen = matrix{1, 0, 0, 1, x, 0}.then(w.pen) }

// show writes a text down where it goes, after the blank or line end that its place calls for.
func (w *writer) show(s text) {
	if w.now.font == nil || s == "" {
		return
	}
	for _, g := range w.now.font.glyphs(s) {
		w.f.spend(len(g.text) + 4)
		here := matrix{1, 0, 0, 1, 0, w.now.up}.then(w.pen).then(w.now.at)
		step := g.width*w.now.size + w.now.char
		if g.blank {
			step += w.now.word
		}
		w.advance(step * w.now.scale)
		after := w.pen.then(w.now.at)
		if g.text == "" {
			continue
		}
		tall := math.Abs(w.now.size) * math.Hypot(here[2], here[3])
		w.gap(here[4], here[5], tall)
		w.write(g.text)
		w.any, w.x, w.y, w.tall = true, after[4], after[5], tall
	}
}

// gap writes what stands between the last glyph and one at x, y. The parts of a line are at one height, with room for raised
// numbers; words are a fifth of their height apart; paragraphs are further apart than lines.
func (w *writer) gap(x, y, tall float64) {
	if !w.any {
		return
	}
	const sameLine, word, back, paragraph = 0.5, 0.18, 1.0, 1.9
	tall = max(tall, w.tall, 0.01)
	down := math.Abs(y - w.y)
	switch {
	case down > paragraph*tall:
		w.write("\n\n")
	case down > sameLine*tall, x < w.x-back*tall:
		w.write("\n")
	case x > w.x+word*tall:
		w.write(" ")
	}
}

func (w *writer) write(s string) { w.out.WriteString(s) }

// text is what was written, with its blanks tidied.
func (w *writer) text() string {
	var b strings.Builder
	empty := 0
	for line := range strings.SplitSeq(spelled.Replace(strings.ToValidUTF8(w.out.String(), "�")), "\n") {
		line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
		if line == "" {
			empty++
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
			if empty > 0 {
				b.WriteString("\n")
			}
		}
		empty = 0
		b.WriteString(line)
	}
	return b.String()
}
