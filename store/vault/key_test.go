package vault

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"github.com/jackline-ai/jackline"
)

// The key can be moved to the keyring and back, stays the same, and leaves nothing of itself where it was. The keyring is the
// library's own stand-in: machines that test have none.
func TestMoveKey(t *testing.T) {
	keyring.MockInit()
	dir := t.TempDir()
	first, err := OpenKey(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileKey)
	inFile := content(t, path)
	for range 2 { // the second time it is there already
		if err := MoveKey(dir, InKeyring); err != nil {
			t.Fatal(err)
		}
	}
	mark := strings.TrimSpace(content(t, path))
	name, ok := strings.CutPrefix(mark, inRing)
	if !ok || strings.Contains(mark, strings.TrimSpace(inFile)) {
		t.Fatalf("the file holds %q", mark)
	}
	if got, err := keyring.Get(ringService, name); err != nil || got+"\n" != inFile {
		t.Errorf("the keyring holds another key: %v", err)
	}
	if got, err := OpenKey(dir, true); err != nil || !bytes.Equal(got, first) {
		t.Errorf("from the keyring: %v", err)
	}
	if place, err := KeyPlace(dir); place != InKeyring || err != nil {
		t.Errorf("it is in %q, %v", place, err)
	}
	for range 2 {
		if err := MoveKey(dir, InFile); err != nil {
			t.Fatal(err)
		}
	}
	if content(t, path) != inFile {
		t.Error("the file holds another key than before")
	}
	if place, err := KeyPlace(dir); place != InFile || err != nil {
		t.Errorf("it is in %q, %v", place, err)
	}
	if _, err := keyring.Get(ringService, name); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the keyring kept it: %v", err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A keyring that is missing, locked or was emptied loses nothing and is told apart.
func TestKeyringWithoutTheKey(t *testing.T) {
	locked := errors.New("locked")
	dir := t.TempDir()
	keyring.MockInitWithError(locked)
	defer keyring.MockInit()
	if _, err := OpenKey(dir, false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileKey)
	before := content(t, path)
	if err := MoveKey(dir, InKeyring); jackline.KindOf(err) != jackline.Unavailable || content(t, path) != before {
		t.Errorf("moved into a locked keyring: %v", err)
	}
	keyring.MockInit()
	if err := MoveKey(dir, InKeyring); err != nil {
		t.Fatal(err)
	}
	mark := content(t, path)
	keyring.MockInitWithError(locked)
	if _, err := OpenKey(dir, true); jackline.KindOf(err) != jackline.Unavailable {
		t.Errorf("a locked keyring: %v", err)
	}
	if err := MoveKey(dir, InFile); jackline.KindOf(err) != jackline.Unavailable || content(t, path) != mark {
		t.Errorf("moved out of a locked keyring: %v", err)
	}
	keyring.MockInit() // an empty one
	if _, err := OpenKey(dir, true); jackline.KindOf(err) != jackline.Conflict {
		t.Errorf("an empty keyring: %v", err)
	}
	for _, text := range []string{"", "keyring", "xyz", strings.Repeat("0", 2*KeySize-2), strings.Repeat("0", 2*KeySize+2)} {
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenKey(dir, true); jackline.KindOf(err) != jackline.Conflict {
			t.Errorf("the key file %q: %v", text, err)
		}
	}
	if err := MoveKey(t.TempDir(), InKeyring); jackline.KindOf(err) != jackline.NotFound {
		t.Errorf("a folder without a key: %v", err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
