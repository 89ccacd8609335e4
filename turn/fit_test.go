package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/prompted"
	"github.com/jackline-ai/jackline/tool"
)

// Malformed says what no engine would accept in a history: each call has one result right behind the message that made it,
// in order, and there is no other.
func Malformed(messages []model.Message) (faults []string) {
	if len(messages) == 0 || messages[0].Role != model.User {
		faults = append(faults, "it does not begin with the owner's words")
	}
	seen := map[string]bool{}
	var open []model.Call
	for k, m := range messages {
		if m.Role == model.Result {
			if len(open) == 0 || open[0].ID != m.CallID || open[0].Name != m.Name || m.Text == "" {
				faults = append(faults, fmt.Sprintf("message %d is the result of %s %s, want one of %v", k, m.Name, m.CallID, open))
				continue
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			faults = append(faults, fmt.Sprintf("message %d comes before the results of %v", k, open))
		}
		open = m.Calls
		for _, c := range m.Calls {
			if seen[c.ID] || c.ID == "" {
				faults = append(faults, fmt.Sprintf("message %d has the call %q, which is not new", k, c.ID))
			}
			if !json.Valid(c.Args) {
				faults = append(faults, fmt.Sprintf("message %d has arguments that are not JSON: %.80q", k, c.Args))
			}
			seen[c.ID] = true
		}
	}
	if len(open) > 0 {
		faults = append(faults, fmt.Sprintf("it ends before the results of %v", open))
	}
	return faults
}

// A paper is a model that is only measured. As the raw one it sums up in the words it is given, or fails.
type paper struct {
	window int
	sum    string
	fail   error
	asked  []model.Request
	sized  int // messages that were measured
}

func (p *paper) Info() model.Info { return model.Info{Name: "paper", Window: p.window} }

func (p *paper) Size(r model.Request) int {
	n := len(strings.Join(r.System, ""))
	p.sized += len(r.Messages)
	for _, m := range r.Messages {
		n += len(m.Text) + len(m.Name)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Args)
		}
	}
	return n
}

func (p *paper) Stream(_ context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	p.asked = append(p.asked, r)
	return func(yield func(model.Chunk, error) bool) {
		if p.fail != nil {
			yield(model.Chunk{}, p.fail)
			return
		}
		yield(model.Chunk{Text: p.sum}, nil)
	}
}

// A shelf is a journal that only keeps what it is given.
type shelf struct {
	Journal
	records []jackline.Record
	plan    string
	fail    error
}

func (s *shelf) Append(_ context.Context, _ jackline.Owner, r jackline.Record) ([]jackline.Event, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	s.records = append(s.records, r)
	return nil, nil
}

func (s *shelf) State(_ context.Context, _ jackline.Owner, _ jackline.SessionID, key string) (json.RawMessage, error) {
	if key != jackline.PlanKey || s.plan == "" {
		return nil, nil
	}
	return json.RawMessage(s.plan), nil
}

// done are the ends of compactions.
func (s *shelf) done(t *testing.T) (list []jackline.CompactionDone) {
	for _, r := range s.records {
		for _, e := range r.Events {
			var d jackline.CompactionDone
			if e.Type == d.Type() {
				if err := json.Unmarshal(e.Data, &d); err != nil {
					t.Fatal(err)
				}
				list = append(list, d)
			}
		}
	}
	return list
}

// A past is a run with a history of the test's making.
type past struct {
	*run
	paper *paper
	shelf *shelf
	n     int
}

func newPast(window int) *past {
	p := &past{paper: &paper{window: window, sum: "SUMMARY"}, shelf: &shelf{}}
	p.run = &run{
		e: &Engine{Journal: p.shelf}, o: jackline.Local, s: jackline.Session{ID: "s_1", Workspace: "/ws"}, t: jackline.Turn{ID: "t_2"},
		m: Models{Main: p.paper, Raw: p.paper}, rows: map[jackline.CallID]jackline.Call{}, collected: map[jackline.CallID]bool{},
	}
	return p
}

func text(n int) string { return strings.Repeat("word ", n/5+1)[:n] }

