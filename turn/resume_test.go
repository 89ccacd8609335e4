package turn_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/prompted"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/turn"
)

// An answer is what a thinker says: words, and calls as "name {arguments}".
type answer struct {
	text  string
	calls []string
}

// A thinker is a model that remembers nothing: its answer follows from how often it has spoken in what it is sent. So it
// goes on after a restart as a real one does.
type thinker struct {
	answers []answer
	native  bool
	window  int

	counts bool // it remembers how often it spoke, for histories that are compacted
	spoke  int
}

func (m *thinker) Info() model.Info {
	return model.Info{Name: "thinker", Window: m.window, Native: m.native}
}

func (m *thinker) Size(r model.Request) int {
	n := len(strings.Join(r.System, ""))
	for _, msg := range r.Messages {
		n += len(msg.Text)
		for _, c := range msg.Calls {
			n += len(c.Name) + len(c.Args)
		}
	}
	return n
}

func (m *thinker) Stream(_ context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		n := 0
		for _, msg := range r.Messages {
			if msg.Role == model.Assistant {
				n++
			}
		}
		if len(r.System) == 1 && strings.HasPrefix(r.System[0], "Sum up") {
			yield(model.Chunk{Text: "Some files were read."}, nil)
			return
		}
		if m.counts {
			n = m.spoke
			m.spoke++
		}
		if n >= len(m.answers) {
			yield(model.Chunk{}, jackline.E("thinker", jackline.Invalid, nil, "The model was asked once too often."))
			return
		}
		a := m.answers[n]
		if a.text != "" && !yield(model.Chunk{Text: a.text}, nil) {
			return
		}
		for k, c := range a.calls {
			name, args, _ := strings.Cut(c, " ")
			ch := model.Chunk{Call: &model.Call{ID: fmt.Sprintf("n%dk%d", n, k), Name: name, Args: json.RawMessage(args)}}
			if !m.native {
				ch = model.Chunk{Text: fmt.Sprintf("\n```tool\n{\"name\": %q, \"args\": %s}\n```\n", name, args)}
			}
			if !yield(ch, nil) {
				return
			}
		}
		yield(model.Chunk{Finish: model.Stop}, nil)
	}
}

// A watched model says what is wrong with the history that it is sent.
type watched struct {
	model.Model
	mu     sync.Mutex
	faults []string
	last   model.Request
	gen    int
	now    func() int // the generation of the history; nil does not look whether requests only grow
	grew   int
}

func (m *watched) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	m.mu.Lock()
	m.faults = append(m.faults, turn.Malformed(r.Messages)...)
	if m.now != nil {
		gen := m.now()
		if fault := notLonger(m.last, r); fault != "" && gen == m.gen && m.last.Messages != nil {
			m.faults = append(m.faults, fault)
		} else if fault == "" {
			m.grew++
		}
		m.gen = gen
		r.Messages = slices.Clone(r.Messages)
	}
	m.last = r
	m.mu.Unlock()
	return m.Model.Stream(ctx, r)
}

// notLonger says where a request does not repeat the whole of the one before it.
func notLonger(was, is model.Request) string {
	if strings.Join(was.System, "\n--\n") != strings.Join(is.System, "\n--\n") {
		return "the system message is another"
	}
	if fmt.Sprint(was.Tools) != fmt.Sprint(is.Tools) {
		return "the tools are others"
	}
	if len(is.Messages) <= len(was.Messages) {
		return fmt.Sprintf("%d messages follow %d", len(is.Messages), len(was.Messages))
	}
	for k, m := range was.Messages {
		a, b := written(model.Request{Messages: []model.Message{m}}), written(model.Request{Messages: is.Messages[k : k+1]})
		if a != b || m.CallID != is.Messages[k].CallID {
			return fmt.Sprintf("message %d became %.300q from %.300q", k, b, a)
		}
	}
	return ""
}

// The ways in which the program comes to its end at a record.
const (
	diesBefore = "dies before it is written"
	diesAfter  = "dies after it is written"
	writeFails = "cannot write it, nor anything after"
)

// A mortal is a store whose process ends at the nth thing that it is to write.
type mortal struct {
	*store.DB
	at   int // 0 is never
	how  string
	n    int
	dead bool
}

var errDisk = errors.New("the disk is gone")

