package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
	"github.com/sluice-go/sluice/cmd/sluice/internal/doctor"
	"github.com/sluice-go/sluice/cmd/sluice/internal/fetch"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

type doctorCommand struct {
	Targets []string `arg:"" optional:"" name:"target" help:"Address of a service's /debug/pprof (URL, host:port, :port or unix:/path), or saved files and folders of one service."`
	Pod     string   `placeholder:"[NAMESPACE/]NAME[:PORT]" help:"Observe a pod of Kubernetes, by way of kubectl port-forward. Default port: 6060."`
	Seconds int      `default:"5" help:"Length of the CPU profile, in seconds. Default: ${default}."`
	Cheap   bool     `help:"Take no execution trace. By default, the doctor takes one of at most two seconds and about 2.5 MB."`
	Leaks   bool     `help:"Also read the goroutineleak profile of Go 1.27, for which the service runs a garbage collection."`
	Header  []string `short:"H" sep:"none" placeholder:"NAME:VALUE" help:"Send this header with each request, such as Authorization. Can be repeated."`
	Cert    string   `placeholder:"FILE" help:"Certificate of this client, in PEM, with -key."`
	Key     string   `placeholder:"FILE" help:"Its private key, in PEM."`
	CA      string   `name:"ca" placeholder:"FILE" help:"Certificates that sign the service's, in PEM. Default: the system's."`
	Save    string   `placeholder:"DIR" help:"Save what the service sent in this new folder, to be read again later."`
	HTML    string   `name:"html" placeholder:"FILE" help:"Also write an HTML page."`
	JSON    bool     `name:"json" help:"Write JSON instead of text."`
	Compare bool     `help:"Compare two saved captures of a service, before and after a change."`
	FailOn  string   `name:"fail-on" placeholder:"found" enum:",found" default:"" help:"Exit with status 1 if something in the program holds it back, and 3 if too little was seen to decide."`
	Verbose bool     `short:"v" help:"Write all of the evidence, not one screen."`
}

// maxSeconds is the upper limit of -seconds.
const maxSeconds = 600

// Run diagnoses the target, or compares two, and writes the result.
func (c *doctorCommand) Run(ctx context.Context, to streams) error {
	if c.Compare {
		return explain(ctx, c.compare(to))
	}
	if c.HTML != "" { // before the service is disturbed
		if err := report.Replaceable(c.HTML); err != nil {
			return unusable(err)
		}
	}
	observed, err := c.observe(ctx, to)
	if err != nil {
		return explain(ctx, err)
	}
	diagnosis := doctor.Diagnose(observed)
	if err := c.write(diagnosis, to); err != nil || c.FailOn == "" {
		return err
	}
	return found(diagnosis)
}

// write writes the diagnosis in the requested forms.
func (c *doctorCommand) write(diagnosis *doctor.Diagnosis, to streams) error {
	var err error
	switch screen := screenOf(to.stdout); {
	case c.JSON:
		err = diagnosis.WriteJSON(to.stdout)
	case c.Verbose:
		err = diagnosis.WriteText(to.stdout, screen)
	default:
		err = diagnosis.WriteSummary(to.stdout, screen)
	}
	if err != nil || c.HTML == "" {
		return err
	}
	if err := diagnosis.WritePageFile(c.HTML); err != nil {
		return unusable(err)
	}
	return nil
}

// errFound ends a diagnosis with -fail-on that found a problem.
var errFound = errors.New("something in the program holds it back")

// found returns an error unless nothing in the program holds it back. A check that
// passes because it saw too little checks nothing, so an unknown answer is an error, too.
func found(diagnosis *doctor.Diagnosis) error {
	switch {
	case diagnosis.Found():
		return errFound
	case diagnosis.Decided():
		return nil
	}
	return fmt.Errorf("%w: too little was seen to decide what holds the service back", errUndecided)
}

// compare compares two saved captures.
func (c *doctorCommand) compare(to streams) error {
	if len(c.Targets) != 2 {
		return usage("-compare requires two saved captures, BEFORE and AFTER (have %d): save them with -save", len(c.Targets))
	}
	if c.HTML != "" || c.FailOn != "" || c.live() {
		return usage("-compare cannot be combined with -html, -fail-on and the flags for the address of a service")
	}
	var sides [2]*observe.Observation
	for i, target := range c.Targets {
		if isAddress(target) {
			return usage("-compare reads saved captures: first save the service's with 'sluice doctor -save DIR ADDRESS'")
		}
		var err error
		if sides[i], err = c.read(target); err != nil {
			return err
		}
	}
	comparison := doctor.Compare(sides[0], sides[1])
	if c.JSON {
		return comparison.WriteJSON(to.stdout)
	}
	return comparison.WriteText(to.stdout, screenOf(to.stdout))
}

// live reports whether a flag was given that only a service takes.
func (c *doctorCommand) live() bool {
	return c.Pod != "" || c.Save != "" || c.Cheap || c.Leaks || len(c.Header) > 0 || c.Cert != "" || c.Key != "" || c.CA != ""
}

// isAddress reports whether a target is an address, and no file of that name exists.
func isAddress(target string) bool {
	if strings.HasPrefix(target, "unix:") {
		return true
	}
	_, err := os.Stat(target)
	return err != nil && address.Like(target)
}

// explain classifies errors of the target and of the command line.
func explain(ctx context.Context, err error) error {
	var file *capture.FileError
	var path *fs.PathError
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case errors.As(err, &file), errors.As(err, &path):
		return unusable(err)
	}
	return err
}