func (p *past) prompt(turn jackline.TurnID, chars int) {
	p.items = append(p.items, jackline.Item{Turn: turn, Role: jackline.ItemPrompt, Text: text(chars)})
}

func (p *past) says(chars int) {
	p.items = append(p.items, jackline.Item{Turn: "t_2", Role: jackline.ItemAssistant, Text: text(chars)})
}

// step is a message with calls and their results, of so many characters.
func (p *past) step(args int, results ...int) {
	it := jackline.Item{Turn: "t_2", Role: jackline.ItemAssistant}
	var after []jackline.Item
	for _, n := range results {
		p.n++
		c := jackline.Call{
			ID: jackline.CallID(fmt.Sprintf("c_%d", p.n)), Name: "look", Title: fmt.Sprintf("look %d", p.n), State: jackline.CallEnded, Outcome: jackline.OK,
			Args: json.RawMessage(fmt.Sprintf(`{"path":"f%d","text":%q}`, p.n, text(args))), Text: text(n),
		}
		p.rows[c.ID] = c
		it.Calls = append(it.Calls, c.ID)
		after = append(after, jackline.Item{Turn: "t_2", Role: jackline.ItemResult, Call: c.ID})
	}
	p.items = append(append(p.items, it), after...)
}

func (p *past) fits(t *testing.T) model.Request {
	t.Helper()
	req, chars, err := p.fit(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, tokens := p.measure(req); tokens > p.budget() || chars != p.paper.Size(req) {
		t.Errorf("%d tokens for a budget of %d, %d characters", tokens, p.budget(), chars)
	}
	for _, f := range Malformed(req.Messages) {
		t.Error(f)
	}
	return req
}

func (p *past) budget() int { return contract.Of(p.paper.window).Budget() }

// roles are the history in a word each, with what a compaction left of results.
func (p *past) roles() string {
	var list []string
	for _, it := range p.items {
		w := string(it.Role)
		if it.Keep > 0 {
			w += fmt.Sprintf("(%d)", it.Keep)
		}
		list = append(list, w)
	}
	return strings.Join(list, " ")
}

func TestFitsWindow(t *testing.T) {
	if err := fitsWindow(model.Info{Name: "m", Window: 4096}); err != nil {
		t.Error(err)
	}
	for _, w := range []int{0, 1, 2048, 4095} {
		err := fitsWindow(model.Info{Name: "tiny", Window: w})
		if jackline.KindOf(err) != jackline.Invalid {
			t.Fatalf("%d: %v", w, err)
		}
		for _, want := range []string{"tiny", fmt.Sprint(" ", w, " tokens"), "4096"} {
			if !strings.Contains(jackline.Say(err), want) {
				t.Errorf("%d: %q does not say %q", w, jackline.Say(err), want)
			}
		}
	}
}

func TestCalibrate(t *testing.T) {
	e := &Engine{}
	estimate := e.counts.tokens("a", 3500, 10)
	if estimate != 1060 {
		t.Errorf("estimate %d", estimate)
	}
	for _, lie := range []int{0, -5, 1, 264, 3181, 1 << 30} { // below 0.25 and above 3
		e.counts.learn("a", 3500, 10, lie)
		if got := e.counts.tokens("a", 3500, 10); got != estimate {
			t.Errorf("%d counted: %d", lie, got)
		}
	}
	e.counts.learn("a", 0, 0, 100) // nothing was estimated
	if got := e.counts.tokens("a", 3500, 10); got != estimate {
		t.Errorf("after nothing: %d", got)
	}
	e.counts.learn("a", 3500, 10, 2120)
	if got := e.counts.tokens("a", 3500, 10); got != 2120 {
		t.Errorf("the first figure counts whole: %d", got)
	}
	e.counts.learn("a", 3500, 10, 1060)
	if got := e.counts.tokens("a", 3500, 10); got != 1802 { // 2 + 0.3 × (1 - 2)
		t.Errorf("a later one by 0.3: %d", got)
	}
	if got := e.counts.tokens("b", 3500, 10); got != estimate {
		t.Errorf("another model: %d", got)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		e.counts.learn("a", rnd.IntN(10000), rnd.IntN(50), rnd.IntN(20000)-100)
		if got := e.counts.tokens("a", 350000, 0); got < 25000-1 || got > 300000 {
			t.Fatalf("the ratio is out of bounds: %d for 100000", got)
		}
	}
}

func TestFitLeavesAlone(t *testing.T) {
	p := newPast(8192)
	p.prompt("t_2", 500)
	for range 6 {
		p.step(20, 1000)
	}
	before := slices.Clone(p.items)
	req := p.fits(t)
	if len(p.shelf.records) != 0 || len(p.items) != len(before) || p.s.Gen != 0 || len(req.Messages) != len(before) {
		t.Errorf("%d records, %d of %d items", len(p.shelf.records), len(p.items), len(before))
	}
	if req.MaxTokens != 2048 {
		t.Errorf("%d tokens for the answer", req.MaxTokens)
	}
}

// Old results go first, the oldest of them, and no more than is needed.
func TestCompactOldResultsFirst(t *testing.T) {
	p := newPast(8192) // all results together may take 14336 characters, and are shrunk to 8601
	p.prompt("t_1", 100)
	p.says(100)
	p.prompt("t_2", 100)
	for range 5 {
		p.step(20, 3000)
	}
	p.fits(t)
	want := "prompt assistant prompt assistant result(400) assistant result(400) assistant result(400) assistant result assistant result"
	if p.roles() != want || len(p.paper.asked) != 0 {
		t.Errorf("%s, %d summaries", p.roles(), len(p.paper.asked))
	}
	if got := p.resultChars(p.items); got != 3*400+2*3000 {
		t.Errorf("%d characters of results", got)
	}
	// It is one record: a new generation, with the turn as it stands.
	last := p.shelf.records[len(p.shelf.records)-1]
	done := p.shelf.done(t)
	if len(last.Compacted) != len(p.items) || last.Turn == nil || p.s.Gen != 1 || len(done) != 1 || !done[0].Kept || done[0].After >= done[0].Before || done[0].Summary != "" {
		t.Errorf("%+v", done)
	}
	if first := p.shelf.records[0].Events; len(first) != 1 || first[0].Type != (jackline.CompactionStart{}).Type() {
		t.Errorf("%+v", first)
	}
	// Then there is peace for a while.
	n := len(p.shelf.records)
	p.step(20, 3000)
	p.fits(t)
	if len(p.shelf.records) != n {
		t.Error("it was compacted again at once")
	}
}

// The tokens may fit while the results take more than their share.
func TestCompactShare(t *testing.T) {
	p := newPast(8192)
	p.prompt("t_2", 100)
	for range 4 {
		p.step(0, 3600)
	}
	if _, tokens := p.measure(p.request(p.items, p.current(), false)); tokens > p.budget() {
		t.Fatalf("%d tokens do not fit anyway", tokens)
	}
	p.fits(t)
	if got, most := p.resultChars(p.items), int(float64(contract.Of(8192).Results)*lowWater); got > most {
		t.Errorf("%d characters of results, want at most %d: %s", got, most, p.roles())
	}
	if last := p.items[len(p.items)-1]; last.Keep != 0 {
		t.Error("the newest result was cut")
	}
}

// Then the oldest conversation goes, and what stays fills at most the low-water mark.
func TestCompactSummary(t *testing.T) {
	p := newPast(8192)
	for range 20 {
		p.prompt("t_1", 600)
		p.says(600)
	}
	p.prompt("t_2", 900)
	p.says(10)
	req := p.fits(t)
	if p.items[0].Role != jackline.ItemSummary || p.items[0].Text != "SUMMARY" || p.paper.asked[0].MaxTokens != summaryTokens {
		t.Fatalf("%s", p.roles())
	}
	if sys := strings.Join(req.System, "\n"); !strings.Contains(sys, "What happened before, in short:\nSUMMARY") {
		t.Errorf("the system message is %q", sys)
	}
	if got, low := p.estimate(p.items), int(float64(p.budget())*lowWater); got > low || got < low-600 {
		t.Errorf("%d tokens remain, the low-water mark is %d", got, low)
	}
	if len(p.items) < 10 {
		t.Errorf("more than needed is gone: %s", p.roles())
	}
	// The next summary holds the one before it.
	for range 20 {
		p.prompt("t_1", 600)
		p.says(600)
	}
	p.paper.sum = "SECOND"
	p.fits(t)
	if n := strings.Count(p.roles(), "summary"); n != 1 || p.items[0].Text != "SECOND" || !strings.Contains(p.paper.asked[1].Messages[0].Text, "Earlier: SUMMARY") {
		t.Errorf("%s", p.roles())
	}
}

func TestCompactKeepsTheLast(t *testing.T) {
	for _, c := range []struct{ history, want int }{{0, 6}, {3, 6}, {9, 6}} {
		p := newPast(8192)
		p.set.History = c.history
		for k := range 30 {
			p.prompt("t_1", 1500+k)
		}
		last := slices.Clone(p.items[30-c.want:])
		p.paper.sum = ""
		p.fits(t)
		if n := len(p.items); n < c.want || !slices.EqualFunc(p.items[n-c.want:], last, func(a, b jackline.Item) bool { return a.Text == b.Text }) {
			t.Errorf("history %d: %d messages stay: %s", c.history, n, p.roles())
		}
	}
}

// The prompt of the turn stays where it is cut away from, whole, and so do words that steered it.
func TestCompactKeepsThePrompt(t *testing.T) {
	p := newPast(4096)
	p.prompt("t_1", 2000)
	p.says(2000)
	p.prompt("t_2", 2500)
	for range 8 {
		p.says(900)
	}
	p.prompt("t_2", 1200)
	for range 8 {
		p.says(900)
	}
	p.fits(t)
	if p.items[0].Role != jackline.ItemSummary || len(p.items[1].Text) != 2500 || len(p.items[2].Text) != 1200 || p.items[2].Role != jackline.ItemPrompt {
		t.Errorf("%s", p.roles())
	}
	for _, it := range p.items {
		if it.Role == jackline.ItemPrompt && it.Turn == "t_1" {
			t.Error("the old prompt is still there")
		}
	}
}

// The newest results are cut only when nothing else helps, and messages after them.
func TestCompactTheNewest(t *testing.T) {
	p := newPast(4096)
	p.prompt("t_2", 100)
	p.step(10, 3000, 3000, 3000)
	p.fits(t)
	if want := "prompt assistant result(400) result result"; p.roles() != want && p.roles() != "prompt assistant result(400) result(400) result" {
		t.Errorf("%s", p.roles())
	}

	p = newPast(4096)
	p.prompt("t_2", 4000)
	p.prompt("t_1", 3800)
	p.says(3900)
	p.step(10, 100)
	req := p.fits(t)
	if len(p.items[0].Text) != 4000 {
		t.Error("the turn's own prompt was trimmed")
	}
	trimmedOnes := 0
	for _, m := range req.Messages {
		if strings.Contains(m.Text, "[…cut to save room]") {
			trimmedOnes++
		}
	}
	if trimmedOnes == 0 {
		t.Errorf("nothing was trimmed: %s", p.roles())
	}
}

// A call that wrote a long file weighs as much as what it wrote.
func TestCompactLongArguments(t *testing.T) {
	p := newPast(4096)
	p.prompt("t_2", 300)
	for range 3 {
		p.step(3500, 60)
	}
	req := p.fits(t)
	if got := p.roles(); !strings.HasPrefix(got, "prompt assistant") || strings.Count(got, "result") != 3 {
		t.Errorf("%s", got)
	}
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			var a struct{ Path string }
			if err := json.Unmarshal(c.Args, &a); err != nil || !strings.HasPrefix(a.Path, "f") {
				t.Errorf("%s: %v", c.Args, err)
			}
		}
	}
	for id, c := range p.rows {
		if len(c.Args) < 3500 {
			t.Errorf("the arguments of %s themselves are cut", id)
		}
	}
}

