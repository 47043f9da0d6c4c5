// Scenario is a program of small services, each with one thing wrong or with nothing
// wrong: the scenarios that the doctor is evaluated on. It shows of itself what a Go
// service usually shows, /debug/pprof/, and beside that what is needed for a trial:
//
//	/debug/metrics  the runtime/metrics of this moment, as JSON
//	/stats          how many items the service has done, and in how much time
//
// It runs as it was found, or with a remedy that is really built in:
//
//	go run -trimpath ./bench/doctorlab/scenario -list
//	go run -trimpath ./bench/doctorlab/scenario -scenario gatherer
//	go run -trimpath ./bench/doctorlab/scenario -scenario gatherer -remedy batch -addr localhost:6060
//
// What may enter: one file for each scenario, with its story, the right answers and
// its remedies; to add the next one, add its file: it registers itself. Nothing
// here looks at a profile.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: it returns the exit status, 2 for a wrong command line.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("scenario", flag.ContinueOnError)
	flags.SetOutput(stderr)
	name := flags.String("scenario", "", "the `name` of the service to run")
	remedy := flags.String("remedy", asFound, "the `name` of a remedy that is built for it")
	addr := flags.String("addr", "localhost:0", "`address` to listen at; port 0 is any free one")
	procs := flags.Int("procs", 0, "GOMAXPROCS; 0 leaves it to the runtime")
	block := flags.Int("block", 0, "nanoseconds waited for each sample of the block profile; 0 for no such profile")
	life := flags.Duration("for", time.Hour, "how long to run at most, so that none is ever left behind")
	list := flags.Bool("list", false, "print all scenarios, with their right answers, as JSON")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *list {
		return listAll(stdout, stderr)
	}
	v, build, err := find(*name, *remedy)
	switch {
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("what is %q?", flags.Arg(0))
	case *procs < 0 || *block < 0 || *life <= 0:
		err = fmt.Errorf("-procs is %d, -block is %d and -for is %v: none may be negative, nor -for zero", *procs, *block, *life)
	}
	if err != nil {
		fmt.Fprintf(stderr, "scenario: %v\n", err)
		return 2
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		fmt.Fprintf(stderr, "scenario: %v\n", err)
		return 2
	}
	if *procs > 0 {
		runtime.GOMAXPROCS(*procs)
	}
	runtime.SetBlockProfileRate(*block)
	ctx, cancel := context.WithTimeout(ctx, *life)
	defer cancel()
	fmt.Fprintf(stdout, "%s, remedy %s: http://%s/debug/pprof/\n", v.Name, *remedy, listener.Addr())
	s := &service{scenario: v.Name, remedy: *remedy, started: time.Now()}
	build(s)
	s.serve(ctx, listener)
	return 0
}

// listAll writes what is known of each scenario.
func listAll(stdout, stderr io.Writer) int {
	encoder := json.NewEncoder(stdout)
	encoder.SetIndent("", "\t")
	if err := encoder.Encode(all()); err != nil {
		fmt.Fprintf(stderr, "scenario: %v\n", err)
		return 1
	}
	return 0
}
