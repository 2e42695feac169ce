package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// The errors of a store and of [Sessions]; test with errors.Is.
var (
	// ErrNotFound: there is no such session or event.
	ErrNotFound = errors.New("not found")
	// ErrExists: a session with this id is there already.
	ErrExists = errors.New("exists already")
	// ErrNotOpen: an entry closes work that is not open, because it was never opened or has been closed.
	ErrNotOpen = errors.New("is not open")
)

// Session is one conversation without its events.
type Session struct {
	ID        string
	Title     string
	CreatedAt time.Time
	UpdatedAt time.Time // the time of its last event
	Archived  bool
	// LastEventID is the id of its last event.
	LastEventID int64
}

// Event is one entry of a session's log.
type Event struct {
	ID      int64
	Session string
	Time    time.Time // UTC, whole milliseconds
	Type    string
	Data    json.RawMessage
}

// Entry is an event to be: the store gives it the next id.
type Entry struct {
	Time time.Time
	Type string
	Data json.RawMessage
	// Opens names work that a later entry has to close: a call that is running. Closes names work that ends here.
	Opens, Closes string
}

// Change is what else an append changes. Nil fields stay.
type Change struct {
	Title    *string
	Archived *bool
}

// Page asks for a part of the list of sessions.
type Page struct {
	// Archived selects the archived sessions in place of the others.
	Archived bool
	// Limit bounds the number of sessions; it is at least 1.
	Limit int
	// BeforeTime and BeforeID continue after the last session of the page before; zero starts at the newest.
	BeforeTime time.Time
	BeforeID   string
}

// OpenWork is work that an entry opened and none has closed.
type OpenWork struct {
	Session string
	Name    string
	Opened  time.Time
}

// Store keeps sessions and their events. Times are kept to the millisecond, in UTC. Everything that one method does
// is done whole or not at all, and is kept when it returns without an error. Methods are safe for concurrent use;
// a reader does not wait for a writer. Package storetest holds what each implementation must pass.
type Store interface {
	// Create adds a session with its first entries. The id is new, or the error is ErrExists.
	Create(ctx context.Context, s Session, entries ...Entry) ([]Event, error)
	// Append adds entries to a session and makes the change. The session's UpdatedAt becomes the last entry's time.
	// ErrNotFound: there is no such session. ErrNotOpen: an entry closes what is not open.
	Append(ctx context.Context, session string, change Change, entries ...Entry) ([]Event, error)
	// Session returns one session, or ErrNotFound.
	Session(ctx context.Context, id string) (Session, error)
	// List returns sessions, the last updated first, equal times by id in descending order.
	List(ctx context.Context, p Page) ([]Session, error)
	// Count returns the number of sessions, archived ones included.
	Count(ctx context.Context) (int, error)
	// Events returns events with ids greater than after, in order: at most limit, and no more once their data is
	// maxBytes together, but always one if there is one. An unknown session has none.
	Events(ctx context.Context, session string, after int64, limit, maxBytes int) ([]Event, error)
	// Replace gives an event other data: compaction. ErrNotFound: there is no such event.
	Replace(ctx context.Context, session string, event int64, data json.RawMessage) error
	// SetOutput keeps the whole text of a result that an event has no room for, by the name of its call.
	SetOutput(ctx context.Context, session, name string, text []byte) error
	// Output returns it, or ErrNotFound.
	Output(ctx context.Context, session, name string) ([]byte, error)
	// Open returns all work that is open, the oldest first.
	Open(ctx context.Context) ([]OpenWork, error)
	// Delete removes a session with all its events and outputs, or returns ErrNotFound.
	Delete(ctx context.Context, id string) error
}
