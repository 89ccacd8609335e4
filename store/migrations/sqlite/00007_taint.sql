-- +goose Up

ALTER TABLE sessions ADD COLUMN ungated INTEGER NOT NULL DEFAULT 0; -- a person switched the taint gate off

-- What sessions wrote that had read text by others: whoever they belong to, the files are what they are.
CREATE TABLE marks (
  workspace TEXT    NOT NULL,
  path      TEXT    NOT NULL, -- relative; '*' is anything in the workspace
  id        TEXT    NOT NULL, -- what the file is to the system; '' where that is not known
  session   TEXT    NOT NULL,
  made      INTEGER NOT NULL,
  PRIMARY KEY (workspace, path)
) WITHOUT ROWID;
CREATE INDEX marks_id ON marks (workspace, id);
