package store

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/vault"
)

const canary = "c4n4ry-of-the-deep"

// everywhere are the files of a folder that hold some bytes.
func everywhere(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			files = append(files, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestNoSecretInTheFiles writes a secret into everything that is to be sealed.
func TestNoSecretInTheFiles(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, d, me).ID
	secret := json.RawMessage(`{"x":"` + canary + `"}`)
	rec := jackline.Record{
		Session:   s,
		Turn:      &jackline.Turn{ID: "t_1", Prompt: "a plain prompt"},
		Calls:     []jackline.Call{{ID: "c_1", Args: secret, Text: canary, Origin: canary, Stamp: canary}},
		Items:     []jackline.Item{{Role: jackline.ItemAssistant, Text: canary}},
		Compacted: []jackline.Item{{Role: jackline.ItemSummary, Text: canary}},
		Approvals: []jackline.Approval{{ID: "a_1", State: jackline.Pending, Title: canary, Args: secret, Why: canary, Digest: canary, Seal: []byte(canary),
			Touches: []jackline.Touch{{Name: canary}}, View: jackline.View{Text: canary}, Answer: jackline.Answer{Reason: canary, Args: secret}}},
		Grants: []jackline.Grant{{ID: "g_1", Value: canary}},
	}
	if _, err := d.Append(t.Context(), me, rec); err != nil {
		t.Fatal(err)
	}
	rec.Calls[0].Text, rec.From, rec.Items, rec.Compacted = canary+canary, jackline.Pending, nil, nil
	if _, err := d.Append(t.Context(), me, rec); err != nil {
		t.Fatal(err)
	}
	if err := d.PutSetting(t.Context(), me, "agent", secret); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteSpill(t.Context(), me, s, "c_1", canary); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Attach(t.Context(), me, jackline.Attachment{Session: s, Name: canary, Type: "text/plain"}, []byte(canary), canary); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		if files := everywhere(t, dir, canary); len(files) > 0 {
			t.Fatalf("%s the secret stands in %v", when, files)
		}
		if files := everywhere(t, dir, "a plain prompt"); len(files) == 0 {
			t.Fatalf("%s the plain prompt is not found: the test looks in the wrong place", when)
		}
	}
	check("while open")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	check("when closed")
}

