// Trial evaluates the doctor on scenarios with known bottlenecks.
//
//	go run ./bench/doctorlab/trial -score bench/doctorlab/trial/testdata
//	go run ./bench/doctorlab/trial -live ledger
//	go run ./bench/doctorlab/trial -measure all -rounds 5
//	go run ./bench/doctorlab/trial -capture ledger,pump -o bench/doctorlab/trial/testdata
//	go run ./bench/doctorlab/trial -capture ledger -forms bare,quota -o bench/doctorlab/trial/testdata
//
// -score runs the doctor on fixtures, which are saved profiles of scenarios
// with the right answers, and prints how many answers are right, against a bar
// for each question. It separates the tuning set, on which rules may be tuned,
// from the held-out set, and scores each form of a fixture apart: full; bare,
// which is what a service shows with nothing but net/http/pprof; and quota, which
// is bare on 0.3 cores. Repeated captures of one service are scored by their
// agreement. -live runs a scenario, diagnoses it, applies the first
// remedy, and compares the measured with the predicted gain. -measure measures
// the gain of every remedy of a scenario; -capture does so too, and replaces
// the fixture of the scenario, for a new Go version or machine. Its quota form
// takes root on Linux.
//
// Scenarios are separated by commas; "all", "tuning" and "held-out" select
// sets.
//
// The exit status is 0 if the doctor reaches the bar, 1 if it does not or an
// error occurs, and 2 if the command line is wrong.
//
// This package holds the evaluation. It runs the doctor and the scenarios as
// programs, and reads the doctor's JSON output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, remove, err := workspace()
	if err != nil {
		fmt.Fprintf(os.Stderr, "trial: %v\n", err)
		os.Exit(statusFailed)
	}
	status := run(ctx, buildIn(dir), os.Args[1:], os.Stdout, os.Stderr)
	remove()
	os.Exit(status)
}

// Exit statuses.
const (
	statusFailed = 1
	statusUsage  = 2
)

// errBelow ends a trial whose output has the details.
var errBelow = errors.New("the doctor is below the bar")

// A usageError is a mistake on the command line.
type usageError struct{ error }

// options is the command line.
type options struct {
	score, live, measure, capture string
	out, forms                    string
	rounds                        int
}

// run runs the program and returns the exit status.
func run(ctx context.Context, build builder, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("trial", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.score, "score", "", "score the doctor on the fixtures in this `folder`")
	flags.StringVar(&o.live, "live", "", "evaluate the doctor on these `scenarios`, live")
	flags.StringVar(&o.measure, "measure", "", "measure the gains of all remedies of these `scenarios`")
	flags.StringVar(&o.capture, "capture", "", "capture the fixtures of these `scenarios`")
	flags.StringVar(&o.out, "o", "", "the `folder` for captured fixtures")
	flags.StringVar(&o.forms, "forms", allForms, "capture these `forms` of the fixtures, and keep the others")
	flags.IntVar(&o.rounds, "rounds", usualRounds, "how many times each remedy is measured")
	if err := flags.Parse(args); err != nil {
		return statusUsage
	}
	err := o.check(flags.Args())
	if err == nil {
		err = o.run(ctx, build, stdout)
	}
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "trial: %v\n", err)
		return statusUsage
	}
	fmt.Fprintf(stderr, "trial: %v\n", err)
	return statusFailed
}

func (o *options) check(rest []string) error {
	asked := 0
	for _, flag := range []string{o.score, o.live, o.measure, o.capture} {
		if flag != "" {
			asked++
		}
	}
	switch {
	case len(rest) > 0:
		return usageError{fmt.Errorf("unexpected argument %q", rest[0])}
	case asked != 1:
		return usageError{errors.New("want exactly one of -score, -live, -measure and -capture")}
	case o.capture != "" && o.out == "":
		return usageError{errors.New("-capture requires -o")}
	case o.forms != allForms && o.capture == "":
		return usageError{errors.New("-forms requires -capture")}
	case o.rounds < 1 || o.rounds > 100:
		return usageError{fmt.Errorf("invalid -rounds %d (want 1 to 100)", o.rounds)}
	}
	if err := checkForms(o.forms); err != nil {
		return usageError{err}
	}
	return o.checkFolder()
}

// checkFolder checks, before anything is built or measured, that the folder has
// fixtures or exists.
func (o *options) checkFolder() (err error) {
	switch {
	case o.score != "":
		_, err = fixtures(o.score)
	case o.capture != "":
		err = os.MkdirAll(o.out, 0o755)
	}
	if err != nil {
		return usageError{err}
	}
	return nil
}

// programs are the built programs.
type programs struct {
	doctor, scenario string
}

func (o *options) run(ctx context.Context, build builder, stdout io.Writer) (err error) {
	var built programs
	if o.measure == "" {
		if built.doctor, err = build(ctx, doctor); err != nil {
			return err
		}
	}
	if o.score != "" {
		all, err := score(ctx, stdout, built.doctor, o.score)
		if err == nil && !all.reached() {
			err = errBelow
		}
		return err
	}
	var flags []string
	if o.capture != "" {
		flags = append(flags, withoutPaths)
	}
	if built.scenario, err = build(ctx, scenarioProgram, flags...); err != nil {
		return err
	}
	all, err := scenarios(ctx, built.scenario)
	if err != nil {
		return err
	}
	chosen, err := choose(all, o.live+o.measure+o.capture)
	if err != nil {
		return usageError{err}
	}
	for _, p := range chosen {
		if err := o.try(ctx, stdout, built, p); err != nil {
			return err
		}
	}
	return nil
}

// try runs the requested command on one scenario.
func (o *options) try(ctx context.Context, stdout io.Writer, built programs, p scenario) error {
	switch {
	case o.live != "":
		return tryLive(ctx, stdout, built, p, captureSeconds, o.rounds)
	case o.capture != "":
		return capture(ctx, stdout, built, p, o.out, o.forms, o.rounds)
	}
	rate, gains, err := measure(ctx, nil, built.scenario, p.Name, p.Remedies, o.rounds)
	if err != nil {
		return err
	}
	t := newTruth(p, rate, gains)
	fmt.Fprintf(stdout, "%s: %s\n", p.Name, summary(t))
	return t.check()
}

// choose returns the scenarios in a comma-separated list.
func choose(all []scenario, list string) (chosen []scenario, err error) {
	for name := range strings.SplitSeq(list, ",") {
		found := slices.DeleteFunc(slices.Clone(all), func(p scenario) bool {
			switch name {
			case "all":
				return false
			case tuningSet.name:
				return p.HeldOut
			case heldOutSet.name:
				return !p.HeldOut
			}
			return p.Name != name
		})
		if len(found) == 0 {
			return nil, fmt.Errorf("unknown scenario %q (scenario -list lists them)", name)
		}
		chosen = append(chosen, found...)
	}
	return chosen, nil
}
