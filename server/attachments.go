package server

import (
	"context"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/guard"
	"github.com/jackline-ai/jackline/server/upload"
)

const pathAttachments = "/api/sessions/{id}/attachments"

// An Extract is what there was to read in a file.
type Extract struct {
	Type string // media type, as in application/pdf
	Text string
	Note string // what of the file is not in Text, a sentence; may be empty
}

// mostUpload says to the guard which requests bring a file.
func mostUpload(r *http.Request) int64 {
	id, ok := strings.CutPrefix(r.URL.Path, "/api/sessions/")
	id, whole := strings.CutSuffix(id, "/attachments")
	if r.Method != http.MethodPost || !ok || !whole || id == "" || strings.Contains(id, "/") {
		return 0
	}
	return upload.MaxFile
}

// uploads lets a route take a file, and downloads says in the document that it answers with one.
func uploads(o *huma.Operation) {
	o.MaxBodyBytes = upload.MaxFile + 1           // the guard has read it already
	o.Metadata = map[string]any{mayBeEmpty: true} // an empty file gets a sentence of its own
}

func downloads(o *huma.Operation) {
	o.Responses["200"] = &huma.Response{Description: "The file", Content: map[string]*huma.MediaType{guard.UploadType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}}
}

func (s *Server) listAttachments(ctx context.Context, in *ofSession) (*body[[]jackline.Attachment], error) {
	return bodyOf(s.c.Store.Attachments(ctx, s.owner, in.ID))
}

type attachIn struct {
	ID      jackline.SessionID `path:"id" doc:"the chat"`
	Name    string             `query:"name" maxLength:"1000" doc:"what the file is to be called; it names no file of the server, and says nothing of the type"`
	RawBody []byte             `contentType:"application/octet-stream"`
}

func (s *Server) attach(ctx context.Context, in *attachIn) (*body[jackline.Attachment], error) {
	const op = "server.attach"
	if _, err := s.c.Store.Session(ctx, s.owner, in.ID); err != nil { // before work is done on it
		return nil, err
	}
	a := jackline.Attachment{Session: in.ID, Name: upload.Name(in.Name)}
	if len(in.RawBody) == 0 {
		return nil, jackline.E(op, jackline.Unprocessed, nil, "%s is empty.", a.Name)
	}
	var text string
	kind, err := upload.Image(in.RawBody)
	if kind == "" && err == nil {
		var x Extract
		if x, err = s.c.Extract(ctx, in.RawBody); err == nil {
			kind, text, a.Note = x.Type, x.Text, x.Note
		}
	}
	if err != nil {
		if k := jackline.KindOf(err); k != jackline.Internal && ctx.Err() == nil {
			err = jackline.E(op, k, err, "%s cannot be attached. %s", a.Name, jackline.Say(err))
		}
		return nil, err
	}
	a.Type = kind
	return bodyOf(s.c.Store.Attach(ctx, s.owner, a, in.RawBody, text))
}

type ofAttachment struct {
	ID         jackline.SessionID    `path:"id" doc:"the chat"`
	Attachment jackline.AttachmentID `path:"attachment" doc:"the file"`
}

// attachment finds a file of a chat.
func (s *Server) attachment(ctx context.Context, session jackline.SessionID, id jackline.AttachmentID) (jackline.Attachment, error) {
	a, err := s.c.Store.Attachment(ctx, s.owner, id)
	if err == nil && a.Session != session {
		err = jackline.E("server.attachment", jackline.NotFound, nil, "There is no such attachment in this chat.")
	}
	return a, err
}

type fileOut struct {
	Type        string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Policy      string `header:"Content-Security-Policy"`
	Body        []byte
}

// getAttachment gives a file back. It is never to be shown by a browser on its own: it could be a page that somebody else wrote.
func (s *Server) getAttachment(ctx context.Context, in *ofAttachment) (*fileOut, error) {
	a, err := s.attachment(ctx, in.ID, in.Attachment)
	if err != nil {
		return nil, err
	}
	data, err := s.c.Store.AttachmentData(ctx, s.owner, a.ID)
	if err != nil {
		return nil, err
	}
	out := &fileOut{
		Type: guard.UploadType, Body: data, Policy: "default-src 'none'; sandbox; frame-ancestors 'none'",
		Disposition: mime.FormatMediaType("attachment", map[string]string{"filename": a.Name}),
	}
	if a.Image() { // the page shows it, from memory
		out.Type = a.Type
	}
	return out, nil
}

// detach removes a file, unless a prompt that has not ended still needs it.
func (s *Server) detach(ctx context.Context, in *ofAttachment) (*nothing, error) {
	a, err := s.attachment(ctx, in.ID, in.Attachment)
	if err != nil {
		return nil, err
	}
	turns, err := s.c.Store.Turns(ctx, s.owner, in.ID)
	if err != nil {
		return nil, err
	}
	for _, t := range turns {
		if !t.Status.Over() && slices.Contains(t.Options.Attachments, a.ID) {
			return nil, jackline.E("server.detach", jackline.Conflict, nil, "%s goes with a prompt that has not ended: stop it or take it out of the queue first.", a.Name)
		}
	}
	return nothingBut(s.c.Store.Detach(ctx, s.owner, a.ID))
}

// attached makes sure that files may go with a prompt of a chat.
func (s *Server) attached(ctx context.Context, session jackline.SessionID, ids []jackline.AttachmentID) error {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return jackline.E("server.attached", jackline.Unprocessed, nil, "A file is named twice.")
		}
		if _, err := s.attachment(ctx, session, id); err != nil {
			return err
		}
	}
	return nil
}
