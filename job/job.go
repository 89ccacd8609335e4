// Package job runs commands and ends them: each in a session of its own, with no input, cleaned surroundings, a time
// limit, and output that is kept within bounds however much comes. When a command is over, by itself or by force,
// so is every process that it left behind.
//
// It decides nothing about what may run.
package job

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
)

// Named limits.
const (
	DefaultTime = 120 * time.Second
	MaxTime     = 600 * time.Second // what takes longer is no call that a model waits for

	// drain is how long output may still come from a pipe that an escaped process holds open.
	drain = 500 * time.Millisecond
	// tick is how often somebody who watches is shown more.
	tick = 250 * time.Millisecond
)

// marker is the name of the variable by which the processes of a run are found again.
const marker = "JACKLINE_RUN"

// A Spec is a command to run.
type Spec struct {
	Command string   // text for the shell
	Args    []string // instead of it: a program, by its whole path, and its arguments
	Dir     string   // absolute folder to start in
	Folder  *os.File // the same, held open; where it is set and the system can, nobody can put another in its place
	Env     []string // all of the environment, as [Env] makes it

	Time     time.Duration // limit; 0 is [DefaultTime], and more than [MaxTime] is MaxTime
	Progress func(string)  // is given new output, a few times a second; may be nil

	Cage Cage // starts it held to what it may do; nil starts it as it is
}

// A Cage starts one command held to what it may do. Package sandbox makes them.
type Cage interface {
	// Start starts cmd, as the leader of a session of its own. It may put another program before the command, which becomes it,
	// and add to its environment and its system attributes; input, output, folder and how it ends stay as they are.
	// What it starts beside the command ends with Close, or with ctx.
	Start(ctx context.Context, cmd *exec.Cmd) error

	// Close gives back what Start took, once the command and all that it started have ended.
	Close() error
}

// A Place is where a command runs: what holds it, and what it finds around it.
type Place struct {
	Cage Cage     // nil holds nothing
	Env  []string // all of the environment
	Temp string   // a folder of its own, for what is only needed meanwhile

	// Leave gives the place up once the command has ended, and says what came to light there, in sentences for model and person.
	Leave func(context.Context) []string
}

// Result is how a command ended.
type Result struct {
	Output  string // decoded and cleaned; long output without its middle
	Dropped int64  // bytes left out of the middle
	Exit    int    // the exit code; -1 if a signal ended it
	Signal  string // the signal's name
	Late    bool   // its time was up
	Full    bool   // it was ended because it would have filled a disk
	Strays  int    // processes that it had left behind, and that were ended
	Escaped int    // processes that could not be ended
	Took    time.Duration
}

// Run runs a command to its end and waits for everything that it started. If ctx ends, the command is killed and what it
// had written so far comes with the context's error.
func Run(ctx context.Context, s Spec) (Result, error) {
	const op = "job.Run"
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	cmd, err := command(s)
	if err != nil {
		return Result{}, jackline.E(op, jackline.Unavailable, err, "No shell was found to run commands with.")
	}
	read, write, err := os.Pipe()
	if err != nil {
		return Result{}, jackline.E(op, jackline.Internal, err, "The command could not be started.")
	}
	id := rand.Text()
	cmd.Env = append(append([]string(nil), s.Env...), marker+"="+id)
	cmd.Stdout, cmd.Stderr = write, write
	cmd.Dir = startIn(s)
	began, room := time.Now(), newRoom(s)
	cage := s.Cage
	if cage == nil {
		cage = open{}
	}
	if err := errors.Join(cage.Start(ctx, cmd), write.Close()); err != nil {
		var known *jackline.Error
		if !errors.As(err, &known) {
			err = jackline.E(op, jackline.Unprocessed, err, "The command could not be started.")
		}
		return Result{}, errors.Join(err, read.Close(), cage.Close())
	}
	r := run{tree: newTree(cmd, id), out: &output{}, pipe: read, progress: s.Progress, room: room}
	result, err := r.wait(ctx, clampTime(s.Time))
	result.Took = time.Since(began)
	return result, errors.Join(err, cage.Close())
}

// open is no cage.
type open struct{}

func (open) Start(_ context.Context, cmd *exec.Cmd) error {
	apart(cmd)
	return cmd.Start()
}

func (open) Close() error { return nil }

// command is what a spec runs.
func command(s Spec) (*exec.Cmd, error) {
	if len(s.Args) > 0 {
		return &exec.Cmd{Path: s.Args[0], Args: s.Args}, nil
	}
	return shellCommand(s.Command)
}

func clampTime(d time.Duration) time.Duration {
	if d <= 0 {
		return DefaultTime
	}
	return min(max(d, time.Second), MaxTime)
}

// A run is a command that was started.
type run struct {
	tree     *tree
	out      *output
	pipe     *os.File
	progress func(string)
	room     *room
}

// wait waits for the end of the command, brings it about if need be, and leaves nothing behind.
func (r *run) wait(ctx context.Context, limit time.Duration) (Result, error) {
	var readers sync.WaitGroup
	readers.Go(func() { r.out.fill(r.pipe) })
	ended := make(chan struct{})
	readers.Go(func() { r.tree.await(); close(ended) })

	var result Result
	timer := time.NewTimer(limit)
	defer timer.Stop()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	forced := false
waiting:
	for {
		select {
		case <-ended:
			break waiting
		case <-ctx.Done():
			forced = true
			break waiting
		case <-timer.C:
			result.Late, forced = true, true
			break waiting
		case <-ticks.C:
			r.show()
			if r.room.low() {
				result.Full, forced = true, true
				break waiting
			}
		}
	}
	found, left := r.tree.end()
	result.Escaped = left
	if !forced {
		result.Strays = found
	}
	<-ended // a killed process ends; nothing can hold it
	state, err := r.tree.reap()
	// What an escaped process still writes is nobody's.
	deadline := time.Now().Add(drain)
	if err := r.pipe.SetReadDeadline(deadline); err != nil {
		_ = r.pipe.Close() // it has no deadlines, so the reader is stopped this way
	}
	readers.Wait()
	_ = r.pipe.Close() // only read from
	r.show()

	result.Output, result.Dropped = r.out.text()
	result.Exit, result.Signal = outcome(state)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && forced && !result.Late && !result.Full:
		return result, ctx.Err()
	case err != nil && !errors.As(err, &exit):
		return result, jackline.E("job.Run", jackline.Internal, err, "The command's end could not be learned.")
	}
	return result, nil
}

// show passes on what is new.
func (r *run) show() {
	if r.progress == nil {
		return
	}
	if text := r.out.fresh(); text != "" {
		r.progress(text)
	}
}

// outcome reads how a process ended.
func outcome(state *os.ProcessState) (exit int, signal string) {
	if state == nil {
		return -1, ""
	}
	return state.ExitCode(), signalName(state)
}
