package conversation

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/usher-mcp/usher/apps"
	"github.com/usher-mcp/usher/internal/api"
)

// compactPage is how many events compaction reads at a time.
const compactPage = 200

// Compact frees what a session's apps take: every finished call's mcp_app display keeps its type and its fallback
// text and loses its HTML (M25). When there was something to free, session.compacted follows; a page that has one of
// the apps open may keep it until then. It returns the number of displays that were emptied. An interrupted
// compaction leaves a valid log, and the next one does the rest.
func (s *Sessions) Compact(ctx context.Context, id string) (int, error) {
	found, err := s.store.Session(ctx, id)
	if err != nil {
		return 0, err
	}
	emptied := 0
	for after := int64(0); after < found.LastEventID; {
		events, err := s.store.Events(ctx, id, after, compactPage, pageBytes)
		if err != nil {
			return emptied, err
		}
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			after = e.ID
			if e.ID > found.LastEventID {
				break
			}
			data, changed := CompactEvent(e.Type, e.Data)
			if !changed {
				continue
			}
			if err := s.replace(ctx, id, e.ID, data); err != nil {
				return emptied, err
			}
			emptied++
		}
	}
	if emptied == 0 {
		return 0, nil
	}
	_, err = s.append(ctx, id, Change{}, entry(api.EventSessionCompacted, api.SessionCompacted{
		Through: found.LastEventID, Displays: emptied,
	}))
	return emptied, err
}

func (s *Sessions) replace(ctx context.Context, id string, event int64, data json.RawMessage) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if err := s.store.Replace(ctx, id, event, data); err != nil {
		return fmt.Errorf("compacting event %d of session %s: %w", event, id, err)
	}
	s.hub.forget(id)
	return nil
}

// CompactEvent is the data of an event without what compaction takes away (see [apps.Compact]), and whether there was
// any such thing. What this version does not know of the event is kept.
func CompactEvent(kind string, data json.RawMessage) (json.RawMessage, bool) {
	if kind != api.EventCallFinished {
		return data, false
	}
	var finished map[string]json.RawMessage
	if err := json.Unmarshal(data, &finished); err != nil {
		return data, false
	}
	display, changed := apps.Compact(finished["display"])
	if !changed {
		return data, false
	}
	finished["display"] = display
	return encode(finished), true
}
