package anthropic_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/anthropic"
	"github.com/jackline-ai/jackline/model/engine"
)

var update = flag.Bool("update", false, "write what streams are read as into testdata anew")

var once = engine.Retry{Tries: 1}

// client makes a Model for a server that handle answers.
func client(t *testing.T, o anthropic.Options, handle http.HandlerFunc) *anthropic.Model {
	t.Helper()
	srv := httptest.NewServer(handle)
	t.Cleanup(srv.Close)
	o.BaseURL = srv.URL
	if o.Model == "" {
		o.Model = "m"
	}
	m, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func request() model.Request {
	read := model.Tool{Name: "file_read", Summary: "Read a file.", Use: "Before you change it.", Aliases: []string{"cat"},
		Schema: json.RawMessage(`{ "type": "object" }`)}
	return model.Request{
		System:   []string{"You are a sailor.", "", "Facts."},
		Messages: []model.Message{{Role: model.User, Text: "hello"}},
		Tools:    []model.Tool{read}, Known: []model.Tool{read, {Name: "grep"}},
	}
}

// play writes down what m answers to r, one line a chunk.
func play(t *testing.T, m model.Model, r model.Request) string {
	t.Helper()
	var b strings.Builder
	for c, err := range m.Stream(t.Context(), r) {
		b.WriteString(line(c, err) + "\n")
	}
	return b.String()
}

func line(c model.Chunk, err error) string {
	switch {
	case err != nil:
		return "error " + jackline.KindOf(err).String() + ": " + jackline.Say(err)
	case c.Text != "":
		return fmt.Sprintf("text %q", c.Text)
	case c.Thought != "":
		return fmt.Sprintf("thought %q", c.Thought)
	case c.Preview != model.Preview{}:
		return strings.TrimSpace("preview " + c.Preview.Name + " " + c.Preview.Args)
	case c.Call != nil:
		cut := ""
		if c.Call.Cut {
			cut = " cut"
		}
		if c.Call.Mended {
			cut += " mended"
		}
		return "call " + c.Call.ID + " " + c.Call.Name + " " + string(c.Call.Args) + cut
	case c.Garbled != "":
		return "garbled " + string(c.Garbled)
	case c.Opaque != "":
		return "opaque " + c.Opaque
	}
	s := "finish " + string(c.Finish)
	if c.Usage != nil {
		b, _ := json.Marshal(c.Usage)
		s += " " + string(b)
	}
	return s
}

// Each file of testdata holds a stream, and what it is read as. Lines of the stream may end in "\r" written out.
func TestStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	odd, err2 := filepath.Glob("testdata/odd/*.txtar")
	if err != nil || err2 != nil || len(files) == 0 || len(odd) < 20 {
		t.Fatal(err, err2, len(files), len(odd))
	}
	files = append(files, odd...)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			body := strings.ReplaceAll(string(a.Files[0].Data), `\r`+"\n", "\r\n")
			o := anthropic.Options{Native: true, Retry: once}
			m := client(t, o, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, body)
			})
			_, base, _ := strings.Cut(m.String(), " at ")
			got := strings.ReplaceAll(play(t, m, request()), base, "URL")
			if *update {
				a.Files = append(a.Files[:1], txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(a.Files[1].Data); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
