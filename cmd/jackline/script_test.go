package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/script"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"jackline": func() {
			signals := make(chan os.Signal, 2)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
			j := &Main{Args: os.Args[1:], Env: os.Getenv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Signals: signals}
			os.Exit(j.Run(context.Background()))
		},
	})
}

// TestScripts runs the program as a person or a script does: one file of testdata a behaviour.
//
// Besides testscript's own commands there are
//
//	engine FILE   starts an OpenAI-compatible engine that plays a transcript, and sets $ENGINE to its address
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
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"engine": cmdEngine,
			"api":    cmdAPI,
		},
	})
}

func cmdEngine(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: engine FILE")
	}
	s, err := script.Parse(args[0], []byte(ts.ReadFile(args[0])))
	ts.Check(err)
	srv := httptest.NewServer(modeltest.Handler(s, modeltest.OpenAI()))
	ts.Defer(srv.Close)
	ts.Setenv("ENGINE", srv.URL+"/v1")
}

func cmdAPI(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: api METHOD PATH [BODY]")
	}
	home := ts.Getenv("JACKLINE_HOME")
	token, err := readToken(filepath.Join(home, "data"))
	ts.Check(err)
	addr, err := os.ReadFile(filepath.Join(home, "data", addressFile))
	ts.Check(err)
	req, err := http.NewRequest(args[0], "http://"+strings.TrimSpace(string(addr))+args[1], strings.NewReader(strings.Join(args[2:], " ")))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+token)
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
