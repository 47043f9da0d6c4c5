package capture

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// choose finds the values that a Capture has, by their names and units.
func (d *decoder) choose() error {
	for _, known := range []struct {
		kind               kind
		count, value, unit string
	}{
		{kindCPU, "samples", "cpu", "nanoseconds"},
		{kindBlock, "contentions", "delay", "nanoseconds"}, // or mutex: both have the same types
		{kindLeak, "goroutineleak", "goroutineleak", "count"},
		{kindDump, "goroutine", "goroutine", "count"},
	} {
		if d.value = slices.Index(d.types, [2]string{known.value, known.unit}); d.value >= 0 {
			d.kind, d.count = known.kind, slices.Index(d.types, [2]string{known.count, "count"})
			return nil
		}
	}
	if len(d.types) == 0 {
		return errNoProfile
	}
	return fmt.Errorf("a profile of %s, which does not help here (want cpu, mutex, block, goroutine or goroutineleak)", d.types[len(d.types)-1][0])
}

var (
	errDelta   = errors.New("the difference of two goroutine profiles: fetch /debug/pprof/goroutine without seconds")
	errNoWaits = errors.New("empty: the service does not call runtime.SetMutexProfileFraction or runtime.SetBlockProfileRate, or no goroutine waited")
)

// partOf returns a profile as a part, if its numbers are possible.
func partOf(k kind, at time.Time, p *Profile) (part, error) {
	found := part{kind: k, at: at, profile: p}
	total, possible := int64(0), true
	for _, s := range p.Samples {
		total += s.Value
		possible = possible && s.Value >= 0 && s.Count >= 0 && total >= 0
	}
	switch {
	case k == kindDump && (p.Window != 0 || !possible):
		return part{}, errDelta
	case !possible || k == kindDump && total > math.MaxInt32:
		return part{}, errors.New("impossible counts or times")
	case k == kindCPU:
		return found, p.plausible(time.Duration(total))
	case k == kindBlock && len(p.Samples) == 0:
		return part{}, errNoWaits
	case k == kindBlock:
		found.kind = p.contended()
	case k == kindDump:
		found.profile, found.dump = nil, &Dump{Total: int(total), Groups: make([]Goroutines, 0, len(p.Samples))}
		for _, s := range p.Samples {
			found.dump.Groups = append(found.dump.Groups, Goroutines{Count: int(s.Value), Stack: s.Stack})
		}
	}
	return found, nil
}

// plausible rejects a window in which no machine can use that much CPU time, and programs
// that are not in Go, which would look like healthy code.
func (p *Profile) plausible(total time.Duration) error {
	if p.Window < 0 || p.Window > 0 && total.Seconds() > maxCores*p.Window.Seconds() {
		return fmt.Errorf("implausible CPU time of %s in %s", total, p.Window)
	}
	inGo := func(f Frame) bool {
		pkg, function := f.linked()
		return pkg != "" && function != "" && !strings.Contains(f.Function, "::")
	}
	if len(p.Samples) > 0 && !slices.ContainsFunc(p.Samples, func(s Sample) bool { return slices.ContainsFunc(s.Stack, inGo) }) {
		return errors.New("no Go function names (package.function): the program is not in Go, or has no symbols")
	}
	return nil
}

// linked splits the name of a function as Go's linker writes it.
func (f Frame) linked() (pkg, function string) {
	pkg, function, _ = strings.Cut(f.Function[strings.LastIndexByte(f.Function, '/')+1:], ".")
	return pkg, function
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
