package openai_test

import (
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/jackline-ai/jackline/model/openai"
)

var update = flag.Bool("update", false, "write what streams are read as into testdata anew")

// Each file of testdata/odd holds an answer that is odd in some way, and what it is read as with the reader of arguments that
// the program uses. Lines of the stream may end in "\r" written out.
func TestOddStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/odd/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			body := strings.ReplaceAll(string(a.Files[0].Data), `\r`+"\n", "\r\n")
			m := client(t, openai.Options{Native: true, Retry: once}, func(w http.ResponseWriter, _ *http.Request) {
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
