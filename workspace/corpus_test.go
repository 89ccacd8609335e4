//go:build unix

package workspace

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline"
)

// A pathCase is one line of paths.jsonl.
type pathCase struct {
	ID        string     `json:"id"`
	OS        string     `json:"os"`
	Setup     []pathStep `json:"setup"`
	Path      string     `json:"path"`
	To        string     `json:"to"`
	Op        string     `json:"op"`
	Want      string     `json:"want"`
	By        string     `json:"by"`
	Hidden    []string   `json:"hidden"`
	Untouched []string   `json:"untouched"`
	Absent    []string   `json:"absent"`
	Why       string     `json:"why"`
}

type pathStep struct {
	Do     string `json:"do"`
	Path   string `json:"path"`
	Target string `json:"target"`
	Other  string `json:"other"`
	To     string `json:"to"`
	Text   string `json:"text"`
	Size   int64  `json:"size"`
}

func caseFolder(t *testing.T) string {
	if dir := os.Getenv("JACKLINE_CASES"); dir != "" {
		return dir
	}
	return filepath.Join("..", "testdata", "cases")
}

func TestCorpusPaths(t *testing.T) { judgeAll(t, filepath.Join(caseFolder(t), "paths.jsonl")) }

// TestOwnPaths judges cases of our own, written from the same rules. Their step "bind" is a yes to this operation, which is then
// done by the view of the workspace that holds it to what was true.
func TestOwnPaths(t *testing.T) { judgeAll(t, filepath.Join("testdata", "paths.jsonl")) }

func judgeAll(t *testing.T, name string) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	n := 0
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var c pathCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		n++
		t.Run(c.ID, func(t *testing.T) { judge(t, c) })
	}
	if err := s.Err(); err != nil || n == 0 {
		t.Fatalf("%d cases, %v", n, err)
	}
}

// judge runs one case.
func judge(t *testing.T, c pathCase) {
	switch c.OS {
	case "windows":
		pure(t, c, Names{Target: Windows, State: StateNames()}.Check)
		return
	case "casefold":
		// Where the workspace is counts too, whether or not it is there.
		r := Root{names: Names{Target: Folding, State: StateNames()}, bases: [][]string{{"base", "ws"}}}
		pure(t, c, r.Check)
		if !folds(t) {
			return
		}
	}
	tree := newTree(t)
	tree.run(t, c)
}

// pure judges a case by names alone.
func pure(t *testing.T, c pathCase, check func(string) error) {
	expand := strings.NewReplacer("$WSUPPER", "/base/WS", "$WS", "/base/ws", "$OUT", "/base/outside", "$BASE", "ws").Replace
	err := check(expand(c.Path))
	if err == nil && c.To != "" {
		err = check(expand(c.To))
	}
	if got := verdict(err); got != c.Want {
		t.Errorf("%s: the name check says %s, want %s (%v): %s", c.Path, got, c.Want, err, c.Why)
	}
}

func verdict(err error) string {
	if err != nil {
		return "deny"
	}
	return "allow"
}

// A tree is the base tree of one case.
type tree struct {
	ws, out string
	root    *Root
	link    string // by which the root is opened
	sealed  map[string]*Stamp
	swap    pathStep
}

func newTree(t *testing.T) *tree {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &tree{ws: filepath.Join(base, "ws"), out: filepath.Join(base, "outside"), sealed: map[string]*Stamp{}}
	put(t, filepath.Join(w.ws, "a.txt"), "a")
	put(t, filepath.Join(w.ws, "src", "main.go"), "package main")
	put(t, filepath.Join(w.out, "secret.txt"), "CANARY")
	return w
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *tree) expand(s string) string {
	upper := filepath.Join(filepath.Dir(w.ws), strings.ToUpper(filepath.Base(w.ws)))
	return strings.NewReplacer("$WSUPPER", upper, "$WS", w.ws, "$OUT", w.out, "$BASE", filepath.Base(w.ws)).Replace(s)
}

