// Scenario is a program of small services, each with one known bottleneck or
// none, on which the doctor is evaluated. Like most Go services it serves
// /debug/pprof/; in addition it serves
//
//	/debug/metrics  the current runtime/metrics, as JSON
//	/stats          the number of items processed, and the time since the start
//	/debug/sluice   the map of its channels, if they are sluice's
//
// With -bare it serves no metrics and samples no locks, as most services.
//
// A service runs as found, or with a remedy built in:
//
//	go run -trimpath ./bench/doctorlab/scenario -list
//	go run -trimpath ./bench/doctorlab/scenario -scenario gatherer
//	go run -trimpath ./bench/doctorlab/scenario -scenario gatherer -remedy batch -addr localhost:6060
//
// This package has one file per scenario, with its description, the right
// answers and its remedies. A new scenario is a new file, which registers
// itself. Nothing here reads a profile.
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

// run runs the program and returns the exit status, 2 for a wrong command line.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("scenario", flag.ContinueOnError)
	flags.SetOutput(stderr)
	name := flags.String("scenario", "", "the `name` of the service to run")
	remedy := flags.String("remedy", asFound, "the `name` of one of its remedies")
	addr := flags.String("addr", "localhost:0", "`address` to listen on; port 0 selects a free one")
	procs := flags.Int("procs", 0, "GOMAXPROCS; 0 for the runtime's default")
	bare := flags.Bool("bare", false, "serve net/http/pprof and /stats alone: no /debug/metrics, and an empty mutex profile")
	block := flags.Int("block", 0, "nanoseconds of waiting per sample of the block profile; 0 to disable it")
	life := flags.Duration("for", time.Hour, "maximum running time, so that no process is left behind")
	list := flags.Bool("list", false, "print all scenarios with their right answers, as JSON")
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
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *procs < 0 || *block < 0 || *life <= 0:
		err = fmt.Errorf("invalid -procs %d, -block %d or -for %v (want -procs and -block >= 0, -for > 0)", *procs, *block, *life)
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
	s := &service{scenario: v.Name, remedy: *remedy, started: time.Now(), bare: *bare}
	build(s)
	s.serve(ctx, listener)
	return 0
}

// listAll writes the description of each scenario.
func listAll(stdout, stderr io.Writer) int {
	encoder := json.NewEncoder(stdout)
	encoder.SetIndent("", "\t")
	if err := encoder.Encode(all()); err != nil {
		fmt.Fprintf(stderr, "scenario: %v\n", err)
		return 1
	}
	return 0
}
