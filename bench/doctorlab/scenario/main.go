// Scenario is a program of small services, each of which has one known bottleneck, or
// none. The doctor is scored on them.
//
//	go run ./bench/doctorlab/scenario -list
//	go run ./bench/doctorlab/scenario -name sensors -addr localhost:6060
//	go run ./bench/doctorlab/scenario -name sensors -remedy batch
//
// A service serves what most Go services do, net/http/pprof and nothing else, and beside
// it /items, the number of items that it has finished. It runs as found, or with a remedy
// built in, so that the gain of the remedy can be measured.
//
// The file table.go has all services by shape, with the right answers. The other files
// have one function for each service: a service asks which remedy is in force, and is
// otherwise written as a team might write it. No name gives its problem away. Its
// partners outside, such as a database, are other processes: package remote.
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
	"net/http/pprof"
	"os"
	"os/signal"
	"time"

	"github.com/sluice-go/sluice/bench/doctorlab/scenario/remote"
)

func main() {
	if remote.IsChild() {
		remote.Child()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "scenario: %v\n", err)
		os.Exit(1)
	}
}

// run runs the program.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("scenario", flag.ContinueOnError)
	name := flags.String("name", "", "run the `service` with this name")
	remedy := flags.String("remedy", "", "the `name` of one of its remedies")
	addr := flags.String("addr", "localhost:0", "the `address` to serve on")
	life := flags.Duration("for", time.Hour, "end after this time, so that no process is left behind")
	list := flags.Bool("list", false, "print all services with their right answers, as JSON")
	flags.SetOutput(io.Discard) // a mistake is answered in a line
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stdout)
			flags.PrintDefaults()
		}
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: -name selects a service", flags.Arg(0))
	}
	if *list {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "\t")
		return encoder.Encode(all())
	}
	row, err := find(*name, *remedy)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *life)
	defer cancel()
	s := &service{remedy: *remedy, started: time.Now()}
	row.run(s)
	if s.err != nil {
		return s.err
	}
	fmt.Fprintf(stdout, "%s http://%s\n", *name, listener.Addr())
	return s.serve(ctx, listener)
}

// serve serves requests until the context is done. It leaves the goroutines of the
// service running, because the process ends next.
func (s *service) serve(ctx context.Context, listener net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/items", s.answer)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
