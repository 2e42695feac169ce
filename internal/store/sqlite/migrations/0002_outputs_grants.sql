-- The whole text of a result that its event has no room for.
CREATE TABLE output (
	session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
	name       TEXT NOT NULL,
	text       BLOB NOT NULL,
	PRIMARY KEY (session_id, name)
) STRICT;

-- The tools that a person allowed for good.
CREATE TABLE permission_grant (
	server TEXT NOT NULL,
	tool   TEXT NOT NULL,
	data   TEXT NOT NULL,
	PRIMARY KEY (server, tool)
) STRICT;
