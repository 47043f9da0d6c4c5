package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
	"github.com/sluice-go/sluice/cmd/sluice/internal/doctor"
	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

type doctorCommand struct {
	Targets []string `arg:"" name:"target" help:"Address of a service's /debug/pprof (URL, host:port or :port), or saved files and folders of one service."`
	Seconds int      `default:"5" help:"How long to observe a service, in seconds. Default: ${default}."`
	Metrics string   `placeholder:"PAGE" help:"Page with the service's runtime/metrics, in JSON or the text format of Prometheus: a path, or an address on any port of the same host, such as :9090/metrics. Default: /debug/metrics, /metrics or /debug/vars."`
	Block   bool     `help:"Also read the block profile, if the service enables it. (Enabled, it halves the speed of busy channels.)"`
	Trace   bool     `help:"Also take an execution trace of at most two seconds. It slows a busy service meanwhile."`
	Cheap   bool     `help:"Never take a trace without -trace. By default, the doctor takes one of at most half a second if it decides a finding, and of 20 milliseconds if nothing else has GOMAXPROCS."`
	Save    string   `placeholder:"DIR" help:"Save the profiles in this new folder, to be read again later."`
	Prices  string   `placeholder:"FILE" help:"Predict gains from this results.json of sluice lab, or from the one in this folder, ideally from a run on the service's machine."`
	HTML    string   `name:"html" placeholder:"FILE" help:"Also write an HTML page."`
	JSON    bool     `name:"json" help:"Write JSON instead of text."`
	Compare bool     `help:"Compare two saved captures of a service, before and after a change."`
	FailOn  string   `name:"fail-on" placeholder:"found" enum:",found" default:"" help:"Exit with status 1 if channels are a problem, and 3 if too little was seen to decide."`
	Verbose bool     `short:"v" help:"Write all of the text, not one screen: all findings with their evidence, the operations by cost, and what is unknown."`
}

// maxWatch is the upper limit of -seconds.
const maxWatch = 600

// Run diagnoses the target, or compares two, and writes the result.
func (c *doctorCommand) Run(ctx context.Context, to streams) error {
	var prices doctor.Prices
	if c.Prices == "" {
		prices = referencePrices()
	} else { // before the service is disturbed
		var err error
		if prices, err = doctor.ReadPrices(c.Prices); err != nil {
			return inputError{err}
		}
	}
	if c.Compare {
		return explain(ctx, c.compare(prices, to))
	}
	if c.HTML != "" { // likewise
		if err := report.Replaceable(c.HTML); err != nil {
			return inputError{err}
		}
	}
	diagnosis, err := c.diagnose(ctx, prices, to)
	if err != nil {
		return explain(ctx, err)
	}
	if err := c.write(diagnosis, to); err != nil {
		return err
	}
	if c.FailOn == "" {
		return nil
	}
	return found(diagnosis)
}

// referencePrices returns the prices of the reference machine, with the newest run
// of the lab in the working folder: the text says how to use that instead.
func referencePrices() doctor.Prices {
	prices, run := doctor.Reference(), report.Newest(usualOut)
	if _, err := os.Stat(filepath.Join(run, report.JSONFile)); err != nil {
		return prices
	}
	return prices.Beside(run)
}

// write writes the diagnosis in the requested forms.
func (c *doctorCommand) write(diagnosis *doctor.Diagnosis, to streams) error {
	write := diagnosis.WriteSummary
	switch {
	case c.JSON:
		write = diagnosis.WriteJSON
	case c.Verbose:
		write = diagnosis.WriteText
	}
	if err := write(to.stdout); err != nil || c.HTML == "" {
		return err
	}
	if err := diagnosis.WritePageFile(c.HTML); err != nil {
		return inputError{err}
	}
	return nil
}

// errFound ends a diagnosis with -fail-on that found a problem.
var errFound = errors.New("a problem with channels was found")

// found returns an error unless channels are no problem. A check that passes
// because it saw too little is no check, so an unknown answer is an error, too.
func found(diagnosis *doctor.Diagnosis) error {
	switch diagnosis.Verdict {
	case doctor.Yes, doctor.Partly:
		return errFound
	case doctor.No:
		return nil
	}
	return fmt.Errorf("%w: too little was seen to decide whether channels are a problem", errUndecided)
}

// compare compares two saved captures.
func (c *doctorCommand) compare(prices doctor.Prices, to streams) error {
	if len(c.Targets) != 2 {
		return c.misused("-compare requires two saved captures, BEFORE and AFTER (have %d): save them with -save", len(c.Targets))
	}
	if c.HTML != "" || c.FailOn != "" || c.live() {
		return c.misused("-compare cannot be combined with -html, -fail-on and the flags for the address of a service")
	}
	var sides [2]*profile.Capture
	for i, target := range c.Targets {
		if _, err := os.Stat(target); err != nil && address.Like(target) {
			return c.misused("-compare reads saved captures: first save the service's with 'sluice doctor -save DIR %s'", target)
		}
		var err error
		if sides[i], err = profile.Open(target); err != nil {
			return err
		}
	}
	comparison := doctor.Compare(sides[0], sides[1], prices)
	if c.JSON {
		return comparison.WriteJSON(to.stdout)
	}
	return comparison.WriteText(to.stdout)
}

// live reports whether a flag was given that only a service's address takes.
func (c *doctorCommand) live() bool {
	return c.Save != "" || c.Block || c.Trace || c.Cheap || c.Metrics != ""
}

