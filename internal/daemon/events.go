package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	usher "github.com/usher-mcp/usher"
	"github.com/usher-mcp/usher/internal/api"
	"github.com/usher-mcp/usher/internal/conversation"
	"github.com/usher-mcp/usher/internal/sse"
)

const (
	// streamPage is how many events a stream reads at once, streamBuffer how much it gathers before it sends, in bytes.
	streamPage   = 200
	streamBuffer = 256 << 10
	// streamRetry is how long a client waits before it comes back.
	streamRetry = time.Second
	// eventResync tells a client that the stream cannot go on from where it was: read the log again.
	eventResync = "resync"
)

func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	after, err := number(query, "after", 0, math.MaxInt64, 0)
	if err != nil {
		return err
	}
	// A browser that comes back by itself asks for the old address and says in the header how far it got.
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		id, err := strconv.ParseInt(last, 10, 64)
		if err != nil || id < 0 {
			return invalid("Last-Event-ID", "want the id of an event")
		}
		after = max(after, id)
	}
	found, err := s.sessions.Session(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	switch query.Get("until") {
	case "now":
		return s.eventList(w, r, found, after)
	case "":
		return s.stream(w, r, found, after)
	default:
		return invalid("until", "want now, or nothing")
	}
}

func (s *Server) eventList(w http.ResponseWriter, r *http.Request, found conversation.Session, after int64) error {
	limit, err := number(r.URL.Query(), "limit", 1, conversation.MaxPage, conversation.MaxPage)
	if err != nil {
		return err
	}
	events, err := s.sessions.Events(r.Context(), found.ID, after, int(limit))
	if err != nil {
		return err
	}
	list := api.EventList{Events: make([]api.Event, 0, len(events))}
	for _, e := range events {
		list.Events = append(list.Events, event(e))
		list.More = e.ID < found.LastEventID
	}
	return respond(w, http.StatusOK, list)
}

func event(e conversation.Event) api.Event {
	return api.Event{ID: e.ID, Session: e.Session, Time: e.Time, Type: e.Type, Data: e.Data}
}

// stream follows a session's log until the client leaves, the session is deleted or the daemon stops.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, found conversation.Session, after int64) error {
	if s.streams.Add(1) > s.maxStreams {
		s.streams.Add(-1)
		return refuse(codeBusy, "Too many event streams are open.", "Close some pages.")
	}
	defer s.streams.Add(-1)
	watch := s.sessions.Watch(found.ID)
	defer watch.Close()
	hints := s.hints.join()
	defer s.hints.leave(hints)

	out, err := sse.NewWriter(w, 0)
	if err == nil {
		err = out.Retry(streamRetry)
	}
	if err != nil {
		return nil // the client has left
	}
	f := follower{server: s, out: out, session: found.ID, after: after}
	if after > found.LastEventID {
		f.resync() // an id from another log, or from before the store was put back
		return nil
	}
	heartbeat := time.NewTicker(s.heartbeat)
	defer heartbeat.Stop()
	for f.catchUp(r.Context()) {
		select {
		case <-watch.More():
		case <-hints.more:
			f.hint(hints.take())
		case <-heartbeat.C:
			f.err = out.Ping()
		case <-watch.Gone():
			return nil
		case <-s.stopping:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
	return nil
}

// follower is one client of a session's stream.
type follower struct {
	server  *Server
	out     *sse.Writer
	session string
	after   int64
	err     error // why the client cannot be written to
}

// catchUp sends what the log holds and the client has not got. It reports whether the stream goes on.
func (f *follower) catchUp(ctx context.Context) bool {
	for f.err == nil {
		events, err := f.server.sessions.Events(ctx, f.session, f.after, streamPage)
		if err != nil {
			// A deleted session is gone; anything else the client can try again.
			if !errors.Is(err, conversation.ErrNotFound) && ctx.Err() == nil {
				f.resync()
			}
			return false
		}
		if len(events) == 0 {
			f.err = f.out.Flush()
			return f.err == nil
		}
		for _, e := range events {
			if e.ID != f.after+1 {
				f.resync()
				return false
			}
			f.send(strconv.FormatInt(e.ID, 10), event(e))
			f.after = e.ID
		}
	}
	return false
}

// hint sends what happened in the host: events without an id, which are not part of the log.
func (f *follower) hint(events []usher.Event) {
	for _, e := range events {
		data, err := encode(api.HostChanged{Server: e.Server, State: string(e.State), Revision: e.Revision})
		if err != nil {
			f.err = err
			return
		}
		f.send("", api.Event{Session: f.session, Time: e.Time.UTC(), Type: e.Type, Data: data})
	}
}

func (f *follower) send(id string, e api.Event) {
	if f.err != nil {
		return
	}
	var data json.RawMessage
	if data, f.err = encode(e); f.err != nil {
		return
	}
	if f.err = f.out.Write(sse.Event{ID: id, Type: e.Type, Data: data}); f.err == nil && f.out.Buffered() > streamBuffer {
		f.err = f.out.Flush()
	}
}

func (f *follower) resync() {
	f.err = f.out.Send(sse.Event{Type: eventResync, Data: []byte("{}")})
}
