package turn_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"github.com/jackline-ai/jackline"
	"os"
	"strings"
	"testing"
)

func TestDbg(t *testing.T) {
	f, _ := os.Open("../testdata/cases/injection.jsonl")
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if !strings.Contains(in.Text(), os.Getenv("CASE")) {
			continue
		}
		var c injCase
		json.Unmarshal(in.Bytes(), &c)
		s := newStage(t, &c)
		s.perform(t.Context())
		ev, _ := s.db.Events(t.Context(), s.owner, s.s.ID, 0, 1000)
		for _, e := range ev {
			fmt.Println(e.Type, string(e.Data))
		}
		_ = jackline.Local
	}
}