func TestCompactDiscarded(t *testing.T) {
	p := newPast(4096)
	p.prompt("t_2", 20000)
	before := slices.Clone(p.items)
	_, _, err := p.fit(t.Context(), false)
	if jackline.KindOf(err) != jackline.Invalid {
		t.Fatal(err)
	}
	for _, want := range []string{"does not fit", "4096", "1024", "larger window", "shorter prompt"} {
		if !strings.Contains(jackline.Say(err), want) {
			t.Errorf("%q does not say %q", jackline.Say(err), want)
		}
	}
	done := p.shelf.done(t)
	if len(done) != 1 || done[0].Kept || p.s.Gen != 0 || len(p.items) != 1 || p.items[0].Text != before[0].Text {
		t.Errorf("%+v", done)
	}
	for _, r := range p.shelf.records {
		if r.Compacted != nil {
			t.Error("it was written")
		}
	}
}

func TestCompactPlan(t *testing.T) {
	p := newPast(8192)
	p.shelf.plan = `[{"text":"one","state":"active"}]`
	p.prompt("t_2", 100)
	for range 5 {
		p.step(20, 3000)
	}
	req := p.fits(t)
	last := req.Messages[len(req.Messages)-1]
	if last.Text != "[note] Your plan as it stands: "+p.shelf.plan || last.Role != model.User {
		t.Errorf("the last message is %q", last.Text)
	}
}

