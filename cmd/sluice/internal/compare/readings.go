package compare

import (
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Reading is a figure of the machine that both runs took before their
// measurements. It is a setting in their files, or a comment of the same form,
// "# noise: 2.1%": as a setting it would make benchstat separate the runs.
// Readings are recognized by their form, whatever their name:
//
//   - A spread is a percentage whose key names a disturbance: "noise: 2.1%". It explains
//     smaller changes of times.
//   - A gauge is a time, by its unit or by the suffix of its key: "line-ns: 52". If the
//     machine took 25% longer for the same work, the gauge explains changes of times of
//     up to 25% in that direction.
//
// A file may have several values of one reading: the largest spread and the
// mean of gauges count.
type Reading struct {
	Key  string  `json:"key"`
	Old  float64 `json:"old"`
	New  float64 `json:"new"`
	Unit string  `json:"unit"` // "%", or the unit of a time: "ns"
	// Explains is the number of changes beyond noise that are not larger than
	// this.
	Explains int `json:"explains"`
}

// spreadUnit is the unit of a spread.
const spreadUnit = "%"

// another is the factor between two gauges above which they are from two
// machines, or two configurations of one.
const another = 2

// disturbance reports whether a key names a disturbance of measurements.
func disturbance(key string) bool {
	for _, word := range []string{"noise", "spread", "steal", "psi", "pressure"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

var (
	quantity = regexp.MustCompile(`^(\d+(?:\.\d*)?)\s*(%|ns|µs|us|ms|s)?(?:\s|$)`)
	unitKey  = regexp.MustCompile(`-(ns|us|ms|pct|percent)$`)
)

// remark matches a comment in the form of a setting.
var remark = regexp.MustCompile(`^# ([a-z][^\s:]*):[ \t]+(\S.*?)\s*$`)

// failure matches the lines of a run that failed. A benchmark that panics has its name
// before the panic.
var failure = regexp.MustCompile(`^(?:--- FAIL: |FAIL(?:\s|$)|(?:Benchmark\S*\s+)?(?:panic|fatal error): )`)

// maxFailures limits the failures that are kept: a file may have millions.
const maxFailures = 20

// addRemarks adds comments that can be readings to the settings of a run, and its failures.
func (r *results) addRemarks(side int, text io.Reader) error {
	return eachLine(text, func(line []byte) error {
		if run := &r.runs[side]; len(run.Failures) < maxFailures && failure.Match(line) {
			run.Failures = append(run.Failures, string(line))
		}
		if len(line) == 0 || line[0] != '#' {
			return nil
		}
		match := remark.FindSubmatch(line)
		if match == nil {
			return nil
		}
		key, value := string(match[1]), string(match[2])
		if _, _, ok := figure(key, []string{value}); !ok {
			return nil
		}
		return r.hold(side, r.runs[side].add(key, value))
	})
}

// newReading returns a setting of both runs as a reading, if it has that form.
func newReading(d Difference) (Reading, bool) {
	r := Reading{Key: d.Key}
	var ok [2]bool
	var units [2]string
	r.Old, units[0], ok[0] = figure(d.Key, d.Old)
	r.New, units[1], ok[1] = figure(d.Key, d.New)
	r.Unit = units[0]
	if !ok[0] || !ok[1] || units[0] != units[1] {
		return r, false
	}
	if r.Unit == spreadUnit || d.Expected {
		return r, r.Unit == spreadUnit && disturbance(d.Key)
	}
	return r, r.Old > 0 && r.New > 0 && math.Abs(math.Log(r.New/r.Old)) <= math.Log(another)
}

// figure returns the values of a setting as one quantity: a spread, or a time in
// nanoseconds.
func figure(key string, values []string) (v float64, unit string, ok bool) {
	for _, text := range values {
		parts := quantity.FindStringSubmatch(text)
		if parts == nil {
			return 0, "", false
		}
		of := parts[2]
		if m := unitKey.FindStringSubmatch(key); of == "" && m != nil {
			of = m[1]
		}
		number, err := strconv.ParseFloat(parts[1], 64)
		if err != nil {
			return 0, "", false
		}
		switch of {
		case "":
			return 0, "", false
		case spreadUnit, "pct", "percent":
			unit, v = spreadUnit, max(v, number)
		default:
			one, _ := time.ParseDuration("1" + of)
			unit, v = "ns", v+number*float64(one)/float64(len(values))
		}
	}
	return v, unit, len(values) > 0
}

// covers returns the range of changes in a unit that the reading explains, as
// fractions.
func (r *Reading) covers(unit string) (lo, hi float64) {
	if !timed(unit) {
		return 0, 0
	}
	if r.Unit == spreadUnit {
		level := max(r.Old, r.New) / 100
		return -level, level
	}
	drift := r.New/r.Old - 1
	if rate(unit) {
		drift = r.Old/r.New - 1
	}
	return min(0, drift), max(0, drift)
}

// explain marks the points that a reading explains.
func (c *Comparison) explain() {
	for i := range c.Points {
		p := &c.Points[i]
		if p.Verdict == Same || p.Verdict == TooFew {
			continue
		}
		for j := range c.Readings {
			r := &c.Readings[j]
			if lo, hi := r.covers(p.Unit); lo <= float64(p.Change) && float64(p.Change) <= hi {
				p.Explained = append(p.Explained, r.Key)
				r.Explains++
			}
		}
	}
}
