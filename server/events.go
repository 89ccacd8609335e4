package server

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/watch"
)

const (
	// beatEvery is how often a stream shows that it lives, for proxies and for clients that watch the line.
	beatEvery = 15 * time.Second

	// writeTime is how long a client may take to read what was sent before it counts as lost. It costs nobody
	// else anything: it can come back at its cursor.
	writeTime = 30 * time.Second

	// eventPage is how many events are read from the log at a time.
	eventPage = 500
)

type sessionEventsIn struct {
	ID    jackline.SessionID `path:"id" doc:"the chat"`
	Last  int64              `header:"Last-Event-ID" minimum:"0" doc:"the id of the last event that the client has"`
	After int64              `query:"after" minimum:"0" doc:"the same, for a first request"`
	Tail  bool               `query:"tail" doc:"without a cursor: begin at the end, for a client that wants only what comes"`
}

type allEventsIn struct {
	Last  int64 `header:"Last-Event-ID" minimum:"0" doc:"the seq of the last event that the client has"`
	After int64 `query:"after" minimum:"0" doc:"the same, for a first request"`
	Tail  bool  `query:"tail" doc:"without a cursor: begin at the end, for a client that wants only what comes"`
}

// cursor is where a stream begins. A client that comes back sends the header with the address of its first request.
func cursor(last, after int64) int64 {
	if last > 0 {
		return last
	}
	return after
}

// stream is an answer that goes on.
type stream struct {
	Body func(huma.Context)
}

// A feed is a log that a stream follows.
type feed struct {
	session jackline.SessionID // "" is all of the owner's
	read    func(ctx context.Context, after int64) ([]jackline.Event, error)
	id      func(jackline.Event) int64
}

func (s *Server) sessionEvents(ctx context.Context, in *sessionEventsIn) (*stream, error) {
	return s.follow(s.sessionFeed(ctx, in))
}

// sessionFeed is the log of a chat, and where a stream of it begins.
func (s *Server) sessionFeed(ctx context.Context, in *sessionEventsIn) (f feed, at int64, err error) {
	f = feed{
		session: in.ID,
		read: func(ctx context.Context, after int64) ([]jackline.Event, error) {
			return s.c.Store.Events(ctx, s.owner, in.ID, after, eventPage)
		},
		id: func(e jackline.Event) int64 { return e.ID },
	}
	at = cursor(in.Last, in.After)
	if at == 0 && in.Tail {
		if at, err = s.lastID(ctx, in.ID); err != nil {
			return f, 0, err
		}
	}
	// The event at the cursor exists, or the cursor belongs to another log.
	have, err := s.c.Store.Events(ctx, s.owner, in.ID, max(at-1, 0), 1)
	if err == nil && at > 0 && (len(have) == 0 || have[0].ID != at) {
		err = goneError()
	}
	return f, at, err
}

// lastID is the id of the newest event of a session, 0 where there is none. It looks for an event as far on as a power of
// two, and for half of that, and so on: a few dozen reads of one row, however long the log is.
func (s *Server) lastID(ctx context.Context, id jackline.SessionID) (at int64, err error) {
	for step := int64(1) << 40; step > 0; step /= 2 {
		have, err := s.c.Store.Events(ctx, s.owner, id, at+step-1, 1)
		if err != nil {
			return 0, err
		}
		if len(have) > 0 {
			at = have[0].ID
		}
	}
	return at, nil
}

func (s *Server) allEvents(ctx context.Context, in *allEventsIn) (*stream, error) {
	f := feed{
		read: func(ctx context.Context, after int64) ([]jackline.Event, error) {
			return s.c.Store.AllEvents(ctx, s.owner, after, eventPage)
		},
		id: func(e jackline.Event) int64 { return e.Seq },
	}
	at := cursor(in.Last, in.After)
	last, err := s.c.Store.LastSeq(ctx)
	switch {
	case err == nil && at > last:
		err = goneError()
	case at == 0 && in.Tail:
		at = last
	}
	return s.follow(f, at, err)
}

func goneError() error {
	return jackline.E("server.events", jackline.Gone, nil, "The log does not reach that far: begin again without a cursor.")
}

func (s *Server) follow(f feed, at int64, err error) (*stream, error) {
	if err != nil {
		return nil, err
	}
	return &stream{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		s.serveFeed(w, r, f, at)
	}}, nil
}

