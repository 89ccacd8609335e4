// Command bench measures what the harness costs beside a model that answers at once, and writes docs/performance.md. Everything is
// measured from outside, on the real program: a server on loopback plays the model and notes when each request comes.
//
// The same work is done by a bare loop (package floor), in turns with the program, so that a busy machine slows both:
//
//	go run ./bench            # or: make performance
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	steps = 1010 // of the long task: enough to look at step 1,000 from both sides
	half  = 10   // steps on each side of the one that is looked at
	// quiet is how long an idle server is left alone before its memory is read: its first collection is over by then.
	quiet = 2 * time.Second
	// readyTime is how long a server may take before the measurement gives up.
	readyTime = 20 * time.Second
)

func main() {
	runs := flag.Int("runs", 5, "long tasks of each kind; short ones are four times as many")
	out := flag.String("out", filepath.Join("docs", "performance.md"), "the page that is written; - for standard output")
	flag.Parse()
	if err := measure(context.Background(), *runs, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measure builds both programs, runs them in turns and writes the page.
func measure(ctx context.Context, runs int, out string) (err error) {
	dir, err := os.MkdirTemp("", "jackline-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{dir: dir, program: filepath.Join(dir, "jackline"), floor: filepath.Join(dir, "floor"), work: filepath.Join(dir, "workspace"), home: filepath.Join(dir, "home")}
	for program, pkg := range map[string]string{b.program: "./cmd/jackline", b.floor: "./bench/floor"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, pkg)
		cmd.Env, cmd.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building %s: %w", pkg, err)
		}
	}
	for _, folder := range []string{b.work, b.home} {
		if err := os.Mkdir(folder, 0o750); err != nil {
			return err
		}
	}
	for n := 1; n <= steps; n++ {
		if err := os.WriteFile(filepath.Join(b.work, fmt.Sprintf("f%d.txt", n)), fmt.Appendf(nil, "this is file %d\nwith two lines\n", n), 0o600); err != nil {
			return err
		}
	}
	b.model, err = newScripted()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.model.close()) }()

	var r results
	for range runs {
		for kind, at := range map[string]*[]spans{"floor": &r.floor, "native": &r.native, "text": &r.text} {
			s, err := b.long(ctx, kind)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			*at = append(*at, s)
		}
	}
	if _, _, err := b.short(ctx, "native"); err != nil { // the store exists from here on
		return err
	}
	for range 4 * runs {
		took, _, err := b.short(ctx, "floor")
		if err != nil {
			return err
		}
		r.floorStart = append(r.floorStart, took)
		took, mem, err := b.short(ctx, "native")
		if err != nil {
			return err
		}
		r.start, r.oneShot = append(r.start, took), append(r.oneShot, mem)
	}
	for range runs {
		ready, mem, err := b.server(ctx)
		if err != nil {
			return err
		}
		r.ready, r.idle = append(r.ready, ready), append(r.idle, mem)
	}
	page := r.page(runs)
	if out == "-" {
		_, err = os.Stdout.WriteString(page)
		return err
	}
	return os.WriteFile(out, []byte(page), 0o644) //nolint:gosec // a page of the project
}

type bench struct {
	dir, program, floor, work, home string
	model                           *scripted
}

// spans are the mean times of the steps around some of them, in milliseconds.
type spans struct{ at20, at400, at1000 float64 }

// command is one of the programs with a task.
func (b *bench) command(ctx context.Context, kind, task string) *exec.Cmd {
	if kind == "floor" {
		return exec.CommandContext(ctx, b.floor, b.model.url, b.work, task) //nolint:gosec // both were built above
	}
	cmd := exec.CommandContext(ctx, b.program, "run", "-C", b.work, "--base-url", b.model.url, "--model", "m", "--tool-mode", kind, //nolint:gosec // as above
		"--window", "4000000", "--max-steps", strconv.Itoa(steps+1), task)
	cmd.Env = append(os.Environ(), "JACKLINE_HOME="+b.home)
	return cmd
}

