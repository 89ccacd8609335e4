package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/column"
	"github.com/jackline-ai/jackline/store/vault"
)

// Limits of a session's attachments. What is attached is read by a model with a window, and stays on the disk as long as the
// chat: it is for papers and pictures, not for archives.
const (
	// MaxAttachments is how many files a session may hold.
	MaxAttachments = 100
	// MaxAttached is how many bytes they may have together.
	MaxAttached = 200 << 20
)

// An attachment is two files of the folder attachments: SESSION/ID, as it came, and SESSION/ID.text, what there was to read in it;
// an image has no text. See [vault.Vault].
const textFile = ".text"

// Attach keeps a file with a session, and gives it back as stored: with an ID, and what can be counted filled in. A session that
// is full is a [jackline.Conflict].
func (d *DB) Attach(ctx context.Context, owner jackline.Owner, a jackline.Attachment, data []byte, text string) (jackline.Attachment, error) {
	const op = "store.Attach"
	if !vault.PlainName(string(a.Session)) {
		return a, absent(op, "session")
	}
	if err := d.own(ctx, op, owner, a.Session); err != nil {
		return a, err
	}
	a.ID = jackline.NewID[jackline.AttachmentID]("f_")
	a.Size, a.Chars, a.Created = len(data), utf8.RuneCountInString(text), time.Now().Round(0).UTC()
	if err := d.room(ctx, op, a); err != nil { // before it is on the disk
		return a, err
	}
	err := d.files.Write(a.Session, string(a.ID), data)
	if err == nil && text != "" {
		err = d.files.Write(a.Session, string(a.ID)+textFile, []byte(text))
	}
	if err == nil {
		sealed := d.boxes.attachments.Seal(vault.Pack(a.Name, a.Type, a.Note), string(a.ID))
		err = d.update(ctx, op, func(w *writer) error {
			if err := w.own(op, owner, a.Session); err != nil {
				return err
			}
			_, err := w.exec(`INSERT INTO attachments (id, session, size, chars, created, sealed) VALUES (?, ?, ?, ?, ?, ?)`,
				string(a.ID), string(a.Session), a.Size, a.Chars, column.Nanos(a.Created), sealed)
			return err
		})
	} else {
		err = attachFault(op, err)
	}
	if err != nil {
		_ = d.dropFiles(a)
		if jackline.KindOf(err) == jackline.NotFound { // the session was deleted meanwhile, and its folder may have come back
			_ = d.sweepFiles(ctx, op)
		}
		return jackline.Attachment{}, err
	}
	return a, nil
}

// room says why a session can hold no more, or nil. Two files that come at once may both find room; the limits are no
// promise to the byte.
func (d *DB) room(ctx context.Context, op string, a jackline.Attachment) error {
	type sum struct{ files, bytes int }
	have, err := one(ctx, d, op, "session", func(s scanner) (v sum, err error) { return v, s.Scan(&v.files, &v.bytes) },
		`SELECT count(*), coalesce(sum(size), 0) FROM attachments WHERE session = ?`, a.Session)
	switch {
	case err != nil:
		return err
	case have.files >= MaxAttachments:
		return jackline.E(op, jackline.Conflict, nil, "This chat holds %d files, which is the most: remove some, or begin another chat.", have.files)
	case have.bytes+a.Size > MaxAttached:
		return jackline.E(op, jackline.Conflict, nil, "The files of this chat would be more than %d MiB together: remove some, or begin another chat.", MaxAttached>>20)
	}
	return nil
}

const sqlAttachments = `SELECT f.id, f.session, f.size, f.chars, f.created, f.sealed FROM attachments f JOIN sessions s ON s.id = f.session WHERE s.owner = ?`

func (d *DB) scanAttachment(s scanner) (a jackline.Attachment, err error) {
	var sealed []byte
	if err = s.Scan(&a.ID, &a.Session, &a.Size, &a.Chars, column.Moment{T: &a.Created}, &sealed); err != nil {
		return a, err
	}
	plain, err := d.boxes.attachments.Open(sealed, string(a.ID))
	if err == nil {
		err = vault.Unpack(plain, &a.Name, &a.Type, &a.Note)
	}
	if err != nil {
		return a, unsealable("attachment", err)
	}
	return a, nil
}

// Attachment reads what is known of one attachment.
func (d *DB) Attachment(ctx context.Context, owner jackline.Owner, id jackline.AttachmentID) (jackline.Attachment, error) {
	return one(ctx, d, "store.Attachment", "attachment", d.scanAttachment, sqlAttachments+` AND f.id = ?`, owner, id)
}

// Attachments reads those of a session, the oldest first.
func (d *DB) Attachments(ctx context.Context, owner jackline.Owner, session jackline.SessionID) ([]jackline.Attachment, error) {
	const op = "store.Attachments"
	if err := d.own(ctx, op, owner, session); err != nil {
		return nil, err
	}
	return many(ctx, d, op, d.scanAttachment, sqlAttachments+` AND f.session = ? ORDER BY f.num`, owner, session)
}

// AttachmentData reads an attachment as it came.
func (d *DB) AttachmentData(ctx context.Context, owner jackline.Owner, id jackline.AttachmentID) ([]byte, error) {
	const op = "store.AttachmentData"
	a, err := d.Attachment(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	data, err := d.files.All(a.Session, string(a.ID))
	return data, attachFault(op, err)
}

// AttachmentText reads what there was to read in an attachment; "" for an image.
func (d *DB) AttachmentText(ctx context.Context, owner jackline.Owner, id jackline.AttachmentID) (string, error) {
	const op = "store.AttachmentText"
	a, err := d.Attachment(ctx, owner, id)
	if err != nil || a.Chars == 0 {
		return "", err
	}
	text, err := d.files.All(a.Session, string(a.ID)+textFile)
	return string(text), attachFault(op, err)
}

// Detach removes an attachment.
func (d *DB) Detach(ctx context.Context, owner jackline.Owner, id jackline.AttachmentID) error {
	const op = "store.Detach"
	a, err := d.Attachment(ctx, owner, id)
	if err != nil {
		return err
	}
	err = d.update(ctx, op, func(w *writer) error {
		if err := w.own(op, owner, a.Session); err != nil {
			return err
		}
		n, err := w.exec(`DELETE FROM attachments WHERE id = ? AND session = ?`, string(id), string(a.Session))
		if err == nil && n == 0 {
			return absent(op, "attachment")
		}
		return err
	})
	if err != nil {
		return err
	}
	return attachFault(op, d.dropFiles(a))
}

func (d *DB) dropFiles(a jackline.Attachment) error {
	var errs []error
	for _, name := range []string{string(a.ID), string(a.ID) + textFile} {
		if err := d.files.Root.Remove(string(a.Session) + "/" + name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func attachFault(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrClosed):
		return closedError(op)
	case errors.Is(err, fs.ErrNotExist):
		return jackline.E(op, jackline.Gone, err, "This attachment is no longer on the disk.")
	}
	return jackline.E(op, jackline.Unavailable, err,
		"An attachment cannot be written or read: check that the disk is not full and that the data folder was not changed from outside.")
}
