package approval_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
)

// TestFirstAnswerWins: of twenty that answer at once one wins, and the others hear how and by whom.
func TestFirstAnswerWins(t *testing.T) {
	b := newBench(t)
	for round := range 20 {
		i := write(fmt.Sprint("f", round))
		a := b.ask(i)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var won []jackline.Answer
		for n := range 20 {
			wg.Go(func() {
				ans := jackline.Answer{Yes: n%2 == 0, Scope: jackline.Once, By: fmt.Sprint("client", n)}
				got, err := b.desk.Answer(t.Context(), a.Owner, a.ID, ans, nil)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won = append(won, got.Answer)
				case jackline.KindOf(err) != jackline.Conflict || !strings.Contains(jackline.Say(err), "by client") || got.Answer.By == "":
					t.Errorf("a later answer: %v, %+v", err, got.Answer)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 || b.read(a).Answer.By != won[0].By {
			t.Fatalf("%d answers won", len(won))
		}
		closed := 0
		for _, e := range b.events {
			var body jackline.ApprovalClosed
			if err := json.Unmarshal(e.Data, &body); err == nil && body.Approval == a.ID {
				closed++
			}
		}
		if closed != 1 {
			t.Errorf("%d events say that the row is closed", closed)
		}
	}
}

func TestAnswer(t *testing.T) {
	b := newBench(t)
	a := b.yes(b.ask(write("a")), jackline.Once)
	if a.State != jackline.Approved || a.Answer.By != "page" || a.Answer.At.IsZero() || len(b.grants) > 0 {
		t.Errorf("a yes: %+v %v", a, b.grants)
	}
	if e := b.events[len(b.events)-1]; e.Type != "tool.approved" || e.Session != "s_1" || e.Turn != "t_1" {
		t.Errorf("its event: %+v", e)
	}
	a = b.answer(b.ask(write("b")), jackline.Answer{Reason: "not that one", Scope: jackline.Chat})
	if a.State != jackline.Refused || a.Answer.Scope != "" || a.Answer.By != "api" || len(b.grants) > 0 {
		t.Errorf("a no: %+v", a)
	}
	if e := b.events[len(b.events)-1]; e.Type != "tool.denied" || !strings.Contains(string(e.Data), "not that one") {
		t.Errorf("its event: %+v", e)
	}
	_, err := b.desk.Answer(t.Context(), a.Owner, a.ID, jackline.Answer{Yes: true}, nil)
	if jackline.KindOf(err) != jackline.Conflict || !strings.Contains(jackline.Say(err), "with no, by api") {
		t.Errorf("a second answer: %v", err)
	}
	open := b.ask(write("c"))
	for name, c := range map[string]struct {
		ans  jackline.Answer
		kind jackline.Kind
	}{
		"answers to no question":  {jackline.Answer{Yes: true, Answers: [][]string{{"x"}}}, jackline.Unprocessed},
		"arguments unjudged":      {jackline.Answer{Yes: true, Args: json.RawMessage(`{}`)}, jackline.Invalid},
		"a scope of another kind": {jackline.Answer{Yes: true, Scope: "forever"}, jackline.Conflict},
		"a long reason":           {jackline.Answer{Reason: strings.Repeat("x", 2001)}, jackline.Unprocessed},
	} {
		if _, err := b.desk.Answer(t.Context(), open.Owner, open.ID, c.ans, nil); jackline.KindOf(err) != c.kind || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b.read(open).State != jackline.Pending {
		t.Error("a wrong answer closed the row")
	}
	for _, o := range []jackline.Owner{"eve", ""} {
		if _, err := b.desk.Answer(t.Context(), o, open.ID, jackline.Answer{Yes: true}, nil); jackline.KindOf(err) != jackline.NotFound {
			t.Errorf("somebody else's answer: %v", err)
		}
	}
}

// TestWidened: a pattern in the place of the one on the card is taken where a wider yes may be given, and nowhere else.
func TestWidened(t *testing.T) {
	m := newMemory()
	b := bench{t, m, approval.New(m, key, approval.Options{Pattern: func(string, jackline.Intent) error { return nil }})}
	for name, c := range map[string]struct {
		i     jackline.Intent
		scope jackline.Scope
		kind  jackline.Kind // of the error; Internal is none
	}{
		"for the task":      {command("npm test"), jackline.Task, jackline.Internal},
		"once":              {command("npm test"), jackline.Once, jackline.Unprocessed},
		"what deletes":      {remove("c"), jackline.Task, jackline.Conflict},
		"what nobody knows": {intent("mcp__x__y", 0, ""), jackline.Task, jackline.Conflict},
	} {
		a := b.ask(c.i)
		got, err := b.desk.Answer(t.Context(), a.Owner, a.ID, jackline.Answer{Yes: true, Scope: c.scope, Pattern: "all of it"}, nil)
		if fails := c.kind != jackline.Internal; fails != (err != nil) || fails && jackline.KindOf(err) != c.kind || fails == (got.State == jackline.Approved) {
			t.Errorf("%s: %s, %v", name, got.State, err)
		}
		if err != nil && (b.read(a).State != jackline.Pending || len(b.grants) > 0 && b.grants[0].Approval == a.ID) {
			t.Errorf("%s: a wrong answer counts", name)
		}
	}
}

// TestEdit: changed arguments are what is approved, under everything else that bound the row.
func TestEdit(t *testing.T) {
	b := newBench(t)
	was := write("src/a.go")
	row := b.ask(was)
	now := write("docs/b.md")
	now.Call = was.Call
	now.Args = json.RawMessage(`{"what":["docs/b.md"]}`)
	edited := func(i jackline.Intent, v jackline.Verdict) *approval.EditedIntent {
		return &approval.EditedIntent{Intent: i, Decision: jackline.Decision{Verdict: v, Rule: "r", Reason: "Because."},
			View: jackline.View{Shape: jackline.ViewText, Text: "new"}}
	}
	yes := jackline.Answer{Yes: true, Scope: jackline.Task, By: "cli"}
	for name, c := range map[string]struct {
		change func(*jackline.Intent)
		v      jackline.Verdict
		kind   jackline.Kind
	}{
		"judged no":       {func(*jackline.Intent) {}, jackline.Deny, jackline.Forbidden},
		"refused":         {func(i *jackline.Intent) { i.Touches = []jackline.Touch{{Refused: "No."}} }, jackline.Ask, jackline.Forbidden},
		"another tool":    {func(i *jackline.Intent) { i.Tool = "shell" }, jackline.Ask, jackline.Conflict},
		"another call":    {func(i *jackline.Intent) { i.Call = "c_x" }, jackline.Ask, jackline.Conflict},
		"another session": {func(i *jackline.Intent) { i.Actor.Session.ID = "s_x" }, jackline.Ask, jackline.Conflict},
		"another owner":   {func(i *jackline.Intent) { i.Actor.Owner = "eve" }, jackline.Ask, jackline.Conflict},
		"another turn":    {func(i *jackline.Intent) { i.Actor.Turn.ID = "t_x" }, jackline.Ask, jackline.Conflict},
		"another folder":  {func(i *jackline.Intent) { i.Actor.Session.Workspace = "/x" }, jackline.Ask, jackline.Conflict},
		"another digest":  {func(i *jackline.Intent) { i.Digest = "x" }, jackline.Ask, jackline.Conflict},
	} {
		i := now
		c.change(&i)
		if _, err := b.desk.Answer(t.Context(), row.Owner, row.ID, yes, edited(i, c.v)); jackline.KindOf(err) != c.kind || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// An edit that deletes may not be granted to the chat, whatever the first card offered.
	gone := now
	gone.Effect, gone.Touches = jackline.Delete, remove("x").Touches
	chat := jackline.Answer{Yes: true, Scope: jackline.Chat}
	if _, err := b.desk.Answer(t.Context(), row.Owner, row.ID, chat, edited(gone, jackline.Ask)); jackline.KindOf(err) != jackline.Conflict {
		t.Errorf("a wider scope by an edit: %v", err)
	}
	if _, err := b.desk.Answer(t.Context(), row.Owner, row.ID, yes, edited(now, jackline.Ask)); err != nil {
		t.Fatal(err)
	}
	got := b.read(row)
	if string(got.Answer.Args) != string(now.Args) || string(got.Args) != string(now.Args) || got.View.Text != "new" || got.Rule != "r" {
		t.Errorf("the row: %+v", got)
	}
	if b.desk.Holds(got, was) || !b.desk.Holds(got, now) {
		t.Error("the yes is not for the changed call")
	}
	if len(b.grants) != 1 || b.grants[0].Value != "docs" {
		t.Errorf("the grant: %+v", b.grants)
	}
}

func TestQuestions(t *testing.T) {
	b := newBench(t)
	i := intent("ask_user", jackline.Pure, "")
	ask := func() jackline.Approval {
		card := jackline.Card{Questions: []jackline.Question{{Text: "which?", Options: []string{"a", "b"}}, {Text: "what?", Many: true}}}
		i.Call = jackline.NewID[jackline.CallID]("c_")
		a, err := b.desk.New(t.Context(), i, jackline.Decision{Verdict: jackline.Ask}, card)
		if err != nil {
			t.Fatal(err)
		}
		b.keep(a)
		return a
	}
	a := ask()
	if a.Kind != jackline.KindQuestion || len(a.Ask) != 2 || len(a.Scopes) != 0 {
		t.Errorf("the row: %+v", a)
	}
	long := strings.Repeat("x", 4001)
	for name, answers := range map[string][][]string{
		"none": nil, "one": {{"a"}}, "three": {{"a"}, {"b"}, {"c"}}, "an empty list": {{"a"}, {}}, "blank": {{" "}, {"b"}},
		"two where one is asked": {{"a", "b"}, {"c"}}, "too long": {{long}, {"c"}}, "too many": {{"a"}, make([]string, 21)},
	} {
		_, err := b.desk.Answer(t.Context(), a.Owner, a.ID, jackline.Answer{Yes: true, Answers: answers}, nil)
		if jackline.KindOf(err) != jackline.Unprocessed {
			t.Errorf("%s: %v", name, err)
		}
	}
	got := b.answer(a, jackline.Answer{Yes: true, Scope: jackline.Chat, Answers: [][]string{{" my own words "}, {"x", "y"}}})
	if got.State != jackline.Approved || got.Answer.Answers[0][0] != "my own words" || len(b.grants) > 0 {
		t.Errorf("answered: %+v", got)
	}
	if b.desk.Holds(got, i) {
		t.Error("an answer to a question permits a call")
	}
	if got = b.answer(ask(), jackline.Answer{}); got.State != jackline.Refused {
		t.Errorf("declined: %+v", got)
	}
}

// TestAlike: an answer closes what it also answers, in the same turn, and nothing else.
func TestAlike(t *testing.T) {
	b := newBench(t)
	first, same, below, other := write("src/a"), write("src/b"), write("src/sub/c"), write("docs/d")
	elsewhere := write("src/e")
	elsewhere.Actor.Turn.ID = "t_2"
	var rows []jackline.Approval
	for _, i := range []jackline.Intent{first, same, below, other, elsewhere} {
		rows = append(rows, b.ask(i))
	}
	b.yes(rows[0], jackline.Task)
	for k, want := range []jackline.ApprovalState{jackline.Approved, jackline.Approved, jackline.Pending, jackline.Pending, jackline.Pending} {
		if got := b.read(rows[k]); got.State != want {
			t.Errorf("row %d is %s, want %s", k, got.State, want)
		}
	}
	if !b.desk.Holds(b.read(rows[1]), same) || b.read(rows[1]).Answer.By != "page" {
		t.Error("what was closed along holds no yes")
	}
	if len(b.grants) != 1 {
		t.Errorf("%d grants", len(b.grants))
	}

	// A yes once answers nothing else, not even the very same.
	one, two := remove("x"), remove("x")
	r1, r2 := b.ask(one), b.ask(two)
	b.yes(r1, jackline.Once)
	if b.read(r2).State != jackline.Pending {
		t.Error("a yes once closed another row")
	}
	// A no answers the very same.
	three, four := remove("x"), remove("y")
	r3, r4 := b.ask(three), b.ask(four)
	b.answer(r3, jackline.Answer{Reason: "no"})
	if b.read(r2).State != jackline.Refused || b.read(r4).State != jackline.Pending {
		t.Errorf("after a no: %s, %s", b.read(r2).State, b.read(r4).State)
	}
}

// TestAlikeForged: a row that was changed while it was open is closed along with no yes.
func TestAlikeForged(t *testing.T) {
	b := newBench(t)
	r1, r2 := b.ask(write("src/a")), b.ask(write("docs/b"))
	r2.Touches[0].Name = "src/b"
	b.rows[r2.ID] = r2
	b.yes(r1, jackline.Task)
	if got := b.read(r2).State; got != jackline.Pending {
		t.Errorf("the changed row is %s", got)
	}
}

// TestAlikeRace: when a row that would be closed along is answered in between, its own answer stands.
func TestAlikeRace(t *testing.T) {
	b := newBench(t)
	r1, r2 := b.ask(write("src/a")), b.ask(write("src/b"))
	done := false
	b.before = func() {
		if !done {
			done = true
			b.answer(r2, jackline.Answer{By: "cli"})
		}
	}
	b.yes(r1, jackline.Task)
	if b.read(r1).State != jackline.Approved || b.read(r2).State != jackline.Refused || len(b.grants) != 1 {
		t.Errorf("%s %s %v", b.read(r1).State, b.read(r2).State, b.grants)
	}
}

func TestWithdraw(t *testing.T) {
	b := newBench(t)
	here, answered, there := b.ask(write("a")), b.ask(write("b")), write("c")
	there.Actor.Turn.ID = "t_2"
	other := b.ask(there)
	b.yes(answered, jackline.Once)
	if err := b.desk.Withdraw(t.Context(), jackline.Local, "s_1", "t_1"); err != nil {
		t.Fatal(err)
	}
	if b.read(here).State != jackline.Withdrawn || b.read(answered).State != jackline.Approved || b.read(other).State != jackline.Pending {
		t.Errorf("%s %s %s", b.read(here).State, b.read(answered).State, b.read(other).State)
	}
	if e := b.events[len(b.events)-1]; e.Type != "tool.cancelled" {
		t.Errorf("event %+v", e)
	}
	_, err := b.desk.Answer(t.Context(), jackline.Local, here.ID, jackline.Answer{Yes: true}, nil)
	if jackline.KindOf(err) != jackline.Conflict || !strings.Contains(jackline.Say(err), "withdrawn") {
		t.Errorf("an answer afterwards: %v", err)
	}
	if err := b.desk.Withdraw(t.Context(), "eve", "s_1", ""); err != nil || b.read(other).State != jackline.Pending {
		t.Errorf("somebody else withdrew: %v", err)
	}
}
