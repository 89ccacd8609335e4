-- +goose Up

-- What files were before and after somebody's work: a turn's, a person's own call's, or an undo's.
CREATE TABLE snapshots (
  num     INTEGER PRIMARY KEY,
  session TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  unit    TEXT    NOT NULL,
  path    BLOB    NOT NULL, -- a keyed digest of it
  sealed  BLOB    NOT NULL
);
CREATE UNIQUE INDEX snapshots_path ON snapshots (session, unit, path);
CREATE INDEX snapshots_unit ON snapshots (unit);

-- What files held, once for each content of a session: a part of a sealed file of the folder undo.
CREATE TABLE contents (
  session TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  sum     BLOB    NOT NULL, -- a keyed digest of it
  pack    TEXT    NOT NULL,
  start   INTEGER NOT NULL,
  size    INTEGER NOT NULL,
  PRIMARY KEY (session, sum)
) WITHOUT ROWID;
