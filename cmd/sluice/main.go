// Sluice measures the cost of channels on a machine, compares measurements,
// predicts how a channel scales, and finds what holds a running service back.
//
//	sluice lab       repeats published experiments on this machine, and writes a report
//	sluice report    writes that report again, from its results.json
//	sluice compare   shows the differences between two runs, and whether they are noise
//	sluice predict   predicts the peak of one channel, and the gain of remedies, with bands
//	sluice doctor    finds what holds a running service back, and what to change
//	sluice watch     shows the channels of a running service, live in the terminal
//
// "sluice help" lists the commands and the exit statuses, and "sluice help lab" has the
// flags of one, what it reads and writes, and examples. docs/doctor.md has more, and
// docs/releases.md the command that installs it.
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
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/watch"
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
		return complain(stderr, "", complete(stdout, args[1:]))
	}
	parser := newParser(&commands{}, streams{stdout, stderr})
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if args[0] == "-version" || args[0] == "--version" {
		args = []string{"version"}
	}
	name := ""
	if named(parser, args[0]) != nil {
		name = args[0]
	}
	command, err := parser.Parse(goFlags(args))
	if err != nil {
		return complain(stderr, name, misused(parser, args, err))
	}
	command.Bind(parser)
	command.BindTo(ctx, (*context.Context)(nil))
	return complain(stderr, name, command.Run(streams{stdout, stderr}))
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
		kong.Vars{
			"experiments": strings.Join(lab.Names(), ", "),
			"kinds":       alternatives(watch.Kinds()),
			"sortings":    alternatives(watch.Sortings()),
		},
	)
}

// alternatives joins words: "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

type streams struct{ stdout, stderr io.Writer }

// write writes an answer in the requested form.
func (to streams) write(answer interface {
	WriteText(w io.Writer, width int, details bool) error
}, json, details bool) error {
	if json {
		return format.WriteJSON(to.stdout, answer)
	}
	return answer.WriteText(to.stdout, screenOf(to.stdout).Width, details)
}

// A failure is an error with an exit status.
type failure struct {
	error
	status int
	usage  bool // the help for the flags helps
}

func (f failure) Unwrap() error { return f.error }

// usage returns the error for a mistake on the command line.
func usage(format string, args ...any) error {
	return failure{fmt.Errorf(format, args...), statusUsage, true}
}

// unusable returns the error for an unusable file or flag value, with which the help for
// flags does not help.
func unusable(err error) error { return failure{err, statusUsage, false} }

// named returns the command with a name, or nil.
func named(parser *kong.Kong, name string) *kong.Node {
	for _, command := range parser.Model.Children {
		if command.Name == name {
			return command
		}
	}
	return nil
}

// misused returns the usage error for a command line that the parser refused.
func misused(parser *kong.Kong, args []string, err error) error {
	command := named(parser, args[0])
	switch {
	case command != nil:
		return usage("%s", oneDash(mistake(command, args, err.Error()).Error()))
	case args[0] == "-v" || args[0] == "-V":
		return usage("%s follows a command; the version is shown by 'sluice version'", args[0])
	case strings.HasPrefix(args[0], "-"):
		return usage("unknown flag %s: flags follow a command, as in 'sluice lab -quick'", args[0])
	}
	return usage("%w", format.Unknown("command", args[0], commandNames(parser)))
}

// errInterrupted and errIncomplete end a run. Its report has the details.
var (
	errInterrupted = failure{errors.New("interrupted"), statusInterrupted, false}
	errIncomplete  = errors.New("some points could not be measured; the report lists them")
)

// complain writes err of a command, if not nil, and returns the exit status.
func complain(stderr io.Writer, command string, err error) int {
	if err == nil {
		return 0
	}
	text := err.Error()
	if path := new(fs.PathError); errors.As(err, &path) { // which call it was says nothing to a user
		text = strings.Replace(text, path.Error(), path.Path+": "+path.Err.Error(), 1)
	}
	text = "sluice: " + format.CleanLines(text) + "\n" // it may name files
	if _, terminal := format.Terminal(stderr); terminal {
		text = format.Wrap(strings.TrimSuffix(text, "\n"), screenOf(stderr).Width, 0, "  ")
	}
	io.WriteString(stderr, text)
	failed := failure{status: statusFailed}
	switch errors.As(err, &failed); {
	case failed.usage && (command == "" || command == "help"):
		fmt.Fprintln(stderr, "Run 'sluice help' for the commands.")
	case failed.usage:
		fmt.Fprintf(stderr, "Run 'sluice %s -help' for the flags.\n", command)
	}
	return failed.status
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
