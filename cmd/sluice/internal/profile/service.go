package profile

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
)

// A Service is a running process that serves net/http/pprof. It is only read:
// no setting of it changes.
type Service struct {
	base    *url.URL
	getter  getter
	metrics []*url.URL // candidate pages with metrics; after the first reading, the page that has them
	flow    *url.URL   // the map; nil without one
	files   []File
	parts   parts
	missing []Missing
	start   time.Time
	due     time.Time // deadline for starting requests; zero before Watch

	// Busy, if not nil, returns the CPU seconds of all processes of this machine but this
	// one since some moment, and its number of CPUs, or not ok. Watch calls it if the
	// service is on this machine.
	Busy    func() (seconds float64, cpus int, ok bool)
	machine *Machine
}

// At returns the service at target: the address of its /debug/pprof/, or
// host:port. metrics is a page with its runtime metrics, a path or an address on
// any port of the same host, or "" for the usual places. At does not connect.
func At(target, metrics string) (*Service, error) {
	base, err := address.Parse(target, "/debug/pprof/")
	if err != nil {
		return nil, err
	}
	base.RawQuery = ""
	if !strings.HasSuffix(base.Path, "/") {
		base.Path += "/"
	}
	s := &Service{base: base, getter: newGetter()}
	s.metrics, err = metricsPages(base, metrics)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Watch observes the service for d. To disturb it least, it reads metrics and
// counters first, then the CPU profile, then the counters again and the
// goroutines. extra may add KindBlock and KindTrace; a trace is taken last, and is
// short.
//
// An error means that nothing could be read or that ctx is done; Capture.Missing
// lists parts that could not be read. Watch takes at most d plus the getter's
// budget, however many requests hang.
func (s *Service) Watch(ctx context.Context, d time.Duration, extra ...Kind) (*Capture, error) {
	s.start = time.Now().UTC()
	s.due = time.Now().Add(d.Truncate(time.Second) + s.getter.budget)
	// Every Go service has goroutines, so a target without this profile is not
	// one.
	if err := s.profile(ctx, "goroutine", "goroutine-before.pprof"); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var refused *errStatus
		if errors.As(err, &refused) {
			err = errors.New(address.ExplainStatus(refused.code, refused.reason, s.base, "net/http/pprof"))
			if refused.code == http.StatusNotFound {
				err = fmt.Errorf(`%w A mux of its own needs mux.HandleFunc("/debug/pprof/", pprof.Index) and its siblings`, err)
			}
		}
		var slow *errSlow
		if errors.As(err, &slow) {
			err = fmt.Errorf("%w: is the host right, and does a firewall let this port through?", err)
		}
		return nil, &FileError{address.Redacted(s.page("goroutine", "", "")), err} // the page that was fetched
	}
	counters := []Kind{KindMutex}
	if slices.Contains(extra, KindBlock) {
		counters = append(counters, KindBlock)
	}
	for _, kind := range counters {
		if err := s.try(ctx, kind, func() error { return s.profile(ctx, string(kind), string(kind)+"-before.pprof") }); err != nil {
			return nil, err
		}
	}
	if err := s.findMetrics(ctx); err != nil {
		return nil, err
	}
	if err := s.findFlow(ctx); err != nil {
		return nil, err
	}
	if err := s.watchCPU(ctx, d); err != nil {
		return nil, err
	}
	after := []struct {
		kind  Kind
		fetch func() error
	}{
		{KindFlow, func() error { return s.readLastFlow(ctx) }},
		{KindMetrics, func() error { return s.readMetrics(ctx, "metrics.json") }},
		{KindGoroutine, func() error { return s.profile(ctx, "goroutine", "goroutine.pprof") }},
		{KindGoroutineText, func() error { return s.fetch(ctx, s.page("goroutine", "debug", "2"), "goroutine.txt", 0, maxText) }},
		{KindMutex, func() error { return s.profile(ctx, "mutex", "mutex.pprof") }},
		{KindLeak, func() error { return s.leaks(ctx) }},
	}
	for _, step := range after {
		if err := s.try(ctx, step.kind, step.fetch); err != nil {
			return nil, err
		}
	}
	if err := s.explainMutex(ctx); err != nil {
		return nil, err
	}
	if slices.Contains(extra, KindBlock) {
		if err := s.try(ctx, KindBlock, func() error { return s.profile(ctx, "block", "block.pprof") }); err != nil {
			return nil, err
		}
	}
	if slices.Contains(extra, KindTrace) {
		return s.traced(ctx, d)
	}
	return s.capture()
}