func (m *mortal) reach() (write, failed bool) {
	if m.dead {
		return false, true
	}
	if m.n++; m.n != m.at {
		return true, false
	}
	m.dead = true
	return m.how == diesAfter, true
}

// die ends the goroutine that stands for the process, or gives the error that takes its place.
func (m *mortal) die() error {
	if m.how != writeFails {
		runtime.Goexit()
	}
	return errDisk
}

func (m *mortal) Append(ctx context.Context, o jackline.Owner, r jackline.Record) (events []jackline.Event, err error) {
	write, failed := m.reach()
	if write {
		if events, err = m.DB.Append(ctx, o, r); err != nil {
			return nil, err
		}
	}
	if failed {
		return nil, m.die()
	}
	return events, nil
}

func (m *mortal) WriteSpill(ctx context.Context, o jackline.Owner, s jackline.SessionID, c jackline.CallID, text string) error {
	write, failed := m.reach()
	if write {
		if err := m.DB.WriteSpill(ctx, o, s, c, text); err != nil {
			return err
		}
	}
	if failed {
		return m.die()
	}
	return nil
}

// A life is one turn over one store, through as many processes as it takes.
type life struct {
	t       *testing.T
	data    string
	native  bool
	answers []answer
	agent   jackline.AgentSettings
	window  int
	counts  bool

	db      *store.DB
	log     *mortal
	desk    *approval.Desk
	engine  *turn.Engine
	model   *watched
	session jackline.Session
	id      jackline.TurnID
	faults  []string

	mu  sync.Mutex
	ran map[jackline.CallID]int // how often each call was run, as the world counts it
}

type file struct {
	Path string `json:"path" doc:"which file"`
}

// tools: look reads and is cached, peek reads, huge reads more than fits, put writes, fail writes and fails.
func (l *life) tools() []tool.Tool {
	define := func(name string, e jackline.Effect, run func(file) (tool.Out, error)) tool.Tool {
		return tool.Define(tool.Spec[file]{
			Name: name, Group: "files", Summary: "Does " + name + ".", Effect: e, Source: jackline.Workspace, Cache: name == "look", Icon: "other", Pin: 1,
			Title: func(a file) string { return name + " " + a.Path },
			Touches: func(_ tool.In, a file) ([]jackline.Touch, error) {
				return []jackline.Touch{{Effect: e, Kind: "path", Name: a.Path}}, nil
			},
			Run: func(_ context.Context, in tool.In, a file) (tool.Out, error) {
				l.mu.Lock()
				l.ran[in.Call]++
				l.mu.Unlock()
				return run(a)
			},
		})
	}
	says := func(a file) (tool.Out, error) { return tool.Out{Text: "It is " + a.Path}, nil }
	return []tool.Tool{
		define("look", jackline.Read, says), define("peek", jackline.Read, says), define("put", jackline.Write, says),
		define("huge", jackline.Read, func(a file) (tool.Out, error) { return tool.Out{Text: strings.Repeat(a.Path+"\n", 9000)}, nil }),
		define("fail", jackline.Write, func(a file) (tool.Out, error) {
			return tool.Out{}, jackline.E("fail", jackline.Invalid, nil, "It does not work.")
		}),
	}
}

// asking judges: what writes asks.
type asking struct{}

func (asking) Judge(i jackline.Intent) jackline.Decision {
	if i.Effect.Acts() && len(i.Touches) > 0 && i.Touches[0].Name != "free" {
		return jackline.Decision{Verdict: jackline.Ask, Rule: "test", Reason: "It writes."}
	}
	return jackline.Decision{Verdict: jackline.Allow, Rule: "test"}
}

// open starts the program.
func (l *life) open(at int, how string) {
	l.t.Helper()
	if l.db != nil {
		if err := l.db.Close(); err != nil {
			l.t.Fatal(err)
		}
	}
	db, err := store.Open(context.Background(), l.data)
	if err != nil {
		l.t.Fatal(err)
	}
	l.db, l.log = db, &mortal{DB: db, at: at, how: how}
	set, err := tool.NewSet(l.tools()...)
	if err != nil {
		l.t.Fatal(err)
	}
	raw := &thinker{answers: l.answers, native: l.native, window: cmp.Or(l.window, 8192), counts: l.counts}
	var main model.Model = raw
	if !l.native {
		main = prompted.Wrap(raw, prompted.Options{})
	}
	var last model.Request
	if l.model != nil {
		l.faults, last = append(l.faults, l.model.faults...), l.model.last
	}
	l.model = &watched{Model: main, last: last}
	l.desk = approval.New(db, db.Key("approval"), approval.Options{})
	l.engine = &turn.Engine{
		Journal: l.log, Desk: l.desk,
		Models: func(context.Context, jackline.Session) (turn.Models, error) {
			return turn.Models{Main: l.model, Raw: raw}, nil
		},
		Gate: func(jackline.Session) (*tool.Gate, error) {
			return &tool.Gate{Tools: set, Judge: asking{}, Desk: l.desk, Log: l.log}, nil
		},
		Settings: func(context.Context, jackline.Owner) (jackline.AgentSettings, error) { return l.agent, nil },
	}
}