func (w *tree) open(t *testing.T) {
	if w.root != nil {
		return
	}
	dir := w.ws
	if w.link != "" {
		dir = w.link
	}
	r, err := Open(dir, Options{})
	must(t, err)
	w.root = r
	t.Cleanup(func() { must(t, r.Close()) })
}

func (w *tree) step(t *testing.T, c pathCase, s pathStep) {
	p, target := w.expand(s.Path), w.expand(s.Target)
	switch s.Do {
	case "mkdir":
		must(t, os.MkdirAll(p, 0o755))
	case "write":
		put(t, p, s.Text)
	case "symlink":
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.Symlink(target, p))
	case "hardlink":
		must(t, os.Link(target, p))
	case "fifo":
		must(t, mkfifo(p))
	case "socket":
		t.Chdir(filepath.Dir(p)) // socket addresses are short
		l, err := net.Listen("unix", filepath.Base(p))
		must(t, err)
		t.Cleanup(func() { _ = l.Close() })
	case "sparse":
		put(t, p, "")
		must(t, os.Truncate(p, s.Size))
	case "rename":
		must(t, os.Rename(p, w.expand(s.To)))
	case "remove":
		must(t, os.RemoveAll(p))
	case "root_by_link":
		must(t, os.Symlink(w.ws, p))
		w.link = p
	case "open_root":
		w.open(t)
	case "approve":
		w.open(t)
		w.approve(t, c)
	case "bind":
		w.open(t)
		w.bind(t, c)
	case "race_swap":
		w.swap = pathStep{Path: p, Other: w.expand(s.Other)}
	default:
		t.Fatalf("unknown step %q", s.Do)
	}
}

// approve notes what a card for the operation would have shown.
func (w *tree) approve(t *testing.T, c pathCase) {
	path := w.expand(c.Path)
	s, err := w.root.Seal(t.Context(), path)
	if err != nil {
		w.sealed[path] = nil // nothing was there
		return
	}
	w.sealed[path] = &s
}

// bind holds the root to what is true now of what the operation names, as the gate does for a call that a person allowed.
func (w *tree) bind(t *testing.T, c pathCase) {
	var touches []jackline.Touch
	switch path, to := w.expand(c.Path), w.expand(c.To); c.Op {
	case "delete":
		touches = w.root.Touch(jackline.Delete, path)
	case "move":
		touches = append(w.root.TouchEntry(jackline.Write, path), w.root.TouchEntry(jackline.Write, w.root.Target(path, to))...)
	default:
		touches = w.root.Touch(jackline.Write, path)
	}
	facts, err := w.root.Observe(t.Context(), touches)
	must(t, err)
	if len(facts) == 0 {
		t.Fatal("nothing was seen")
	}
	w.root = w.root.Bound(facts)
}

func (w *tree) run(t *testing.T, c pathCase) {
	for _, s := range c.Setup {
		w.step(t, c, s)
	}
	w.open(t)
	path, to := w.expand(c.Path), w.expand(c.To)
	if c.By == "name" {
		err := w.root.Check(path)
		if err == nil && c.To != "" {
			err = w.root.Check(to)
		}
		if err == nil {
			t.Errorf("%q: the name check lets it pass: %s", c.Path, c.Why)
		}
	}
	kept := map[string]string{}
	for _, u := range c.Untouched {
		kept[u] = read(t, w.expand(u))
	}
	before := snapshot(t, w.out)
	if w.swap.Path != "" {
		w.race(t, c, path, to)
	} else {
		got, err := w.do(t.Context(), c.Op, path, to)
		w.result(t, c, got)
		if v := verdict(err); v != c.Want {
			t.Errorf("%s %q: %s, want %s (%v): %s", c.Op, c.Path, v, c.Want, err, c.Why)
		}
		if v := verdict(err); err == nil && v == "allow" {
			w.touched(t, c, path)
		}
	}
	if after := snapshot(t, w.out); after != before {
		t.Errorf("something outside changed:\n%s\nwas\n%s", after, before)
	}
	for u, want := range kept {
		if got := read(t, w.expand(u)); got != want {
			t.Errorf("%s was changed to %q", u, got)
		}
	}
	for _, a := range c.Absent {
		if _, err := os.Lstat(w.expand(a)); err == nil {
			t.Errorf("%s exists", a)
		}
	}
}

