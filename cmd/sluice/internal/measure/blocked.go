package measure

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/google/pprof/profile"
)

// Blocked runs work and returns how long goroutines were blocked in it, by class,
// all goroutines added up, from the runtime's block profile of every single wait.
//
// A wait counts when it is over, from the moment the goroutine parked to the moment
// it was made ready: not until it ran again. Spinning, yielding and the locks inside
// the runtime are no waits to the profile. What is profiled takes longer: time it
// in another pass.
//
// class is given the functions of a wait, the innermost first, and returns its
// class, or "" if the wait is none of work's. The profile is the process's: it is
// switched off afterwards, and two calls must not overlap.
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

// functions names the functions of a sample, the innermost first, inlined ones
// among them.
func functions(sample *profile.Sample) []string {
	var names []string
	for _, location := range sample.Location {
		for _, line := range location.Line {
			names = append(names, line.Function.Name)
		}
	}
	return names
}