// serveFeed answers with a feed, if there may be one more.
func (s *Server) serveFeed(w http.ResponseWriter, r *http.Request, f feed, at int64) {
	if p := s.streams.begin(s.owner); p != nil {
		p.write(w)
		return
	}
	defer s.streams.end(s.owner)
	s.send(r.Context(), w, f, at)
}

// send writes a feed until the client goes, does not read, or the server ends.
func (s *Server) send(ctx context.Context, w http.ResponseWriter, f feed, at int64) {
	// Watching begins before reading, so that nothing falls between the two.
	watch := s.c.Store.Watch(s.owner, f.session)
	defer watch.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies are not to hold it back
	w.WriteHeader(http.StatusOK)
	out := &frames{w: bufio.NewWriter(w), control: http.NewResponseController(w), id: f.id, sent: map[jackline.SessionID]int64{}}
	defer func() { _ = out.control.SetWriteDeadline(time.Time{}) }() // the connection may serve on

	at, err := s.pour(ctx, out, f, at, nil)
	if err == nil {
		err = out.ready(at)
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-s.streams.done:
			return
		case <-beat.C:
			err = out.beat()
		case <-watch.Wake():
			// First the live events, then the log up to its end: that order is what Interleave needs.
			live := watch.Live()
			at, err = s.pour(ctx, out, f, at, live)
		}
	}
	if ctx.Err() == nil {
		s.c.Log.Debug("an event stream ended", "session", f.session, "err", err)
	}
}

// pour writes the log from a cursor to its end, with live events where they belong, and returns the new cursor.
func (s *Server) pour(ctx context.Context, out *frames, f feed, at int64, live []watch.Event) (int64, error) {
	// The log is read after the live events were taken, so it may have run ahead of some that came in between: what belongs
	// before an event that was sent is superseded by it, and would stand for ever if it came now.
	live = slices.DeleteFunc(live, func(l watch.Event) bool { return l.After < out.sent[l.Session] })
	for {
		events, err := f.read(ctx, at)
		if err != nil {
			return at, err
		}
		if n := len(events); n > 0 {
			at = f.id(events[n-1])
		}
		last := len(events) < eventPage
		if last {
			events = watch.Interleave(events, live)
		}
		for _, e := range events {
			if err := out.event(e); err != nil {
				return at, err
			}
		}
		select {
		case <-s.streams.done:
			return at, context.Canceled
		default:
		}
		if last {
			return at, out.flush()
		}
	}
}

// frames writes server-sent events.
type frames struct {
	w       *bufio.Writer
	control *http.ResponseController
	id      func(jackline.Event) int64
	until   time.Time // the deadline that is set

	sent map[jackline.SessionID]int64 // the newest Seq that was written, by session
}

// event writes one event. Only what is in the log has an id.
func (o *frames) event(e jackline.Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if e.ID > 0 {
		o.text("id: " + strconv.FormatInt(o.id(e), 10) + "\n")
		o.sent[e.Session] = e.Seq
	}
	return o.frame(e.Type, data)
}

// ready says that everything up to the cursor was sent.
func (o *frames) ready(at int64) error {
	if err := o.frame("ready", []byte(`{"type":"ready","data":{"id":`+strconv.FormatInt(at, 10)+`}}`)); err != nil {
		return err
	}
	return o.flush()
}

func (o *frames) beat() error {
	o.text(": beat\n\n")
	return o.flush()
}

func (o *frames) frame(kind string, data []byte) error {
	o.text("event: " + kind + "\ndata: ")
	if _, err := o.w.Write(data); err != nil { // JSON has no line breaks
		return err
	}
	o.text("\n\n")
	return nil
}

// text writes a string. An error stays with the writer, which gives it to whoever writes next.
func (o *frames) text(s string) {
	// The buffer may be written out at any moment; the deadline moves now and then, not with every line.
	if now := time.Now(); o.until.Sub(now) < writeTime/2 {
		o.until = now.Add(writeTime)
		_ = o.control.SetWriteDeadline(o.until) // a client in this process has none
	}
	_, _ = o.w.WriteString(s)
}

func (o *frames) flush() error {
	if err := o.w.Flush(); err != nil {
		return err
	}
	return o.control.Flush()
}
