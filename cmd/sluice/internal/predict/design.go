package predict

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Design is the way in which goroutines share a curve's resource.
type Design string

// The designs.
const (
	SeparateParts Design = "sharded"       // a private part for each CPU: lanes, striped counters
	FetchAndAdd   Design = "FAA"           // one fetch-and-add that always succeeds
	ShortLock     Design = "short lock"    // a lock with few spinning waiters: the runtime's since Go 1.24
	SleepingLock  Design = "sleeping lock" // a lock whose waiters all spin, then sleep: the runtime's before
	RetryLoop     Design = "CAS loop"      // a compare-and-swap loop, or a pure spin lock
	ChannelDesign Design = "channel"       // Go's channel, with the lock of its version
)

var designs = []Design{SeparateParts, FetchAndAdd, ShortLock, SleepingLock, RetryLoop, ChannelDesign}

// Order returns the designs from the highest throughput on many CPUs to the
// lowest. Reports show it where there are no figures.
func Order() []Design {
	return []Design{SeparateParts, FetchAndAdd, ShortLock, SleepingLock, RetryLoop}
}

// rank returns the index of the curve's design in Order, or -1.
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

// A generationOf identifies the lock of the runtime's channels.
type generationOf int

const (
	notGo generationOf = iota
	beforeSpinbit
	sinceSpinbit // since Go 1.24, one waiter of a runtime lock spins
)

var goVersion = regexp.MustCompile(`(?i)\bgo ?[~<=]*1\.(\d+)`)

// generation parses the version of a curve. The name of a lock takes precedence
// over the number, because Go 1.24 can be built with either lock.
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

// architecture guesses GOARCH from the name of a machine, or returns "".
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

// FarApart is the factor above which one design counts as faster than another.
const FarApart = 3

// An OrderScore counts the pairs of published figures, of one machine and one
// number of CPUs, that differ by more than FarApart, and those that Order
// predicts.
type OrderScore struct {
	Above int `json:"above_cpus"` // with more CPUs than this
	Pairs int `json:"pairs"`
	Right int `json:"right"`
}

// Share returns the fraction of pairs that Order predicts.
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

// Architecture returns the GOARCH of the curve's machine, or "" if unknown.
func (c Curve) Architecture() string { return architecture(c.Machine) }
