// Trial tries the doctor on scenarios whose illness is known.
//
//	go run ./bench/doctorlab/trial -score bench/doctorlab/trial/testdata
//	go run ./bench/doctorlab/trial -live ledger
//	go run ./bench/doctorlab/trial -measure all -rounds 5
//	go run ./bench/doctorlab/trial -capture ledger,pump -o bench/doctorlab/trial/testdata
//
// -score asks the doctor about fixtures, which are what scenarios have shown of
// themselves and the right answers beside it, and prints how many of its answers
// are right, against a bar for each question. It keeps apart those that rules may be tuned on and those that they
// may not. -live does the same with a scenario that runs: it asks the doctor about it,
// applies the remedy that is named, and measures the gain beside the one predicted.
// -measure measures the gain of every remedy of a scenario; -capture does that too
// and makes the scenario's fixture anew, for the next Go or for another machine.
//
// Several scenarios are named with commas between them; "all", "tuning" and
// "held-out" name many.
//
// The exit status is 0 if the doctor is good enough, 1 if it is not or something
// failed, 2 if the command line is wrong.
//
// What may enter: what is needed for trials. The scenarios are in package scenario;
// what the doctor thinks is known only from what it prints.
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
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exit statuses.
const (
	statusFailed = 1
	statusUsage  = 2
)

// errBelow ends a trial whose output tells the rest.
var errBelow = errors.New("the doctor is not good enough")

// A usageError is a mistake on the command line.
type usageError struct{ error }

// options is the command line.
type options struct {
	score, live, measure, capture string
	out                           string
	rounds                        int
}

// run is the program: it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("trial", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.score, "score", "", "score the doctor on the fixtures in this `folder`")
	flags.StringVar(&o.live, "live", "", "try the doctor on these `scenarios`, running")
	flags.StringVar(&o.measure, "measure", "", "measure the gains of all remedies of these `scenarios`")
	flags.StringVar(&o.capture, "capture", "", "make the fixtures of these `scenarios` anew")
	flags.StringVar(&o.out, "o", "", "the `folder` to put fixtures in")
	flags.IntVar(&o.rounds, "rounds", usualRounds, "how often each remedy is measured")
	if err := flags.Parse(args); err != nil {
		return statusUsage
	}
	err := o.check(flags.Args())
	if err == nil {
		err = o.run(ctx, stdout)
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
		return usageError{fmt.Errorf("what is %q?", rest[0])}
	case asked != 1:
		return usageError{errors.New("give one of -score, -live, -measure and -capture")}
	case o.capture != "" && o.out == "":
		return usageError{errors.New("-capture needs a folder: -o")}
	case o.rounds < 1 || o.rounds > 100:
		return usageError{fmt.Errorf("-rounds is %d, not from 1 to 100", o.rounds)}
	}
	return o.checkFolder()
}

// checkFolder makes sure, before anything is built or measured, that there are
// fixtures to score, or that there is a folder to put them in.
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

func (o *options) run(ctx context.Context, stdout io.Writer) error {
	dir, remove, err := workspace()
	if err != nil {
		return err
	}
	defer remove()
	var built programs
	if o.measure == "" {
		if built.doctor, err = buildDoctor(ctx, dir); err != nil {
			return err
		}
	}
	if o.score != "" {
		sheets, err := score(ctx, stdout, built.doctor, o.score)
		if err == nil && slices.ContainsFunc(sheets, func(s *sheet) bool { return !s.reached() }) {
			err = errBelow
		}
		return err
	}
	if built.scenario, err = buildScenarios(ctx, dir); err != nil {
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

// try does with one scenario what is asked for.
func (o *options) try(ctx context.Context, stdout io.Writer, built programs, p scenario) error {
	switch {
	case o.live != "":
		return tryLive(ctx, stdout, built, p, o.rounds)
	case o.capture != "":
		return capture(ctx, stdout, built, p, o.out, o.rounds)
	}
	rate, gains, err := measure(ctx, built.scenario, p.Name, p.Remedies, o.rounds)
	if err != nil {
		return err
	}
	t := newTruth(p, rate, gains)
	fmt.Fprintf(stdout, "%s: %s\n", p.Name, summary(t))
	return t.check()
}

// choose returns the scenarios that are named in a list with commas.
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
			return nil, fmt.Errorf("no scenario is called %q: scenario -list knows them", name)
		}
		chosen = append(chosen, found...)
	}
	return chosen, nil
}
