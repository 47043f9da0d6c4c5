package predict

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Design is how goroutines share the thing that a curve is of.
type Design string

// The designs, and what belongs to each.
const (
	SeparateParts Design = "sharded"       // a private part for each CPU: lanes, striped counters
	FetchAndAdd   Design = "FAA"           // one fetch-and-add that always succeeds
	ShortLock     Design = "short lock"    // a lock of which few spin at a time: the runtime's since Go 1.24
	SleepingLock  Design = "sleeping lock" // a lock of which all spin, then sleep: the runtime's before
	RetryLoop     Design = "CAS loop"      // a compare-and-swap that is tried again, or a lock that only spins
	ChannelDesign Design = "channel"       // Go's: the lock of its generation
)

var designs = []Design{SeparateParts, FetchAndAdd, ShortLock, SleepingLock, RetryLoop, ChannelDesign}

// Order returns the designs from the highest throughput on many CPUs to the
// lowest. It is all that is said where numbers are refused.
func Order() []Design {
	return []Design{SeparateParts, FetchAndAdd, ShortLock, SleepingLock, RetryLoop}
}

// rank returns the place of the curve's design in Order, -1 if it has none.
func (c Curve) rank() int {
	design := c.Design
	if design == ChannelDesign {
		design = SleepingLock
		if generation(c.Version) == sinceSpinbit {
			design = ShortLock
		}
	}
	return slices.Index(Order(), design)
}

// A generationOf says which lock the runtime's channels have.
type generationOf int

const (
	notGo generationOf = iota
	beforeSpinbit
	sinceSpinbit // Go 1.24: of the goroutines that wait for a lock of the runtime, one spins
)

var goVersion = regexp.MustCompile(`(?i)\bgo ?[~<=]*1\.(\d+)`)

// generation reads the version of a curve. What it says of the lock goes before
// the number: 1.24 can be built with either.
func generation(version string) generationOf {
	lower := strings.ToLower(version)
	switch {
	case strings.Contains(lower, "nospinbit"), strings.Contains(lower, "tristate"):
		return beforeSpinbit
	case strings.Contains(lower, "spinbit"):
		return sinceSpinbit
	}
	if match := goVersion.FindStringSubmatch(version); match != nil {
		minor, err := strconv.Atoi(match[1])
		if err == nil && minor >= 24 {
			return sinceSpinbit
		}
		return beforeSpinbit
	}
	if strings.HasPrefix(lower, "go ") || strings.HasPrefix(lower, "devel") {
		return beforeSpinbit // releases before Go 1, by their year
	}
	return notGo
}

// architecture guesses GOARCH from the name of a machine, "" if it tells
// nothing.
func architecture(machine string) string {
	lower := strings.ToLower(machine)
	for _, known := range []struct {
		arch  string
		words []string
	}{
		{"arm64", []string{"arm64", "aarch64", "graviton", "apple", "m1 ultra", "kunpeng", "ampere", "neoverse", "axion"}},
		{"ppc64le", []string{"ppc64le", "power"}},
		{"amd64", []string{"amd64", "x86", "xeon", "intel", "epyc", "ryzen", "threadripper", "ice lake", "i5-", "i7-", "i9-", "amd"}},
	} {
		if slices.ContainsFunc(known.words, func(word string) bool { return strings.Contains(lower, word) }) {
			return known.arch
		}
	}
	return ""
}

// FarApart is the factor beyond which one design is called faster than another.
const FarApart = 3

// An OrderScore says how often Order is right: of the pairs of published
// figures from one machine and one number of CPUs that are more than FarApart.
type OrderScore struct {
	Above int `json:"above_cpus"` // with more CPUs than this
	Pairs int `json:"pairs"`
	Right int `json:"right"`
}

// Share returns the fraction of pairs that Order has right.
func (s OrderScore) Share() float64 { return float64(s.Right) / float64(max(1, s.Pairs)) }

// scoreOrder compares each pair of curves of different designs.
func scoreOrder(curves []Curve, above int) OrderScore {
	score := OrderScore{Above: above}
	for _, better := range curves {
		for _, worse := range curves {
			if better.Machine != worse.Machine || better.rank() < 0 || better.rank() >= worse.rank() {
				continue
			}
			for _, p := range better.Points {
				i := slices.IndexFunc(worse.Points, func(q Point) bool { return q.Procs == p.Procs })
				if i < 0 || p.Procs <= above {
					continue
				}
				switch other := worse.Points[i].X; {
				case p.X > FarApart*other:
					score.Right++
					score.Pairs++
				case other > FarApart*p.X:
					score.Pairs++
				}
			}
		}
	}
	return score
}

// Architecture returns GOARCH as far as the curve's machine tells it, "" if not.
func (c Curve) Architecture() string { return architecture(c.Machine) }