// explain classifies errors of the target and of the command line.
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

// diagnose reads saved files, or observes a service.
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
		if c.live() {
			return nil, c.misused("-save, -block, -trace, -cheap and -metrics require the address of a service")
		}
		capture, err := profile.Open(c.Targets...)
		if errors.Is(err, fs.ErrNotExist) {
			err = missing(c.Targets, err)
		}
		if err != nil {
			return nil, err
		}
		return doctor.Diagnose(capture, prices), nil
	}
	if len(c.Targets) > 1 {
		return nil, c.misused("an address cannot be combined with other targets")
	}
	service, err := profile.At(c.Targets[0], c.Metrics)
	if err != nil {
		return nil, usageError{error: err, command: "doctor"}
	}
	machine := host.NewWatch()
	service.Busy = func() (seconds float64, cpus int, ok bool) {
		others := machine.Read().Others
		if others == nil {
			return 0, 0, false
		}
		return *others, machine.CPUs(), true
	}
	return c.watch(ctx, service, prices, to)
}

// missing adds to an error of a file that does not exist what may have been
// meant: most targets are addresses.
func missing(targets []string, err error) error {
	for _, target := range targets {
		if _, statErr := os.Stat(target); statErr == nil {
			continue
		}
		host, port, split := strings.Cut(target, ":")
		number, portErr := strconv.Atoi(cmp.Or(port, host))
		switch {
		case portErr == nil && (number < 1 || number > maxPort):
			return fmt.Errorf("%w (a port is from 1 to %d)", err, maxPort)
		case !split && portErr == nil:
			return fmt.Errorf("%w (the service on this port of this machine is :%d)", err, number)
		case !split && !strings.ContainsAny(target, `/\`):
			return fmt.Errorf("%w (if it is a host, add the port: %s:6060)", err, target)
		}
	}
	return err
}

const maxPort = 65535

func (c *doctorCommand) misused(format string, args ...any) error {
	return usageError{error: fmt.Errorf(format, args...), command: "doctor"}
}

// watch observes a service, takes a trace if a finding needs one, and saves the
// profiles if requested.
func (c *doctorCommand) watch(ctx context.Context, service *profile.Service, prices doctor.Prices, to streams) (*doctor.Diagnosis, error) {
	if c.Save != "" {
		// Before the service is disturbed.
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
	fmt.Fprintf(to.stderr, "observing %s for %d s\n", service.Target(), c.Seconds)
	capture, err := service.Watch(ctx, time.Duration(c.Seconds)*time.Second, extra...)
	if err != nil {
		return nil, err
	}
	if capture.GOMAXPROCS == 0 && !c.Cheap {
		if capture, err = service.Glimpse(ctx); err != nil {
			return nil, err
		}
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
	if sparse := diagnosis.Sparse(); sparse != "" {
		fmt.Fprintf(to.stderr, "it has too little CPU time for -compare: %s\n", sparse)
	}
	return diagnosis, nil
}

// decidingTrace is the maximum length of a trace that the user did not request.
const decidingTrace = 500 * time.Millisecond

// decide takes the profile that a finding needs, and diagnoses again.
func (c *doctorCommand) decide(ctx context.Context, service *profile.Service, prices doctor.Prices, want *doctor.Need, to streams) (*doctor.Diagnosis, error) {
	fmt.Fprintf(to.stderr, "taking a %s of at most %s, to decide %s\n", want.Kind, decidingTrace, want.What)
	capture, err := service.More(ctx, want.Kind, decidingTrace)
	if err != nil {
		return nil, err
	}
	diagnosis := doctor.Diagnose(capture, prices)
	if capture.Trace != nil { // otherwise it is listed as missing
		diagnosis.Taken = append(diagnosis.Taken, fmt.Sprintf("a trace of %s, to decide %s",
			capture.Trace.Window.Round(time.Millisecond), want.What))
	}
	return diagnosis, nil
}

// Help is shown below the flags.
func (doctorCommand) Help() string {
	return strings.TrimSpace(`
Examples:
  sluice doctor localhost:6060                 observe a service for five seconds
  sluice doctor -save monday localhost:6060    and save the profiles
  sluice doctor monday                         read the saved profiles
  sluice doctor -v monday                      and show all evidence, not one screen
  sluice doctor -html page.html monday         and write an HTML page
  sluice doctor cpu.pprof goroutines.txt       read your own files
  sluice doctor flight.trace                   read the dump of a flight recorder
  sluice doctor -compare monday tuesday        did the change help, where did the cost go
  sluice doctor -fail-on found monday          status 1 if channels are a problem, for CI

The service must import net/http/pprof; it need not use sluice. If it also serves
debug.Handler at /debug/sluice, the doctor names its stages and channels. It only
reads, and changes no setting of the service. It takes a trace of at most half a
second if that decides a finding, and of 20 milliseconds if nothing else has
GOMAXPROCS, unless -cheap is given; the latter also before a trace of -trace. A mutex profile
(runtime.SetMutexProfileFraction) and a page with runtime/metrics make the
diagnosis more precise.

Exit status, with -fail-on found: 0 if channels are not the problem, 1 if they
are, or are part of it, 3 if too little was seen to decide. Without -fail-on, 0 in all
these cases. 2 if the command line, the service or a file cannot be used.
`)
}
