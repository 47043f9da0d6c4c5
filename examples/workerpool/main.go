// Workerpool prints the SHA-256 of every file below some folders: a worker pool whose
// jobs may fail, and which an interrupt (Ctrl-C) shuts down without losing a job.
//
//	go run ./examples/workerpool -workers 4 docs internal
//
// One goroutine walks the folders and sends each path to a Bounded. The workers are one
// call of workers.Run: at most -workers files are open at once, whatever the length of
// the queue.
//
// Overload: a Bounded that is full makes the walk wait, so memory stays bounded. A Bounded
// is the default choice between one producer and a pool.
//
// Errors: a file that cannot be read is reported and counted, and the other jobs
// continue, because the function of the pool returns nil for it. The error that it does
// return, after too many such files, ends the pool: Run closes the queue, which stops the
// walk.
//
// Shutdown: the first interrupt means "accept no more jobs". The walk stops, the queue is
// closed, and the workers finish what was queued. A second one kills the process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

func main() {
	n := flag.Int("workers", runtime.GOMAXPROCS(0), "how many files are read at once")
	limit := flag.Int64("failures", 10, "how many unreadable files end the run")
	flag.Parse()

	stop, restore := signal.NotifyContext(context.Background(), os.Interrupt)
	defer restore()
	context.AfterFunc(stop, restore) // a second interrupt kills the process

	sums, err := run(stop, os.Stdout, flag.Args(), max(1, *n), *limit)
	fmt.Fprintln(os.Stderr, sums)
	if err != nil {
		fmt.Fprintln(os.Stderr, "workerpool:", err)
		os.Exit(1)
	}
}

// A summary counts each accepted job once.
type summary struct{ accepted, done, failed, notStarted int64 }

func (s summary) String() string {
	return fmt.Sprintf("%d accepted: %d done, %d failed, %d not started", s.accepted, s.done, s.failed, s.notStarted)
}

var errTooMany = errors.New("too many unreadable files")

// run prints the sums of all files below the roots. It accepts no more files when stop is
// done.
func run(stop context.Context, out io.Writer, roots []string, n int, limit int64) (summary, error) {
	jobs := sluice.NewBounded[string](64, nil)
	var accepted int64
	walked := make(chan error, 1)
	go func() {
		var err error
		accepted, err = walk(stop, jobs, roots)
		jobs.Close() // Run returns once the queue is empty
		walked <- err
	}()

	var done, failed, notStarted atomic.Int64
	lines := log.New(out, "", 0) // several workers print
	work := func(_ context.Context, path string) error {
		sum, err := hash(path)
		if err == nil {
			lines.Printf("%x  %s", sum, path)
			done.Add(1)
			return nil
		}
		lines.Println("failed:", err)
		if failed.Add(1) >= limit {
			return fmt.Errorf("%w: %w", errTooMany, err)
		}
		return nil
	}
	// The context of the jobs is not stop: an interrupt must not cancel accepted jobs.
	err := workers.Run(context.Background(), jobs, n, work, &workers.RunOptions[string]{
		OnUnprocessed: func(string) { notStarted.Add(1) },
	})
	err = errors.Join(err, <-walked)
	for range jobs.Drain() {
		notStarted.Add(1) // no worker had received it
	}
	return summary{accepted, done.Load(), failed.Load(), notStarted.Load()}, err
}
