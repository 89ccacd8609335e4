package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/server/runs"
	"github.com/jackline-ai/jackline/server/runs/runstest"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/turn"
)

// steer gives words to the turn that runs, and waits until they stand where the engine looks.
func (w *world) steer(k runs.Taken, words string, moved bool) {
	w.T.Helper()
	w.Until("it runs", func() bool { return w.Turn(k.Turn.ID).Status == jackline.Running })
	if got, err := w.Turns.Steer(w.T.Context(), jackline.Local, k.Turn.Session, words, jackline.TurnOptions{}); err != nil || !got.Steered {
		w.T.Fatal(got, err)
	}
	if moved {
		w.Until("the words moved", func() bool { return w.fact(k.Turn.Session, "steer.inbox") == "" })
	}
}

func (w *world) fact(s jackline.SessionID, key string) string {
	w.T.Helper()
	raw, err := w.DB.State(context.Background(), jackline.Local, s, key)
	if err != nil {
		w.T.Fatal(err)
	}
	return string(raw)
}

// prompted waits until words are a prompt of their own, and that one is in a state.
func (w *world) prompted(s jackline.SessionID, words string, st jackline.Status) {
	w.T.Helper()
	var id jackline.TurnID
	w.Until("the words are a prompt", func() bool {
		turns, err := w.DB.Turns(context.Background(), jackline.Local, s)
		for _, v := range turns {
			if v.Prompt == words {
				id = v.ID
			}
		}
		return err == nil && id != ""
	})
	w.Ends(id, st)
}

// once makes sure that words that were delivered, or became a prompt, came once and are kept nowhere else.
func (w *world) once(s jackline.SessionID, words string) {
	w.T.Helper()
	events, err := w.DB.Events(context.Background(), jackline.Local, s, 0, 1000)
	if err != nil {
		w.T.Fatal(err)
	}
	n := 0
	for _, e := range events {
		if (e.Type == "steer" || e.Type == "turn.start") && strings.Contains(string(e.Data), words) {
			n++
		}
	}
	if n != 1 || w.fact(s, turn.SteerKey) != "" || w.fact(s, "steer.inbox") != "" {
		w.T.Errorf("%q came %d times; kept %s %s", words, n, w.fact(s, turn.SteerKey), w.fact(s, "steer.inbox"))
	}
}

// Words that stood where the engine looks when the turn ended, however it did, become a prompt.
func TestWordsOutliveTheTurn(t *testing.T) {
	for prompt, end := range map[string]jackline.Status{
		"heard": jackline.Done, "heard; limit": jackline.StepLimit, "heard; fail": jackline.Failed, "heard; panic": jackline.Failed, "heard; leave": jackline.Failed,
	} {
		w := alone(t)
		s := w.Session()
		k := w.Submit(s.ID, prompt)
		w.steer(k, "say words", false)
		w.Ends(k.Turn.ID, end)
		w.prompted(s.ID, "say words", jackline.Done)
		w.once(s.ID, "say words")
	}
}

// After a stop they rest with the queue, whether the turn ran or waited.
func TestWordsOutliveAStop(t *testing.T) {
	for _, prompt := range []string{"heard; hang", writes} {
		w := alone(t)
		s := w.Session()
		k := w.Submit(s.ID, prompt)
		if prompt == writes {
			w.Ends(k.Turn.ID, jackline.Waiting)
			w.Settled(s.ID)
			state := map[string]json.RawMessage{turn.SteerKey: json.RawMessage(`["say words"]`)}
			if _, err := w.DB.Append(t.Context(), jackline.Local, jackline.Record{Session: s.ID, State: state}); err != nil {
				t.Fatal(err)
			}
		} else {
			w.steer(k, "say words", true)
		}
		if _, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
			t.Fatal(err)
		}
		w.Ends(k.Turn.ID, jackline.Stopped)
		w.prompted(s.ID, "say words", jackline.Queued)
		w.Settled(s.ID)
		pass(20 * time.Millisecond) // whatever would begin has begun
		w.prompted(s.ID, "say words", jackline.Queued)
		w.Submit(s.ID, "say more")
		w.prompted(s.ID, "say words", jackline.Done)
		w.once(s.ID, "say words")
	}
}

// Words of a turn that a crash left behind go with whoever ends it.
func TestWordsOutliveACrash(t *testing.T) {
	for _, find := range map[string]func(*world, jackline.SessionID){
		"resume": func(w *world, _ jackline.SessionID) {
			w.Exec(`UPDATE sessions SET updated = updated - 3700000000000`)
			if err := w.Turns.Resume(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
		},
		"submit": func(w *world, s jackline.SessionID) { w.Submit(s, "say next") },
	} {
		w := alone(t)
		s := w.Session()
		k := w.Submit(s.ID, "heard; hang")
		w.steer(k, "say words", true)
		crashed(t, w, s.ID)
		w2 := newTurns(t, w.Dir)
		find(w2, s.ID)
		w2.Ends(k.Turn.ID, jackline.Interrupted)
		w2.prompted(s.ID, "say words", jackline.Done)
		w2.once(s.ID, "say words")
	}
}

// A parrot is a model that says what it was told last, or calls the tool that writes where it was told to.
type parrot struct{ asked chan model.Request }

func (parrot) Info() model.Info { return model.Info{Name: "parrot", Window: 32768, Native: true} }

func (parrot) Size(r model.Request) int {
	n := 0
	for _, m := range r.Messages {
		n += len(m.Text)
	}
	return n
}

func (p parrot) Stream(_ context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		p.asked <- r
		last := r.Messages[len(r.Messages)-1].Text
		if strings.HasSuffix(last, "write") {
			yield(model.Chunk{Call: &model.Call{ID: "1", Name: "put_text", Args: json.RawMessage(`{"path":"a.txt","text":"x"}`)}, Finish: model.Calls}, nil)
			return
		}
		yield(model.Chunk{Text: "You said " + last, Finish: model.Stop}, nil)
	}
}

