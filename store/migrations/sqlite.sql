-- What the migrations make of an empty database, written by: go test ./store -run TestSchema -update

CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);

CREATE TABLE counters (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE sessions (
  num       INTEGER PRIMARY KEY,
  id        TEXT    NOT NULL UNIQUE,
  owner     TEXT    NOT NULL,
  title     TEXT    NOT NULL,
  workspace TEXT    NOT NULL,
  mode      TEXT    NOT NULL,
  model     TEXT    NOT NULL,
  tainted   INTEGER NOT NULL,
  private   INTEGER NOT NULL,
  gen       INTEGER NOT NULL,
  gen_after INTEGER NOT NULL DEFAULT 0, -- the last history item before the present generation
  created   INTEGER NOT NULL,
  updated   INTEGER NOT NULL
, ungated INTEGER NOT NULL DEFAULT 0);

CREATE INDEX sessions_newest ON sessions (owner, updated);

CREATE TABLE events (
  seq     INTEGER PRIMARY KEY,
  id      INTEGER NOT NULL,
  owner   TEXT    NOT NULL,
  session TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  turn    TEXT    NOT NULL,
  parent  TEXT    NOT NULL,
  v       INTEGER NOT NULL,
  ts      INTEGER NOT NULL,
  type    TEXT    NOT NULL,
  data    TEXT    NOT NULL
);

CREATE UNIQUE INDEX events_log ON events (session, id);

CREATE INDEX events_owner ON events (owner, seq);

CREATE TABLE turns (
  num      INTEGER PRIMARY KEY,
  id       TEXT    NOT NULL UNIQUE,
  session  TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  owner    TEXT    NOT NULL,
  parent   TEXT    NOT NULL,
  depth    INTEGER NOT NULL,
  prompt   TEXT    NOT NULL,
  options  TEXT    NOT NULL,
  status   TEXT    NOT NULL,
  answer   TEXT    NOT NULL,
  reason   TEXT    NOT NULL,
  usage    TEXT    NOT NULL,
  progress TEXT    NOT NULL,
  created  INTEGER NOT NULL,
  started  INTEGER NOT NULL,
  ended    INTEGER NOT NULL
, sealed BLOB);

CREATE INDEX turns_session ON turns (session, num);

CREATE INDEX turns_open ON turns (session, status) WHERE status IN ('queued', 'running', 'waiting');

CREATE TABLE calls (
  num       INTEGER PRIMARY KEY,
  id        TEXT    NOT NULL UNIQUE,
  session   TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  turn      TEXT    NOT NULL,
  step      INTEGER NOT NULL,
  idx       INTEGER NOT NULL,
  native    TEXT    NOT NULL,
  asked     TEXT    NOT NULL,
  name      TEXT    NOT NULL,
  cut       INTEGER NOT NULL,
  state     TEXT    NOT NULL,
  outcome   TEXT    NOT NULL,
  source    TEXT    NOT NULL,
  dropped   INTEGER NOT NULL,
  cached    TEXT    NOT NULL,
  denied_by TEXT    NOT NULL,
  acts      INTEGER NOT NULL,
  ms        INTEGER NOT NULL,
  started   INTEGER NOT NULL,
  sealed    BLOB    NOT NULL
);

CREATE INDEX calls_turn ON calls (session, turn);

CREATE TABLE items (
  session TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  n       INTEGER NOT NULL, -- rises over all generations
  gen     INTEGER NOT NULL,
  turn    TEXT    NOT NULL,
  role    TEXT    NOT NULL,
  calls   TEXT    NOT NULL, -- ids, with blanks between
  call    TEXT    NOT NULL,
  keep    INTEGER NOT NULL,
  sealed  BLOB    NOT NULL
, images TEXT NOT NULL DEFAULT '', opaque BLOB);

CREATE UNIQUE INDEX items_history ON items (session, n);

CREATE TABLE approvals (
  num     INTEGER PRIMARY KEY,
  id      TEXT    NOT NULL UNIQUE,
  session TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  owner   TEXT    NOT NULL,
  turn    TEXT    NOT NULL,
  call    TEXT    NOT NULL,
  state   TEXT    NOT NULL,
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  sealed  BLOB    NOT NULL
);

CREATE INDEX approvals_session ON approvals (session, num);

CREATE INDEX approvals_open ON approvals (session) WHERE state = 'pending';

CREATE TABLE grants (
  num      INTEGER PRIMARY KEY,
  id       TEXT    NOT NULL UNIQUE,
  session  TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  owner    TEXT    NOT NULL,
  turn     TEXT    NOT NULL,
  scope    TEXT    NOT NULL,
  tool     TEXT    NOT NULL,
  kind     TEXT    NOT NULL,
  mode     TEXT    NOT NULL,
  approval TEXT    NOT NULL,
  created  INTEGER NOT NULL,
  revoked  INTEGER NOT NULL,
  sealed   BLOB    NOT NULL
, terms TEXT NOT NULL DEFAULT '');

CREATE INDEX grants_session ON grants (session);

CREATE TABLE state (
  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  name    TEXT NOT NULL,
  value   TEXT NOT NULL,
  PRIMARY KEY (session, name)
) WITHOUT ROWID;

CREATE TABLE spills (
  call    TEXT PRIMARY KEY,
  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE INDEX spills_session ON spills (session);

CREATE TABLE settings (
  owner  TEXT NOT NULL,
  name   TEXT NOT NULL,
  sealed BLOB NOT NULL,
  PRIMARY KEY (owner, name)
) WITHOUT ROWID;

CREATE TABLE flags (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE leases (
  name    TEXT    PRIMARY KEY,
  holder  TEXT    NOT NULL,
  info    TEXT    NOT NULL,
  expires INTEGER NOT NULL
) WITHOUT ROWID;

CREATE VIRTUAL TABLE title_words USING fts5 (title, content = 'sessions', content_rowid = 'num', columnsize = 0,
  tokenize = 'unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE prompt_words USING fts5 (prompt, content = 'turns', content_rowid = 'num', columnsize = 0,
  tokenize = 'unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE answer_words USING fts5 (answer, content = 'turns', content_rowid = 'num', columnsize = 0,
  tokenize = 'unicode61 remove_diacritics 2');

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

CREATE TRIGGER audit_at_the_end BEFORE INSERT ON audit WHEN new.n IS NOT (SELECT coalesce(max(n), 0) + 1 FROM audit) BEGIN
  SELECT RAISE(ABORT, 'the audit is written at its end only');
END;

CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit is never changed');
END;

CREATE TRIGGER audit_kept BEFORE DELETE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit is never deleted from');
END;

CREATE TABLE snapshots (
  num     INTEGER PRIMARY KEY,
  session TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  unit    TEXT    NOT NULL,
  path    BLOB    NOT NULL, -- a keyed digest of it
  sealed  BLOB    NOT NULL
);

CREATE UNIQUE INDEX snapshots_path ON snapshots (session, unit, path);

CREATE INDEX snapshots_unit ON snapshots (unit);

CREATE TABLE contents (
  session TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  sum     BLOB    NOT NULL, -- a keyed digest of it
  pack    TEXT    NOT NULL,
  start   INTEGER NOT NULL,
  size    INTEGER NOT NULL,
  PRIMARY KEY (session, sum)
) WITHOUT ROWID;

CREATE TABLE marks (
  workspace TEXT    NOT NULL,
  path      TEXT    NOT NULL, -- relative; '*' is anything in the workspace
  id        TEXT    NOT NULL, -- what the file is to the system; '' where that is not known
  session   TEXT    NOT NULL,
  made      INTEGER NOT NULL,
  PRIMARY KEY (workspace, path)
) WITHOUT ROWID;

CREATE INDEX marks_id ON marks (workspace, id);

CREATE TABLE unread (
  num INTEGER PRIMARY KEY -- of a turn whose words are not in the index
);

CREATE TRIGGER sessions_named AFTER UPDATE OF title ON sessions WHEN old.title = '' AND new.title <> '' BEGIN
  INSERT INTO title_words (rowid, title) VALUES (new.num, new.title);
END;

CREATE TRIGGER sessions_renamed AFTER UPDATE OF title ON sessions WHEN old.title <> '' AND new.title <> old.title BEGIN
  INSERT INTO title_words (title_words, rowid, title) VALUES ('delete', old.num, old.title);
  INSERT INTO title_words (rowid, title) SELECT new.num, new.title WHERE new.title <> '';
END;

CREATE TRIGGER sessions_gone AFTER DELETE ON sessions WHEN old.title <> '' BEGIN
  INSERT INTO title_words (title_words, rowid, title) VALUES ('delete', old.num, old.title);
END;

CREATE TRIGGER turns_asked AFTER INSERT ON turns BEGIN
  INSERT INTO unread (num) VALUES (new.num);
END;

CREATE TRIGGER turns_edited AFTER UPDATE OF prompt ON turns
WHEN new.prompt <> old.prompt AND NOT EXISTS (SELECT 1 FROM unread WHERE num = old.num) BEGIN
  INSERT INTO prompt_words (prompt_words, rowid, prompt) VALUES ('delete', old.num, old.prompt);
  INSERT INTO prompt_words (rowid, prompt) VALUES (new.num, new.prompt);
END;

CREATE TRIGGER turns_answered AFTER UPDATE OF answer ON turns
WHEN new.answer <> old.answer AND NOT EXISTS (SELECT 1 FROM unread WHERE num = old.num) BEGIN
  INSERT INTO answer_words (answer_words, rowid, answer) VALUES ('delete', old.num, old.answer);
  INSERT INTO answer_words (rowid, answer) VALUES (new.num, new.answer);
END;

CREATE TRIGGER turns_gone BEFORE DELETE ON turns WHEN NOT EXISTS (SELECT 1 FROM unread WHERE num = old.num) BEGIN
  INSERT INTO prompt_words (prompt_words, rowid, prompt) VALUES ('delete', old.num, old.prompt);
  INSERT INTO answer_words (answer_words, rowid, answer) VALUES ('delete', old.num, old.answer);
END;

CREATE TRIGGER turns_forgotten AFTER DELETE ON turns BEGIN
  DELETE FROM unread WHERE num = old.num;
END;

INSERT INTO title_words (title_words, rank) VALUES ('secure-delete', 1);
INSERT INTO prompt_words (prompt_words, rank) VALUES ('secure-delete', 1);
INSERT INTO answer_words (answer_words, rank) VALUES ('secure-delete', 1);
INSERT INTO counters (name, value) VALUES ('seq', 0);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (2, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (3, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (4, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (5, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (6, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (7, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (8, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (9, 1);
