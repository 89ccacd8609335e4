package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/logfile"
	"github.com/jackline-ai/jackline/job"
	"github.com/jackline-ai/jackline/redact"
)

// A secretCase is one line of secrets.jsonl.
type secretCase struct {
	ID        string          `json:"id"`
	Kind      string          `json:"kind"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Want      string          `json:"want"`
	MustHide  []string        `json:"must_hide"`
	MustKeep  []string        `json:"must_keep"`
	Elsewhere []string        `json:"must_hide_elsewhere"`
	Why       string          `json:"why"`
}

// heldKey is the secret that the server of the cases holds.
const heldKey = "w5Gt8Rn2Lk9Vx3Cj6Hp1Ds4Fq7My"

var caseText = regexp.MustCompile(`\{([ABHDU])(\d+)\}`)

// expanded puts the texts in place of a case's placeholders: no file holds anything that looks like a live credential.
func expanded(text string) string {
	const letters = "k3Yq9ZxT7mWb2NcR5vHd8LpS1fJg4QaU6eXo0iBtDyEuKwMzVnCrGhPlSjFaOq"
	sources := map[string]string{"A": letters, "B": letters, "H": "3f9ac07be1d2468", "D": "4081527396", "U": "Q7ZK2MXW9RTB4HNC"}
	text = caseText.ReplaceAllStringFunc(text, func(p string) string {
		m := caseText.FindStringSubmatch(p)
		n, _ := strconv.Atoi(m[2])
		b := []byte(strings.Repeat(sources[m[1]], n/len(sources[m[1]])+1)[:n])
		for k := 6; m[1] == "B" && k < n; k += 7 {
			b[k] = '-'
		}
		return string(b)
	})
	percent := ""
	for _, c := range []byte(heldKey) {
		percent += fmt.Sprintf("%%%02X", c)
	}
	return strings.NewReplacer("{KNOWN1}", heldKey, "{KNOWN1_B64}", "dzVHdDhSbjJMazlWeDNDajZIcDFEczRGcTdNeQ==", "{KNOWN1_URL}", percent,
		"{KNOWN1_HEAD}", heldKey[:14], "{KNOWN1_TAIL}", heldKey[14:]).Replace(text)
}

// TestCorpusSecrets judges every case of the corpus of secrets, those about sinks with the real program. JACKLINE_CASES names another
// folder with a secrets.jsonl.
func TestCorpusSecrets(t *testing.T) {
	dir := os.Getenv("JACKLINE_CASES")
	if dir == "" {
		dir = filepath.Join("..", "..", "testdata", "cases")
	}
	f, err := os.Open(filepath.Join(dir, "secrets.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	judged := map[string]int{}
	for lines.Scan() {
		var c secretCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		judged[c.Kind]++
		t.Run(c.ID, func(t *testing.T) {
			switch c.Kind {
			case "env":
				kept := slices.ContainsFunc(job.Env([]string{c.Name + "=value of it"}), func(e string) bool { return strings.HasPrefix(e, c.Name+"=") })
				if kept != (c.Want == "keep") {
					t.Errorf("%s is kept: %v, want %s: %s", c.Name, kept, c.Want, c.Why)
				}
			case "text":
				textCase(t, c)
			case "log", "error", "crash":
				printCase(t, c)
				sinkCase(t, c)
			case "audit", "event", "argv", "model", "export", "title":
				sinkCase(t, c)
			default:
				t.Errorf("there is no judge for cases of kind %q", c.Kind)
			}
		})
	}
	if err := lines.Err(); err != nil || len(judged) == 0 {
		t.Fatalf("%v, %v", judged, err)
	}
	t.Logf("judged: %v", judged)
}

func textCase(t *testing.T, c secretCase) {
	t.Helper()
	var text string
	if err := json.Unmarshal(c.Input, &text); err != nil {
		t.Fatal(err)
	}
	text = expanded(text)
	pieces := []string{text}
	if rest, ok := strings.CutPrefix(text, "{{STREAM}}"); ok {
		pieces = strings.Split(rest, "{{CHUNK}}")
		text = strings.Join(pieces, "")
	}
	var r redact.Redactor
	r.Know("held", heldKey)
	got, s := r.Text(text), r.Stream()
	streamed := ""
	for _, p := range pieces {
		streamed += s.Feed(p)
	}
	if streamed += s.Close(); streamed != got {
		t.Errorf("in pieces %q is %q, whole %q", text, streamed, got)
	}
	if again := r.Text(got); again != got {
		t.Errorf("again, %q becomes %q", got, again)
	}
	hides(t, c, "the text", got)
	for _, k := range c.MustKeep {
		if !strings.Contains(got, expanded(k)) {
			t.Errorf("%q lost %q: %q", text, expanded(k), got)
		}
	}
}

// hides fails where a sink holds what must not be in it.
func hides(t *testing.T, c secretCase, sink, text string) {
	t.Helper()
	for _, h := range append(slices.Clone(c.MustHide), c.Elsewhere...) {
		if c.Kind == "audit" && !strings.Contains(h, "{") {
			continue // a word that only the record itself must not hold
		}
		h = expanded(h)
		quoted, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, h) || strings.Contains(text, string(quoted[1:len(quoted)-1])) {
			k := strings.Index(text, h)
			t.Errorf("%s holds what must be hidden (%s): …%.200s", sink, c.Why, text[max(0, k-80):])
		}
	}
}

// wordsOf is all text of a case's input.
func wordsOf(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	var words []string
	var collect func(any)
	collect = func(v any) {
		switch v := v.(type) {
		case string:
			words = append(words, expanded(v))
		case []any:
			for _, x := range v {
				collect(x)
			}
		case map[string]any:
			for _, x := range v {
				collect(x)
			}
		}
	}
	collect(v)
	return strings.Join(words, "\n")
}

// printCase judges what is logged and printed of an error and of a panic.
func printCase(t *testing.T, c secretCase) {
	t.Helper()
	text := wordsOf(t, c.Input)
	var stderr bytes.Buffer
	m := &Main{Err: &stderr, hider: &redact.Redactor{}}
	m.hider.Know("held", heldKey)
	dir := t.TempDir()
	log, file, err := logfile.Open(dir, m.Err, m.hider)
	if err != nil {
		t.Fatal(err)
	}
	log.With("first", text).WithGroup("g").Error(text, "err", errors.New(text), slog.Group("in", "text", text))
	log.Error("a value", "input", c.Input)
	m.crash(text)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(filepath.Join(dir, "jackline.log"))
	if err != nil {
		t.Fatal(err)
	}
	hides(t, c, "the log", string(written))
	hides(t, c, "standard error", stderr.String())
	if !strings.Contains(string(written), "level=ERROR") || !strings.Contains(stderr.String(), "panic: ") {
		t.Errorf("the log or the crash text is missing: %s, %s", written, stderr.String())
	}
}

// sinkCase has the text of a case prompted, written, read and answered in the real program, and looks into everything that comes of it.
func sinkCase(t *testing.T, c secretCase) {
	t.Helper()
	text := wordsOf(t, c.Input)
	args, err := json.Marshal(map[string]string{"path": "new.txt", "content": text})
	if err != nil {
		t.Fatal(err)
	}
	var refuse strings.Builder
	for _, h := range append(slices.Clone(c.MustHide), c.Elsewhere...) {
		if h = expanded(h); !strings.ContainsAny(h, "\n\x1b") && strings.Contains(text, h) && len(h) >= redact.LeastKnown {
			fmt.Fprintf(&refuse, "--- refuse %s\n", h)
		}
	}
	// In the first chat nobody but the file tells; what the model reads of it must not hold the secret.
	e := engine(t, "=== 1\n--- call file_read {\"path\": \"old.txt\"}\n=== 2\n"+refuse.String()+"It is read.\n"+
		"=== 3\n--- pieces 7\n"+indented(text)+"\n--- call file_write "+string(args)+"\n=== 4\n--- pieces 5\n"+indented(text)+"\n")
	h := newHome(t, e.URL, "native")
	h.env["OPENAI_API_KEY"] = heldKey
	h.env["HELD_TOKEN"] = heldKey
	h.write("old.txt", text)
	a := h.serve()
	first := a.session(map[string]any{"workspace": h.ws})
	a.settled(first.ID, a.prompt(first.ID, "read the file", nil).ID)

	second := a.session(map[string]any{"workspace": h.ws})
	live := make(chan string, 1)
	go func() {
		var all strings.Builder
		for f := range a.events(second.ID, 0) {
			all.Write(f.ev.Data)
			all.WriteByte('\n')
			if f.ev.Type == "turn.end" {
				break
			}
		}
		live <- all.String()
	}()
	turn := a.prompt(second.ID, text, nil)
	card := a.card(second.ID)
	var shown struct{ Content string }
	if err := json.Unmarshal(card.Args, &shown); err != nil || shown.Content != text {
		t.Errorf("the owner's card shows %q, not the exact text: %v", shown.Content, err)
	}
	a.answer(card.ID, map[string]any{"approved": true})
	a.settled(second.ID, turn.ID)
	if got := h.read("new.txt"); got != text {
		t.Errorf("the file holds %q, not what was approved", got)
	}
	hides(t, c, "the stream of events", <-live)
	sinks := []string{"/api/sessions", "/api/sessions/" + string(second.ID), "/api/sessions/" + string(second.ID) + "/turns",
		"/api/sessions/" + string(second.ID) + "/export", "/api/sessions/" + string(first.ID) + "/export"}
	export := want[export](a, 200, "GET", sinks[3], nil)
	for _, ev := range export.Events {
		if ev.Type == "tool.call" {
			sinks = append(sinks, "/api/sessions/"+string(second.ID)+"/calls/"+string(body[jackline.ToolCall](t, ev).Call))
		}
	}
	for _, path := range sinks {
		_, b := a.send("GET", path, nil)
		hides(t, c, path, string(b))
	}
	if errs := e.Errs(); len(errs) > 0 {
		t.Errorf("the model reads what must be hidden: %v", errs)
	}
	// All that lies on the disk: what is exact is sealed.
	err = filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		hides(t, c, path, string(b))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// indented keeps the lines of a text from being directives of a script.
func indented(text string) string {
	return strings.ReplaceAll(text, "\n--- ", "\n ---")
}
