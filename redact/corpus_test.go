package redact

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A textCase is one line of a file of cases.
type textCase struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Input    any      `json:"input"`
	MustHide []string `json:"must_hide"`
	MustKeep []string `json:"must_keep"`
	Why      string   `json:"why"`
}

const known1 = "w5Gt8Rn2Lk9Vx3Cj6Hp1Ds4Fq7My"

var placeholders = regexp.MustCompile(`\{([ABHDU])(\d+)\}`)

// expand puts the texts in place of a case's placeholders: no file holds anything that looks like a live credential.
func expand(text string) string {
	text = placeholders.ReplaceAllStringFunc(text, func(p string) string {
		n, _ := strconv.Atoi(p[2 : len(p)-1])
		source := map[byte]string{
			'A': "k3Yq9ZxT7mWb2NcR5vHd8LpS1fJg4QaU6eXo0iBtDyEuKwMzVnCrGhPlSjFaOq", 'H': "3f9ac07be1d2468", 'D': "4081527396", 'U': "Q7ZK2MXW9RTB4HNC",
		}
		source['B'] = source['A']
		b := []byte(strings.Repeat(source[p[1]], n/len(source[p[1]])+1)[:n])
		if p[1] == 'B' {
			for k := 6; k < n; k += 7 {
				b[k] = '-'
			}
		}
		return string(b)
	})
	percent := ""
	for _, c := range []byte(known1) {
		percent += "%" + strconv.FormatInt(int64(c), 16)
	}
	return strings.NewReplacer("{KNOWN1}", known1, "{KNOWN1_B64}", "dzVHdDhSbjJMazlWeDNDajZIcDFEczRGcTdNeQ==", "{KNOWN1_URL}", percent,
		"{KNOWN1_HEAD}", known1[:14], "{KNOWN1_TAIL}", known1[14:]).Replace(text)
}

func casesIn(t testing.TB, file string) (all []textCase) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var c textCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", s.Text(), err)
		}
		if c.Kind == "text" {
			all = append(all, c)
		}
	}
	if err := s.Err(); err != nil || len(all) == 0 {
		t.Fatalf("%s: %d cases, %v", file, len(all), err)
	}
	return all
}

func knowing() *Redactor {
	r := &Redactor{}
	r.Know("engine", known1)
	return r
}

// judge checks one case: whole, in every split, byte by byte, and again.
func judge(t *testing.T, r *Redactor, c textCase) {
	t.Helper()
	text := expand(c.Input.(string))
	pieces := []string{text}
	if rest, ok := strings.CutPrefix(text, "{{STREAM}}"); ok {
		pieces = strings.Split(rest, "{{CHUNK}}")
		text = strings.Join(pieces, "")
	}
	got := r.Text(text)
	for _, h := range c.MustHide {
		if h = expand(h); strings.Contains(got, h) {
			t.Errorf("%q shows %q: %q", text, h, got)
		}
	}
	for _, k := range c.MustKeep {
		if k = expand(k); !strings.Contains(got, k) {
			t.Errorf("%q lost %q: %q", text, k, got)
		}
	}
	if len(c.MustHide) == 0 && len(c.MustKeep) == 1 && expand(c.MustKeep[0]) == text && got != text {
		t.Errorf("%q became %q", text, got)
	}
	if again := r.Text(got); again != got {
		t.Errorf("%q became %q, and then %q", text, got, again)
	}
	if streamed := feed(r, pieces...); streamed != got {
		t.Errorf("%q whole is %q, in pieces %q", text, got, streamed)
	}
	for k := range text {
		if streamed := feed(r, text[:k], text[k:]); streamed != got {
			t.Errorf("%q whole is %q, cut at %d %q", text, got, k, streamed)
			break
		}
	}
	if streamed := feed(r, strings.Split(text, "")...); streamed != got {
		t.Errorf("%q whole is %q, letter by letter %q", text, got, streamed)
	}
}

func feed(r *Redactor, pieces ...string) string {
	s := r.Stream()
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(s.Feed(p))
	}
	b.WriteString(s.Close())
	return b.String()
}

// TestCorpusTexts judges the texts of the corpus of secrets. JACKLINE_CASES names another folder with a secrets.jsonl.
func TestCorpusTexts(t *testing.T) {
	dir := os.Getenv("JACKLINE_CASES")
	if dir == "" {
		dir = filepath.Join("..", "testdata", "cases")
	}
	r := knowing()
	for _, c := range casesIn(t, filepath.Join(dir, "secrets.jsonl")) {
		t.Run(c.ID, func(t *testing.T) { judge(t, r, c) })
	}
}

// TestTexts judges our own cases, in the same form.
func TestTexts(t *testing.T) {
	r := knowing()
	for _, c := range casesIn(t, filepath.Join("testdata", "texts.jsonl")) {
		t.Run(c.ID, func(t *testing.T) {
			judge(t, r, c)
			if t.Failed() {
				t.Log(c.Why)
			}
		})
	}
}
