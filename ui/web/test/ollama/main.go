// Command ollama serves a scripted Ollama on loopback, for the tests of the page. Its first line of input is its options, as
// JSON; it prints its address in one line. It ends with its input, and fails if a request did not go as the script says.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/script"
)

type options struct {
	Script  string                  `json:"script"`
	Models  []modeltest.OllamaModel `json:"models"`
	Library []modeltest.OllamaModel `json:"library"`
	PaceMS  int                     `json:"paceMS"` // between two lines about a model being fetched
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the options: %w", err)
	}
	var o options
	if err := json.Unmarshal(line, &o); err != nil {
		return fmt.Errorf("the options: %w", err)
	}
	s, err := script.Parse("script", []byte(o.Script))
	if err != nil {
		return err
	}
	engine := modeltest.OllamaHandler(s, modeltest.OllamaOptions{Models: o.Models, Library: o.Library, Pace: time.Duration(o.PaceMS) * time.Millisecond})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: engine, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	fmt.Fprintf(out, "http://%s\n", l.Addr())
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	err = srv.Close()
	if stopped := <-ended; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	return errors.Join(append(engine.Errs(), err)...)
}
