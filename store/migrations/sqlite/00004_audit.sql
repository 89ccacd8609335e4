-- +goose Up

-- The audit: lines are added at the end and never changed. It belongs to no session, so that it outlives those that it
-- speaks of. See package store/chain for mac.
CREATE TABLE audit (
  n         INTEGER PRIMARY KEY, -- from 1, without gaps
  at        INTEGER NOT NULL,
  owner     TEXT    NOT NULL,
  kind      TEXT    NOT NULL,
  session   TEXT    NOT NULL,
  turn      TEXT    NOT NULL,
  call      TEXT    NOT NULL,
  tool      TEXT    NOT NULL,
  source    TEXT    NOT NULL,
  actor     TEXT    NOT NULL,
  verdict   TEXT    NOT NULL,
  rule      TEXT    NOT NULL,
  stage     TEXT    NOT NULL,
  approval  TEXT    NOT NULL,
  permit    TEXT    NOT NULL,
  scope     TEXT    NOT NULL,
  outcome   TEXT    NOT NULL,
  what      TEXT    NOT NULL,
  ms        INTEGER NOT NULL,
  bytes_in  INTEGER NOT NULL,
  bytes_out INTEGER NOT NULL,
  tainted   INTEGER NOT NULL,
  private   INTEGER NOT NULL,
  sandbox   INTEGER NOT NULL,
  args      TEXT    NOT NULL,
  chain     TEXT    NOT NULL,
  mac       BLOB    NOT NULL
);
CREATE INDEX audit_session ON audit (session, n);

-- +goose StatementBegin
CREATE TRIGGER audit_at_the_end BEFORE INSERT ON audit WHEN new.n IS NOT (SELECT coalesce(max(n), 0) + 1 FROM audit) BEGIN
  SELECT RAISE(ABORT, 'the audit is written at its end only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit is never changed');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_kept BEFORE DELETE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit is never deleted from');
END;
-- +goose StatementEnd