// begin makes a session and submits the prompt.
func (l *life) begin() {
	l.t.Helper()
	var err error
	l.session, err = l.db.CreateSession(context.Background(), jackline.Local, jackline.Session{
		ID: jackline.NewID[jackline.SessionID]("s_"), Workspace: "/ws", Mode: jackline.ModeAllowReads,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	tn := jackline.Turn{
		ID: jackline.NewID[jackline.TurnID]("t_"), Session: l.session.ID, Prompt: "Do the work.", Status: jackline.Queued,
		Options: jackline.TurnOptions{OnAsk: jackline.AskWait, MaxSteps: 60},
	}
	if _, err := l.db.Append(context.Background(), jackline.Local, jackline.Record{Session: l.session.ID, Turn: &tn}); err != nil {
		l.t.Fatal(err)
	}
	l.id = tn.ID
}

// run takes the turn to its end: a person says yes to every card, and a process that has died is started again. It returns what
// stood in the store when the process died.
func (l *life) run() (end jackline.Turn, left []jackline.Call, ran map[jackline.CallID]int, died bool) {
	l.t.Helper()
	ctx := context.Background()
	for range 60 {
		var tn jackline.Turn
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			tn, err = l.engine.Run(ctx, jackline.Local, l.id, turn.Control{})
		}()
		<-done
		switch {
		case l.log.dead:
			if l.log.how == writeFails && err == nil {
				l.t.Error("a record that could not be written was no error")
			}
			died = true
			l.open(0, "")
			if left, err = l.db.Calls(ctx, jackline.Local, l.id); err != nil {
				l.t.Fatal(err)
			}
			ran = maps.Clone(l.ran)
		case err != nil:
			l.t.Fatal(err)
		case tn.Status == jackline.Waiting:
			if stored, err := l.db.Turn(ctx, jackline.Local, l.id); err != nil || stored.Status != jackline.Waiting {
				l.t.Errorf("it waits, and the store says %s (%v)", stored.Status, err)
			}
			rows, err := l.db.Approvals(ctx, jackline.Local, jackline.ApprovalFilter{Turn: l.id, States: []jackline.ApprovalState{jackline.Pending}})
			if err != nil || len(rows) == 0 {
				l.t.Fatalf("it waits for nothing: %v", err)
			}
			if _, err := l.desk.Answer(ctx, jackline.Local, rows[0].ID, jackline.Answer{Yes: true, Scope: jackline.Once}, nil); err != nil {
				l.t.Fatal(err)
			}
		default:
			return tn, left, ran, died
		}
	}
	l.t.Fatal("the turn does not end")
	return end, nil, nil, false
}

var ids = regexp.MustCompile(`\b[ct]_?[0-9a-v]{20}\b`)

// said is what the model was sent last, written out without what differs from life to life.
func (l *life) said() string {
	return ids.ReplaceAllString(written(l.model.last), "ID")
}

// check holds the end of a life against one that nothing disturbed.
func (l *life) check(end, want jackline.Turn, left []jackline.Call, ran map[jackline.CallID]int, undisturbed *life) {
	l.t.Helper()
	ctx := context.Background()
	for _, f := range append(l.faults, l.model.faults...) {
		l.t.Errorf("the history that the model saw: %s", f)
	}
	if end.Status != want.Status || end.Answer != want.Answer || end.Reason != want.Reason {
		l.t.Errorf("it came to %s %q %q, want %s %q %q", end.Status, end.Answer, end.Reason, want.Status, want.Answer, want.Reason)
	}
	calls, err := l.db.Calls(ctx, jackline.Local, l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	whole, err := undisturbed.db.Calls(ctx, jackline.Local, undisturbed.id)
	if err != nil || len(calls) != len(whole) {
		l.t.Fatalf("%d calls, want %d (%v)", len(calls), len(whole), err)
	}
	before := map[jackline.CallID]jackline.Call{}
	for _, c := range left {
		before[c.ID] = c
	}
	doubt := false
	for k, c := range calls {
		was, n := before[c.ID], l.ran[c.ID]
		switch {
		case was.State == jackline.CallStarted:
			doubt = true
			if c.Outcome != jackline.Unknown || c.Text != tool.UnknownText {
				l.t.Errorf("%s was in doubt, and is %s %q", c.Title, c.Outcome, c.Text)
			}
			if n != ran[c.ID] || n > 1 {
				l.t.Errorf("%s was in doubt after %d runs, and was run %d times", c.Title, ran[c.ID], n)
			}
			continue
		case was.State == jackline.CallEnded && (n != ran[c.ID] || c.Text != was.Text || c.Outcome != was.Outcome):
			l.t.Errorf("%s was over, and was run again: %d runs after %d", c.Title, n, ran[c.ID])
		case c.Acts && n != 1:
			l.t.Errorf("%s was run %d times", c.Title, n)
		}
		if mask := func(s string) string { return ids.ReplaceAllString(s, "ID") }; c.Outcome != whole[k].Outcome || mask(c.Text) != mask(whole[k].Text) || c.Cached != "" != (whole[k].Cached != "") {
			l.t.Errorf("%s came to %s %.60q, want %s %.60q", c.Title, c.Outcome, c.Text, whole[k].Outcome, whole[k].Text)
		}
	}
	if !doubt && l.said() != undisturbed.said() {
		l.t.Errorf("the last request was\n%s\nwant\n%s", l.said(), undisturbed.said())
	}
	l.checkLog(calls)
	rows := func(l *life) (states []string) {
		list, err := l.db.Approvals(ctx, jackline.Local, jackline.ApprovalFilter{Turn: l.id})
		if err != nil {
			l.t.Fatal(err)
		}
		for _, a := range list {
			states = append(states, string(a.State)+" "+a.Title)
		}
		return states
	}
	if got, want := rows(l), rows(undisturbed); !slices.Equal(got, want) {
		l.t.Errorf("the cards are %q, want %q", got, want)
	}
}

// checkLog looks for what happened twice, or never.
func (l *life) checkLog(calls []jackline.Call) {
	l.t.Helper()
	ctx := context.Background()
	events, err := l.db.Events(ctx, jackline.Local, l.session.ID, 0, 10000)
	if err != nil {
		l.t.Fatal(err)
	}
	seen := map[string]int{}
	for k, e := range events {
		if e.ID != int64(k+1) {
			l.t.Errorf("event %d has the id %d", k+1, e.ID)
		}
		var c struct {
			Call jackline.CallID `json:"call"`
		}
		if err := json.Unmarshal(e.Data, &c); err != nil {
			l.t.Fatal(err)
		}
		seen[e.Type+" "+string(c.Call)]++
	}
	want := []string{"turn.start ", "turn.end "}
	for _, c := range calls {
		want = append(want, "tool.call "+string(c.ID), "tool.result "+string(c.ID))
	}
	for _, w := range want {
		if seen[w] != 1 {
			l.t.Errorf("the log has %d times %s", seen[w], w)
		}
	}
	items, err := l.db.History(ctx, jackline.Local, l.session.ID)
	if err != nil {
		l.t.Fatal(err)
	}
	results := map[jackline.CallID]int{}
	for _, it := range items {
		if it.Role == jackline.ItemResult {
			results[it.Call]++
		}
	}
	for _, c := range calls {
		if results[c.ID] != 1 {
			l.t.Errorf("the history has %d results of %s", results[c.ID], c.Title)
		}
	}
}

// TestResume ends the program at every single record of a turn, in every way, and starts it again.
func TestResume(t *testing.T) {
	scripts := map[string][]answer{
		"reads": {
			{"I look.", []string{`look {"path":"a"}`}},
			{"", []string{`look {"path":"b"}`, `huge {"path":"c"}`, `look {"path":"a"}`}},
			{"It is all there.", nil},
		},
		"edit with approval": {
			{"", []string{`look {"path":"a"}`}},
			{"Now I write.", []string{`put {"path":"a"}`}},
			{"", []string{`look {"path":"a"}`}},
			{"", []string{`fail {"path":"a"}`}},
			{"It is written.", nil},
		},
		"several calls in a step": {
			{"", []string{`peek {"path":"a"}`, `put {"path":"free"}`, `put {"path":"b"}`}},
			{"More.", []string{`put {"path":"c"}`, `peek {"path":"d"}`, `put {"path":"e"}`}},
			{"All done.", nil},
		},
		"a loop": {
			{"", []string{`peek {"path":"a"}`}},
			{"", []string{`peek {"path":"a"}`}},
			{"", []string{`peek {"path":"a"}`}},
			{"I stop here.", nil},
		},
		"more calls than a step may have": {
			{"", []string{`peek {"path":"a"}`, `peek {"path":"b"}`, `peek {"path":"c"}`, `peek {"path":"d"}`}},
			{"", []string{`peek {"path":"d"}`}},
			{"All done.", nil},
		},
	}
	for name, answers := range scripts {
		for _, native := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, native %v", name, native), func(t *testing.T) {
				t.Parallel()
				start := func(t *testing.T, at int, how string) *life {
					l := &life{t: t, data: filepath.Join(t.TempDir(), "data"), native: native, answers: answers, ran: map[jackline.CallID]int{}}
					l.agent.CallsPerStep = 3
					l.open(at, how)
					t.Cleanup(func() { _ = l.db.Close() })
					l.begin()
					return l
				}
				whole := start(t, 0, "")
				want, _, _, _ := whole.run()
				whole.check(want, want, nil, nil, whole)
				if want.Status != jackline.Done || want.Answer != answers[len(answers)-1].text {
					t.Fatalf("undisturbed it comes to %s %q %q", want.Status, want.Answer, want.Reason)
				}
				for at := 1; at <= whole.log.n; at++ {
					for _, how := range []string{diesBefore, diesAfter, writeFails} {
						t.Run(fmt.Sprintf("%d %s", at, how), func(t *testing.T) {
							l := start(t, at, how)
							end, left, ran, died := l.run()
							if !died {
								t.Fatal("it never came there")
							}
							l.check(end, want, left, ran, whole)
						})
					}
				}
				t.Logf("%d records", whole.log.n)
			})
		}
	}
}

