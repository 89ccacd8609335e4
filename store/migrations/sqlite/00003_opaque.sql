-- +goose Up

ALTER TABLE items ADD COLUMN opaque BLOB; -- sealed: what an engine wants back with its answer; NULL is nothing
