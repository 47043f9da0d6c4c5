package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/finding"
	"github.com/sluice-go/sluice/cmd/sluice/profile"
)

type doctorCommand struct {
	Targets []string `arg:"" name:"target" help:"Address of a service's /debug/pprof (a URL, host:port or :port), or saved files and folders of one service."`
	Seconds int      `default:"5" help:"How long to watch a service, in seconds. Default: ${default}."`
	Metrics string   `placeholder:"PATH" help:"Page of the service that has its runtime/metrics, as JSON or for Prometheus. Default: /debug/metrics, /metrics or /debug/vars."`
	Block   bool     `help:"Read the block profile too, if the service takes one: that costs busy channels half their speed."`
	Trace   bool     `help:"Take an execution trace too, of two seconds at most: it slows a busy service down meanwhile."`
	Save    string   `placeholder:"DIR" help:"Keep what the service sent in this new folder, to be read again later."`
	Prices  string   `placeholder:"FILE" help:"Compute gains from this results.json of sluice lab, best of a run on the service's machine."`
	HTML    string   `name:"html" placeholder:"FILE" help:"Write a page too."`
	JSON    bool     `name:"json" help:"Write JSON instead of text."`
}

// Limits of -seconds.
const maxWatch = 600

// Run reads, and says what is wrong.
func (c *doctorCommand) Run(ctx context.Context, to streams) error {
	prices := finding.Reference()
	if c.Prices != "" { // now, and not after the service was troubled in vain
		var err error
		if prices, err = finding.ReadPrices(c.Prices); err != nil {
			return inputError{err}
		}
	}
	capture, err := c.capture(ctx, to)
	if err != nil {
		return explain(ctx, err)
	}
	diagnosis := finding.Diagnose(capture, prices)
	if c.HTML != "" {
		if err := diagnosis.WritePageFile(c.HTML); err != nil {
			return inputError{err}
		}
	}
	if c.JSON {
		return diagnosis.WriteJSON(to.stdout)
	}
	return diagnosis.WriteText(to.stdout)
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

// capture reads saved files, or watches a service.
func (c *doctorCommand) capture(ctx context.Context, to streams) (*profile.Capture, error) {
	if c.Seconds < 1 || c.Seconds > maxWatch {
		return nil, c.misused("-seconds must be from 1 to %d", maxWatch)
	}
	live := 0
	for _, target := range c.Targets {
		if _, err := os.Stat(target); err != nil && profile.IsAddress(target) {
			live++
		}
	}
	if live == 0 {
		if c.Save != "" || c.Block || c.Trace || c.Metrics != "" {
			return nil, c.misused("-save, -block, -trace and -metrics are for a service, and there is no address of one")
		}
		return profile.Open(c.Targets...)
	}
	if len(c.Targets) > 1 {
		return nil, c.misused("one service at a time, or files: an address goes with nothing else")
	}
	service, err := profile.At(c.Targets[0], c.Metrics)
	if err != nil {
		return nil, usageError{error: err, command: "doctor"}
	}
	return c.watch(ctx, service, to)
}

func (c *doctorCommand) misused(format string, args ...any) error {
	return usageError{error: fmt.Errorf(format, args...), command: "doctor"}
}

// watch watches a service, and keeps what it sent if that was asked for.
func (c *doctorCommand) watch(ctx context.Context, service *profile.Service, to streams) (*profile.Capture, error) {
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
	if c.Save == "" {
		return capture, nil
	}
	if err := service.Save(c.Save); err != nil {
		return nil, err
	}
	fmt.Fprintf(to.stderr, "saved in %s\n", c.Save)
	return capture, nil
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
only read: no setting of the service is changed. The more it shows, the more can
be said: runtime.SetMutexProfileFraction for the mutex profile, and a page with
its runtime/metrics.
`)
}