// traced takes a trace at the end of Watch, and before it a glimpse if nothing else
// has shown GOMAXPROCS: what decides without a trace decides with one as well,
// before the trace slows the service.
func (s *Service) traced(ctx context.Context, d time.Duration) (*Capture, error) {
	c, err := s.capture()
	if err == nil && c.GOMAXPROCS == 0 {
		_, err = s.glimpse(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.more(ctx, KindTrace, d)
}

// watchCPU takes the CPU profile. Without one it waits as long, because
// counters before and after a window are useful by themselves.
func (s *Service) watchCPU(ctx context.Context, d time.Duration) error {
	// net/http/pprof takes whole seconds, and 30 for anything else.
	d = max(d.Truncate(time.Second), time.Second)
	end := time.Now().Add(d)
	defer s.watchMachine()()
	if err := s.try(ctx, KindCPU, func() error { return s.watched(ctx, "profile", "cpu.pprof", d, maxProfile) }); err != nil {
		return err
	}
	if _, taken := s.parts.of(KindCPU); taken != nil {
		return nil
	}
	return pause(ctx, min(time.Until(end), time.Until(s.due)))
}

// watchMachine starts to watch the machine, and returns what ends that.
func (s *Service) watchMachine() (end func()) {
	ip := net.ParseIP(s.base.Hostname())
	if s.Busy == nil || s.base.Hostname() != "localhost" && !ip.IsLoopback() {
		return func() {}
	}
	began := time.Now()
	before, _, known := s.Busy()
	return func() {
		after, cpus, ok := s.Busy()
		if seconds := time.Since(began).Seconds(); known && ok && cpus > 0 && seconds > 0 {
			s.machine = &Machine{CPUs: cpus, Busy: min(max(0, (after-before)/seconds), float64(cpus))}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// A trace is long enough for traceSize bytes at the service's rate of wake-ups,
// within these limits. A busy service writes up to 70 MB/s, and a few hundred
// thousand wake-ups are as informative as millions.
const (
	traceSize      = 8 << 20                // bytes
	tracePerWakeup = 18                     // bytes, of Go 1.26, measured
	minTraceTime   = 100 * time.Millisecond // at any rate
	maxTraceTime   = 2 * time.Second        // at any rate
	unsizedTrace   = 500 * time.Millisecond // if the rate is unknown
)

// traceTime returns the length of a trace of at most d.
func traceTime(c *Capture, d time.Duration) time.Duration {
	sized := unsizedTrace
	if c.Metrics != nil && c.Metrics.Window() > 0 {
		if wakeups, ok := c.Metrics.Wakeups(); ok {
			rate := max(1, wakeups/c.Metrics.Window().Seconds())
			seconds := min(traceSize/tracePerWakeup/rate, maxTraceTime.Seconds())
			sized = max(minTraceTime, time.Duration(seconds*float64(time.Second)))
		}
	}
	return min(d, sized).Round(time.Millisecond)
}

// maxTraceFetched is the size limit of a trace, in bytes.
const maxTraceFetched = 256 << 20

// More takes KindTrace or KindBlock as well, for at most d, and returns the
// extended capture. The length of a trace is limited by traceTime. A trace
// slows the service by up to 60% meanwhile; a block profile costs nothing
// beyond the service's own setting. The budget of Watch includes the request. Of
// a trace, Save keeps the figures.
func (s *Service) More(ctx context.Context, kind Kind, d time.Duration) (*Capture, error) {
	s.due = s.due.Add(d)
	c, err := s.more(ctx, kind, d)
	if err != nil || kind != KindTrace || c.Trace == nil {
		return c, err
	}
	return c, s.condense(kind)
}

func (s *Service) more(ctx context.Context, kind Kind, d time.Duration) (*Capture, error) {
	s.missing = slices.DeleteFunc(s.missing, func(m Missing) bool { return m.Kind == kind })
	s.drop(kind)
	err := s.try(ctx, kind, func() error {
		switch kind {
		case KindTrace:
			now, err := s.capture()
			if err != nil {
				return err
			}
			return s.watched(ctx, "trace", "trace.out", traceTime(now, d), maxTraceFetched)
		case KindBlock:
			if err := s.profile(ctx, "block", "block-before.pprof"); err != nil {
				return err
			}
			if err := pause(ctx, d); err != nil {
				return err
			}
			return s.profile(ctx, "block", "block.pprof")
		}
		return fmt.Errorf("%s cannot be added later", kind)
	})
	if err != nil {
		return nil, err
	}
	return s.capture()
}

// drop removes the files of a kind.
func (s *Service) drop(kind Kind) {
	s.parts.files = slices.DeleteFunc(s.parts.files, func(f part) bool {
		if f.kind != kind {
			return false
		}
		s.files = slices.DeleteFunc(s.files, func(raw File) bool { return raw.Name == f.name })
		return true
	})
}

// try runs one step. It records a failure in missing, and returns an error only
// if ctx is done.
func (s *Service) try(ctx context.Context, kind Kind, step func() error) error {
	if !time.Now().Before(s.due) {
		s.miss(kind, s.tooSlow())
		return ctx.Err()
	}
	err := step()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.miss(kind, err)
	}
	return nil
}

// miss records why a kind is missing. A counter is read twice; the first reason
// stands.
func (s *Service) miss(kind Kind, why error) {
	if !slices.ContainsFunc(s.missing, func(m Missing) bool { return m.Kind == kind }) {
		s.missing = append(s.missing, Missing{kind, why.Error()})
	}
}

// tooSlow is the reason for requests that were not made.
func (s *Service) tooSlow() error {
	return fmt.Errorf("skipped: the requests took longer than %s in addition to the observation", s.getter.budget)
}

// left returns the time for an answer that is due after watch.
func (s *Service) left(watch time.Duration) time.Duration {
	if s.due.IsZero() {
		return watch + s.getter.grace
	}
	return max(0, min(watch+s.getter.grace, time.Until(s.due)))
}

// page returns the URL of a profile with one query parameter.
func (s *Service) page(name, key, value string) *url.URL {
	u := *s.base
	u.Path += name
	if key != "" {
		u.RawQuery = url.Values{key: {value}}.Encode()
	}
	return &u
}

func (s *Service) profile(ctx context.Context, name, file string) error {
	return s.fetch(ctx, s.page(name, "", ""), file, 0, maxProfile)
}

// watched fetches a profile that the service needs d to take.
func (s *Service) watched(ctx context.Context, name, file string, d time.Duration, limit int64) error {
	return s.fetch(ctx, s.page(name, "seconds", strconv.FormatFloat(d.Seconds(), 'f', -1, 64)), file, d, limit)
}

// leaks fetches the leak profile, for which the service runs a garbage
// collection.
func (s *Service) leaks(ctx context.Context) error {
	err := s.profile(ctx, "goroutineleak", "goroutineleak.pprof")
	var status *errStatus
	if errors.As(err, &status) && status.code == http.StatusNotFound {
		return errors.New("not available: it requires Go 1.27, or 1.26 built with GOEXPERIMENT=goroutineleakprofile")
	}
	return err
}

// fetch gets, parses and keeps a page.
func (s *Service) fetch(ctx context.Context, u *url.URL, file string, watch time.Duration, limit int64) error {
	data, err := s.getter.get(ctx, u, s.left(watch), limit)
	if err != nil {
		return err
	}
	s.parts.due = s.due
	return s.take(file, data)
}

func (s *Service) header() *Header {
	return &Header{
		Format: headerFormat, Target: address.Redacted(s.base), Start: s.start, Machine: s.machine, Missing: s.missing,
	}
}

func (s *Service) capture() (*Capture, error) {
	s.parts.header = s.header()
	return s.parts.capture()
}

// Target returns the address without user and password.
func (s *Service) Target() string { return strings.TrimSuffix(address.Redacted(s.base), "/") }
