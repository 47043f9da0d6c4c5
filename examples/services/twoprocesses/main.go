// Twoprocesses moves the lines of a file from one process to others, which may run on other
// machines: a channel that a NATS server stores.
//
//	go run ./examples/services/twoprocesses -serve -dir nats-data
//	go run ./examples/services/twoprocesses -recv
//	go run ./examples/services/twoprocesses -send -close <README.md
//
// Run each in a terminal of its own, and as many of -recv as you like: each line goes to
// one of them. The server is embedded in the process with -serve, for first steps; in
// production, run a cluster of three servers, and give -url their addresses.
//
// The channel is a jetstream.Channel: every process that opens it by its name can send and
// receive, and it has the methods of a channel in memory. Send returns once the server
// has the line on disk. A receiver acknowledges a line after it has printed it: if it dies
// before, another one gets the line.
//
// Overload: the channel stores up to Capacity lines. A Send to a full channel waits, and
// tries again.
//
// Shutdown: after an interrupt (Ctrl-C) a receiver gives the lines back that it has fetched
// and not printed, and a sender ends at its next line. -close closes the channel for all
// processes: each receiver ends when the last line is acknowledged. The channel stays
// closed; another -name is another one.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"github.com/sluice-go/sluice/jetstream"
	"github.com/sluice-go/sluice/workers"
)

func main() {
	serving := flag.Bool("serve", false, "run a server")
	dir := flag.String("dir", "nats-data", "with -serve: the directory of the server")
	listen := flag.String("listen", "127.0.0.1:4222", "with -serve: the address to listen on")
	sending := flag.Bool("send", false, "send the lines of the standard input")
	last := flag.Bool("close", false, "with -send: close the channel after the last line")
	receiving := flag.Bool("recv", false, "print the lines that are received")
	url := flag.String("url", "nats://127.0.0.1:4222", "the address of the server")
	name := flag.String("name", "lines", "the name of the channel")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt kills the process

	err := errors.New("want -serve, -send or -recv")
	switch {
	case *serving:
		err = serve(ctx, *dir, *listen, os.Stdout)
	case *sending, *receiving:
		err = use(ctx, *name, *url, func(lines *jetstream.Channel[string]) error {
			if *sending {
				return send(ctx, lines, os.Stdin, *last)
			}
			return receive(ctx, lines, os.Stdout)
		})
	}
	if err != nil {
		log.Fatal(err)
	}
}

// use opens the channel for f.
func use(ctx context.Context, name, url string, f func(*jetstream.Channel[string]) error) error {
	lines, err := jetstream.Open(ctx, &jetstream.Options[string]{Name: name, URL: url, Replicas: 1, Capacity: 100_000})
	if err != nil {
		return err
	}
	// Not ctx: the end must tell the server, after an interrupt, too.
	return errors.Join(f(lines), lines.Shutdown(context.Background()))
}

// send sends each line of in, and may close the channel after the last one.
func send(ctx context.Context, lines *jetstream.Channel[string], in io.Reader, last bool) error {
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		if err := lines.Send(ctx, scanner.Text()); err != nil {
			return err // an ErrUnknown: the line may be stored
		}
	}
	if err := scanner.Err(); err != nil || !last {
		return err
	}
	return lines.CloseContext(ctx)
}

// receive prints lines until the channel is closed and empty, or ctx is done.
func receive(ctx context.Context, lines *jetstream.Channel[string], out io.Writer) error {
	work := jetstream.AckEach(func(_ context.Context, line string) error {
		_, err := fmt.Fprintln(out, line)
		return err // another attempt
	})
	err := workers.Run(ctx, lines.Deliveries(), 1, work, &workers.RunOptions[*jetstream.Delivery[string]]{
		OnUnprocessed: func(d *jetstream.Delivery[string]) { _ = d.Nack() }, // for other receivers, at once
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}
