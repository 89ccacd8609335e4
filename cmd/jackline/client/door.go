package client

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/guard"
)

// The files of a data folder by which its processes find each other.
const (
	tokenFile   = "token"
	addressFile = "address"
)

// Token reads the token of a data folder, or makes one: 256 bits of chance, readable by its owner only. Where others could
// read it, that ends here, and log says so. It says whether it made one.
func Token(data string, log *slog.Logger) (token string, made bool, err error) {
	file := filepath.Join(data, tokenFile)
	if t, err := readToken(data); err == nil {
		return t, false, tighten(file, log)
	}
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	t := hex.EncodeToString(b[:])
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if t, err := readToken(data); err == nil { // another process was faster
			return t, false, nil
		}
		return "", false, jackline.E("token", jackline.Internal, err, "The token in %s is damaged: delete it and start again; a new one is made.", file)
	}
	if err == nil {
		_, err = f.WriteString(t + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return "", false, jackline.E("token", jackline.Internal, err,
			"The token cannot be written to %s: give this user the right to write in that folder, or choose another one.", data)
	}
	return t, true, nil
}

func readToken(data string) (string, error) {
	b, err := os.ReadFile(filepath.Join(data, tokenFile))
	if err != nil {
		return "", err
	}
	t := strings.TrimSpace(string(b))
	if len(t) != 64 {
		return "", errors.New("the token file is damaged")
	}
	return t, nil
}

// tighten makes a file its owner's alone.
func tighten(file string, log *slog.Logger) error {
	st, err := os.Stat(file)
	if err != nil || st.Mode().Perm() == 0o600 || runtime.GOOS == "windows" { // where modes say nothing
		return err
	}
	if err := os.Chmod(file, 0o600); err != nil {
		return jackline.E("token", jackline.Forbidden, err, "The file %s may be read by others, and that cannot be ended: make it yours, with mode 0600.", file)
	}
	log.Warn("the mode of the token file was not 0600, and is now; if others could read it, stop the server, delete the file and start again: a new token is made",
		"file", file, "mode", st.Mode().Perm().String())
	return nil
}

// Announce leaves the address of the server that serves a data folder, for [Running], until withdraw is called.
func Announce(data, address string) (withdraw func(), err error) {
	file := filepath.Join(data, addressFile)
	if err := writeWhole(file, address+"\n"); err != nil {
		return nil, jackline.E("announce", jackline.Unavailable, err,
			"The server's address cannot be written to %s: give this user the right to write in that folder, or choose another one.", data)
	}
	return func() { _ = os.Remove(file) }, nil
}

// writeWhole writes a small file that others may read at any moment: they find all of it or none.
func writeWhole(name, text string) error {
	part := name + ".part"
	if err := os.WriteFile(part, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(part, name)
}

// Running finds the server that serves a data folder, by the address that it leaves there, or gives nil. The file outlives a
// server that is killed, and then anybody on this machine may listen at that address: the token is used only with whoever proves
// to have it. version is this program's.
func Running(ctx context.Context, data, version string) *Client {
	token, err := readToken(data)
	if err != nil {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(data, addressFile))
	if err != nil {
		return nil
	}
	c := &Client{Base: "http://" + strings.TrimSpace(string(b)), Version: version, HTTP: HTTP()}
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !c.proves(ctx, token) {
		return nil
	}
	c.Token = token
	return c
}

// proves reports whether the server has the token. It is not told the token, nor anything of use to somebody who has not.
func (c *Client) proves(ctx context.Context, token string) bool {
	nonce := rand.Text()
	resp, err := c.do(ctx, http.MethodGet, "/healthz?nonce="+nonce, nil, nil)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var health struct {
		Proof string `json:"proof"`
	}
	const most = 64 << 10
	if json.NewDecoder(io.LimitReader(resp.Body, most)).Decode(&health) != nil {
		return false
	}
	return hmac.Equal([]byte(health.Proof), []byte(guard.Proof(token, nonce)))
}
