package profile

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/sluice-go/sluice/livepage"
)

// A part is one parsed file. The pointer for its kind is set.
type part struct {
	name string
	kind Kind
	at   time.Time // when it was taken; zero if unknown

	cpu         *CPU
	contentions *Contentions
	goroutines  *Goroutines
	trace       *Trace
	procs       int // GOMAXPROCS in the trace; 0 if unknown
	reading     *Reading
	flow        *livepage.Flow
}

// parts are the files of a capture.
type parts struct {
	header *Header
	files  []part
	due    time.Time // when reading a trace must end; zero without a limit
}

// perKind is the largest number of files per kind: before and after.
var perKind = map[Kind]int{
	KindCPU: 1, KindTrace: 1, KindGlimpse: 1, KindLeak: 1, KindFlow: 2,
	KindMutex: 2, KindBlock: 2, KindGoroutine: 2, KindGoroutineText: 2, KindMetrics: 2,
}

func (p *parts) put(file part, err error) error {
	if err != nil {
		return err
	}
	if file.reading != nil {
		file.at = file.reading.At
	}
	n := 0
	for _, other := range p.files {
		if other.kind == file.kind {
			n++
		}
	}
	if n == perKind[file.kind] {
		return fmt.Errorf("too many %s files for one capture (want at most %d): -compare takes two captures", file.kind, n)
	}
	p.files = append(p.files, file)
	return nil
}

// of returns the last file of a kind, and the one before it.
func (p *parts) of(kind Kind) (before, after *part) {
	var files []*part
	for i := range p.files {
		if p.files[i].kind == kind {
			files = append(files, &p.files[i])
		}
	}
	slices.SortStableFunc(files, func(a, b *part) int {
		if a.early() != b.early() {
			return cmp.Compare(b.earlyRank(), a.earlyRank())
		}
		return a.at.Compare(b.at)
	})
	switch len(files) {
	case 0:
		return nil, nil
	case 1:
		return nil, files[0]
	}
	return files[0], files[1]
}

// early reports whether the name marks the earlier of two files.
func (f *part) early() bool {
	base := filepath.Base(f.name)
	base, _, _ = strings.Cut(base, ".")
	return strings.HasSuffix(base, "-before")
}

func (f *part) earlyRank() int {
	if f.early() {
		return 1
	}
	return 0
}

// apart returns the time between two files, 0 if unknown.
func apart(before, after *part) time.Duration {
	if before.at.IsZero() || after.at.IsZero() {
		return 0
	}
	return max(0, after.at.Sub(before.at))
}

func timeOf(p *pprof.Profile) time.Time {
	if p.TimeNanos <= 0 {
		return time.Time{}
	}
	return time.Unix(0, p.TimeNanos).UTC()
}

// errNothing reports files without any profile.
var errNothing = errors.New("found no profile, trace or metrics")

// capture combines the parts.
func (p *parts) capture() (*Capture, error) {
	if len(p.files) == 0 {
		return nil, errNothing
	}
	c := &Capture{}
	var err error
	if _, f := p.of(KindCPU); f != nil {
		c.CPU, c.Start, c.Window = f.cpu, f.at, f.cpu.Window
	}
	if c.Mutex, err = p.contentions(c, KindMutex, "runtime.SetMutexProfileFraction, or nothing ever waited"); err != nil {
		return nil, err
	}
	if c.Block, err = p.contentions(c, KindBlock, "runtime.SetBlockProfileRate"); err != nil {
		return nil, err
	}
	c.Goroutines = p.goroutines()
	if _, f := p.of(KindLeak); f != nil {
		c.Leaks = &Leaks{Total: f.goroutines.Total, Sites: f.goroutines.Sites}
	}
	if _, f := p.of(KindGlimpse); f != nil {
		c.Glimpse, c.GOMAXPROCS = f.trace, f.procs
	}
	if _, f := p.of(KindTrace); f != nil {
		c.Trace, c.GOMAXPROCS = f.trace, cmp.Or(f.procs, c.GOMAXPROCS)
		c.Window = cmp.Or(c.Window, f.trace.Window)
	}
	if before, f := p.of(KindFlow); f != nil {
		c.Flow = f.flow
		if before != nil {
			c.FlowBefore = before.flow
		}
	}
	if before, after := p.of(KindMetrics); after != nil {
		c.Metrics = &Metrics{After: after.reading}
		if before != nil {
			c.Metrics.Before = before.reading
			if c.Metrics.restarted() {
				return nil, &FileError{after.name, fmt.Errorf("lower counters than in %s, which is earlier: the process restarted in between", before.name)}
			}
		}
		c.Window = cmp.Or(c.Window, c.Metrics.Window())
		c.GoVersion, c.CPUs = after.reading.GoVersion, after.reading.CPUs
		if procs, ok := c.Metrics.GOMAXPROCS(); ok {
			c.GOMAXPROCS = procs
		}
	}
	c.adopt()
	c.nameTicks()
	if h := p.header; h != nil {
		c.Target = h.Target
		c.GoVersion = cmp.Or(c.GoVersion, h.GoVersion)
		c.GOMAXPROCS = cmp.Or(c.GOMAXPROCS, h.GOMAXPROCS)
		c.CPUs = cmp.Or(c.CPUs, h.CPUs)
		c.Machine = h.Machine
		c.Missing = append(slices.Clone(h.Missing), c.Missing...)
		if c.Start.IsZero() {
			c.Start = h.Start
		}
	}
	return c, nil
}

// contentions returns the difference of two contention profiles, or a single
// one. A profile that is empty since the process started is disabled: it is
// added to c.Missing, with the call that enables it.
func (p *parts) contentions(c *Capture, kind Kind, setting string) (*Contentions, error) {
	before, after := p.of(kind)
	switch {
	case after == nil:
		return nil, nil
	case after.contentions.count() == 0:
		if !p.header.missed(kind) {
			c.Missing = append(c.Missing, Missing{kind, "empty: the service does not call " + setting})
		}
		return nil, nil
	case before == nil:
		return after.contentions, nil
	}
	// Counters do not shrink, except by rounding.
	const rounding = 2
	if after.contentions.count() < before.contentions.count()/rounding {
		return nil, &FileError{after.name, fmt.Errorf("fewer events than in %s, which is earlier: the process restarted in between", before.name)}
	}
	return after.contentions.since(before.contentions, apart(before, after)), nil
}

func (c *Contentions) count() int64 {
	n := c.Runtime.Count + c.Own.Count
	for _, site := range c.Sites {
		n += site.Count
	}
	return n
}

// goroutines combines both forms, and compares them with earlier ones.
func (p *parts) goroutines() *Goroutines {
	before, after := p.of(KindGoroutine)
	textBefore, textAfter := p.of(KindGoroutineText)
	var g, text *Goroutines
	if after != nil {
		g = after.goroutines
	}
	if textAfter != nil {
		text = textAfter.goroutines
	}
	joined := g.join(text)
	switch {
	case before != nil:
		joined.since(before.goroutines, apart(before, after))
	case textBefore != nil && g == nil:
		joined.since(textBefore.goroutines, 0)
	}
	return joined
}
