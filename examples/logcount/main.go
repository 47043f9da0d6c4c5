// Logcount counts the requests in access logs by status code.
//
//	logcount access.log other.log
//	zcat access.log.*.gz | logcount
//
// It reads lines in the common or combined log format from the named files, or from
// the standard input, and prints a table. An interrupt (Ctrl-C) ends it early; the
// table then contains the lines counted so far, and the exit status is 1.
//
// The program is an example of a pipeline with sluice:
//
//	read ---> lines ---> parse ---> batches ---> count
//	          (bounded)  (worker pool)
//
// One goroutine reads lines and sends them to a bounded channel. A full channel makes
// it wait, so memory stays bounded however long the input is. workers.Map parses the
// lines on all processors; parsing a line takes far less than a microsecond, so the
// pool passes lines in batches and the channel costs little. batch.Receive collects
// the parsed records, and a loop counts them.
//
// Every stage ends when its input ends or when the context is done, and a stage that
// ends early closes its input. So no stage can block another one forever.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/workers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "logcount:", err)
		os.Exit(1)
	}
}

var errInterrupted = errors.New("interrupted: the table contains only the lines counted so far")

// run counts the lines of the named files, or of stdin if files is empty, and prints
// the table to out. It prints the table even if it ends early.
func run(ctx context.Context, files []string, stdin io.Reader, out io.Writer) error {
	lines := sluice.NewBounded[string](1024, nil)
	failed := make(chan error, 1)
	go func() {
		failed <- read(ctx, lines, files, stdin)
		lines.Close() // the other stages end once they have processed all lines
	}()

	parsed := workers.Map(ctx, lines, runtime.GOMAXPROCS(0), parse, nil)
	batches := batch.Receive(ctx, parsed, 256, &batch.Options[record]{Linger: 50 * time.Millisecond})
	table := newTable()
	for records := range batches.All() {
		table.add(records)
	}

	err := batches.Err()
	switch {
	case err == nil:
		err = <-failed
	case ctx.Err() != nil:
		// Do not wait for the reader: a read from a terminal cannot be interrupted.
		err = errInterrupted
	}
	return errors.Join(err, table.print(out))
}

// read sends every line of the named files, or of stdin if files is empty.
func read(ctx context.Context, lines sluice.Sender[string], files []string, stdin io.Reader) error {
	if len(files) == 0 {
		return send(ctx, lines, "standard input", stdin)
	}
	for _, name := range files {
		if err := readFile(ctx, lines, name); err != nil {
			return err
		}
	}
	return nil
}

func readFile(ctx context.Context, lines sluice.Sender[string], name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return send(ctx, lines, name, file)
}

// send sends every line of r, which is called name in errors.
func send(ctx context.Context, lines sluice.Sender[string], name string, r io.Reader) error {
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		if err := lines.Send(ctx, scanner.Text()); err != nil {
			return err // the pipeline ended early
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
