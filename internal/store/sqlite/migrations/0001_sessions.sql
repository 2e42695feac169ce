CREATE TABLE session (
	id            TEXT    PRIMARY KEY,
	title         TEXT    NOT NULL,
	created_at    INTEGER NOT NULL, -- Unix time in milliseconds, as all times here
	updated_at    INTEGER NOT NULL,
	archived      INTEGER NOT NULL DEFAULT 0,
	last_event_id INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX session_by_update ON session (archived, updated_at, id);

CREATE TABLE event (
	session_id TEXT    NOT NULL REFERENCES session (id) ON DELETE CASCADE,
	id         INTEGER NOT NULL,
	time       INTEGER NOT NULL,
	type       TEXT    NOT NULL,
	data       TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX event_by_id ON event (session_id, id);

-- Work that an event has opened and none has closed yet.
CREATE TABLE open_work (
	session_id TEXT    NOT NULL REFERENCES session (id) ON DELETE CASCADE,
	name       TEXT    NOT NULL,
	opened_at  INTEGER NOT NULL,
	PRIMARY KEY (session_id, name)
) STRICT;