// TestSealedRowsStayInPlace moves ciphertext to other rows, as somebody could who writes to the file.
func TestSealedRowsStayInPlace(t *testing.T) {
	dir := t.TempDir()
	d := openTest(t, dir)
	ctx := t.Context()
	s := newSession(t, d, me).ID
	var rec jackline.Record
	for i, n := range []string{"1", "2"} {
		rec = jackline.Record{
			Session:   s,
			Turn:      &jackline.Turn{ID: jackline.TurnID("t_" + n)},
			Calls:     []jackline.Call{{ID: jackline.CallID("c_" + n), Turn: "t_1", Text: n}},
			Items:     []jackline.Item{{Text: n}},
			Approvals: []jackline.Approval{{ID: jackline.ApprovalID("a_" + n), State: jackline.Pending}},
			Grants:    []jackline.Grant{{ID: jackline.GrantID("g_" + n), Scope: jackline.Task, Turn: "t_1", Value: n}},
		}
		if _, err := d.Append(ctx, me, rec); err != nil {
			t.Fatal(err)
		}
		if err := d.PutSetting(ctx, me, n, json.RawMessage(n)); err != nil {
			t.Fatal(err)
		}
		if err := d.WriteSpill(ctx, me, s, rec.Calls[0].ID, string(bytes.Repeat([]byte(n), (i+2)*vault.ChunkSize))); err != nil {
			t.Fatal(err)
		}
	}
	forge := func(query string) {
		t.Helper()
		err := d.update(ctx, "test", func(w *writer) error {
			n, err := w.exec(query)
			if n == 0 {
				t.Errorf("%s changes nothing", query)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	damaged := func(what string, err error) {
		t.Helper()
		if err == nil || jackline.KindOf(err) != jackline.Internal && jackline.KindOf(err) != jackline.Unavailable {
			t.Errorf("%s of another row: %v", what, err)
		}
	}
	forge(`UPDATE calls SET sealed = (SELECT sealed FROM calls WHERE id = 'c_1') WHERE id = 'c_2'`)
	_, err := d.Call(ctx, me, "c_2")
	damaged("a call", err)
	_, err = d.Calls(ctx, me, "t_1")
	damaged("a call in a list", err)
	forge(`UPDATE items SET sealed = (SELECT sealed FROM items WHERE n = 1) WHERE n = 2`)
	_, err = d.History(ctx, me, s)
	damaged("an item", err)
	forge(`UPDATE approvals SET sealed = (SELECT sealed FROM approvals WHERE id = 'a_1') WHERE id = 'a_2'`)
	_, err = d.Approval(ctx, me, "a_2")
	damaged("an approval", err)
	forge(`UPDATE approvals SET state = 'approved' WHERE id = 'a_1'`)
	_, err = d.Approval(ctx, me, "a_1")
	damaged("an approval's state", err)
	forge(`UPDATE grants SET scope = 'chat', turn = '' WHERE id = 'g_1'`)
	if _, err = d.Grants(ctx, me, s); jackline.KindOf(err) != jackline.Internal {
		t.Errorf("a widened grant: %v", err)
	}
	forge(`UPDATE grants SET scope = 'task', turn = 't_1' WHERE id = 'g_1'`)
	if _, err = d.Grants(ctx, me, s); err != nil {
		t.Errorf("the grant as it was: %v", err)
	}
	forge(`UPDATE grants SET sealed = (SELECT sealed FROM grants WHERE id = 'g_1') WHERE id = 'g_2'`)
	_, err = d.Grants(ctx, me, "")
	damaged("a grant", err)
	forge(`UPDATE settings SET sealed = (SELECT sealed FROM settings WHERE name = '1') WHERE name = '2'`)
	_, err = d.Setting(ctx, me, "2")
	damaged("a setting", err)

	one, two := filepath.Join(dir, folderOut, string(s), "c_1"), filepath.Join(dir, folderOut, string(s), "c_2")
	b1, b2 := readFile(t, one), readFile(t, two)
	for what, forged := range map[string][]byte{
		"another call's":   b1,
		"cut at a chunk":   b2[:vault.ChunkSealed],
		"cut in a chunk":   b2[:len(b2)-1],
		"chunks exchanged": append(append([]byte{}, b2[vault.ChunkSealed:2*vault.ChunkSealed]...), b2[:vault.ChunkSealed]...),
	} {
		if err := os.WriteFile(two, forged, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err = d.ReadSpill(ctx, me, "c_2", 0, 10)
		damaged("a spill "+what, err)
	}
	if err := os.Remove(two); err != nil {
		t.Fatal(err)
	}
	if _, _, err = d.ReadSpill(ctx, me, "c_2", 0, 10); jackline.KindOf(err) != jackline.Gone {
		t.Errorf("a spill that is gone: %v", err)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDeletedWordsAreGone looks for a prompt in the files after its session was deleted.
func TestDeletedWordsAreGone(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, d, me).ID
	turn := &jackline.Turn{ID: "t_1", Prompt: "the words " + canary, Answer: canary, Status: jackline.Done, Created: time.Now()}
	rec := jackline.Record{Session: s, Title: canary, Turn: turn, Events: []jackline.Event{jackline.NewEvent(s, "t_1", jackline.Text{Text: canary})}}
	if _, err := d.Append(t.Context(), me, rec); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteSpill(t.Context(), me, s, "c_1", "spilled"); err != nil {
		t.Fatal(err)
	}
	if err := d.DeleteSession(t.Context(), me, s); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, folderOut)); err != nil || len(left) > 0 {
		t.Errorf("spilled results are left: %v, %v", left, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if files := everywhere(t, dir, "c4n4ry"); len(files) > 0 {
		t.Errorf("the words of a deleted session stand in %v", files)
	}
}
