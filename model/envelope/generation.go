package envelope

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint"
	"github.com/jackline-ai/jackline/model/dialect"
	"github.com/jackline-ai/jackline/model/taught"
)

const (
	// maxBody bounds a body that is written apart, in bytes: more than any window holds.
	maxBody = 4 << 20
	// maxMuse is how much of a thought is kept, in bytes, in case that it was none: see [generation.step].
	maxMuse = 64 << 10
	// maxStep is up to where a text in the place of a body is read as a step, in bytes: what is longer is a text.
	maxStep = 64 << 10
	// maxAgain is how long the word that the model is done can be, in bytes: with blanks between its parts.
	maxAgain = 64
)

// A generation is the answer to one request, which may take two of the inner model.
type generation struct {
	w     *wrap
	r     model.Request
	yield func(model.Chunk, error) bool
	tools []model.Tool // that the step may call

	usage  *model.Usage
	opaque string
	finish model.Finish
}

// hear streams one request of the inner model and gives its text to take, which says whether more is wanted. What is not text
// is handed on. It reports whether the answer ended by itself.
func (g *generation) hear(ctx context.Context, r model.Request, take func(text, thought string) bool) bool {
	g.finish = ""
	before := g.usage
	for c, err := range g.w.inner.Stream(ctx, r) {
		switch {
		case err != nil:
			g.yield(c, err)
			return false
		case c.Text != "":
			if !take(c.Text, "") {
				return false
			}
		case c.Thought != "":
			if !take("", c.Thought) || !g.yield(c, nil) {
				return false
			}
		case c.Opaque != "":
			g.opaque = c.Opaque // it comes last
		case c.Usage != nil || c.Finish != "":
			if c.Usage != nil {
				g.usage = before.Plus(c.Usage)
			}
			if c.Finish != "" {
				g.finish = c.Finish
			}
		default: // the engine told a call from the text by itself
			if !g.yield(c, nil) {
				return false
			}
		}
	}
	return true
}

// step asks for a step in the form, and does what it says.
func (g *generation) step(ctx context.Context, req model.Request) {
	g.tools = taught.Callable(g.r, req)
	held, err := g.w.constraint(g.tools)
	if err != nil {
		g.yield(model.Chunk{}, err)
		return
	}
	s := &stepReader{g: g}
	defer s.close()
	asked := req
	asked.Constraint = held
	if !g.hear(ctx, asked, s.take) || !s.end() {
		return
	}
	if s.spoke { // nobody held the model to the form
		g.over(s.reading)
		return
	}
	step, ok := g.w.form.Read(s.text(), g.tools)
	if !ok && strings.TrimSpace(s.text()) == "" {
		// A template that has opened a thought makes the engine take what it is held to for one.
		step, ok = g.w.form.Read(s.muse.String(), g.tools)
	}
	switch {
	case !ok:
		g.unread(s, step)
	case step.Final && step.Text != "":
		if g.yield(model.Chunk{Text: step.Text}, nil) {
			g.over(dialect.Reading{})
		}
	case step.Final:
		g.answer(ctx, after(req, doneSaid()...), true)
	default:
		g.call(ctx, req, step)
	}
}

// unread ends a generation whose object is no step: it names a tool in another way, or none; it was cut off before it said
// what it was, or is another way of writing.
func (g *generation) unread(s *stepReader, step constraint.Step) {
	text := strings.TrimSpace(s.text())
	if text == "" {
		g.over(dialect.Reading{})
		return
	}
	catalog := g.w.catalog(g.r)
	if name, ok := catalog.Find(step.Name); ok && step.Args != nil {
		raw, err := args.Canonical(catalog.Schema(name).Shape(step.Args))
		if err == nil {
			g.over(dialect.Reading{Calls: []model.Call{{Name: name, Args: raw, Cut: step.Cut || g.finish == model.Length}}})
			return
		}
	}
	reading := g.w.options.Dialect.Read(catalog, text)
	switch {
	case len(reading.Calls) == 0 && step.Name != "" && !step.Cut:
		reading.Error, reading.Asked = model.UnknownTool, step.Name
	case len(reading.Calls) == 0 && reading.Error == "":
		reading.Error = model.Unreadable
	case len(reading.Calls) > 0 && g.finish == model.Length:
		reading.Calls[len(reading.Calls)-1].Cut = true
	}
	g.over(reading)
}

// call hands a call out, with the body that it may still want.
func (g *generation) call(ctx context.Context, req model.Request, step constraint.Step) {
	c := model.Call{Name: step.Name, Cut: step.Cut || g.finish == model.Length}
	if step.Body != "" && !c.Cut {
		text, came, ok := g.body(ctx, after(req, bodySaid(g.w.form.Call(step.Name, g.withoutBody(step)), step.Body)...))
		if !ok {
			return
		}
		if came { // without it the call lacks an argument, which the model is told
			step.Args.Set(step.Body, text)
		}
		c.Cut = g.finish == model.Length || !came && !g.required(step)
	}
	raw, err := args.Canonical(step.Args)
	if err != nil { // cannot be: it was read
		raw = nil
	}
	c.Args = raw
	g.over(dialect.Reading{Calls: []model.Call{c}})
}

