package compare

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Reading is a figure that both runs took of their machine before they
// measured anything else, and left as a setting in their files, or as a comment of
// the same form, "# noise: 2.1%": benchstat keeps results of different settings
// apart, and no two runs read the same. It is read by its form, whatever it is
// called:
//
//   - a spread, in per cent, of a key that names a disturbance: "noise: 2.1%". A
//     change of time that is smaller is explained by it.
//   - a gauge, a time by unit or by the end of its key: "line-ns: 52". If the
//     machine took a quarter longer for the same, a change of time of up to a
//     quarter in that direction is explained by it.
//
// A file may hold several values of one reading. Of spreads the largest counts,
// of gauges the mean.
type Reading struct {
	Key  string  `json:"key"`
	Old  float64 `json:"old"`
	New  float64 `json:"new"`
	Unit string  `json:"unit"` // "%", or that of a time: "ns"
	// Explains is how many points beyond noise differ no more than this.
	Explains int `json:"explains"`
}

// spreadUnit is the unit of a spread.
const spreadUnit = "%"

// another is the factor between two gauges beyond which they are no longer the
// noise of one machine but two machines, or two settings of it.
const another = 2

// disturbance says whether a key names what disturbs a measurement.
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

// remark is a comment that has the form of a setting.
var remark = regexp.MustCompile(`(?m)^# ([a-z][^\s:]*):[ \t]+(\S.*?)\s*$`)

// addRemarks takes the comments that can be readings as settings of the run.
func (r *Run) addRemarks(text []byte) {
	for _, match := range remark.FindAllSubmatch(text, -1) {
		key, value := string(match[1]), string(match[2])
		if _, _, ok := figure(key, []string{value}); ok {
			r.add(key, value)
		}
	}
}

// newReading reads a setting of both runs as a reading, if it has that form.
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

// covers returns the range of changes that the reading explains in a unit, as
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

// explain marks the points that a reading accounts for.
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