// Between two compactions each request begins with the whole of the one before it, also across cards and restarts.
func TestRequestsOnlyGrow(t *testing.T) {
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprintf("native %v", native), func(t *testing.T) {
			t.Parallel()
			var answers []answer
			for k := range 40 {
				a := answer{calls: []string{fmt.Sprintf(`peek {"path":"f%d"}`, k)}}
				switch k % 5 {
				case 1:
					a.text, a.calls = "A word before.", append(a.calls, fmt.Sprintf(`huge {"path":"f%d"}`, k))
				case 2:
					a.calls = []string{`look {"path":"the same"}`} // a note tells it so
				case 3:
					a.calls = append(a.calls, fmt.Sprintf(`put {"path":"f%d"}`, k)) // a card
				case 4:
					a.calls = []string{`nothing {"path":"x"}`, `peek {"wrong":"x"}`}
				}
				if k == 10 || k == 21 {
					a = answer{text: "I will read the next file now."} // a reminder, twice at most
				}
				answers = append(answers, a)
			}
			answers = append(answers, answer{text: "All done."})
			l := &life{t: t, data: filepath.Join(t.TempDir(), "data"), native: native, answers: answers, ran: map[jackline.CallID]int{}, counts: true}
			l.open(0, "")
			t.Cleanup(func() { _ = l.db.Close() })
			l.begin()
			l.model.now = func() int {
				s, err := l.db.Session(context.Background(), jackline.Local, l.session.ID)
				if err != nil {
					t.Error(err)
				}
				return s.Gen
			}
			end, _, _, _ := l.run()
			for _, f := range l.model.faults {
				t.Error(f)
			}
			if end.Answer != "All done." {
				t.Errorf("%s %q %q", end.Status, end.Answer, end.Reason)
			}
			if l.model.grew < 20 || l.model.gen < 1 {
				t.Errorf("%d requests grew, %d compactions: this proves nothing", l.model.grew, l.model.gen)
			}
			t.Logf("%s after %d steps: %q %q; %d requests grew, %d compactions", end.Status, end.Usage.Steps, end.Answer, end.Reason, l.model.grew, l.model.gen)
		})
	}
}

