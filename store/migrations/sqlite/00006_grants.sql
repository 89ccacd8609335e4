-- +goose Up

ALTER TABLE grants ADD COLUMN terms TEXT NOT NULL DEFAULT ''; -- a keyed digest of under what it was given
