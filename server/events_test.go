package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/runs/runstest"
)

// A frame is one server-sent event.
type frame struct {
	id    string
	event string
	data  string
}

// A reader follows a stream.
type reader struct {
	t      *testing.T
	res    *http.Response
	frames chan frame
}

func (w *world) follow(path string, header ...string) *reader {
	w.T.Helper()
	res := w.send("GET", path, nil, header...) //nolint:bodyclose // close does
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		w.T.Fatalf("%s: %s %s", path, res.Status, res.Header.Get("Content-Type"))
	}
	r := &reader{t: w.T, res: res, frames: make(chan frame, 100_000)}
	go func() {
		defer close(r.frames)
		sc := bufio.NewScanner(res.Body)
		sc.Buffer(nil, 1<<20)
		var f frame
		for sc.Scan() {
			k, v, _ := strings.Cut(sc.Text(), ": ")
			switch {
			case sc.Text() == "":
				if f.event != "" {
					r.frames <- f
				}
				f = frame{}
			case k == "id":
				f.id = v
			case k == "event":
				f.event = v
			case k == "data":
				f.data = v
			}
		}
	}()
	w.T.Cleanup(r.close)
	return r
}

func (r *reader) close() {
	_ = r.res.Body.Close()
	for range r.frames { //nolint:revive // the reading goroutine ends
	}
}

func (r *reader) next() frame {
	r.t.Helper()
	select {
	case f, ok := <-r.frames:
		if !ok {
			r.t.Fatal("the stream ended")
		}
		return f
	case <-time.After(10 * time.Second):
		r.t.Fatal("nothing came")
	}
	return frame{}
}

// until reads up to an event of a type, and gives all of it.
func (r *reader) until(kind string) []frame {
	r.t.Helper()
	var all []frame
	for {
		f := r.next()
		all = append(all, f)
		if f.event == kind {
			return all
		}
	}
}

func (w *world) say(s jackline.SessionID, words ...string) {
	w.T.Helper()
	var events []jackline.Event
	for _, word := range words {
		events = append(events, jackline.NewEvent(s, "", jackline.Text{Text: word}))
	}
	if _, err := w.DB.Append(context.Background(), jackline.Local, jackline.Record{Session: s, Events: events}); err != nil {
		w.T.Error(err)
	}
}

func TestEvents(t *testing.T) {
	w := newWorld(t)
	s := w.Session()
	path := "/api/sessions/" + string(s.ID) + "/events"
	w.say(s.ID, "one", "two", "three")
	r := w.follow(path)
	replay := r.until("ready")
	if len(replay) != 4 || replay[0].id != "1" || replay[2].id != "3" || replay[3].id != "" || replay[3].data != `{"type":"ready","data":{"id":3}}` {
		t.Errorf("replay: %+v", replay)
	}
	var e jackline.Event
	if err := json.Unmarshal([]byte(replay[1].data), &e); err != nil || e.ID != 2 || e.Type != "text" || string(e.Data) != `{"text":"two"}` {
		t.Errorf("%+v %v", e, err)
	}

	// Live text has no id; the log does.
	w.DB.Live(jackline.Local, jackline.NewEvent(s.ID, "", jackline.TextDelta{Text: "fo"}))
	if f := r.next(); f.event != "text.delta" || f.id != "" {
		t.Errorf("%+v", f)
	}
	w.say(s.ID, "four")
	if f := r.next(); f.event != "text" || f.id != "4" {
		t.Errorf("%+v", f)
	}

	// From a cursor, by header or by query; the header is newer.
	for _, r := range []*reader{w.follow(path, "Last-Event-ID", "3"), w.follow(path + "?after=3"), w.follow(path+"?after=1", "Last-Event-ID", "3")} {
		if got := r.until("ready"); len(got) != 2 || got[0].id != "4" {
			t.Errorf("from 3: %+v", got)
		}
	}
	if got := w.follow(path, "Last-Event-ID", "4").until("ready"); len(got) != 1 {
		t.Errorf("from the end: %+v", got)
	}
	if got := w.follow(path+"?tail=true", "Last-Event-ID", "3").until("ready"); len(got) != 2 {
		t.Errorf("from 3, where the client wanted the end before: %+v", got)
	}
	w.refused(410, "GET", path+"?after=5", nil)
	w.refused(422, "GET", path+"?after=x", nil)
	w.refused(422, "GET", path+"?after=-1", nil)
	w.refused(422, "GET", path+"?since=1", nil)

	// Over all sessions the id is the place in the store.
	other := w.Session()
	all := w.follow("/api/events")
	got := all.until("ready")
	w.say(other.ID, "five")
	f := all.next()
	if len(got) != 5 || f.event != "text" || !strings.Contains(f.data, string(other.ID)) {
		t.Errorf("%+v %+v", got, f)
	}
	seq, _ := strconv.ParseInt(f.id, 10, 64)
	if got := w.follow("/api/events", "Last-Event-ID", fmt.Sprint(seq-1)).until("ready"); len(got) != 2 || got[0].id != f.id {
		t.Errorf("from %d: %+v", seq-1, got)
	}
	w.refused(410, "GET", fmt.Sprintf("/api/events?after=%d", seq+1000), nil)
	if got := w.follow("/api/events?tail=true").until("ready"); len(got) != 1 || !strings.Contains(got[0].data, f.id) {
		t.Errorf("from the end: %+v", got)
	}
}

