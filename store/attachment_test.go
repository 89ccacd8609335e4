package store

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/vault"
)

// TestAttachments keeps a file, reads it as its owner and as somebody else, and loses it with its session.
func TestAttachments(t *testing.T) {
	dir := t.TempDir()
	d := openTest(t, dir)
	ctx := t.Context()
	s := newSession(t, d, me)
	data := bytes.Repeat([]byte{0, 1, 255}, vault.ChunkSize) // several chunks, and no text
	a, err := d.Attach(ctx, me, jackline.Attachment{Session: s.ID, Name: canary, Type: "application/pdf", Note: canary}, data, canary+"äö")
	if err != nil {
		t.Fatal(err)
	}
	if a.Size != len(data) || a.Chars != len(canary)+2 || a.ID == "" || a.Created.IsZero() {
		t.Fatalf("stored as %+v", a)
	}
	if got, err := d.Attachment(ctx, me, a.ID); err != nil || got != a {
		t.Fatalf("read %+v, %v, want %+v", got, err, a)
	}
	if got, err := d.AttachmentData(ctx, me, a.ID); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("read %d bytes, %v", len(got), err)
	}
	if got, err := d.AttachmentText(ctx, me, a.ID); err != nil || got != canary+"äö" {
		t.Fatalf("read %q, %v", got, err)
	}
	if list, err := d.Attachments(ctx, me, s.ID); err != nil || len(list) != 1 || list[0] != a {
		t.Fatalf("listed %+v, %v", list, err)
	}
	if files := everywhere(t, dir, canary); len(files) > 0 {
		t.Fatalf("the text stands in %v", files)
	}

	const other jackline.Owner = "somebody else"
	for what, err := range map[string]error{
		"read":   second(d.Attachment(ctx, other, a.ID)),
		"data":   second(d.AttachmentData(ctx, other, a.ID)),
		"text":   second(d.AttachmentText(ctx, other, a.ID)),
		"list":   second(d.Attachments(ctx, other, s.ID)),
		"remove": d.Detach(ctx, other, a.ID),
		"attach": second(d.Attach(ctx, other, jackline.Attachment{Session: s.ID}, data, "")),
	} {
		if jackline.KindOf(err) != jackline.NotFound {
			t.Errorf("%s as somebody else: %v", what, err)
		}
	}

	b, err := d.Attach(ctx, me, jackline.Attachment{Session: s.ID, Name: "b", Type: "image/png"}, []byte("x"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Detach(ctx, me, a.ID); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(dir, folderIn, string(s.ID)))
	if err != nil || len(left) != 1 || left[0].Name() != string(b.ID) {
		t.Fatalf("after one was removed there are %v, %v", left, err)
	}
	if err := d.DeleteSession(ctx, me, s.ID); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, folderIn)); err != nil || len(left) != 0 {
		t.Fatalf("after the session was deleted there are %v, %v", left, err)
	}
	if _, err := d.Attachment(ctx, me, b.ID); jackline.KindOf(err) != jackline.NotFound {
		t.Fatalf("of a deleted session: %v", err)
	}
}

// TestAttachmentsAreBounded fills a session with files.
func TestAttachmentsAreBounded(t *testing.T) {
	d := openTest(t, t.TempDir())
	s := newSession(t, d, me).ID
	for i := range MaxAttachments + 1 {
		_, err := d.Attach(t.Context(), me, jackline.Attachment{Session: s, Name: "a", Type: "text/plain"}, []byte("a"), "a")
		if want := i == MaxAttachments; (jackline.KindOf(err) == jackline.Conflict && err != nil) != want {
			t.Fatalf("file %d: %v", i+1, err)
		}
	}
}

// TestAttachmentsAreSealed exchanges the files of two attachments, as somebody could who writes to the folder.
func TestAttachmentsAreSealed(t *testing.T) {
	dir := t.TempDir()
	d := openTest(t, dir)
	s := newSession(t, d, me).ID
	var paths []string
	var last jackline.AttachmentID
	for _, text := range []string{"one", "two"} {
		a, err := d.Attach(t.Context(), me, jackline.Attachment{Session: s, Name: text, Type: "text/plain"}, []byte(text), strings.ToUpper(text))
		if err != nil {
			t.Fatal(err)
		}
		paths, last = append(paths, filepath.Join(dir, folderIn, string(s), string(a.ID))), a.ID
	}
	if err := os.Rename(paths[0], paths[1]); err != nil {
		t.Fatal(err)
	}
	if data, err := d.AttachmentData(t.Context(), me, last); err == nil {
		t.Fatalf("read %q in place of another file", data)
	}
	if err := os.Rename(paths[1], paths[1]+".gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.AttachmentData(t.Context(), me, last); jackline.KindOf(err) != jackline.Gone {
		t.Fatalf("a file that is gone: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