// withoutBody writes the arguments of a call whose body comes apart, as every later request will.
func (g *generation) withoutBody(step constraint.Step) json.RawMessage {
	given := &args.Object{}
	for k, v := range step.Args.All() {
		given.Set(k, v)
	}
	raw := later(given, step.Body)
	if canonical, err := args.Canonical(raw); err == nil {
		raw = canonical
	}
	if o, _ := ordered(model.Call{Name: step.Name, Args: raw}, g.r.Tools); o != nil {
		return json.RawMessage(args.Compact(o))
	}
	return raw
}

// required reports whether a call cannot be made without its body.
func (g *generation) required(step constraint.Step) bool {
	for _, t := range g.tools {
		if schema, err := args.Parse(t.Schema); t.Name == step.Name && err == nil {
			return schema.Required(step.Body)
		}
	}
	return false
}

// body asks for a text that stands apart. It came unless the model wrote nothing, nothing but a thought, or a step instead: an
// empty file is an empty pair of fences, or an empty text in the call. ok is false where nothing more is wanted.
func (g *generation) body(ctx context.Context, req model.Request) (text string, came, ok bool) {
	var b strings.Builder
	whole := true
	asker := g.yield
	defer func() { g.yield = asker }()
	g.yield = func(c model.Chunk, err error) bool { // a call in the place of a text is none
		if err == nil && (c.Call != nil || c.Garbled != "" || c.Preview.Name != "") {
			return true
		}
		return asker(c, err)
	}
	if !g.hear(ctx, req, func(text, _ string) bool {
		if b.Len()+len(text) > maxBody {
			whole = false
			return true // what follows is thrown away, so that the connection ends as it should
		}
		b.WriteString(text)
		return true
	}) {
		return "", false, false
	}
	if !whole {
		g.finish = model.Length
	}
	said, thinking := unthought(b.String())
	bare := strings.TrimSpace(said)
	if bare == "" || thinking {
		return "", false, true
	}
	return unfenced(said), !g.steps(bare), true
}

// steps reports whether a text in the place of a body is a step.
func (g *generation) steps(text string) bool {
	if len(text) > maxStep || text[0] != '{' {
		return false
	}
	step, ok := g.w.form.Read(text, g.tools)
	return ok && (!step.Final || squeezed(text) == squeezed(g.w.form.Final()))
}

// squeezed is a text without its blanks.
func squeezed(text string) string { return strings.Join(strings.Fields(text), "") }

// answer asks for words. Where calls are plain text, as they are behind the word that the model is done, they are shown; where
// not, as in a last step, they are handed out, for whoever forbade them to see.
func (g *generation) answer(ctx context.Context, req model.Request, plain bool) {
	o := g.w.options.Dialect
	o.Plain = o.Plain || plain
	catalog := dialect.NewCatalog(nil)
	if !o.Plain {
		catalog = g.w.catalog(g.r)
	}
	guard := dialect.NewGuard(catalog, o)
	defer guard.Close()
	var once saidAgain
	if !g.hear(ctx, req, func(text, _ string) bool {
		text = once.without(text)
		return text == "" || g.pass(guard.Write([]byte(text)))
	}) {
		return
	}
	if rest := once.rest(); rest != "" && !g.pass(guard.Write([]byte(rest))) {
		return
	}
	d, reading := guard.Close()
	if g.pass(d) {
		g.over(reading)
	}
}

// saidAgain takes the word that the model is done from the beginning of an answer: some say it once more.
type saidAgain struct {
	begin string // what may yet turn out to be it
	over  bool
	said  bool // it was there, and nothing but blanks since
}

// without is what of the next piece is certain to be answer.
func (a *saidAgain) without(text string) string {
	if a.said {
		text = strings.TrimLeft(text, " \t\r\n")
		a.said = text == ""
	}
	if a.over {
		return text
	}
	a.begin += text
	bare, final := squeezed(a.begin), squeezed(constraint.Envelope().Final())
	if strings.HasPrefix(final, bare) && bare != final && len(a.begin) <= maxAgain {
		return ""
	}
	a.over = true
	if strings.HasPrefix(bare, final) {
		_, behind, _ := strings.Cut(a.begin, "}")
		behind = strings.TrimLeft(behind, " \t\r\n")
		a.said = behind == ""
		return behind
	}
	return a.begin
}

