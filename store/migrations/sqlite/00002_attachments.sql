-- +goose Up

CREATE TABLE attachments (
  num     INTEGER PRIMARY KEY,
  id      TEXT    NOT NULL UNIQUE,
  session TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  size    INTEGER NOT NULL, -- bytes
  chars   INTEGER NOT NULL,
  created INTEGER NOT NULL,
  sealed  BLOB    NOT NULL
);
CREATE INDEX attachments_session ON attachments (session, num);

ALTER TABLE items ADD COLUMN images TEXT NOT NULL DEFAULT ''; -- ids of attachments, with blanks between
