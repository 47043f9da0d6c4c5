package livepage

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/trace"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice/inspect"
	"github.com/sluice-go/sluice/internal/reading"
)

// FlightOptions are the options of [NewFlightRecorder]. At least one limit is required;
// for the other fields, zero selects the default.
type FlightOptions struct {
	// OldestValue has the limits of Stats.OldestValue, or of OldestAtLeast while that is
	// unknown, by the names of channels. If several channels have the name, the limit is
	// for each of them.
	OldestValue map[string]time.Duration
	// Latency is the limit of what the program reports by Observe.
	Latency time.Duration

	Files int           // number of files that are kept, 10 by default: a new one replaces the oldest
	Every time.Duration // minimum time from one file to the next, 1 minute by default

	// Age is how far a file reaches back at least, 2 seconds by default, unless the
	// recorder has more than Bytes, 4 MiB by default.
	Age   time.Duration
	Bytes int

	// OnWrite, if not nil, is called with the path of each new file, and with the limit
	// that was passed. OnError is called if a file could not be written, or an old one not
	// removed. Both are called by the goroutine of the recorder, and must not call Close.
	OnWrite func(path, why string)
	OnError func(err error)
}

// A FlightRecorder keeps the last seconds of the program's execution trace in memory. When
// a channel's oldest value or a latency passes its limit, it writes them to a file, which
// has what the goroutines did before. "sluice doctor FILE" reads the file as it is, and so
// does "go tool trace".
//
// A program can have one flight recorder at a time, of this package or of runtime/trace.
// It does not disturb execution traces of package net/http/pprof.
//
// The recorder slows each switch from one goroutine to another: a program that works for
// 20 µs between them does not notice it, and one that does nothing else is half as fast.
// Its memory is Bytes and what the program does in about two more seconds, as the runtime
// ends a part of a trace once per second. It was 2 MB in the first of these programs, and
// 100 MB in the second, whose goroutines made 3 million switches a second (2 cores, Go
// 1.26.8, 2026-11-29). A file has as much as that at most.
type FlightRecorder struct {
	dir  string
	o    FlightOptions
	tape tape

	late    chan time.Duration // a latency above the limit
	closing chan struct{}
	closed  sync.Once
	done    chan struct{} // closed when the goroutine has ended

	// The following belong to the goroutine.
	reader   reading.Reader
	channels []inspect.Channel // that have a limit
	listed   time.Time
	next     time.Time // when the next file may be written
}

// A tape is a [trace.FlightRecorder], or one of a test.
type tape interface {
	Start() error
	io.WriterTo
	Stop()
}

// NewFlightRecorder starts a flight recorder that writes its files to dir, which no other
// program may use. It makes the folder. It returns an error if that is not possible, or if
// a flight recorder runs already. Options that are negative or without a limit panic.
//
// Limits of channels are checked four times within the least of them, but at most 100 times a
// second and at least once.
func NewFlightRecorder(dir string, o *FlightOptions) (*FlightRecorder, error) {
	if o == nil {
		o = new(FlightOptions)
	}
	config := trace.FlightRecorderConfig{MinAge: cmp.Or(o.Age, 2*time.Second), MaxBytes: uint64(cmp.Or(o.Bytes, 4<<20))}
	return newFlightRecorder(dir, *o, trace.NewFlightRecorder(config))
}

func newFlightRecorder(dir string, o FlightOptions, t tape) (*FlightRecorder, error) {
	for name, limit := range o.OldestValue {
		if limit <= 0 {
			panic(fmt.Sprintf("livepage.NewFlightRecorder: limit %v of channel %q (want more than 0)", limit, name))
		}
	}
	if min(o.Latency, o.Every, o.Age) < 0 || min(o.Files, o.Bytes) < 0 {
		panic("livepage.NewFlightRecorder: negative option")
	}
	if o.Latency == 0 && len(o.OldestValue) == 0 {
		panic("livepage.NewFlightRecorder: no limit (want OldestValue or Latency)")
	}
	o.Files, o.Every = cmp.Or(o.Files, 10), cmp.Or(o.Every, time.Minute)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := t.Start(); err != nil {
		return nil, fmt.Errorf("livepage: a program can have one flight recorder at a time: %w", err)
	}
	r := &FlightRecorder{dir: dir, o: o, tape: t, late: make(chan time.Duration, 1), closing: make(chan struct{}), done: make(chan struct{})}
	go r.run()
	return r, nil
}

