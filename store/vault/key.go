package vault

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zalando/go-keyring"

	"github.com/jackline-ai/jackline"
)

// FileKey is the file of a data folder that holds the master key in hexadecimal, or says where in the system's keyring it is.
const FileKey = "key"

const (
	// inRing begins a key file whose key is in the keyring. What follows is the name under which it is there, so that two data
	// folders of one user do not share a key.
	inRing = "keyring:"

	// ringService is what the keyring calls the program.
	ringService = "Jackline"
)

// A Place is where a master key is kept.
type Place string

// The places. A file is there everywhere; the keyring of the system keeps the key apart from the data, so that a copy of the data
// folder alone opens nothing that is encrypted.
const (
	InFile    Place = "file"
	InKeyring Place = "keyring"
)

// OpenKey reads the master key of a data folder. Where there is no key file and no database that an older key would belong to, it
// makes both key and file. Errors of kind Conflict say that the key is lost or damaged, of kind Unavailable that the keyring does not
// give it now; others are those of the files.
func OpenKey(dir string, exists bool) ([]byte, error) {
	path := filepath.Join(dir, FileKey)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if exists {
			return nil, jackline.E("store.Open", jackline.Conflict, err,
				"The key file %s is missing, and without it the database beside it cannot be read: put the key back from a backup. To start anew, move the whole folder away.", path)
		}
		secret := make([]byte, KeySize)
		_, _ = rand.Read(secret) // it never fails
		if err = write(dir, hex.EncodeToString(secret), os.Link); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	if err := Tighten(path, 0o600); err != nil {
		return nil, err
	}
	held := strings.TrimSpace(string(text))
	if name, ok := strings.CutPrefix(held, inRing); ok {
		held, err = keyring.Get(ringService, name)
		if errors.Is(err, keyring.ErrNotFound) {
			return nil, jackline.E("store.Open", jackline.Conflict, err,
				"The key of the database in %s is not in this system's keyring, where it was put under %s, %s. Put it back from a backup of the keyring. To start anew, move the whole folder away.",
				dir, ringService, name)
		}
		if err != nil {
			return nil, jackline.E("store.Open", jackline.Unavailable, err,
				"The key of the database in %s is in this system's keyring, which does not answer: log in to the desktop and unlock the keyring, then try again. "+
					"For a server that starts without a login, run jackline key file there first.", dir)
		}
	}
	master, err := hex.DecodeString(held)
	if err != nil || len(master) != KeySize {
		return nil, jackline.E("store.Open", jackline.Conflict, err, "The key file %s is damaged: put it back from a backup.", path)
	}
	return master, nil
}

// KeyPlace says where the key of a data folder is kept.
func KeyPlace(dir string) (Place, error) {
	text, err := os.ReadFile(filepath.Join(dir, FileKey))
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(string(text), inRing) {
		return InKeyring, nil
	}
	return InFile, nil
}

// MoveKey keeps the key of a data folder at another place. The key stays the same, so that programs which have it open go on. It is
// at the new place, and was read back from there, before it leaves the old one: a crash in between leaves it at both. Where it is
// there already, nothing happens.
func MoveKey(dir string, to Place) error {
	const op = "vault.MoveKey"
	path := filepath.Join(dir, FileKey)
	held, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return jackline.E(op, jackline.NotFound, err, "There is no key in %s yet: start Jackline once.", dir)
	}
	if err != nil {
		return jackline.E(op, jackline.Unavailable, err, "The key file %s cannot be read.", path)
	}
	master, err := OpenKey(dir, true)
	if err != nil {
		return err
	}
	name, isThere := strings.CutPrefix(strings.TrimSpace(string(held)), inRing)
	secret := hex.EncodeToString(master)
	switch {
	case to == InKeyring && !isThere:
		name = strings.ToLower(rand.Text())
		err := keyring.Set(ringService, name, secret)
		if err == nil {
			var back string
			if back, err = keyring.Get(ringService, name); err == nil && back != secret {
				err = errors.New("it gave another key back")
			}
		}
		if err != nil {
			return jackline.E(op, jackline.Unavailable, err,
				"This system's keyring cannot keep the key, which stays in the file %s. A keyring needs a desktop session that is unlocked.", path)
		}
		if err := write(dir, inRing+name, os.Rename); err != nil {
			return jackline.E(op, jackline.Unavailable, err, "The key file %s cannot be written: the key stays there.", path)
		}
	case to == InFile && isThere:
		if err := write(dir, secret, os.Rename); err != nil {
			return jackline.E(op, jackline.Unavailable, err, "The key file %s cannot be written: the key stays in the keyring.", path)
		}
		if err := keyring.Delete(ringService, name); err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return jackline.E(op, jackline.Unavailable, err,
				"The key is in the file %s again. The keyring kept its copy: remove %s, %s there.", path, ringService, name)
		}
	}
	return nil
}

// write puts a text into the key file, whole or not at all. name gives the finished file its name: os.Link where there must be none,
// so that of two processes one makes the key and the other finds it, os.Rename where it takes the place of another.
func write(dir, text string, name func(from, to string) error) error {
	f, err := os.CreateTemp(dir, ".key-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(text + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := name(f.Name(), filepath.Join(dir, FileKey)); err != nil {
		return err
	}
	// The name itself must survive a power cut; systems that cannot sync a folder do not need it.
	if folder, err := os.Open(dir); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}

// Tighten takes away what others may do with a file or a folder, beyond most.
func Tighten(path string, most fs.FileMode) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&^most == 0 {
		return err
	}
	return os.Chmod(path, info.Mode().Perm()&most)
}
