package measure

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/google/pprof/profile"
)

// Blocked runs work and returns the time that goroutines were blocked in it, by
// class, summed over all goroutines, from the runtime's block profile of every
// wait.
//
// A wait counts when it ends, from parking the goroutine to making it ready;
// the time until it runs again does not count. The profile does not include
// spinning, yielding and runtime-internal locks. Profiling slows work: time it
// in another pass.
//
// class receives the functions of a wait, the innermost first, and returns its
// class, or "" if the wait is not part of work. The profile covers the whole
// process. Blocked switches it off at the end, and two calls must not overlap.
func Blocked(work func() error, class func(functions []string) string) (map[string]time.Duration, error) {
	runtime.SetBlockProfileRate(1) // nanoseconds blocked for each sample: all of them
	defer runtime.SetBlockProfileRate(0)
	before, err := waits(class)
	if err != nil {
		return nil, err
	}
	if err := work(); err != nil {
		return nil, err
	}
	blocked, err := waits(class)
	for name := range blocked {
		// The profile grows from the start of the process.
		blocked[name] -= before[name]
	}
	return blocked, err
}

// waits adds up the block profile as it stands.
func waits(class func([]string) string) (map[string]time.Duration, error) {
	var encoded bytes.Buffer
	if err := pprof.Lookup("block").WriteTo(&encoded, 0); err != nil {
		return nil, err
	}
	p, err := profile.Parse(&encoded)
	if err != nil {
		return nil, err
	}
	total := make(map[string]time.Duration)
	for _, sample := range p.Sample {
		if name := class(functions(sample)); name != "" {
			total[name] += time.Duration(sample.Value[1]) // contentions/count, then delay/nanoseconds
		}
	}
	return total, nil
}

// functions returns the names of the functions of a sample, the innermost
// first, including inlined ones.
func functions(sample *profile.Sample) []string {
	var names []string
	for _, location := range sample.Location {
		for _, line := range location.Line {
			names = append(names, line.Function.Name)
		}
	}
	return names
}
