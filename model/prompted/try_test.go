package prompted

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

func TestTry(t *testing.T) {
	path := os.Getenv("TRY")
	if path == "" {
		t.Skip()
	}
	c := everything(t, loadCorpus(t))
	f, _ := os.Open(path)
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var text string
		if err := json.Unmarshal(sc.Bytes(), &text); err != nil {
			t.Fatal(err, sc.Text())
		}
		r := Read(c, text)
		o := outcomeOf(r)
		fmt.Printf("%s\n   C %v E %s\n   V %q  T %q\n", sc.Text(), o.Calls, o.Error, o.Visible, o.Thought)
		for _, c := range r.Calls {
			if c.Cut {
				fmt.Println("   CUT", c.Name)
			}
		}
		if !r.Orphan {
			var single []string
			for i := range len(text) {
				single = append(single, text[i:i+1])
			}
			if bad := streamed(c, Options{}, o, single...); bad != "" {
				fmt.Println("   STREAM", bad)
			}
		}
	}
}
