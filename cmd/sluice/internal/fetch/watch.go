package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/address"
	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// Limits of one observation.
const (
	maxBytes  = 4_000_000               // in all
	extraTime = 4900 * time.Millisecond // in addition to the CPU profile: 10 s with the time of the program itself
	firstTime = 2 * time.Second         // of extraTime, at most before the CPU profile begins
	lastTime  = 1500 * time.Millisecond // of extraTime, at least for what begins after it

	maxProfile = 256 << 10 // bytes; with some hundred different stacks, compressed, it has 10 to 60 kB
	maxDump    = 640 << 10 // bytes: a text of about 1,000 goroutines, or a profile of 50,000 with labels of their own
	maxFlow    = 256 << 10 // bytes of the map: about 500 named channels

	// maxStates is the number of goroutines above which no text of all of them is
	// requested. It would stop the service for 0.1 s.
	maxStates = 10_000
)

// Watch observes the service for d, rounded down to whole seconds, as net/http/pprof
// takes them, and at least one. It reads goroutines and the map, then the CPU profile,
// then goroutines and the map again.
//
// The trace is taken while the CPU profile runs: then it has the samples of that profile
// with their goroutines, and both show the same time. It adds at most 2% to the samples,
// because its length is limited by its size.
//
// An error means that ctx is done, or that nothing could be read. Everything else that
// fails is in Capture.Missing.
func (s *Service) Watch(ctx context.Context, d time.Duration) (*capture.Capture, error) {
	d = max(d.Truncate(time.Second), time.Second)
	s.header = capture.Header{Format: capture.HeaderFormat, Target: s.Target(), Start: time.Now().UTC()}
	s.files = map[string][]byte{}
	s.left.Store(maxBytes)
	defer s.client.CloseIdleConnections()
	whole, cancel := context.WithTimeout(ctx, d+extraTime)
	defer cancel()

	first, cancelFirst := context.WithTimeout(whole, firstTime)
	defer cancelFirst()
	err := s.readGoroutines(first, "-before")
	if err != nil && !s.reached.Load() && ctx.Err() == nil { // a service that is busy may be late
		if errors.Is(err, errSlow) {
			err = fmt.Errorf("%w: %s", err, address.CheckReach)
		}
		return nil, &capture.FileError{Name: s.Target(), Err: err}
	}
	s.readMap(first) // from then on the service knows rates
	window, cancelWindow := context.WithTimeout(whole, time.Until(s.header.Start.Add(d+extraTime-lastTime)))
	defer cancelWindow()
	s.readWindow(window, d)
	_ = s.readGoroutines(whole, "") // in missing
	s.readMap(whole)
	if s.o.Leaks {
		data, err := s.get(whole, "goroutineleak", maxProfile)
		if status := (*address.StatusError)(nil); errors.As(err, &status) && status.Code == http.StatusNotFound {
			err = errors.New("not available: the leak profile requires Go 1.27, or 1.26 built with GOEXPERIMENT=goroutineleakprofile")
		}
		s.keep("leaks", "goroutineleak.pprof", data, err)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(s.files) == 0:
		return nil, &capture.FileError{Name: s.Target(), Err: errors.New(s.header.Missing[0].Reason)}
	}
	return capture.Read(&s.header, s.all())
}

// all returns the files by name.
func (s *Service) all() (files []capture.File) {
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		files = append(files, capture.File{Name: name, Data: s.files[name]})
	}
	return files
}

// keep keeps a part as a file, or the reason why it is missing. Some parts are read twice:
// the last file stands, and the first reason.
func (s *Service) keep(what, file string, data []byte, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case why == nil:
		s.files[file] = data
	case !slices.ContainsFunc(s.header.Missing, func(m capture.Missing) bool { return m.What == what }):
		s.header.Missing = append(s.header.Missing, capture.Missing{What: what, Reason: format.Clean(why.Error())})
	}
}

func (s *Service) miss(what string, why error) { s.keep(what, "", nil, why) }

// readGoroutines reads a dump in both forms: the compressed profile, which counts all
// goroutines and has the time, and the text, which has their states. It returns the
// error of the profile.
func (s *Service) readGoroutines(ctx context.Context, when string) error {
	const states = "states of goroutines"
	name := "goroutine" + when
	data, err := s.get(ctx, "goroutine", maxDump)
	s.keep("goroutines", name+".pprof", data, err)
	if err != nil {
		return err
	}
	n := 0
	if c, err := capture.Read(nil, []capture.File{{Data: data}}); err == nil && len(c.Dumps) > 0 {
		n = c.Dumps[0].Total
	}
	switch {
	case n == 0:
		s.miss(states, errors.New("left out: their number is not known, and a text of too many stops the service"))
		return nil
	case n > maxStates:
		s.miss(states, fmt.Errorf("left out: a text of %s goroutines would stop the service (at most %s)", format.Thousands(n), format.Thousands(maxStates)))
		return nil
	}
	text, err := s.get(ctx, "goroutine?debug=2", maxDump)
	if err != nil {
		s.miss(states, err)
		text = text[:bytes.LastIndex(text, []byte(":\n"))+1] // a goroutine without a stack ends a text that is cut off, wherever that was
	}
	if len(text) > 0 {
		s.keep(states, name+".txt", text, nil)
	}
	return nil
}

