package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
	"github.com/sluice-go/sluice/cmd/sluice/internal/doctor"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

type doctorCommand struct {
	Targets []string `arg:"" name:"target" help:"Address of a service's /debug/pprof (a URL, host:port or :port), or saved files and folders of one service."`
	Seconds int      `default:"5" help:"How long to watch a service, in seconds. Default: ${default}."`
	Metrics string   `placeholder:"PATH" help:"Page of the service that has its runtime/metrics, as JSON or for Prometheus. Default: /debug/metrics, /metrics or /debug/vars."`
	Block   bool     `help:"Read the block profile too, if the service takes one: that costs busy channels half their speed."`
	Trace   bool     `help:"Take an execution trace too, of two seconds at most: it slows a busy service down meanwhile."`
	Cheap   bool     `help:"Take no trace that was not asked for. Otherwise one of half a second at most is taken where a finding hangs on it."`
	Save    string   `placeholder:"DIR" help:"Keep what the service sent in this new folder, to be read again later."`
	Prices  string   `placeholder:"FILE" help:"Compute gains from this results.json of sluice lab, best of a run on the service's machine."`
	HTML    string   `name:"html" placeholder:"FILE" help:"Write a page too."`
	JSON    bool     `name:"json" help:"Write JSON instead of text."`
}

// Limits of -seconds.
const maxWatch = 600

// Run reads, and says what is wrong.
func (c *doctorCommand) Run(ctx context.Context, to streams) error {
	prices := doctor.Reference()
	if c.Prices != "" { // now, and not after the service was troubled in vain
		var err error
		if prices, err = doctor.ReadPrices(c.Prices); err != nil {
			return inputError{err}
		}
	}
	if c.HTML != "" { // now, too
		if err := report.Replaceable(c.HTML); err != nil {
			return inputError{err}
		}
	}
	diagnosis, err := c.diagnose(ctx, prices, to)
	if err != nil {
		return explain(ctx, err)
	}
	write := diagnosis.WriteText
	if c.JSON {
		write = diagnosis.WriteJSON
	}
	if err := write(to.stdout); err != nil || c.HTML == "" {
		return err
	}
	if err := diagnosis.WritePageFile(c.HTML); err != nil {
		return inputError{err}
	}
	return nil
}

// explain says which errors are the target's, or the command line's, and which
// are not.
func explain(ctx context.Context, err error) error {
	var file *profile.FileError
	var path *fs.PathError
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case errors.As(err, &file), errors.As(err, &path):
		return inputError{err}
	}
	return err
}

// diagnose reads saved files, or watches a service.
func (c *doctorCommand) diagnose(ctx context.Context, prices doctor.Prices, to streams) (*doctor.Diagnosis, error) {
	if c.Seconds < 1 || c.Seconds > maxWatch {
		return nil, c.misused("-seconds must be from 1 to %d", maxWatch)
	}
	live := 0
	for _, target := range c.Targets {
		if _, err := os.Stat(target); err != nil && address.Like(target) {
			live++
		}
	}
	if live == 0 {
		if c.Save != "" || c.Block || c.Trace || c.Cheap || c.Metrics != "" {
			return nil, c.misused("-save, -block, -trace, -cheap and -metrics are for a service, and there is no address of one")
		}
		capture, err := profile.Open(c.Targets...)
		if err != nil {
			return nil, err
		}
		return doctor.Diagnose(capture, prices), nil
	}
	if len(c.Targets) > 1 {
		return nil, c.misused("one service at a time, or files: an address goes with nothing else")
	}
	service, err := profile.At(c.Targets[0], c.Metrics)
	if err != nil {
		return nil, usageError{error: err, command: "doctor"}
	}
	return c.watch(ctx, service, prices, to)
}

func (c *doctorCommand) misused(format string, args ...any) error {
	return usageError{error: fmt.Errorf(format, args...), command: "doctor"}
}

// watch watches a service, gets what a finding hangs on, and keeps what it sent if
// that was asked for.
func (c *doctorCommand) watch(ctx context.Context, service *profile.Service, prices doctor.Prices, to streams) (*doctor.Diagnosis, error) {
	if c.Save != "" {
		// Now, and not after the service was troubled in vain.
		if err := profile.Vacant(c.Save); err != nil {
			return nil, err
		}
	}
	var extra []profile.Kind
	if c.Block {
		extra = append(extra, profile.KindBlock)
	}
	if c.Trace {
		extra = append(extra, profile.KindTrace)
	}
	fmt.Fprintf(to.stderr, "watching %s for %d s\n", service.Target(), c.Seconds)
	capture, err := service.Watch(ctx, time.Duration(c.Seconds)*time.Second, extra...)
	if err != nil {
		return nil, err
	}
	diagnosis := doctor.Diagnose(capture, prices)
	if want := diagnosis.Need(); want != nil && !c.Cheap {
		if diagnosis, err = c.decide(ctx, service, prices, want, to); err != nil {
			return nil, err
		}
	}
	if c.Save == "" {
		return diagnosis, nil
	}
	if err := service.Save(c.Save); err != nil {
		return nil, err
	}
	fmt.Fprintf(to.stderr, "saved in %s\n", c.Save)
	return diagnosis, nil
}

// decidingTrace is how long a trace may be that nobody asked for.
const decidingTrace = 500 * time.Millisecond

// decide takes what a finding hangs on, and judges again.
func (c *doctorCommand) decide(ctx context.Context, service *profile.Service, prices doctor.Prices, want *doctor.Need, to streams) (*doctor.Diagnosis, error) {
	fmt.Fprintf(to.stderr, "taking a %s of %s at most: it decides %s\n", want.Kind, decidingTrace, want.What)
	capture, err := service.More(ctx, want.Kind, decidingTrace)
	if err != nil {
		return nil, err
	}
	diagnosis := doctor.Diagnose(capture, prices)
	if capture.Trace != nil { // else it is said to be missing
		diagnosis.Taken = append(diagnosis.Taken, fmt.Sprintf("a trace of %s, which decides %s",
			capture.Trace.Window.Round(time.Millisecond), want.What))
	}
	return diagnosis, nil
}

// Help is shown below the flags.
func (doctorCommand) Help() string {
	return strings.TrimSpace(`
Examples:
  sluice doctor localhost:6060                 watch a service for five seconds
  sluice doctor -save monday localhost:6060    and keep what it sent
  sluice doctor monday                         read that again
  sluice doctor -html page.html monday         and write a page
  sluice doctor cpu.pprof goroutines.txt       read what you have

The service must import net/http/pprof, and need not use sluice. Profiles are
only read: no setting of the service is changed. Where a finding hangs on it, a
trace of half a second at most is taken; -cheap forbids that. The more it shows, the more can
be said: runtime.SetMutexProfileFraction for the mutex profile, and a page with
its runtime/metrics.
`)
}
