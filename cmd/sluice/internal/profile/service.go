package profile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
)

// A Service is a running process that serves net/http/pprof. It is only read:
// no setting of it is changed.
type Service struct {
	base    *url.URL
	getter  getter
	metrics []*url.URL // pages that may have metrics; after the first reading, those that have
	files   []File
	parts   parts
	missing []Missing
	start   time.Time
	due     time.Time // when all that is not asked for yet is left out; zero before Watch
}

// At returns the service at target: the address of its /debug/pprof/, or host:port.
// metrics is the address or path of a page with its runtime metrics, "" to look where
// they usually are. Nothing is asked yet.
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
	if metrics != "" {
		page, err := base.Parse(metrics)
		if err != nil || page.Host != base.Host {
			return nil, errors.New("the page of metrics must be a path, or an address on the same host")
		}
		page.User = base.User
		s.metrics = []*url.URL{page}
		return s, nil
	}
	for _, path := range []string{"../metrics", "/metrics", "../vars"} {
		page, err := base.Parse(path)
		if err != nil {
			return nil, err
		}
		s.metrics = append(s.metrics, page)
	}
	return s, nil
}

// Watch watches the service for d, in the order of what costs it least: metrics
// and counters before, the CPU profile, then the same counters and goroutines.
// With extra kinds, KindBlock and KindTrace, these are taken too; a trace
// afterwards, and short.
//
// An error means that nothing could be had, or that ctx was done; what else
// could not be had is in Capture.Missing. It takes no longer than d and the patience
// of the getter, however many requests hang.
func (s *Service) Watch(ctx context.Context, d time.Duration, extra ...Kind) (*Capture, error) {
	s.start = time.Now().UTC()
	s.due = time.Now().Add(d.Truncate(time.Second) + s.getter.patience)
	// Every service has goroutines: whoever does not answer this is none.
	if err := s.profile(ctx, "goroutine", "goroutine-before.pprof"); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &FileError{address.Redacted(s.base), err}
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
	if err := s.watchCPU(ctx, d); err != nil {
		return nil, err
	}
	after := []struct {
		kind  Kind
		fetch func() error
	}{
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
	if slices.Contains(extra, KindBlock) {
		if err := s.try(ctx, KindBlock, func() error { return s.profile(ctx, "block", "block.pprof") }); err != nil {
			return nil, err
		}
	}
	if slices.Contains(extra, KindTrace) {
		return s.more(ctx, KindTrace, d)
	}
	return s.capture()
}

// watchCPU takes the CPU profile. If there is none it lets as much time pass: the
// counters of before and after tell something of a window without it, too.
func (s *Service) watchCPU(ctx context.Context, d time.Duration) error {
	// net/http/pprof takes whole seconds, and 30 for what is none.
	d = max(d.Truncate(time.Second), time.Second)
	end := time.Now().Add(d)
	if err := s.try(ctx, KindCPU, func() error { return s.watched(ctx, "profile", "cpu.pprof", d, maxProfile) }); err != nil {
		return err
	}
	if _, taken := s.parts.of(KindCPU); taken != nil {
		return nil
	}
	return pause(ctx, min(time.Until(end), time.Until(s.due)))
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

// How long a trace is: as long as it takes to write traceSize, going by how many
// goroutines the service wakes a second. A busy one writes up to 70 MB a second,
// and some hundred thousand wake-ups tell as much as millions.
const (
	traceSize      = 8 << 20                // bytes
	tracePerWakeup = 18                     // bytes, of Go 1.26, measured
	minTraceTime   = 100 * time.Millisecond // whatever the rate
	maxTraceTime   = 2 * time.Second        // whatever the rate
	unsizedTrace   = 500 * time.Millisecond // where the rate is not known
)

// traceTime is how long a trace of at most d is to be.
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

// maxTraceFetched is the largest trace that is fetched, in bytes.
const maxTraceFetched = 256 << 20

// More takes one thing more, KindTrace or KindBlock, for at most d, and returns
// the capture with it. A trace is as short as traceTime says. It costs the service: a
// trace up to 60 % of its speed meanwhile, a block profile nothing beyond what
// it already costs where the service has turned it on.
func (s *Service) More(ctx context.Context, kind Kind, d time.Duration) (*Capture, error) {
	s.due = time.Now().Add(d + s.getter.patience)
	return s.more(ctx, kind, d)
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
		return fmt.Errorf("%s cannot be taken afterwards", kind)
	})
	if err != nil {
		return nil, err
	}
	return s.capture()
}