// What is not yet stored is compacted with the rest, and is there once.
func TestCompactPending(t *testing.T) {
	p := newPast(8192)
	p.prompt("t_2", 100)
	for range 5 {
		p.step(20, 3000)
	}
	n := len(p.items) - 1
	p.pending = []jackline.Item{p.items[n], {Turn: "t_2", Role: jackline.ItemNote, Text: "a note"}}
	p.items = p.items[:n]
	req := p.fits(t)
	if last := req.Messages[len(req.Messages)-1]; last.Text != "[note] a note" || len(req.Messages) != n+2 || len(p.pending) != 0 {
		t.Errorf("%d messages, want %d: the last is %q", len(req.Messages), n+2, last.Text)
	}
}

func TestCompactWithoutSummary(t *testing.T) {
	long := func() *past {
		p := newPast(8192)
		for range 30 {
			p.prompt("t_1", 1500)
		}
		p.prompt("t_2", 100)
		return p
	}
	p := long()
	p.paper.fail = errors.New("broken")
	p.fits(t)
	if strings.Contains(p.roles(), "summary") {
		t.Errorf("%s", p.roles())
	}

	p = long()
	p.paper.sum = strings.Repeat("ä", 3000)
	p.fits(t)
	if s := p.items[0].Text; len(s) > summaryTokens*4+3 || !utf8.ValidString(s) {
		t.Errorf("a summary of %d bytes, valid %v", len(s), utf8.ValidString(s))
	}

	p = long()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.paper.fail = ctx.Err()
	if _, _, err := p.fit(ctx, false); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	p = long()
	p.shelf.fail = errors.New("disk full")
	if _, _, err := p.fit(t.Context(), false); err == nil {
		t.Error("a compaction that could not be written was made")
	}
}