// long lets a program read all files, one at each step.
func (b *bench) long(ctx context.Context, kind string) (spans, error) {
	b.model.play(steps, kind != "text")
	cmd := b.command(ctx, kind, "read them all")
	if text, err := cmd.CombinedOutput(); err != nil {
		return spans{}, fmt.Errorf("%w: %s", err, text)
	}
	times := b.model.times()
	if len(times) != steps+1 {
		return spans{}, fmt.Errorf("%d requests, want %d", len(times), steps+1)
	}
	span := func(at int) float64 { return times[at+half-1].Sub(times[at-half-1]).Seconds() * 1000 / (2 * half) }
	return spans{span(20), span(400), span(1000)}, nil
}

// short lets a program answer one question. It gives the milliseconds from its start to its first request, and the most
// memory that it took, in MB.
func (b *bench) short(ctx context.Context, kind string) (took, mem float64, err error) {
	b.model.play(0, true)
	cmd := b.command(ctx, kind, "hello")
	began := time.Now()
	if text, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, text)
	}
	times := b.model.times()
	if len(times) != 1 {
		return 0, 0, fmt.Errorf("%d requests for hello", len(times))
	}
	return times[0].Sub(began).Seconds() * 1000, peak(cmd.ProcessState), nil
}

// server starts the server and gives the milliseconds until it answers, and the memory that it takes idle, in MB.
func (b *bench) server(ctx context.Context) (ready, mem float64, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, 0, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return 0, 0, err
	}
	cmd := exec.CommandContext(ctx, b.program, "serve", "--listen", address, "--base-url", b.model.url, "--model", "m") //nolint:gosec // as above
	cmd.Env = append(os.Environ(), "JACKLINE_HOME="+b.home)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // it was interrupted
	}()
	for {
		resp, err := http.Get("http://" + address + "/healthz")
		if err == nil {
			_ = resp.Body.Close()
			break
		}
		if time.Since(began) > readyTime {
			return 0, 0, fmt.Errorf("the server is not up: %w", err)
		}
		time.Sleep(time.Millisecond)
	}
	ready = time.Since(began).Seconds() * 1000
	time.Sleep(quiet)
	mem, err = resident(cmd.Process.Pid)
	return ready, mem, err
}

// resident is the memory that a process takes now, in MB.
func resident(pid int) (float64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS of process %d", pid)
}

// A scripted model answers at once: with a call for another file at each step, then in words.
type scripted struct {
	url    string
	server *http.Server
	ended  chan error

	mu     sync.Mutex
	steps  int
	native bool
	came   []time.Time
}

func newScripted() (*scripted, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &scripted{url: "http://" + l.Addr().String() + "/v1", ended: make(chan error, 1)}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { s.ended <- s.server.Serve(l) }()
	return s, nil
}

func (s *scripted) close() error {
	err := s.server.Close()
	if why := <-s.ended; !errors.Is(why, http.ErrServerClosed) {
		err = errors.Join(err, why)
	}
	return err
}

// play begins a script of so many steps.
func (s *scripted) play(steps int, native bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps, s.native, s.came = steps, native, make([]time.Time, 0, steps+1)
}

func (s *scripted) times() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.came)
}

// ServeHTTP answers a request for the next step.
func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.came = append(s.came, time.Now())
	n, done, native := len(s.came), len(s.came) > s.steps, s.native
	s.mu.Unlock()
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	switch {
	case done:
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	case native:
		_, _ = fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call%d","type":"function","function":{"name":"file_read","arguments":"{\"path\":\"f%d.txt\"}"}}]}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n", n, n)
	default:
		text, _ := json.Marshal(fmt.Sprintf("```tool\n{\"name\": \"file_read\", \"args\": {\"path\": \"f%d.txt\"}}\n```", n))
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
	}
}