// touched checks that a judge would not have refused for good what was allowed.
func (w *tree) touched(t *testing.T, c pathCase, path string) {
	if c.Op == "grep" || c.Op == "glob" {
		return
	}
	for _, touch := range w.root.Touch(1, path) {
		if touch.Refused != "" && c.Op != "delete" {
			t.Errorf("the touch is refused: %s", touch.Refused)
		}
	}
}

// result checks what an operation brought back.
func (w *tree) result(t *testing.T, c pathCase, got string) {
	for _, h := range append(c.Hidden, "CANARY") {
		if strings.Contains(got, h) {
			t.Errorf("the result shows %q: %s", h, got)
		}
	}
}

// race repeats the operation while another goroutine exchanges a folder or file with a link to outside.
func (w *tree) race(t *testing.T, c pathCase, path, to string) {
	const repetitions = 500
	other := filepath.Join(filepath.Dir(w.ws), "swapped")
	must(t, os.Symlink(w.swap.Other, other))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = exchange(w.swap.Path, other)
			}
		}
	})
	facts := outsideNames(t, w.swap.Other)
	for range repetitions {
		got, _ := w.do(t.Context(), c.Op, path, to)
		w.result(t, c, got)
		if c.Op == "list" || c.Op == "glob" {
			for _, name := range facts {
				if strings.Contains(got, name) {
					t.Errorf("the listing shows %q of the other folder", name)
				}
			}
		}
		if t.Failed() {
			break
		}
	}
	close(stop)
	wg.Wait()
}

func outsideNames(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a file
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// do runs one operation and gives all that its result shows.
func (w *tree) do(ctx context.Context, op, path, to string) (string, error) {
	r := w.root
	switch op {
	case "read":
		f, err := r.Read(ctx, path)
		return string(f.Data), err
	case "write":
		o := WriteOptions{Parents: true}
		if s, ok := w.sealed[path]; ok {
			o.Expect, o.New = s, s == nil
		}
		_, err := r.Write(ctx, path, []byte("written"), o)
		return "", err
	case "edit":
		f, err := r.Read(ctx, path)
		if err != nil {
			return "", err
		}
		expect := &f.Stamp
		if s, ok := w.sealed[path]; ok {
			expect = s
		}
		_, err = r.Write(ctx, path, append([]byte("X"), f.Data[min(1, len(f.Data)):]...), WriteOptions{Expect: expect})
		return "", err
	case "delete":
		_, err := r.Delete(ctx, path, true)
		return "", err
	case "list":
		items, _, err := r.List(ctx, path)
		return fmt.Sprint(items), err
	case "mkdir":
		_, _, err := r.Mkdir(path)
		return "", err
	case "move":
		_, err := r.Move(ctx, path, r.Target(path, to), true)
		return "", err
	case "cwd":
		d, err := r.Dir(path)
		if err != nil {
			return "", err
		}
		d.Close()
		return d.Path, nil
	case "grep":
		found, err := r.Grep(ctx, ".", Search{Pattern: path, Max: 1000})
		return fmt.Sprint(found.Hits), err
	case "glob":
		items, _, err := r.Glob(ctx, ".", path, 1000)
		return fmt.Sprint(items), err
	}
	return "", fmt.Errorf("unknown op %q", op)
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

// snapshot is all that there is to say about a tree.
func snapshot(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v", p, info.Mode())
		if info.Mode().IsRegular() && info.Size() < 1<<20 {
			fmt.Fprintf(&b, " %q", read(t, p))
		}
		b.WriteByte('\n')
		return nil
	})
	must(t, err)
	return b.String()
}

// folds reports whether the file system here takes letters of either case for one name.
func folds(t *testing.T) bool {
	p := filepath.Join(t.TempDir(), "case")
	put(t, p, "")
	_, err := os.Lstat(strings.ToUpper(p))
	return err == nil
}
