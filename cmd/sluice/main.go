// Sluice measures the cost of channels on a machine, compares measurements,
// predicts how a channel scales, and finds what holds a running service back.
//
//	sluice lab                           all experiments, in about three minutes
//	sluice lab -quick                    the smallest sweep, in less than a minute
//	sluice lab elastic                   one experiment
//	sluice lab direct-send -procs 1,2,8  with these values of GOMAXPROCS
//	sluice lab elastic -published        the sweep exactly as published
//	sluice lab -count 20 -o results      more repetitions, to another directory
//	sluice lab -resume                   resume an interrupted run
//	sluice lab list                      the experiments and their duration
//	sluice report sluice-lab             the report again, from its results.json
//
//	sluice predict                   a channel's peak, and the gain of remedies
//	sluice predict -cpus 16 -llc 16  its throughput on 16 CPUs with one cache
//	sluice predict sluice-lab        the same from a run of the lab
//	sluice predict sluice-lab -list  the curves of the run, for -series
//	sluice predict -score            the accuracy of predictions
//	sluice predict -score mine.csv   their accuracy on the curves of a file
//	sluice predict -add -source me   add your curve to a file, for predictions
//
//	sluice compare before after                      the differences between two runs, and whether they are noise
//	sluice compare before after -fail-on-regression  status 1 if a point is worse by more than 5%
//	sluice compare before after -threshold 10 -json  another threshold, as JSON
//	sluice compare run run -procs 1:2                one run, at GOMAXPROCS 2 against 1
//
//	sluice doctor localhost:6060                 what holds a service back, and what to change
//	sluice doctor -pod shop/cart-5d4f            the same in a cluster, with kubectl
//	sluice doctor -save monday localhost:6060    and save what the service sent
//	sluice doctor monday                         read a saved capture
//	sluice doctor -v monday                      with all evidence, not one screen
//	sluice doctor -html page.html monday         and write a page
//	sluice doctor goroutines.txt                 read one file: a dump in any form, a profile, a trace
//	sluice doctor flight.trace                   read the dump of a flight recorder
//	sluice doctor -compare monday tuesday        what a change moved
//	sluice doctor -fail-on found monday          status 1 if the program holds itself back, for CI
//
//	sluice watch localhost:6060             the channels of a running service, live in the terminal
//	sluice watch localhost:6060 -sort sent  the busiest ones first
//	sluice watch localhost:6060 | head      a table, once, where there is no terminal
//	sluice watch localhost:6060 -n 10       another look every ten seconds, in either
//
//	sluice help watch                         the flags of a command
//	sluice version                            version, Go version and platform
//	sluice completion bash                    a script that completes command lines
//
// The lab prints one screen, or with -v all tables and findings, and writes three
// files to ./sluice-lab or to the directory of -o: report.html, a self-contained
// page with charts; results.txt, in the Go benchmark format, for benchstat; and
// results.json. It overwrites no earlier run: the next one goes to sluice-lab-2.
// It does not overwrite files with these names that it did not write.
//
// The lab measures the machine's noise first and at the end. It runs a point
// longer if an interval is wider than 10%: at most three times as long, and at
// most 25% longer for all points together. It marks intervals that are still
// wide, and outliers, which count. It names points that were disturbed by other
// guests of the host, other processes or a quota.
//
// Each point is in results.json as soon as it is measured: -resume continues
// from there, and "sluice report" writes the report of the measured points.
// Ctrl-C writes that report, with a list of the missing points; a second Ctrl-C
// ends the program immediately.
//
// A prediction has the peak of one channel, and a band for each figure. It has
// no figures too far from the measured ones, nor above what the CPUs can do.
// For designs that nobody measured on many CPUs see docs/adr/0007-lanes.md.
//
// A comparison reads such directories, or any files in Go's benchmark format,
// and tests each point as benchstat does.
//
// docs/installing.md has the command that installs it.
// Channels behave differently on a production host and on a notebook.
// CGO_ENABLED=0 go build -o sluice ./cmd/sluice builds a static binary: copy it
// to the production host and run ./sluice lab cpu-scaling there.
//
// The doctor reads a service's /debug/pprof address, or what was saved of it, and the
// map at /debug/sluice, if there is one. It changes no setting of the service, and asks
// for at most 4 MB.
//
// Watch shows the channels that package livepage serves at /debug/sluice, and the
// map: the functions that send and receive, and what holds the service back. In
// a terminal, q quits, m shows the whole map, ? lists the other keys, and watch
// reconnects to a service that went away. It respects NO_COLOR.
//
// Flags may have one dash or two. "sluice help" lists the exit statuses: 0 for
// success, 1 if a measurement failed or, with -fail-on-regression, became worse,
// and if -fail-on found a problem, 2 if the command line, or a file or service on
// it, is invalid, 3 if noise or what is missing may hide a regression, and 130 after
// an interrupt.
//
// What may enter this package: flags, and the order of calls of the packages
// beside it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), interrupts()...)
	// After the first signal, a second one ends the program as usual.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// interrupts returns the signals that end a run in an orderly way. That
// includes the hang-up of a terminal, unless nohup ignores it.
func interrupts() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