// Whatever a history looks like: what comes out fits or is a clear error, is well formed, and holds what must stay.
func TestFitAnything(t *testing.T) {
	for seed := range uint64(120) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		p := newPast([]int{4096, 6000, 8192, 16384, 32768}[rnd.IntN(5)])
		p.paper.sum = []string{"", "SUMMARY"}[rnd.IntN(2)]
		most := []int{50, 1000, 4000}[rnd.IntN(3)]
		limit := contract.Of(p.paper.window).Result
		own := rnd.IntN(20)
		var prompts []string
		for k := range own + 1 + rnd.IntN(25) {
			switch {
			case k == own, k > own && rnd.IntN(12) == 0:
				p.prompt("t_2", 1+rnd.IntN(1500))
				prompts = append(prompts, p.items[len(p.items)-1].Text)
			case k < own && (k == 0 || rnd.IntN(3) == 0):
				p.prompt("t_1", 1+rnd.IntN(most))
			case rnd.IntN(4) == 0:
				p.says(1 + rnd.IntN(most))
			default:
				var results []int
				for range 1 + rnd.IntN(4) {
					results = append(results, 1+rnd.IntN(min(limit, 5*most)))
				}
				p.step(rnd.IntN(most), results...)
			}
		}
		last := slices.Clone(p.items[max(0, len(p.items)-keepLast):])
		req, _, err := p.fit(t.Context(), rnd.IntN(2) == 0)
		if err != nil {
			if rest := p.uncut(len(prompts)); rest != "" {
				t.Errorf("seed %d: %v, though %s", seed, err, rest)
			}
			continue
		}
		if _, tokens := p.measure(req); tokens > p.budget() {
			t.Errorf("seed %d: %d tokens of %d", seed, tokens, p.budget())
		}
		for _, f := range Malformed(req.Messages) {
			t.Errorf("seed %d: %s", seed, f)
		}
		for _, w := range prompts {
			if !slices.ContainsFunc(req.Messages, func(m model.Message) bool { return m.Text == w }) {
				t.Errorf("seed %d: words of the turn's own are gone", seed)
			}
		}
		kept := p.items[max(0, len(p.items)-len(last)):]
		if !slices.EqualFunc(kept, last, func(a, b jackline.Item) bool {
			return a.Role == b.Role && a.Call == b.Call && slices.Equal(a.Calls, b.Calls)
		}) {
			t.Errorf("seed %d: the last messages are not those that were: %s", seed, p.roles())
		}
		for _, d := range p.shelf.done(t) {
			if d.Kept != (d.After < d.Before) {
				t.Errorf("seed %d: %+v", seed, d)
			}
		}
		if t.Failed() && seed > 50 {
			t.FailNow()
		}
	}
}