// drop forgets what there is of a kind.
func (s *Service) drop(kind Kind) {
	s.parts.files = slices.DeleteFunc(s.parts.files, func(f part) bool {
		if f.kind != kind {
			return false
		}
		s.files = slices.DeleteFunc(s.files, func(raw File) bool { return raw.Name == f.name })
		return true
	})
}

// try runs one step. A step that fails leaves a note in missing; only the end
// of ctx ends the whole.
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

// miss notes why a kind could not be had. A counter is asked for twice, and why it was
// not there the first time says as much.
func (s *Service) miss(kind Kind, why error) {
	if !slices.ContainsFunc(s.missing, func(m Missing) bool { return m.Kind == kind }) {
		s.missing = append(s.missing, Missing{kind, why.Error()})
	}
}

// tooSlow is the reason why something was not asked for any more.
func (s *Service) tooSlow() error {
	return fmt.Errorf("was not asked for: the service was given %s beside the time it is watched, and took more", s.getter.patience)
}

// left is the time for an answer that is due after watch.
func (s *Service) left(watch time.Duration) time.Duration {
	if s.due.IsZero() {
		return watch + s.getter.grace
	}
	return max(0, min(watch+s.getter.grace, time.Until(s.due)))
}

// page is the URL of a profile with one parameter of its query.
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

// watched fetches what the service needs d to make.
func (s *Service) watched(ctx context.Context, name, file string, d time.Duration, limit int64) error {
	return s.fetch(ctx, s.page(name, "seconds", strconv.FormatFloat(d.Seconds(), 'f', -1, 64)), file, d, limit)
}

// leaks makes the service look for leaks, which takes a collection.
func (s *Service) leaks(ctx context.Context) error {
	err := s.profile(ctx, "goroutineleak", "goroutineleak.pprof")
	var status *errStatus
	if errors.As(err, &status) && status.code == http.StatusNotFound {
		return errors.New("the service does not offer it: it takes Go 1.27, or 1.26 built with GOEXPERIMENT=goroutineleakprofile")
	}
	return err
}

// fetch gets a page, reads it and keeps it.
func (s *Service) fetch(ctx context.Context, u *url.URL, file string, watch time.Duration, limit int64) error {
	data, err := s.getter.get(ctx, u, s.left(watch), limit)
	if err != nil {
		return err
	}
	if err := s.parts.read(file, bytes.NewReader(data)); err != nil {
		return err
	}
	s.files = append(s.files, File{file, data})
	return nil
}

// findMetrics looks for a page with metrics, and takes the first reading. The
// first page with mutex waits and wake-ups is the best, any other is better than
// none.
func (s *Service) findMetrics(ctx context.Context) error {
	var found *Reading
	var at *url.URL
	for _, u := range s.metrics {
		if !time.Now().Before(s.due) {
			break
		}
		reading, err := s.reading(ctx, u)
		if err != nil {
			continue // readMetrics says that there was none
		}
		_, waits := reading.Values[metricMutexWait]
		_, wakes := reading.Histograms[metricLatencies]
		if found == nil || waits && wakes {
			found, at = reading, u
		}
		if waits && wakes {
			break
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.metrics = nil; found == nil {
		return nil
	}
	s.metrics = []*url.URL{at}
	return s.keep(found, "metrics-before.json")
}

func (s *Service) reading(ctx context.Context, u *url.URL) (*Reading, error) {
	data, err := s.getter.get(ctx, u, s.left(0), maxMetrics)
	if err != nil {
		return nil, err
	}
	reading, err := readReading(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if reading.At.IsZero() {
		reading.At = time.Now().UTC()
	}
	return reading, nil
}

// keep keeps a reading in our own form, whatever page it came from: pages may
// have much that is nobody's business.
func (s *Service) keep(reading *Reading, file string) error {
	text, err := json.Marshal(reading)
	if err != nil {
		return err
	}
	s.files = append(s.files, File{file, text})
	return s.parts.put(part{name: file, kind: KindMetrics, reading: reading}, nil)
}

func (s *Service) readMetrics(ctx context.Context, file string) error {
	if len(s.metrics) == 0 {
		return errors.New("no page with metrics of the Go runtime was found")
	}
	reading, err := s.reading(ctx, s.metrics[0])
	if err != nil {
		return err
	}
	return s.keep(reading, file)
}

func (s *Service) header() *Header {
	return &Header{
		Format: headerFormat, Target: address.Redacted(s.base), Start: s.start, Missing: s.missing,
	}
}

func (s *Service) capture() (*Capture, error) {
	s.parts.header = s.header()
	return s.parts.capture()
}

// Target is the address, without user and password.
func (s *Service) Target() string { return strings.TrimSuffix(address.Redacted(s.base), "/") }