// Nobody misses anything while many write at once, whenever and however often a client comes back.
func TestEventsLoseNothing(t *testing.T) {
	w := newWorld(t)
	s := w.Session()
	path := "/api/sessions/" + string(s.ID) + "/events"
	const writers, each = 3, 100
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for k := range each {
				w.say(s.ID, fmt.Sprint(n, k))
				w.DB.Live(jackline.Local, jackline.NewEvent(s.ID, "", jackline.TextDelta{Text: "x"}))
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			last := int64(0)
			for last < writers*each {
				r := w.follow(path, "Last-Event-ID", fmt.Sprint(last))
				for range 70 {
					f := r.next()
					if f.id == "" {
						continue
					}
					id, _ := strconv.ParseInt(f.id, 10, 64)
					if id != last+1 {
						t.Errorf("after %d came %d", last, id)
					}
					if last = id; last == writers*each {
						break
					}
				}
				r.close()
			}
		})
	}
	wg.Wait()
}

// A client that does not read holds nobody up.
func TestSlowClient(t *testing.T) {
	w := newWorld(t)
	s := w.Session()
	res := w.send("GET", "/api/sessions/"+string(s.ID)+"/events", nil)
	defer res.Body.Close()
	big := strings.Repeat("x", 100_000) // more than the sockets between the two can hold
	begun := time.Now()
	for range 120 {
		w.say(s.ID, big)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("writing took %v", took)
	}
	fast := w.follow("/api/sessions/" + string(s.ID) + "/events")
	if got := fast.until("ready"); len(got) != 121 {
		t.Errorf("%d frames", len(got))
	}
}

func TestStreamsEnd(t *testing.T) {
	w := newWorld(t)
	s := w.Session()
	k := w.Submit(s.ID, "hang")
	r := w.follow("/api/sessions/" + string(s.ID) + "/events")
	r.until("turn.start")
	// A lost client stops nothing.
	r.close()
	w.Submit(s.ID, "say x")
	if v := w.Turn(k.Turn.ID); v.Status != jackline.Running {
		t.Errorf("the turn is %s", v.Status)
	}
	r = w.follow("/api/sessions/" + string(s.ID) + "/events")
	r.until("ready")
	w.server.Close()
	for range r.frames { //nolint:revive // it ends
	}
	w.refused(503, "GET", "/api/events", nil)
}

// Streams are not opened without end; whoever closes one may open another.
func TestStreamsAreBounded(t *testing.T) {
	w := newWorld(t)
	path := "/api/sessions/" + string(w.Session().ID) + "/events"
	var open []*reader
	for range 64 {
		r := w.follow(path)
		r.until("ready")
		open = append(open, r)
	}
	for _, path := range []string{path, "/api/events"} {
		if p := w.refused(429, "GET", path, nil); p.Title != "too-many" {
			t.Errorf("%+v", p)
		}
	}
	do[[]json.RawMessage](w, 200, "GET", "/api/sessions", nil) // other requests go on
	open[0].close()
	w.Until("there is room", func() bool {
		res := w.send("GET", path, nil)
		defer res.Body.Close()
		return res.StatusCode == 200
	})
}

// A client that wants only what comes learns its cursor without hearing what was.
func TestTail(t *testing.T) {
	w := newWorld(t)
	s := w.Session()
	path := "/api/sessions/" + string(s.ID) + "/events?tail=true"
	n := 0
	for _, more := range []int{0, 1, 1, 1, 60, 4, 1000} {
		w.say(s.ID, make([]string, more)...)
		w.say(w.Session().ID, "something else")
		n += more
		r := w.follow(path)
		if got := r.until("ready"); len(got) != 1 || got[0].data != fmt.Sprintf(`{"type":"ready","data":{"id":%d}}`, n) {
			t.Errorf("after %d: %+v", n, got)
		}
		w.say(s.ID, "next")
		n++
		if f := r.next(); f.event != "text" || f.id != strconv.Itoa(n) {
			t.Errorf("after %d: %+v", n, f)
		}
		r.close()
	}
	w.refused(404, "GET", "/api/sessions/s_none/events?tail=true", nil)
}

// A stream shows that it lives while nothing happens.
func TestHeartbeat(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &world{World: runstest.New(t, dir)}
		defer w.Close()
		w.serve("here")
		ctx, cancel := context.WithCancel(t.Context())
		req := httptest.NewRequestWithContext(ctx, "GET", "/api/events", nil)
		req.Host = "here"
		req.Header.Set("Authorization", "Bearer "+token)
		rec := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.server.Handler().ServeHTTP(rec, req)
		}()
		<-time.After(50 * time.Second)
		cancel()
		<-done
		if n := strings.Count(rec.Body.String(), ": beat\n\n"); rec.Code != 200 || n != 3 {
			t.Errorf("%d, %d beats: %q", rec.Code, n, rec.Body)
		}
	})
}