// uncut says what a compaction could still have taken away.
func (p *past) uncut(prompts int) string {
	if n := len(p.items); n > prompts+keepLast+4+2 { // the results of one step stay together; a summary and a note
		return fmt.Sprintf("%d messages are left", n)
	}
	for k, it := range p.items {
		switch {
		case it.Role == jackline.ItemPrompt && it.Turn == "t_2":
		case it.Role == jackline.ItemResult && it.Keep == 0:
			return fmt.Sprintf("result %d is whole", k)
		case it.Role != jackline.ItemSummary && len(it.Text) > trimmed:
			return fmt.Sprintf("message %d has %d characters", k, len(it.Text))
		}
	}
	return ""
}

var _ tool.Log = (*shelf)(nil)

// A compaction looks at each message a few times, however many there are.
func TestCompactionIsLinear(t *testing.T) {
	for _, n := range []int{400, 2000, 8000} {
		for name, fail := range map[string]error{"summed up": nil, "no summary": errors.New("down")} {
			p := newPast(60 * n)
			p.paper.fail = fail
			for k := range n / 4 {
				p.prompt(jackline.TurnID(fmt.Sprintf("t_%d", k)), 50)
				p.step(300, 600)
				p.says(1000)
			}
			p.prompt("t_now", 100)
			p.fits(t)
			if len(p.shelf.done(t)) != 1 {
				t.Errorf("%s, %d: %d compactions", name, n, len(p.shelf.done(t)))
			}
			if most := 8 * n; p.paper.sized > most {
				t.Errorf("%s, %d: %d messages were measured, want at most %d", name, n, p.paper.sized, most)
			}
		}
	}
}

// BenchmarkCompact makes room in long histories, for a model that is only measured and for one that calls as text over a real
// adapter. The time for each message must not grow with their number.
func BenchmarkCompact(b *testing.B) {
	real, err := openai.New(openai.Options{BaseURL: "http://127.0.0.1:9/v1", Model: "m", Window: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = real.Close() }()
	for _, m := range []struct {
		name string
		main model.Model
	}{{"paper", nil}, {"text", prompted.Wrap(real, prompted.Options{})}} {
		for _, n := range []int{500, 2000, 8000} {
			b.Run(fmt.Sprintf("%s/%d", m.name, n), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					p := newPast(60 * n)
					if m.main != nil {
						p.m.Main = windowed{m.main, p.paper.window}
					}
					for k := range n / 4 {
						p.prompt(jackline.TurnID(fmt.Sprintf("t_%d", k)), 50)
						p.step(300, 600)
						p.says(100)
					}
					p.prompt("t_now", 100)
					b.StartTimer()
					if _, _, err := p.fit(context.Background(), false); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/message")
			})
		}
	}
}

// A windowed model has another window.
type windowed struct {
	model.Model
	window int
}

func (w windowed) Info() model.Info {
	i := w.Model.Info()
	i.Window = w.window
	return i
}
