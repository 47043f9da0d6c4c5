// Sluice measures what channels cost on the machine it runs on, compares what it
// measured, and says which channel holds a running service back.
//
//	sluice lab                           all experiments, in under three minutes
//	sluice lab -quick                    the smallest sweep, in a few seconds
//	sluice lab elastic                   one experiment
//	sluice lab direct-send -procs 1,2,8  with these values of GOMAXPROCS
//	sluice lab elastic -published        the published sweep as it was published
//	sluice lab -count 20 -o results      more repetitions, to another directory
//	sluice lab -resume                   go on with an interrupted run
//	sluice lab list                      the experiments, and how long they take
//	sluice report sluice-lab             the report again, from its results.json
//
//	sluice predict                       where one channel peaks, and what would help it
//	sluice predict -cpus 16 -llc 16      what it would do on 16 CPUs behind one cache
//	sluice predict -score                how good such predictions are
//	sluice predict -add -source me       adds a curve of yours to a file that predictions use
//
//	sluice compare before after                      what differs between two runs, and is it noise?
//	sluice compare before after -fail-on-regression  status 1 if a point is worse by more than 5%
//	sluice compare before after -threshold 10 -json  with another limit, for a program
//
//	sluice doctor localhost:6060                 are channels the problem, and what to do, in five seconds
//	sluice doctor -save monday localhost:6060    the same, and keep what the service sent
//	sluice doctor monday                         read again what was kept
//	sluice doctor -html page.html monday         and write a page
//
//	sluice watch localhost:6060             the channels of a running service, live in the terminal
//	sluice watch localhost:6060 -sort sent  the busiest ones first
//	sluice watch localhost:6060 | head      a table, once, where there is no terminal
//	sluice watch localhost:6060 -n 10       another look every ten seconds, in either
//
// A run of the lab prints its tables and findings and leaves three files in ./sluice-lab
// or in the directory given by -o: report.html, a page with charts that needs
// nothing beside itself; results.txt, in the Go benchmark format, for benchstat;
// and results.json. A directory that holds files by these names which are not of the
// lab is refused.
//
// The machine's own noise is measured first and again at the end. A point whose
// intervals are wider than 10% is run longer, up to three times as long and all
// together a quarter longer, and marked if that did not help. Outliers are marked
// and count. A point during which other guests of the host, other processes or a
// quota took the CPUs is named with what it suffered.
//
// Each point is in results.json as soon as it is measured, whatever ends the run:
// -resume goes on from there, and "sluice report" writes the report of what there
// is. Ctrl-C does that at once and says what is missing; a second Ctrl-C ends the
// program on the spot.
//
// A prediction prints where one channel peaks, with a band for each figure, and
// refuses figures where it has no ground for them.
//
// A comparison reads such directories, or any files in Go's benchmark format,
// and judges each point as benchstat does.
//
// Channels behave otherwise on the machine that serves than on a notebook. Built
// by CGO_ENABLED=0 go build -o sluice ./cmd/sluice, the program is one static file:
// copy it to the production host and run ./sluice lab cpu-scaling there.
//
// The doctor reads a service's /debug/pprof address, or saved profiles, traces and
// metrics of it. It changes no setting of the service, and asks for what costs it
// most only with -block and -trace.
//
// Watching shows what package debug serves at /debug/sluice. In a terminal, q quits,
// ? says what the other keys do, and a service that goes away is asked again until
// it is back. NO_COLOR is respected.
//
// The exit status is 0 if all was measured, 1 if something failed or, where that
// was asked for, became worse, 2 if the command line or a file that it names was
// wrong or cannot be used, and 130 if the run was interrupted.
//
// What may enter this package: flags, and the order in which the packages
// beside it are called.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

// Exit statuses.
const (
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), interrupts()...)
	// From the first signal on, a second one ends the program as usual.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// interrupts are the signals that end a run in good order. Where a terminal is closed, or
// the connection to it is lost, what was drawn on it is taken back and a report written
// as well; but not of a run that nohup started, which is to go on.
func interrupts() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

type commands struct {
	Lab     labCommand     `cmd:"" help:"Repeat published experiments on this machine and report."`
	Compare compareCommand `cmd:"" help:"Say what differs between two runs, and whether it is noise."`
	Predict predictCommand `cmd:"" help:"Say where one channel peaks and what would help it, and how sure that is."`
	Report  reportCommand  `cmd:"" help:"Write a report again from its results.json."`
	Doctor  doctorCommand  `cmd:"" help:"Say which channel holds a service back, and what to do."`
	Watch   watchCommand   `cmd:"" help:"Show the channels of a running service, live."`
}

// exit is how kong's wish to exit travels to run.
type exit int

// run is the program: it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	defer func() {
		if p := recover(); p != nil {
			code, ok := p.(exit)
			if !ok {
				panic(p)
			}
			status = int(code)
		}
	}()
	var cli commands
	parser, err := kong.New(&cli,
		kong.Name("sluice"),
		kong.Description("Measure what channels cost on this machine."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.Vars{"experiments": strings.Join(lab.Names(), ", ")},
	)
	if err != nil {
		panic(err) // the declarations above are wrong
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(goFlags(args))
	if err != nil {
		return complain(stderr, usageError{error: err, command: named(parser, args)})
	}
	command.BindTo(ctx, (*context.Context)(nil))
	return complain(stderr, command.Run(streams{stdout, stderr}))
}

type streams struct{ stdout, stderr io.Writer }

// A usageError is a mistake on the command line.
type usageError struct {
	error
	command string // whose help to point at, "" for the program's
}

func (e usageError) Unwrap() error { return e.error }

// An inputError is a file, or what a flag says of it, that cannot be used: the
// flags' help has no answer to it.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// named returns the command that args begin with, "" if there is none.
func named(parser *kong.Kong, args []string) string {
	for _, command := range parser.Model.Children {
		if command.Name == args[0] {
			return command.Name
		}
	}
	return ""
}

// errInterrupted and errIncomplete end a run whose report tells the rest.
var (
	errInterrupted = errors.New("interrupted")
	errIncomplete  = errors.New("something could not be measured; the report names it")
)

// complain writes err, if there is one, and returns the exit status.
func complain(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "sluice: %v\n", err)
	var usage usageError
	var input inputError
	switch {
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "Run '%s -help' for the flags.\n", strings.TrimSpace("sluice "+usage.command))
		return statusUsage
	case errors.As(err, &input):
		return statusUsage
	case errors.Is(err, errInterrupted):
		return statusInterrupted
	}
	return statusFailed
}

// goFlags lets long flags be written with one dash, as by Go's own tools. Left
// alone, "-quick" would be five flags of one letter each.
func goFlags(args []string) []string {
	var flags []string
	for i, arg := range args {
		if arg == "--" {
			return append(flags, args[i:]...)
		}
		if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && !strings.HasPrefix(arg, "-o=") {
			arg = "-" + arg
		}
		flags = append(flags, arg)
	}
	return flags
}
