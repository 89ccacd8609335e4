package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/extract"
	"github.com/jackline-ai/jackline/server"
	"github.com/jackline-ai/jackline/server/upload"
)

// readFile makes text of an attached file.
func readFile(ctx context.Context, data []byte) (server.Extract, error) {
	doc, err := extract.Read(ctx, data, extract.Options{})
	if err != nil {
		return server.Extract{}, err
	}
	out := server.Extract{Type: "text/plain", Text: doc.Text, Note: doc.Notice}
	switch doc.Kind {
	case extract.HTML:
		out.Type = "text/html"
		if doc.Title != "" {
			out.Text = "Title: " + doc.Title + "\n\n" + doc.Text
		}
	case extract.PDF:
		out.Type = "application/pdf"
	case extract.JSON:
		out.Type = "application/json"
	case extract.Feed:
		out.Type = "application/xml"
	case extract.Text:
	}
	return out, nil
}

// result gives what a result was cut from: a call, or an attachment, which is named by its reference and paged through in the same
// way.
func (a *app) result(ctx context.Context, o jackline.Owner, id jackline.CallID) (jackline.Call, error) {
	file, ok := jackline.AttachmentOf(string(id))
	if !ok {
		return a.db.Call(ctx, o, id)
	}
	v, err := a.db.Attachment(ctx, o, file)
	if err != nil {
		return jackline.Call{}, err
	}
	text, err := a.db.AttachmentText(ctx, o, file)
	return jackline.Call{Session: v.Session, Text: text, Source: jackline.Outside, Origin: "the attached file " + v.Name}, err
}

// guide gives the instructions of a session's workspace, if its owner trusts it.
func (a *app) guide(ctx context.Context, s jackline.Session) (string, error) {
	p, err := a.place(s.Workspace)
	if err != nil {
		return "", err
	}
	return a.folders.Guide(ctx, s.Owner, p.root)
}

// A local file is one that is to be attached.
type localFile struct {
	name string
	data []byte
}

// files reads what is to be attached to a prompt, before anything else is done.
func files(paths []string, prompt string) ([]localFile, error) {
	if len(paths) > 0 && prompt == "" {
		return nil, terminal.Usage("--attach goes with a task: say what is to be done with the file")
	}
	var all []localFile
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() { // opening a pipe waits for a writer, and no signal ends that
			err = errors.New("it is not a file")
		}
		if err != nil {
			return nil, terminal.Usage("--attach %s: %s", path, attachReason(err))
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, terminal.Usage("--attach %s: %s", path, attachReason(err))
		}
		data, err := io.ReadAll(io.LimitReader(f, upload.MaxFile+1))
		if err = errors.Join(err, f.Close()); err == nil && len(data) > upload.MaxFile {
			err = fmt.Errorf("it is larger than %d MiB", upload.MaxFile>>20)
		}
		if err != nil {
			return nil, terminal.Usage("--attach %s: %s", path, attachReason(err))
		}
		all = append(all, localFile{filepath.Base(path), data})
	}
	return all, nil
}

// attachReason is what the system says about a file, without its path.
func attachReason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// attachAll gives a chat files, and puts their names into the body of the request for a turn.
func attachAll(ctx context.Context, c *client.Client, s jackline.SessionID, list []localFile, body map[string]any) error {
	var ids []jackline.AttachmentID
	for _, f := range list {
		var a jackline.Attachment
		path := client.SessionPath(s) + "/attachments?name=" + url.QueryEscape(f.name)
		if err := c.Upload(ctx, http.MethodPost, path, f.data, &a); err != nil {
			return err
		}
		ids = append(ids, a.ID)
	}
	if len(ids) > 0 {
		body["attachments"] = ids
	}
	return nil
}