// A window that is too small is refused before the model is asked, with the figures.
func TestWindowTooSmall(t *testing.T) {
	l := &life{t: t, data: filepath.Join(t.TempDir(), "data"), answers: []answer{{text: "Hello."}}, ran: map[jackline.CallID]int{}, window: 2048}
	l.open(0, "")
	t.Cleanup(func() { _ = l.db.Close() })
	l.begin()
	end, _, _, _ := l.run()
	if end.Status != jackline.Failed || !strings.Contains(end.Reason, "2048") || !strings.Contains(end.Reason, "4096") || len(l.model.last.Messages) != 0 {
		t.Errorf("%s %q", end.Status, end.Reason)
	}
	events, err := l.db.Events(context.Background(), jackline.Local, l.session.ID, 0, 100)
	if err != nil || len(events) == 0 {
		t.Fatal(err)
	}
	var e jackline.TurnEnd
	if err := json.Unmarshal(events[len(events)-1].Data, &e); err != nil || e.Error == nil || e.Error.Kind != jackline.Invalid.String() {
		t.Errorf("%+v, %v", e, err)
	}
}

// A turn that died is ended by a person instead of going on: what was in doubt stays so, and nothing more is run.
func TestFinishAfterDeath(t *testing.T) {
	for _, native := range []bool{false, true} {
		answers := []answer{{"", []string{`peek {"path":"a"}`, `put {"path":"free"}`, `put {"path":"b"}`}}, {"Done.", nil}}
		start := func(at int, how string) *life {
			l := &life{t: t, data: filepath.Join(t.TempDir(), "data"), native: native, answers: answers, ran: map[jackline.CallID]int{}}
			l.open(at, how)
			t.Cleanup(func() { _ = l.db.Close() })
			l.begin()
			return l
		}
		whole := start(0, "")
		whole.run()
		for at := 1; at < whole.log.n; at++ {
			l := start(at, diesAfter)
			ctx := context.Background()
			for !l.log.dead {
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = l.engine.Run(ctx, jackline.Local, l.id, turn.Control{})
				}()
				<-done
				rows, err := l.db.Approvals(ctx, jackline.Local, jackline.ApprovalFilter{Turn: l.id, States: []jackline.ApprovalState{jackline.Pending}})
				if err != nil {
					t.Fatal(err)
				}
				if l.log.dead || len(rows) == 0 {
					break
				}
				if _, err := l.desk.Answer(ctx, jackline.Local, rows[0].ID, jackline.Answer{Yes: true, Scope: jackline.Once}, nil); err != nil {
					t.Fatal(err)
				}
			}
			l.open(0, "")
			left, err := l.db.Calls(ctx, jackline.Local, l.id)
			if err != nil {
				t.Fatal(err)
			}
			ran := maps.Clone(l.ran)
			end, err := l.engine.Finish(ctx, jackline.Local, l.id, jackline.Stopped, "Stopped.")
			if err != nil || end.Status != jackline.Stopped || !maps.Equal(ran, l.ran) {
				t.Errorf("%d: %v, %s, runs %v after %v", at, err, end.Status, l.ran, ran)
			}
			calls, err := l.db.Calls(ctx, jackline.Local, l.id)
			if err != nil {
				t.Fatal(err)
			}
			for k, c := range calls {
				want := jackline.Cancelled
				switch {
				case left[k].State == jackline.CallEnded:
					want = left[k].Outcome
				case left[k].State == jackline.CallStarted:
					want = jackline.Unknown
				}
				if c.State != jackline.CallEnded || c.Outcome != want || c.Text == "" {
					t.Errorf("%d: %s was %s, and is %s %s %q", at, c.Title, left[k].State, c.State, c.Outcome, c.Text)
				}
			}
			l.checkLog(calls)
			rows, err := l.db.Approvals(ctx, jackline.Local, jackline.ApprovalFilter{Turn: l.id, States: []jackline.ApprovalState{jackline.Pending}})
			if err != nil || len(rows) != 0 {
				t.Errorf("%d: %d cards are still open (%v)", at, len(rows), err)
			}
			if again, err := l.engine.Run(ctx, jackline.Local, l.id, turn.Control{}); err != nil || again.Status != jackline.Stopped {
				t.Errorf("%d: it ran again: %s, %v", at, again.Status, err)
			}
		}
	}
}
