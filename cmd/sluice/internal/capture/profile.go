package capture

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"time"
)

// columns is the kind and the layout of a profile in pprof format, and its time.
type columns struct {
	kind         kind
	count, value int // which values of a sample; count is -1 without one
	at           time.Time
}

// choose finds the values that a Capture has, by their names and units.
func (c *columns) choose(types [][2]string) error {
	for _, known := range []struct {
		kind               kind
		count, value, unit string
	}{
		{kindCPU, "samples", "cpu", "nanoseconds"},
		{kindBlock, "contentions", "delay", "nanoseconds"}, // or mutex: both have the same types
		{kindLeak, "goroutineleak", "goroutineleak", "count"},
		{kindDump, "goroutine", "goroutine", "count"},
	} {
		if c.value = slices.Index(types, [2]string{known.value, known.unit}); c.value >= 0 {
			c.kind, c.count = known.kind, slices.Index(types, [2]string{known.count, "count"})
			return nil
		}
	}
	if len(types) == 0 {
		return errNoProfile
	}
	return fmt.Errorf("a profile of %s, which does not help here (want cpu, mutex, block, goroutine or goroutineleak)", types[len(types)-1][0])
}

var (
	errDelta   = errors.New("the difference of two goroutine profiles: fetch /debug/pprof/goroutine without seconds")
	errNoWaits = errors.New("empty: the service does not call runtime.SetMutexProfileFraction or runtime.SetBlockProfileRate, or no goroutine waited")
)

// readProfile reads a profile in pprof format.
func readProfile(in input, b *budget) (part, error) {
	raw, err := in.readAll(maxPacked)
	if err != nil {
		return part{}, err
	}
	p, c, err := decode(raw, b)
	if err != nil {
		return part{}, err
	}
	found := part{name: in.name, kind: c.kind, at: c.at, profile: p}
	var total int64
	for i := range p.Samples {
		s := &p.Samples[i]
		if c.count < 0 && p.Period > 0 {
			s.Count = s.Value / p.Period
		}
		if total += s.Value; s.Value < 0 || s.Count < 0 || total < 0 {
			err = errors.New("impossible counts or times")
		}
	}
	switch {
	case c.kind == kindDump && (p.Window != 0 || err != nil):
		err = errDelta
	case c.kind == kindDump && total > math.MaxInt32:
		err = errors.New("an impossible number of goroutines")
	case err != nil:
	case c.kind == kindCPU:
		err = p.plausible(time.Duration(total))
	case c.kind == kindBlock:
		if found.kind = p.contended(); len(p.Samples) == 0 {
			err = errNoWaits
		}
	case c.kind == kindDump:
		found.dump, found.profile = dumpOf(p.Samples), nil
	}
	return found, err
}

// dumpOf returns the dump of a goroutine profile.
func dumpOf(samples []Sample) *Dump {
	d := &Dump{Groups: make([]Goroutines, 0, len(samples))}
	for _, s := range samples {
		d.Total += int(s.Count)
		d.Groups = append(d.Groups, Goroutines{Count: int(s.Count), Stack: s.Stack, Labels: s.Labels})
	}
	return d
}

// maxWindow is more than the length of any CPU profile.
const maxWindow = 30 * 24 * time.Hour

// plausible rejects a window in which no machine can use that much CPU time, and programs
// that are not in Go, which would look like healthy code.
func (p *Profile) plausible(total time.Duration) error {
	if p.Window < 0 || p.Window > maxWindow || p.Window > 0 && total.Seconds() > maxCores*p.Window.Seconds() {
		return fmt.Errorf("implausible CPU time of %s in %s", total, p.Window)
	}
	inGo := func(s Sample) bool { return slices.ContainsFunc(s.Stack, ofGo) }
	if len(p.Samples) > 0 && !slices.ContainsFunc(p.Samples, inGo) {
		return errors.New("no Go function names (package.function): the program is not in Go, or has no symbols")
	}
	return nil
}

// linked splits the name of a function as Go's linker writes it.
func (f Frame) linked() (pkg, function string) {
	pkg, function, _ = strings.Cut(f.Function[strings.LastIndexByte(f.Function, '/')+1:], ".")
	return pkg, function
}

func ofGo(f Frame) bool {
	pkg, function := f.linked()
	return pkg != "" && function != "" && !strings.Contains(f.Function, "::")
}

// contended distinguishes mutex from block profiles: a mutex profile has the releases of
// locks, and a block profile the waits.
func (p *Profile) contended() kind {
	for _, s := range p.Samples {
		for _, f := range s.Stack {
			pkg, function := f.linked()
			if pkg != "runtime" && pkg != "sync" {
				break
			}
			if strings.Contains(strings.ToLower(function), "unlock") || strings.HasPrefix(function, "_LostContended") {
				return kindMutex
			}
		}
	}
	return kindBlock
}

// events returns the number of events.
func (p *Profile) events() (n int64) {
	for _, s := range p.Samples {
		n += s.Count
	}
	return n
}

// since returns what p has more than an earlier profile of the same counters. Sampled
// counts are scaled, and may shrink by rounding.
func (p *Profile) since(earlier *Profile) *Profile {
	seed := maphash.MakeSeed()
	before := make(map[uint64]Sample, len(earlier.Samples))
	for _, s := range earlier.Samples {
		sum := hashOf(seed, s.Stack)
		b := before[sum]
		before[sum] = Sample{Count: b.Count + s.Count, Value: b.Value + s.Value}
	}
	d := &Profile{Period: p.Period}
	for _, s := range p.Samples {
		sum := hashOf(seed, s.Stack)
		b := before[sum]
		before[sum] = Sample{Count: max(0, b.Count-s.Count), Value: max(0, b.Value-s.Value)} // the stack may be there again
		s.Count, s.Value = max(0, s.Count-b.Count), max(0, s.Value-b.Value)
		if s.Count > 0 || s.Value > 0 {
			d.Samples = append(d.Samples, s)
		}
	}
	return d
}

// hashOf returns a hash of a stack.
func hashOf(seed maphash.Seed, frames []Frame) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, f := range frames {
		maphash.WriteComparable(&h, f)
	}
	return h.Sum64()
}
