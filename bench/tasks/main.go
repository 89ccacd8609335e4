// Command tasks lets the real program do small tasks with a real model, in each way of calling tools, counts from its events what
// became of the calls, and writes the table of docs/models.md.
//
// Whether a task is done is checked by code, on the files that are left and on the answer. Nothing is corrected and nothing is tried
// again: a model that is too small gets the figures of one. scripts/test-model starts the engine and this:
//
//	TASKS=3 make test-model
//
// A measurement that broke off goes on where it was: each run is kept in results.jsonl as it ends, and one that stands there with
// the same set-up is not run again. The events of the last run of everything lie beside it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	var b bench
	flag.StringVar(&b.program, "program", filepath.Join("bin", "jackline"), "the program")
	flag.StringVar(&b.address, "address", "", "the engine's address")
	flag.StringVar(&b.API, "api", "ollama", "what is spoken to it")
	flag.StringVar(&b.model, "model", "test-model", "the model's name there")
	flag.StringVar(&b.dir, "dir", filepath.Join(".cache", "model", "tasks"), "the folder for workspace, events and results")
	flag.StringVar(&b.Engine, "engine", "", "the engine and its version, for the page")
	flag.StringVar(&b.Weights, "weights", "", "the model and its quantization, for the page")
	flag.StringVar(&b.Machine, "machine", "", "the machine, for the page")
	// The smallest window that the program works with, the fewest steps in which the tasks can be done with one to spare, and three
	// times what a run takes that does not run astray: what a small model does with more is to repeat itself.
	flag.IntVar(&b.Window, "window", 4096, "the model's window in tokens")
	flag.IntVar(&b.Steps, "steps", 4, "steps of a task")
	flag.DurationVar(&b.Time, "limit", 30*time.Second, "time of a task")
	flag.BoolVar(&b.Shown, "shown", true, "let a scripted model call in the chat before")
	modes := flag.String("modes", "text native envelope", "the ways of calling")
	times := flag.Int("times", 3, "runs of each task in each way")
	only := flag.String("tasks", "*", "which tasks, as a glob")
	out := flag.String("out", filepath.Join("docs", "models.md"), "the page that the table goes into; - for standard output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, &b, strings.Fields(*modes), *times, *only, *out); err != nil {
		fmt.Fprintln(os.Stderr, "tasks:", err)
		os.Exit(1) //nolint:gocritic // the signals end with the program
	}
}

// measure runs what is not yet there, and writes the page.
func measure(ctx context.Context, b *bench, modes []string, times int, only, out string) (err error) {
	all, err := readTasks()
	if err != nil {
		return err
	}
	if _, err := filepath.Match(only, ""); err != nil {
		return fmt.Errorf("the tasks %q: %w", only, err)
	}
	all = slices.DeleteFunc(all, func(t task) bool { fits, _ := filepath.Match(only, t.name); return !fits })
	if b.program, err = filepath.Abs(b.program); err != nil {
		return err
	}
	if b.dir, err = filepath.Abs(b.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(b.dir, "home"), 0o750); err != nil {
		return err
	}
	if err := b.learn(ctx); err != nil {
		return err
	}
	name := filepath.Join(b.dir, "results.jsonl")
	kept, err := readResults(name, b.setup)
	if err != nil {
		return err
	}
	journal, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the folder of the measurement
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()

	var got []result
	for _, mode := range modes { // one after the other: what their requests have in common stays in the engine
		for i := range len(all) * times {
			t, n := all[i%len(all)], i/len(all)+1
			r, ok := kept[key{mode, t.name, n}]
			if !ok {
				if r, err = b.run(ctx, t, mode, n); errors.Is(err, errUse) {
					fmt.Printf("%-8s %v\n", mode, err)
					break
				}
				if err != nil {
					return err
				}
				if err := json.NewEncoder(journal).Encode(r); err != nil {
					return err
				}
				fmt.Println(r)
			}
			got = append(got, r)
		}
	}
	if len(got) == 0 {
		return errors.New("nothing was measured")
	}
	section := page(b.setup, time.Now().UTC(), all, times, got)
	if out == "-" {
		_, err = os.Stdout.WriteString(section)
		return err
	}
	return put(out, section)
}

// String is a run in a line.
func (r result) String() string {
	end := "not done"
	if r.Done {
		end = "done"
	}
	if r.Failed != "" {
		end += "; " + lastLine(r.Failed)
	}
	return fmt.Sprintf("%-8s %-14s %d  calls %d, read %d, valid %d, right %d; %d steps, %.1f s; %s",
		r.Mode, r.Task, r.Run, r.Tried, r.Read, r.Valid, r.Right, r.tally.Steps, float64(r.MS)/1000, end) //nolint:mnd // milliseconds
}

// A key is which run it was.
type key struct {
	mode, task string
	run        int
}

// readResults reads the runs that are there with the same set-up. The last line may have broken off with the program.
func readResults(name string, same setup) (map[key]result, error) {
	kept := map[key]result{}
	f, err := os.Open(name) //nolint:gosec // the folder of the measurement
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r result
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.Setup == same {
			kept[key{r.Mode, r.Task, r.Run}] = r
		}
	}
	return kept, lines.Err()
}
