// Faninlogs merges the lines of several logs for a sink that is too slow: fan-in with
// drop-oldest, and an account of what was dropped.
//
//	go run ./examples/faninlogs -rate 20 docs/recipes.md docs/choosing.md >merged.txt
//
// The sink takes -rate lines a second, as many log services do. A log may be a named pipe.
//
//	readers ---> a queue for each ---> fan.In ---> sink
//
// Overload: each reader has a Bounded with DropOldest. A program that writes a log must not
// wait for the sink, so a send to a full queue drops the oldest line of that queue. As each
// reader has a queue of its own, a log with many lines drops only its own lines. fan.In
// takes lines from all queues, and sends them to a Rendezvous, which adds no other queue.
//
// Shutdown: after an interrupt (Ctrl-C) the readers stop, and the sink writes the lines that
// are still queued, without the limit. The account on the standard error then adds up:
// read = written + dropped.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/fan"
)

func main() {
	rate := flag.Int("rate", 100, "how many lines per second the sink takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt kills the process
	logs := map[string]io.ReadCloser{}
	for _, name := range flag.Args() {
		file, err := os.Open(name)
		if err != nil {
			log.Fatal(err)
		}
		logs[name] = file
	}
	if err := run(ctx, logs, os.Stdout, log.Default(), time.Second/time.Duration(max(1, *rate))); err != nil {
		log.Fatal(err)
	}
}

// run merges logs into out, a line per interval, and prints the account.
func run(ctx context.Context, logs map[string]io.ReadCloser, out io.Writer, account *log.Logger, interval time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var goroutines sync.WaitGroup
	var queues []*sluice.Bounded[string]
	var ends []sluice.Receiver[string]
	for name, file := range logs {
		queue := sluice.NewBounded(64, &sluice.BoundedOptions[string]{Name: name, Overflow: sluice.DropOldest})
		queues, ends = append(queues, queue), append(ends, queue)
		goroutines.Go(func() {
			defer queue.Close()
			if err := read(ctx, file, name, queue); err != nil {
				account.Printf("%s: %v", name, err)
			}
		})
	}

	merged := sluice.NewRendezvous[string](nil)
	goroutines.Go(func() {
		defer merged.Close()
		// Not ctx: lines that are queued at an interrupt are written.
		_, _ = fan.In(context.Background(), merged, ends...) // fails only if the sink has failed
	})
	err := sink(ctx, merged, out, interval)
	merged.Close() // if the sink failed: fan.In ends and closes the queues
	stop()         // and readers that wait for a line end, too
	goroutines.Wait()
	for _, queue := range queues {
		s := queue.Stats()
		account.Printf("%s: read %d, dropped %d", s.Name, s.Sent, s.Dropped)
	}
	return err
}

// read sends the lines of a log, and never waits for the sink.
func read(ctx context.Context, file io.ReadCloser, name string, queue sluice.Sender[string]) error {
	defer context.AfterFunc(ctx, func() { file.Close() })() // interrupts a read
	defer file.Close()
	lines := bufio.NewScanner(file)
	for ctx.Err() == nil && lines.Scan() {
		if queue.Send(ctx, name+": "+lines.Text()) != nil {
			return nil // the sink failed
		}
	}
	if err := lines.Err(); ctx.Err() == nil {
		return err
	}
	return nil
}

// sink writes one line per interval, and as fast as it can when ctx is done.
func sink(ctx context.Context, merged sluice.Receiver[string], out io.Writer, interval time.Duration) error {
	turn := time.NewTicker(interval)
	defer turn.Stop()
	for line := range sluice.NewValues(context.Background(), merged).All() {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
		select {
		case <-turn.C:
		case <-ctx.Done():
		}
	}
	return nil
}