type commands struct {
	Lab     labCommand     `cmd:"" help:"Repeat published experiments on this machine and report."`
	Compare compareCommand `cmd:"" help:"Report the differences between two runs, and whether they are noise."`
	Predict predictCommand `cmd:"" help:"Predict the peak of one channel and the gain of remedies, with bands."`
	Report  reportCommand  `cmd:"" help:"Write a report again from its results.json."`
	Doctor  doctorCommand  `cmd:"" help:"Find what holds a service back, and the remedies."`
	Watch   watchCommand   `cmd:"" help:"Show the channels of a running service, live."`

	Version    versionCommand    `cmd:"" help:"Print the version, for reports of faults."`
	Help       helpCommand       `cmd:"" help:"Show the help of a command, or this list."`
	Completion completionCommand `cmd:"" help:"Print a script that completes command lines in bash, zsh or fish."`
}

// exit carries kong's exit status to run.
type exit int

// run is the program. It returns the exit status.
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
	if len(args) > 1 && args[0] == completing {
		return complain(stderr, complete(stdout, args[1:]))
	}
	parser := newParser(&commands{}, streams{stdout, stderr})
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if args[0] == "-version" || args[0] == "--version" {
		args = []string{"version"}
	}
	command, err := parser.Parse(goFlags(args))
	if err == nil {
		err = noInput(command)
	}
	if err != nil {
		return complain(stderr, misused(parser, args, err))
	}
	command.Bind(parser)
	command.BindTo(ctx, (*context.Context)(nil))
	return complain(stderr, command.Run(streams{stdout, stderr}))
}

// newParser returns the parser of the command line. It panics if the
// declarations of the commands are wrong.
func newParser(cli *commands, to streams) *kong.Kong {
	return kong.Must(cli,
		kong.Name("sluice"),
		kong.Description("Measure what channels cost, and find what holds a service back."),
		kong.Help(printHelp),
		kong.Writers(to.stdout, to.stderr),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.Vars{"experiments": strings.Join(lab.Names(), ", ")},
	)
}

type streams struct{ stdout, stderr io.Writer }

// A usageError is a mistake on the command line.
type usageError struct {
	error
	command string // the command to mention for help, or ""
}

func (e usageError) Unwrap() error { return e.error }

// An inputError is an unusable file or flag value, with which the help for
// flags does not help.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// named returns the command at the start of args, or nil.
func named(parser *kong.Kong, args []string) *kong.Node {
	for _, command := range parser.Model.Children {
		if command.Name == args[0] {
			return command
		}
	}
	return nil
}

// misused returns the usage error for a command line that the parser refused.
func misused(parser *kong.Kong, args []string, err error) error {
	command := named(parser, args)
	switch {
	case command != nil:
		return usageError{errors.New(oneDash(mistake(command, args, err.Error()).Error())), command.Name}
	case args[0] == "-v" || args[0] == "-V":
		return usageError{error: fmt.Errorf("%s follows a command; the version is shown by 'sluice version'", args[0])}
	case strings.HasPrefix(args[0], "-"):
		return usageError{error: fmt.Errorf("unknown flag %s: flags follow a command, as in 'sluice lab -quick'", args[0])}
	}
	return usageError{error: format.Unknown("command", args[0], commandNames(parser))}
}

// noInput refuses the argument that often stands for the standard input. Only compare reads it.
func noInput(command *kong.Context) error {
	if command.Selected().Name == "compare" {
		return nil
	}
	for _, element := range command.Path {
		if element.Positional == nil {
			continue
		}
		names := []string{element.Positional.Target.String()}
		if list, ok := element.Positional.Target.Interface().([]string); ok {
			names = list
		}
		if slices.Contains(names, "-") {
			return errors.New(`"-" does not stand for the standard input: save it, and name the file`)
		}
	}
	return nil
}

// errInterrupted and errIncomplete end a run. Its report has the details.
var (
	errInterrupted = errors.New("interrupted")
	errIncomplete  = errors.New("some points could not be measured; the report lists them")
)

// complain writes err, if not nil, and returns the exit status.
func complain(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	text := err.Error()
	if path := new(fs.PathError); errors.As(err, &path) { // which call it was says nothing to a user
		text = strings.Replace(text, path.Error(), path.Path+": "+path.Err.Error(), 1)
	}
	text = "sluice: " + format.CleanLines(text) + "\n" // it may name files
	if isTerminal(stderr) {
		text = format.Wrap(strings.TrimSuffix(text, "\n"), screenOf(stderr).Width, 0, "  ")
	}
	io.WriteString(stderr, text)
	var usage usageError
	var input inputError
	switch {
	case errors.As(err, &usage):
		hint := "Run 'sluice help' for the commands."
		if usage.command != "" {
			hint = fmt.Sprintf("Run 'sluice %s -help' for the flags.", usage.command)
		}
		fmt.Fprintln(stderr, hint)
		return statusUsage
	case errors.As(err, &input):
		return statusUsage
	case errors.Is(err, errUndecided):
		return statusUndecided
	case errors.Is(err, errInterrupted):
		return statusInterrupted
	}
	return statusFailed
}

// goFlags permits long flags with one dash, as in Go's tools. kong alone would
// parse "-quick" as five flags of one letter each.
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
