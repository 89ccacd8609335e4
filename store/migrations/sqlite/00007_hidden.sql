-- +goose Up
-- The exact words of a turn whose searched ones hide something; NULL where they are the same.
ALTER TABLE turns ADD COLUMN sealed BLOB;

-- +goose Down
ALTER TABLE turns DROP COLUMN sealed;