// observe reads saved files, or observes a service.
func (c *doctorCommand) observe(ctx context.Context, to streams) (*observe.Observation, error) {
	if c.Seconds < 1 || c.Seconds > maxSeconds {
		return nil, usage("-seconds must be from 1 to %d", maxSeconds)
	}
	addresses := 0
	for _, target := range c.Targets {
		if isAddress(target) {
			addresses++
		}
	}
	switch {
	case c.Pod != "" && len(c.Targets) > 0:
		return nil, usage("-pod cannot be combined with other targets")
	case c.Pod == "" && len(c.Targets) == 0:
		return nil, usage("name a target: an address such as localhost:6060, saved files, or -pod")
	case c.Pod == "" && addresses == 0 && c.live():
		return nil, usage("-save, -cheap, -leaks, -header, -cert, -key and -ca require the address of a service")
	case c.Pod == "" && addresses == 0:
		return c.read(c.Targets...)
	case addresses > 0 && len(c.Targets) > 1:
		return nil, usage("an address cannot be combined with other targets")
	}
	return c.watch(ctx, to)
}

// read reads saved files.
func (c *doctorCommand) read(names ...string) (*observe.Observation, error) {
	saved, err := capture.Open(names...)
	if path := new(fs.PathError); errors.As(err, &path) && errors.Is(err, fs.ErrNotExist) {
		return nil, missing(path.Path)
	}
	if err != nil {
		return nil, err
	}
	return observe.Of(saved)
}

// missing returns the error for a file that does not exist, with what may have been
// meant: most targets are addresses.
func missing(target string) error {
	host, port, split := strings.Cut(target, ":")
	number, err := strconv.Atoi(cmp.Or(port, host))
	hint := ""
	switch {
	case target == "-":
		hint = " (save the standard input, and name the file)"
	case err == nil && (number < 1 || number > maxPort):
		hint = fmt.Sprintf(" (a port is from 1 to %d)", maxPort)
	case !split && err == nil:
		hint = fmt.Sprintf(" (the service on this port of this machine is :%d)", number)
	case !split && !strings.ContainsAny(target, `/\`):
		hint = fmt.Sprintf(" (if it is a host, add the port: %s:6060)", target)
	}
	return unusable(fmt.Errorf("%s: no such file or directory%s", target, hint))
}

const maxPort = 65535

// watch observes a service, and saves what it sent if requested.
func (c *doctorCommand) watch(ctx context.Context, to streams) (_ *observe.Observation, err error) {
	if c.Save != "" { // before the service is disturbed
		if err := fetch.Vacant(c.Save); err != nil {
			return nil, err
		}
	}
	options := fetch.Options{CertFile: c.Cert, KeyFile: c.Key, CAFile: c.CA, Trace: !c.Cheap, Leaks: c.Leaks, Others: host.NewWatch().Others, Header: http.Header{}}
	for _, header := range c.Header {
		name, value, ok := strings.Cut(header, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, usage("invalid -header (want NAME:VALUE)") // it may be secret
		}
		options.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	target := ""
	if c.Pod != "" {
		fmt.Fprintf(to.stderr, "forwarding a port to %s\n", format.Clean(c.Pod))
		forwarded, stop, err := fetch.Pod(ctx, c.Pod)
		if err != nil {
			return nil, unusable(err)
		}
		defer stop()
		target, options.Others = forwarded, nil // it runs on another machine
	} else {
		target = c.Targets[0]
	}
	service, err := fetch.At(target, options)
	if err != nil {
		return nil, usage("%w", err)
	}
	fmt.Fprintf(to.stderr, "observing %s for %d s\n", cmp.Or(c.Pod, service.Target()), c.Seconds)
	watched, err := service.Watch(ctx, time.Duration(c.Seconds)*time.Second)
	if err != nil {
		return nil, err
	}
	if c.Save != "" {
		if err := service.Save(c.Save); err != nil {
			return nil, err
		}
		fmt.Fprintf(to.stderr, "saved in %s\n", format.Clean(c.Save))
	}
	return observe.Of(watched)
}

// Help is shown below the flags.
func (doctorCommand) Help() string {
	return strings.TrimSpace(`
Examples:
  sluice doctor localhost:6060                 observe a service for about seven seconds
  sluice doctor -pod shop/cart-5d4f            the same in a cluster, with kubectl
  sluice doctor -save monday localhost:6060    and save what it sent
  sluice doctor monday                         read a saved capture
  sluice doctor -v monday                      and show all evidence, not one screen
  sluice doctor -html page.html monday         and write an HTML page
  sluice doctor goroutines.txt                 read one file: a dump in any form, a profile, a trace
  sluice doctor flight.trace                   read the dump of a flight recorder
  sluice doctor -compare monday tuesday        what a change moved
  sluice doctor -fail-on found monday          status 1 if the program holds itself back, for CI

The service must import net/http/pprof; it need not use sluice. If it also serves
livepage.Handler at /debug/sluice, the doctor names its channels. It only reads, and
changes no setting of the service. It takes a CPU profile, dumps of the goroutines
and a short execution trace: at most 4 MB, and 10 seconds, unless -seconds is
longer. -cheap takes no trace: then nobody knows who waits for whom.

Exit status, with -fail-on found: 0 if the load, the cores or something outside
limits the service, or nothing does; 1 if something in the program does, or if
goroutines leak or are deadlocked; 3 if too little was seen to decide. Without
-fail-on, 0 in all these cases. 2 if the command line, the service or a file
cannot be used.
`)
}
