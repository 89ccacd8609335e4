-- +goose Up
-- To look for words costs a statement on turns and sessions more than all else that it does, and most of them are of no search.
-- So the words of a new turn wait until somebody searches, and a chat has words in the index from its first title on.
CREATE TABLE unread (
  num INTEGER PRIMARY KEY -- of a turn whose words are not in the index
);

DROP TRIGGER sessions_named;
DROP TRIGGER sessions_renamed;
DROP TRIGGER sessions_gone;
DROP TRIGGER turns_asked;
DROP TRIGGER turns_edited;
DROP TRIGGER turns_answered;
DROP TRIGGER turns_gone;

-- A chat is made without a title.
-- +goose StatementBegin
CREATE TRIGGER sessions_named AFTER UPDATE OF title ON sessions WHEN old.title = '' AND new.title <> '' BEGIN
  INSERT INTO title_words (rowid, title) VALUES (new.num, new.title);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER sessions_renamed AFTER UPDATE OF title ON sessions WHEN old.title <> '' AND new.title <> old.title BEGIN
  INSERT INTO title_words (title_words, rowid, title) VALUES ('delete', old.num, old.title);
  INSERT INTO title_words (rowid, title) SELECT new.num, new.title WHERE new.title <> '';
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER sessions_gone AFTER DELETE ON sessions WHEN old.title <> '' BEGIN
  INSERT INTO title_words (title_words, rowid, title) VALUES ('delete', old.num, old.title);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER turns_asked AFTER INSERT ON turns BEGIN
  INSERT INTO unread (num) VALUES (new.num);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER turns_edited AFTER UPDATE OF prompt ON turns
WHEN new.prompt <> old.prompt AND NOT EXISTS (SELECT 1 FROM unread WHERE num = old.num) BEGIN
  INSERT INTO prompt_words (prompt_words, rowid, prompt) VALUES ('delete', old.num, old.prompt);
  INSERT INTO prompt_words (rowid, prompt) VALUES (new.num, new.prompt);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER turns_answered AFTER UPDATE OF answer ON turns
WHEN new.answer <> old.answer AND NOT EXISTS (SELECT 1 FROM unread WHERE num = old.num) BEGIN
  INSERT INTO answer_words (answer_words, rowid, answer) VALUES ('delete', old.num, old.answer);
  INSERT INTO answer_words (rowid, answer) VALUES (new.num, new.answer);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER turns_gone BEFORE DELETE ON turns WHEN NOT EXISTS (SELECT 1 FROM unread WHERE num = old.num) BEGIN
  INSERT INTO prompt_words (prompt_words, rowid, prompt) VALUES ('delete', old.num, old.prompt);
  INSERT INTO answer_words (answer_words, rowid, answer) VALUES ('delete', old.num, old.answer);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER turns_forgotten AFTER DELETE ON turns BEGIN
  DELETE FROM unread WHERE num = old.num;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER sessions_named;
DROP TRIGGER sessions_renamed;
DROP TRIGGER sessions_gone;
DROP TRIGGER turns_asked;
DROP TRIGGER turns_edited;
DROP TRIGGER turns_answered;
DROP TRIGGER turns_gone;
DROP TRIGGER turns_forgotten;
INSERT INTO prompt_words (rowid, prompt) SELECT num, prompt FROM turns WHERE num IN (SELECT num FROM unread);
INSERT INTO answer_words (rowid, answer) SELECT num, answer FROM turns WHERE num IN (SELECT num FROM unread);
INSERT INTO title_words (rowid, title) SELECT num, title FROM sessions WHERE title = '';
DROP TABLE unread;

-- +goose StatementBegin
CREATE TRIGGER sessions_named AFTER INSERT ON sessions BEGIN
  INSERT INTO title_words (rowid, title) VALUES (new.num, new.title);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER sessions_renamed AFTER UPDATE OF title ON sessions WHEN new.title <> old.title BEGIN
  INSERT INTO title_words (title_words, rowid, title) VALUES ('delete', old.num, old.title);
  INSERT INTO title_words (rowid, title) VALUES (new.num, new.title);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER sessions_gone AFTER DELETE ON sessions BEGIN
  INSERT INTO title_words (title_words, rowid, title) VALUES ('delete', old.num, old.title);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER turns_asked AFTER INSERT ON turns BEGIN
  INSERT INTO prompt_words (rowid, prompt) VALUES (new.num, new.prompt);
  INSERT INTO answer_words (rowid, answer) VALUES (new.num, new.answer);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER turns_edited AFTER UPDATE OF prompt ON turns WHEN new.prompt <> old.prompt BEGIN
  INSERT INTO prompt_words (prompt_words, rowid, prompt) VALUES ('delete', old.num, old.prompt);
  INSERT INTO prompt_words (rowid, prompt) VALUES (new.num, new.prompt);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER turns_answered AFTER UPDATE OF answer ON turns WHEN new.answer <> old.answer BEGIN
  INSERT INTO answer_words (answer_words, rowid, answer) VALUES ('delete', old.num, old.answer);
  INSERT INTO answer_words (rowid, answer) VALUES (new.num, new.answer);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER turns_gone AFTER DELETE ON turns BEGIN
  INSERT INTO prompt_words (prompt_words, rowid, prompt) VALUES ('delete', old.num, old.prompt);
  INSERT INTO answer_words (answer_words, rowid, answer) VALUES ('delete', old.num, old.answer);
END;
-- +goose StatementEnd