// The engine itself takes words only where it delivers them: not where it ends before, as without a model.
func TestWordsAndTheEngine(t *testing.T) {
	missing := make(chan struct{}, 1)
	p := parrot{asked: make(chan model.Request, 10)}
	w := alone(t, func(w *runstest.World, c *runs.Config) {
		c.Runner = &turn.Engine{
			Journal: w.DB, Desk: w.Desk, Gate: func(s jackline.Session) (*tool.Gate, error) { return w.Gate(s) }, Settings: w.Set.Agent,
			Models: func(context.Context, jackline.Session) (turn.Models, error) {
				select {
				case <-missing:
					return turn.Models{}, jackline.E("test", jackline.NoModel, nil, "There is no model.")
				default:
					return turn.Models{Main: p, Raw: p}, nil
				}
			},
		}
	})
	for _, gone := range []bool{true, false} {
		s := w.Session()
		k := w.Submit(s.ID, "write")
		w.Ends(k.Turn.ID, jackline.Waiting)
		w.Settled(s.ID)
		end := jackline.Done
		if gone {
			missing <- struct{}{}
			end = jackline.Failed
		}
		if got, err := w.Turns.Steer(t.Context(), jackline.Local, s.ID, "these words", jackline.TurnOptions{}); err != nil || !got.Steered {
			t.Fatal(got, err)
		}
		w.Ends(k.Turn.ID, end)
		if gone {
			w.prompted(s.ID, "these words", jackline.Done)
		}
		w.Settled(s.ID)
		if turns, err := w.DB.Turns(t.Context(), jackline.Local, s.ID); err != nil || !gone && len(turns) != 1 {
			t.Errorf("%+v, %v", turns, err)
		}
		w.once(s.ID, "these words")
	}
}

// A mortal is a runner whose process dies after it was stopped: nothing that it does then counts.
type mortal struct {
	turn.Runner
	db     *store.DB
	status jackline.Status // as which it leaves its turn
	buried chan struct{}
}

func (m mortal) Run(ctx context.Context, o jackline.Owner, id jackline.TurnID, _ turn.Control) (jackline.Turn, error) {
	v, err := m.db.Turn(ctx, o, id)
	if err == nil && m.status != jackline.Queued {
		v.Status, v.Started = m.status, time.Now()
		_, err = m.db.Append(ctx, o, jackline.Record{Session: v.Session, Turn: &v})
	}
	if err != nil {
		return v, err
	}
	<-ctx.Done()
	<-m.buried
	return v, errors.New("dead")
}

// What a person stopped stays stopped, even if the process dies before the turn has ended, and its queue rests.
func TestStopOutlivesACrash(t *testing.T) {
	find := map[string]func(*world, jackline.Turn){
		"resume": func(w *world, _ jackline.Turn) {
			if err := w.Turns.Resume(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
		},
		"submit": func(w *world, v jackline.Turn) {
			w.Ends(w.Submit(v.Session, "say next").Turn.ID, jackline.Done)
		},
		"answer": func(w *world, v jackline.Turn) { // to a card of it, where a server has run all the time
			if v.Status != jackline.Waiting {
				w.Submit(v.Session, "say next")
				return
			}
			if err := w.Turns.Woken(t.Context(), jackline.Local, v.ID); err != nil {
				t.Fatal(err)
			}
		},
	}
	for _, status := range []jackline.Status{jackline.Queued, jackline.Running, jackline.Waiting} {
		for name, find := range find {
			t.Run(string(status)+" "+name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "data")
				buried := make(chan struct{})
				w := newTurns(t, dir, func(w *runstest.World, c *runs.Config) { c.Runner = mortal{c.Runner, w.DB, status, buried} })
				t.Cleanup(func() { close(buried); w.Close() })
				if err := w.Turns.Resume(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				s := w.Session()
				k := w.Submit(s.ID, "say x")
				queued := w.Submit(s.ID, "say queued")
				w.Until("it runs", func() bool { return w.Turn(k.Turn.ID).Status == status })
				w.Until("it has the chat", func() bool {
					_, ok, err := w.DB.HolderOf(t.Context(), "session "+string(s.ID))
					return ok && err == nil
				})
				if _, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
					t.Fatal(err)
				}
				crashed(t, w, s.ID)
				w.Exec(`DELETE FROM leases`)

				w2 := newTurns(t, dir)
				find(w2, w2.Turn(k.Turn.ID))
				if v := w2.Ends(k.Turn.ID, jackline.Stopped); v.Reason != "Stopped." {
					t.Errorf("%+v", v)
				}
				select {
				case id := <-w2.Puppet.Began:
					if id == k.Turn.ID {
						t.Error("it ran again")
					}
				case <-time.After(20 * time.Millisecond):
				}
				if name == "resume" {
					w2.Ends(queued.Turn.ID, jackline.Queued)
				}
				w2.Close()
			})
		}
	}
}