// Observe reports a latency to the recorder, for example of one request. It does not
// block. One that is not above the limit costs a comparison.
func (r *FlightRecorder) Observe(latency time.Duration) {
	if latency <= r.o.Latency || r.o.Latency == 0 {
		return
	}
	select {
	case r.late <- latency:
	default:
	}
}

// Close stops the recorder, after the file that is being written, and returns when its
// goroutine has ended. It is idempotent and safe from any goroutine. Observe has no effect
// after it.
func (r *FlightRecorder) Close() {
	r.closed.Do(func() { close(r.closing) })
	<-r.done
}

// How often the limits of channels are checked.
const (
	mostOften  = 10 * time.Millisecond
	leastOften = time.Second
)

func (r *FlightRecorder) run() {
	defer close(r.done)
	defer r.tape.Stop()
	var tick <-chan time.Time
	if len(r.o.OldestValue) > 0 {
		every := leastOften
		for _, limit := range r.o.OldestValue {
			every = max(mostOften, min(every, limit/4))
		}
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		why := ""
		select {
		case <-r.closing:
			return
		case latency := <-r.late:
			why = fmt.Sprintf("a latency of %v is above the limit of %v", latency, r.o.Latency)
		case <-tick:
			if !time.Now().Before(r.next) {
				why = r.tooOld()
			}
		}
		if now := time.Now(); why != "" && !now.Before(r.next) {
			path, err := r.write(now)
			if err != nil && r.o.OnError != nil {
				r.o.OnError(fmt.Errorf("livepage: flight recorder: %w", err))
			}
			if path != "" && r.o.OnWrite != nil {
				r.o.OnWrite(path, why)
			}
			r.next = time.Now().Add(r.o.Every)
		}
	}
}

// tooOld returns which channel has an oldest value above its limit, or "".
func (r *FlightRecorder) tooOld() string {
	if now := time.Now(); now.Sub(r.listed) >= leastOften { // a list of thousands costs more than reading a few
		r.listed, r.channels = now, r.channels[:0]
		for _, c := range inspect.Channels() {
			if r.o.OldestValue[c.Name] > 0 {
				r.channels = append(r.channels, c)
			}
		}
	}
	r.reader.Begin(r.channels, answerWithin)
	for _, c := range r.channels {
		stats, ok, _ := r.reader.Stats(c)
		if oldest, limit := max(stats.OldestValue, stats.OldestAtLeast), r.o.OldestValue[c.Name]; ok && oldest > limit {
			return fmt.Sprintf("the oldest value of channel %q is %v old, above the limit of %v", c.Name, oldest, limit)
		}
	}
	return ""
}

// Names of files. Those of dumps sort by time.
const (
	flightPrefix = "flight-"
	flightSuffix = ".trace"
	flightTime   = "20060102T150405.000000000Z"
	flightPart   = ".flight.part" // while it is written
)

// write writes a file and removes old ones. An error beside a path comes from a removal.
func (r *FlightRecorder) write(now time.Time) (path string, err error) {
	part := filepath.Join(r.dir, flightPart)
	f, err := os.Create(part)
	if err != nil {
		return "", err
	}
	_, err = r.tape.WriteTo(f)
	if err = errors.Join(err, f.Close()); err == nil {
		path = filepath.Join(r.dir, flightPrefix+now.UTC().Format(flightTime)+flightSuffix)
		err = os.Rename(part, path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(part))
	}
	entries, err := os.ReadDir(r.dir) // sorted by name
	var dumps []string
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, flightPrefix) && strings.HasSuffix(name, flightSuffix) {
			dumps = append(dumps, name)
		}
	}
	for _, name := range dumps[:max(0, len(dumps)-r.o.Files)] {
		err = errors.Join(err, os.Remove(filepath.Join(r.dir, name)))
	}
	return path, err
}
