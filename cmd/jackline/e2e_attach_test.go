package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
)

// attach gives a chat a file over the API.
func (a *api) attach(s jackline.SessionID, name string, data []byte) jackline.Attachment {
	a.t.Helper()
	var out jackline.Attachment
	c := &client.Client{Base: a.base, Token: a.token, HTTP: client.HTTP()}
	if err := c.Upload(a.t.Context(), http.MethodPost, client.SessionPath(s)+"/attachments?name="+name, data, &out); err != nil {
		a.t.Fatal(err)
	}
	return out
}

// TestAttachedPages: what a window does not hold is read page by page, by the reference that the model was given, and only from the
// chat that has the file.
func TestAttachedPages(t *testing.T) {
	h := newHome(t, "http://127.0.0.1:1/v1", "text")
	h.write("says.script", "=== *\nok\n")
	a := h.serve("--model", "script:"+filepath.Join(h.ws, "says.script"))
	s := a.session(map[string]any{}).ID
	text := "FIRST\n" + strings.Repeat("a line of it\n", 3000) + "LAST"
	f := a.attach(s, "long.txt", []byte(text))
	read := func(s jackline.SessionID, page int) (int, string) {
		status, b := a.send("POST", "/api/tools/run", map[string]any{"name": "read_result", "session": s, "args": map[string]any{"call": f.ID.Ref(), "page": page}})
		var out struct {
			Outcome jackline.Outcome
			Text    string
		}
		if err := json.Unmarshal(b, &out); err != nil {
			t.Fatal(err)
		}
		return status, fmt.Sprint(out.Outcome, " ", out.Text)
	}
	if status, got := read(s, 1); status != 200 || !strings.Contains(got, "FIRST") || !strings.Contains(got, "[page 1 of ") {
		t.Errorf("page 1: %d %.200s", status, got)
	}
	last := ""
	for page := 1; page < 100; page++ {
		_, got := read(s, page)
		if strings.Contains(got, "The result has only") {
			break
		}
		last = got
	}
	if !strings.Contains(last, "LAST") {
		t.Errorf("the last page: %.200s", last)
	}
	if _, got := read(a.session(map[string]any{}).ID, 1); !strings.Contains(got, "There is no result") {
		t.Errorf("from another chat: %.200s", got)
	}
	if v := want[jackline.Session](a, 200, "GET", "/api/sessions/"+string(s), nil); !v.Labels.Tainted {
		t.Error("reading it does not taint")
	}
}

// TestAttachedPicture: a model that is said to see gets the picture as part of the content, in this turn and the next.
func TestAttachedPicture(t *testing.T) {
	var bodies []string
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies = append(bodies, string(b))
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"A cat."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer engine.Close()
	gif := []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00")
	wanted := `{"type":"image_url","image_url":{"url":"data:image/gif;base64,` + base64.StdEncoding.EncodeToString(gif) + `"}}`
	for _, mode := range []string{"native", "text"} {
		bodies = nil
		h := newHome(t, engine.URL+"/v1", mode)
		h.env["JACKLINE_MODEL_VISION"] = "true"
		a := h.serve()
		s := a.session(map[string]any{}).ID
		f := a.attach(s, "cat.gif", gif)
		for n, more := range []map[string]any{{"attachments": []any{f.ID}}, nil} {
			v := a.prompt(s, "What is this?", more)
			if v = a.settled(s, v.ID); v.Answer != "A cat." {
				t.Fatalf("%s: %s %s", mode, v.Answer, v.Reason)
			}
			if len(bodies) != n+1 || strings.Count(bodies[n], wanted) != 1 {
				t.Errorf("%s: request %d of %d has no picture: %s", mode, n+1, len(bodies), bodies[len(bodies)-1])
			}
		}
		if st := want[struct{ Model struct{ Vision bool } }](a, 200, "GET", "/api/status", nil); !st.Model.Vision {
			t.Errorf("%s: the status does not say that it sees", mode)
		}
	}
}

// TestAttachedSurvives: a prompt that was queued with a file when the program died still has it.
func TestAttachedSurvives(t *testing.T) {
	h := newHome(t, "http://127.0.0.1:1/v1", "text")
	h.write("says.script", "=== 1\n--- wait\n")
	h.env["JACKLINE_MODEL"] = "script:" + filepath.Join(h.ws, "says.script")
	p, a := h.startServer()
	s := a.session(map[string]any{}).ID
	f := a.attach(s, "list.txt", []byte("buy milk"))
	a.prompt(s, "wait", nil)
	queued := a.prompt(s, "what do I need?", map[string]any{"attachments": []any{f.ID}})
	p.kill()
	h.write("says.script", "=== *\n--- expect what\n--- expect buy milk\nMilk.\n")
	_, a = h.startServer()
	if v := a.settled(s, queued.ID); v.Answer != "Milk." {
		t.Errorf("%s: %s %s", v.Status, v.Answer, v.Reason)
	}
}