// flowPage is the map, relative to the profiles.
const flowPage = "../sluice?format=flow"

// readMap reads the map. A service without it need not use package livepage, unlike one
// in which that package refuses the host name.
func (s *Service) readMap(ctx context.Context) {
	data, err := s.get(ctx, flowPage, maxFlow)
	if status := (*address.StatusError)(nil); errors.As(err, &status) {
		why, ours := status.Ours()
		if !ours {
			return
		}
		err = errors.New(why)
	}
	if err != nil || bytes.HasPrefix(data, []byte("{")) {
		s.keep("map", "flow.json", data, err)
	}
}

// readWindow reads the CPU profile and, at the same time, the trace or the contention
// profiles. Without a CPU profile it waits as long, so that two dumps are that far apart;
// if there is no dump, a service that has nothing else fails at once.
func (s *Service) readWindow(ctx context.Context, d time.Duration) {
	began := time.Now()
	reserve := (maxBytes-s.left.Load())*5/4 + maxProfile // what follows is as large as what came first
	defer s.watchMachine()()
	end := began
	if len(s.files) > 0 {
		end = began.Add(d)
	}
	var profiles sync.WaitGroup
	defer profiles.Wait()
	profile := func(what, page string) {
		profiles.Go(func() {
			data, err := s.get(ctx, during(page, d), maxProfile)
			s.keep(what, what+".pprof", data, err)
		})
	}
	profile("cpu", "profile")
	if s.o.Trace {
		pause(ctx, time.Until(end.Add(-maxTrace*3/2)))
		s.readTrace(ctx, min(maxTrace, d), min(maxTraceBytes, s.left.Load()-reserve))
	} else {
		profile("mutex", "mutex")
		profile("block", "block")
	}
	pause(ctx, time.Until(end))
}

// during returns the page of a profile that the service takes for d.
func during(name string, d time.Duration) string {
	return name + "?seconds=" + strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// watchMachine starts to watch the machine, if it is the service's, and returns what ends
// that.
func (s *Service) watchMachine() (end func()) {
	host := s.base.Hostname()
	if s.o.Others == nil || s.socket == "" && host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return func() {}
	}
	began := time.Now()
	before, _ := s.o.Others()
	return func() {
		after, cpus := s.o.Others()
		if seconds := time.Since(began).Seconds(); before != nil && after != nil && cpus > 0 && seconds > 0 {
			s.header.Machine = &capture.Machine{CPUs: cpus, Busy: min(max(0, (*after-*before)/seconds), float64(cpus))}
		}
	}
}

// A trace that is cut off cannot be read, so its length is chosen for its size.
const (
	shortGlimpse  = time.Millisecond
	longGlimpse   = 20 * time.Millisecond
	trusted       = 100 * time.Millisecond // a few ms of delay do not matter
	minTrace      = 30 * time.Millisecond
	maxTrace      = 2 * time.Second
	maxTraceBytes = 2_500_000
	traceFile     = "trace.out"
)

// readTrace takes traces of increasing length up to longest, of at most about limit bytes
// together, and keeps the last. The first takes a millisecond, and has mostly what is in each trace:
// goroutines and stacks. Each of the others shows the rate of events for the next. After a
// short one, that takes at most six times as long: on a busy machine a short trace takes
// longer than it should, and its rate is wrong.
func (s *Service) readTrace(ctx context.Context, longest time.Duration, limit int64) {
	if limit < maxTraceBytes/8 {
		s.miss("trace", fmt.Errorf("left out: the other parts leave %s for it", address.Megabytes(max(0, limit))))
		return
	}
	what, fixed, before, was, length := "trace", int64(0), int64(0), time.Duration(0), shortGlimpse
	for length >= 2*was {
		began := time.Now()
		data, err := s.get(ctx, during("trace", length), limit)
		if s.keep(what, traceFile, data, err); err != nil {
			return
		}
		size, took := int64(len(data)), time.Since(began)
		limit -= size
		next := longGlimpse
		switch {
		case what == "longer trace":
			room := limit
			// At the speed of a slow connection it arrives in half of the time that is left.
			if due, ok := ctx.Deadline(); ok && took > length {
				speed := float64(size) / (took - length).Seconds()
				room = min(room, int64(speed*time.Until(due).Seconds()/2))
			}
			rate := float64(max(size-before, 1)) / (length - was).Seconds()
			if next = min(traceLength(fixed, rate, room), longest); length < trusted {
				next = min(next, 6*length)
			}
		case size > limit/3:
			next = minTrace
		case shortGlimpse*time.Duration(limit/2) < longGlimpse*time.Duration(size): // if all of the first were events, it would need half
			next /= 4
		}
		if what == "trace" {
			what, fixed = "longer trace", size
		}
		before, was, length = size, length, next
	}
}

// traceLength returns the length of a trace of at most limit bytes, whose events need rate
// bytes per second. It leaves a third for bursts. The fixed bytes are there again after
// each second. 0 means that even a short one has no room.
func traceLength(fixed int64, rate float64, limit int64) time.Duration {
	room := float64(limit)*2/3 - float64(fixed)*maxTrace.Seconds()
	least := min(minTrace.Seconds(), (float64(limit)-float64(fixed))*4/5/rate)
	seconds := min(max(least, room/rate, 0), maxTrace.Seconds())
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}
