package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/script"
	"github.com/jackline-ai/jackline/sandbox"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"jackline": func() {
			signals := make(chan os.Signal, 2)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
			j := &Main{Args: os.Args[1:], Env: os.Getenv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Signals: signals, find: findNamed}
			os.Exit(j.Run(context.Background()))
		},
	})
}

// findNamed finds the engines at the addresses in $ENGINES, and not those that this machine may happen to have.
func findNamed(ctx context.Context, o detect.Options) []detect.Found {
	var all []detect.Found
	for _, at := range strings.Fields(o.Env("ENGINES")) {
		if f, _ := detect.Read(ctx, at, ""); f.Engine != "" { // what is the matter with it stands in f
			all = append(all, f)
		}
	}
	return all
}

// TestScripts runs the program as a person or a script does: one file of testdata a behaviour.
//
// Besides testscript's own commands there are
//
//	engine FILE   starts an OpenAI-compatible engine that plays a transcript, and sets $ENGINE to its address
//	site FILE     serves a file to whoever asks, and sets $SITE to its host and port
//	ollama FILE MODEL…   starts an Ollama with these models that plays a transcript, sets $OLLAMA to its address and $ENGINES
//	              to all of them so far; behind a + are those that can be fetched, of which the last fails half way, once
//	answer SCOPE  allows the oldest open card, from another process
//	exits CODE COMMAND…   runs a command that must end with this exit code
//	await FILE    waits until a file is there
//	settled       waits until no turn is under way
//	[sandbox]     is a condition: this machine has a sandbox
//	api METHOD PATH [BODY]   calls the running server of $JACKLINE_HOME; the answer is standard output, with the status in its first line
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("JACKLINE_HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "user"))
			e.Setenv("NO_COLOR", "1")
			return os.MkdirAll(filepath.Join(e.WorkDir, "user"), 0o755)
		},
		Condition: func(name string) (bool, error) {
			if name != "sandbox" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			l, err := sandbox.Open(t.Context(), sandbox.Options{})
			return err == nil && l.Report().Level > jackline.SandboxNone, err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"engine":  cmdEngine,
			"site":    cmdSite,
			"ollama":  cmdOllama,
			"api":     cmdAPI,
			"exits":   cmdExits,
			"answer":  cmdAnswer,
			"await":   cmdAwait,
			"settled": cmdSettled,
			"turn":    cmdTurn,
			"session": cmdSession,
		},
	})
}

// cmdTurn puts the turn of a run's JSON into a variable.
func cmdTurn(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: turn FILE VARIABLE")
	}
	var out struct{ Turn string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &out))
	ts.Setenv(args[1], out.Turn)
}

// cmdSession puts the chat of a run's JSON into a variable.
func cmdSession(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: session FILE VARIABLE")
	}
	var out struct{ Session string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &out))
	ts.Setenv(args[1], out.Session)
}

func cmdEngine(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: engine FILE")
	}
	s, err := script.Parse(args[0], []byte(ts.ReadFile(args[0])))
	ts.Check(err)
	srv := httptest.NewServer(modeltest.Handler(s, modeltest.LlamaCpp()))
	ts.Defer(srv.Close)
	ts.Setenv("ENGINE", srv.URL+"/v1")
}

func cmdSite(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: site FILE")
	}
	page := ts.ReadFile(args[0])
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) }))
	ts.Defer(srv.Close)
	ts.Setenv("SITE", strings.TrimPrefix(srv.URL, "http://"))
}

func cmdOllama(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: ollama FILE MODEL… + MODEL…")
	}
	s, err := script.Parse(args[0], []byte(ts.ReadFile(args[0])))
	ts.Check(err)
	known := map[string]modeltest.OllamaModel{}
	for _, m := range []modeltest.OllamaModel{modeltest.Qwen(), modeltest.Gemma(), modeltest.Nomic()} {
		known[m.Name] = m
	}
	var o modeltest.OllamaOptions
	into := &o.Models
	for _, name := range args[1:] {
		if name == "+" {
			into = &o.Library
			continue
		}
		m, ok := known[name]
		if !ok {
			ts.Fatalf("there is no model %s", name)
		}
		*into = append(*into, m)
	}
	if n := len(o.Library); n > 0 {
		o.Library[n-1].Breaks = 1
	}
	srv := httptest.NewServer(modeltest.OllamaHandler(s, o))
	ts.Defer(srv.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(srv.URL, "http://"), ":")
	ts.Setenv("OLLAMA", srv.URL)
	ts.Setenv("OLLAMA_ID", "ollama-"+port)
	ts.Setenv("ENGINES", strings.TrimSpace(ts.Getenv("ENGINES")+" "+srv.URL))
}

func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	code := 0
	var e *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &e) {
		code = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s\nstdout: %s\nstderr: %s", code, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// cmdAnswer allows the oldest open card as another command would, and gives that command's output.
func cmdAnswer(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("jackline", "approve", "list", "--json"))
	var rows []jackline.Approval
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &rows))
	if len(rows) == 0 {
		ts.Fatalf("no card is open")
	}
	err := ts.Exec("jackline", "approve", "yes", string(rows[0].ID), "--for", args[0])
	var e *exec.ExitError
	if err != nil && !errors.As(err, &e) {
		ts.Fatalf("%v", err)
	}
}

// patience is how long a script waits for what another process does.
const patience = 30 * time.Second

func poll(ts *testscript.TestScript, what string, f func() bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !f() {
		select {
		case <-tick.C:
		case <-end:
			ts.Fatalf("waited too long for %s", what)
		}
	}
}

func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	poll(ts, args[0], func() bool {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil
	})
}

func cmdSettled(ts *testscript.TestScript, _ bool, _ []string) {
	poll(ts, "the turns to end", func() bool {
		ts.Check(ts.Exec("jackline", "sessions", "list", "--json"))
		var rows []client.SessionRow
		ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &rows))
		for _, r := range rows {
			if r.Status != "idle" {
				return false
			}
		}
		return true
	})
}

func cmdAPI(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: api METHOD PATH [BODY]")
	}
	home := ts.Getenv("JACKLINE_HOME")
	server := client.Running(context.Background(), filepath.Join(home, "data"), "test")
	if server == nil {
		ts.Fatalf("no server runs")
	}
	req, err := http.NewRequest(args[0], server.Base+args[1], strings.NewReader(strings.Join(args[2:], " ")))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+server.Token)
	if len(args) > 2 {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", resp.StatusCode)
	buf := make([]byte, 1<<20)
	for {
		n, err := resp.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	if (resp.StatusCode >= 400) != neg {
		ts.Fatalf("api %s: %s", strings.Join(args, " "), b.String())
	}
	fmt.Fprint(ts.Stdout(), b.String())
}