// rest is what was kept of an answer that has ended.
func (a *saidAgain) rest() string {
	if a.over {
		return ""
	}
	a.over = true
	return a.begin
}

// pass hands out what a guard let through, and reports whether more is wanted.
func (g *generation) pass(d dialect.Delta) bool {
	for _, c := range []model.Chunk{{Thought: d.Thought}, {Text: d.Visible}, {Preview: d.Preview}} {
		if c != (model.Chunk{}) && !g.yield(c, nil) {
			return false
		}
	}
	return true
}

// over hands out the calls, or why there are none, and how it all ended.
func (g *generation) over(r dialect.Reading) {
	for i := range r.Calls {
		if !g.yield(model.Chunk{Call: &r.Calls[i]}, nil) {
			return
		}
	}
	if r.Error != "" && len(r.Calls) == 0 && !g.yield(model.Chunk{Garbled: r.Error, Asked: r.Asked}, nil) {
		return
	}
	if g.opaque != "" && !g.yield(model.Chunk{Opaque: g.opaque}, nil) {
		return
	}
	if len(r.Calls) > 0 && g.finish == model.Stop {
		g.finish = model.Calls
	}
	if last := (model.Chunk{Usage: g.usage, Finish: g.finish}); last != (model.Chunk{}) {
		g.yield(last, nil)
	}
}

// A stepReader takes a step down while it arrives. An object is kept until it is whole; anything else goes through a guard,
// which tells thoughts from words, and words are let through at once.
type stepReader struct {
	g      *generation
	object strings.Builder // what has arrived, from its brace on
	muse   strings.Builder // the beginning of the thoughts that the engine told apart

	guard   *dialect.Guard
	reading dialect.Reading
	begun   bool   // something but blanks has come
	spoke   bool   // words, or calls in another form, have come instead of an object
	name    string // of the tool, once it stands there
	shown   int    // how much of the object need not be shown any more
	looked  int    // and how much need not be looked at again
	colon   bool   // what comes is arguments
}

func (s *stepReader) text() string { return s.object.String() }

func (s *stepReader) take(text, thought string) bool {
	if n := min(len(thought), maxMuse-s.muse.Len()); n > 0 {
		s.muse.WriteString(thought[:n])
	}
	if !s.begun {
		if text = strings.TrimLeft(text, " \t\r\n"); text == "" {
			return true
		}
		s.begun = true
		if text[0] != '{' {
			s.guard = dialect.NewGuard(s.g.w.catalog(s.g.r), s.g.w.options.Dialect)
		}
	}
	if s.guard != nil {
		return text == "" || s.let(s.guard.Write([]byte(text)))
	}
	s.object.WriteString(text)
	return s.preview()
}

// preview shows the name of the tool as soon as it stands there, and then the arguments as they come.
func (s *stepReader) preview() bool {
	text := s.object.String()
	if s.name == "" {
		const far = 1 << 10 // bytes within which a name stands
		if len(text) > far {
			return true
		}
		name, at, ok := s.g.w.form.Named(text)
		if !ok || name == "" {
			return true
		}
		s.name, s.shown = name, at
		if !s.g.yield(model.Chunk{Preview: model.Preview{Name: name}}, nil) {
			return false
		}
	}
	rest := text[max(s.shown, s.looked):]
	s.looked = len(text)
	if !s.colon { // what stands between the name and the arguments
		at := strings.IndexByte(rest, ':')
		if at < 0 {
			return true
		}
		rest = rest[at+1:]
		s.colon, s.shown = true, len(text)-len(rest)
	}
	if strings.TrimSpace(rest) == "" {
		return true
	}
	more := text[s.shown:]
	s.shown = len(text)
	return s.g.yield(model.Chunk{Preview: model.Preview{Name: s.name, Args: more}}, nil)
}

// let handles what a guard let through: an object behind a thought is kept like one that comes first.
func (s *stepReader) let(d dialect.Delta) bool {
	visible := d.Visible
	if !s.spoke {
		if s.object.Len() == 0 {
			visible = strings.TrimLeft(visible, " \t\r\n")
		}
		if s.object.Len() > 0 || strings.HasPrefix(visible, "{") {
			s.object.WriteString(visible)
			visible = ""
		}
	}
	s.spoke = s.spoke || visible != "" || d.Preview.Name != ""
	d.Visible = visible
	return s.g.pass(d) && s.preview()
}

// end reads what is left, and reports whether more is wanted.
func (s *stepReader) end() bool {
	if s.guard == nil {
		return true
	}
	d, reading := s.guard.Close()
	s.reading = reading
	if !s.let(d) {
		return false
	}
	s.spoke = s.spoke || len(reading.Calls) > 0 || reading.Error != ""
	return true
}

func (s *stepReader) close() {
	if s.guard != nil {
		s.guard.Close()
	}
}
