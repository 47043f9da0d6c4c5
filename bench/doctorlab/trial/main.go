// Trial scores the doctor on small services, each of which has one known bottleneck, or none.
//
//	go run ./bench/doctorlab/trial -capture all -o DIR
//	go run ./bench/doctorlab/trial -score DIR
//	go run ./bench/doctorlab/trial -live sensors,worker
//	go run ./bench/doctorlab/trial -measure all
//	go run ./bench/doctorlab/trial -list
//	go run ./bench/doctorlab/trial -serve sensors -remedy batch -addr localhost:6060
//
// -capture saves two observations of each service as found, of separate runs. -score runs the
// doctor on them and prints how often it is right, abstains and is wrong, for both halves of
// the services, beside what is due. -live diagnoses a running service, builds the first remedy
// in, and compares the gain with the prediction. -measure measures the gain of each remedy that
// is built, in alternating runs, and keeps the medians in a file, which -score reads. -list
// prints the services with the right answers, and -serve runs one.
//
// Services are named by their names, shapes or halves, separated by commas, or "all".
//
// The exit status is 0 if the held-out half is as right as is due, 1 if it is not or
// something failed, and 2 if the command line is wrong.
//
// The file table.go has all services by shape, with the right answers; service.go has what
// they are made of; calm.go, costs.go, limits.go, passing.go, stages.go and stuck.go have a
// function for each service. A service asks which remedy is in force, and is otherwise
// written as a team might write it. No name gives its problem away. Its partners outside,
// such as a database, are other processes: package remote.
//
// This program runs the doctor as a program, and knows its JSON form and none of its types: a
// renamed field fails the trial, as it fails other readers.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/command"
	"github.com/sluice-go/sluice/bench/doctorlab/remote"
)

func main() {
	if remote.IsChild() {
		remote.Child()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(command.Status("trial", run(ctx, os.Args[1:], os.Stdout), os.Stderr))
}

// The programs.
const (
	module        = "github.com/sluice-go/sluice"
	doctorProgram = module + "/cmd/sluice"
	trialProgram  = home + "trial"
)

// errBelow ends a trial whose output has the details.
var errBelow = errors.New("the doctor is below what is due")

// options is the command line.
type options struct {
	score, live, measure, capture, serve string
	list                                 bool
	out, gains, sluice, remedy, addr     string
	rounds, seconds                      int
	life                                 time.Duration
}

// run runs the program.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("trial", flag.ContinueOnError)
	flags.StringVar(&o.score, "score", "", "score the doctor on the observations in this `folder`")
	flags.StringVar(&o.live, "live", "", "diagnose these `services` live, and measure the first remedy")
	flags.StringVar(&o.measure, "measure", "", "measure the gains of all remedies of these `services`")
	flags.StringVar(&o.capture, "capture", "", "save two observations of these `services`")
	flags.BoolVar(&o.list, "list", false, "print all services with their right answers, as JSON")
	flags.StringVar(&o.serve, "serve", "", "run the `service` with this name")
	flags.StringVar(&o.remedy, "remedy", "", "the `name` of one of its remedies")
	flags.StringVar(&o.addr, "addr", "localhost:0", "the `address` to serve on")
	flags.DurationVar(&o.life, "for", time.Hour, "end the service after this time, so that no process is left behind")
	flags.StringVar(&o.out, "o", "", "the `folder` for observations")
	flags.StringVar(&o.gains, "gains", "", "the `file` with measured gains; gains.json of the lab by default")
	flags.StringVar(&o.sluice, "sluice", "", "the doctor's `program`; built by default")
	flags.IntVar(&o.rounds, "rounds", 5, "how many times each remedy is measured")
	flags.IntVar(&o.seconds, "seconds", 0, "the length of an observation; 0 for the doctor's default")
	if err := command.Parse(flags, args, stdout); err != nil {
		return err
	}
	if err := o.check(flags.Args()); err != nil {
		return err
	}
	return o.run(ctx, stdout)
}

func (o *options) check(rest []string) error {
	asked := 0
	for _, ask := range []bool{o.score != "", o.live != "", o.measure != "", o.capture != "", o.serve != "", o.list} {
		if ask {
			asked++
		}
	}
	switch {
	case len(rest) > 0:
		return command.Misused("unexpected argument %q", rest[0])
	case asked != 1:
		return command.Misused("want exactly one of -score, -live, -measure, -capture, -list and -serve")
	case (o.capture != "") != (o.out != ""):
		return command.Misused("-capture requires -o, and nothing else has it")
	case o.rounds < 1 || o.rounds > 100 || o.seconds < 0:
		return command.Misused("invalid -rounds %d or -seconds %d (want 1 to 100, and 0 or more)", o.rounds, o.seconds)
	}
	return nil
}

// A lab is what a trial works with.
type lab struct {
	stdout   io.Writer
	doctor   string // programs
	program  string // of the services
	services []description
	gains    *Gains
	seconds  int
}

func (o *options) run(ctx context.Context, stdout io.Writer) error {
	l := &lab{stdout: stdout, doctor: o.sluice, services: all(), seconds: o.seconds}
	switch {
	case o.list:
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "\t")
		return encoder.Encode(l.services)
	case o.serve != "":
		ctx, cancel := context.WithTimeout(ctx, o.life)
		defer cancel()
		return serve(ctx, o.serve, o.remedy, o.addr, stdout)
	}
	dir, err := os.MkdirTemp("", "sluice-trial")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if l.doctor == "" && o.measure == "" {
		if l.doctor, err = build(ctx, dir, doctorProgram); err != nil {
			return err
		}
	}
	if o.gains == "" {
		out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", trialProgram).Output()
		if err != nil {
			return fmt.Errorf("finding the lab: %w", err)
		}
		o.gains = filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "gains.json")
	}
	if l.gains, err = readGains(o.gains); err != nil {
		return err
	}
	if o.score != "" {
		return l.score(ctx, o.score)
	}
	chosen, err := l.choose(o.live + o.measure + o.capture)
	if err != nil {
		return command.Misused("%w", err)
	}
	if l.program, err = build(ctx, dir, trialProgram); err != nil {
		return err
	}
	var failed []error
	for _, s := range chosen {
		var err error
		switch {
		case o.live != "":
			err = l.live(ctx, &s, o.rounds)
		case o.capture != "":
			err = l.capture(ctx, &s, o.out)
		default:
			if err = l.measure(ctx, &s, s.remedies(), o.rounds); err == nil {
				err = l.gains.write(o.gains) // after each, as all take long
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(stdout, "%s: %v\n", s.Name, err)
			failed = append(failed, fmt.Errorf("%s: %w", s.Name, err))
		}
	}
	return errors.Join(failed...)
}

// build builds a program, without local paths, which its profiles would have.
func build(ctx context.Context, dir, pkg string) (string, error) {
	program := filepath.Join(dir, path.Base(pkg)+".exe")
	if out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, pkg).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return program, nil
}

// choose returns the services in a list of names, shapes and halves.
func (l *lab) choose(names string) (chosen []description, err error) {
	for name := range strings.SplitSeq(names, ",") {
		found := slices.DeleteFunc(slices.Clone(l.services), func(s description) bool {
			return name != "all" && name != s.Name && name != s.Shape && name != string(s.Half)
		})
		if len(found) == 0 {
			return nil, fmt.Errorf("unknown service %q (-list prints all of them)", name)
		}
		chosen = append(chosen, found...)
	}
	return chosen, nil
}
