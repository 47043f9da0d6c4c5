package compare

import (
	"slices"
	"strings"
	"time"
)

// A Difference is a setting that differs between two runs.
type Difference struct {
	Key string   `json:"key"`
	Old []string `json:"old"` // nil if the run lacks it
	New []string `json:"new"`
	// Expected is true if any two runs differ in the setting, or if users
	// compare by it. Other differences cause a warning.
	Expected bool `json:"expected,omitempty"`
}

// contrast compares the settings of two runs. GOMAXPROCS differs as expected if
// the user asked to compare two values of it.
func contrast(was, is *Run, asked bool) (differences []Difference, readings []Reading) {
	differences, readings = []Difference{}, []Reading{}
	for _, key := range keysOf(was, is) {
		d := Difference{Key: key, Old: was.values(key), New: is.values(key), Expected: expected(key) || asked && key == procsKey}
		if reading, ok := newReading(d); ok {
			readings = append(readings, reading)
			continue
		}
		if !slices.Equal(slices.Sorted(slices.Values(d.Old)), slices.Sorted(slices.Values(d.New))) {
			differences = append(differences, d)
		}
	}
	return differences, readings
}

// keysOf returns the settings of both runs in the order of the files.
func keysOf(runs ...*Run) (keys []string) {
	for _, run := range runs {
		for _, s := range run.Settings {
			if !slices.Contains(keys, s.Key) {
				keys = append(keys, s.Key)
			}
		}
	}
	return keys
}

// expected reports whether a setting differs between any two runs, or is a
// reason to compare them.
func expected(key string) bool {
	switch key {
	case dateKey, versionKey, "commit", "branch", "load":
		return true
	}
	return disturbance(key)
}

// Settings with a sentence in the comparison.
const (
	dateKey    = "date"
	versionKey = "sluice" // the commit that the lab was built from
)

// mixed returns the settings with several values in the run that do not
// distinguish its points.
func (r *Run) mixed() (mixed []Setting) {
	for _, s := range r.Settings {
		if len(s.Values) > 1 && s.Key != procsKey && !disturbance(s.Key) {
			mixed = append(mixed, s)
		}
	}
	return mixed
}

// began returns the start times of the runs joined in a file, in order, or nil
// if any is missing.
func (r *Run) began() (dates []time.Time) {
	for _, text := range r.values(dateKey) {
		date, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil
		}
		dates = append(dates, date)
	}
	slices.SortFunc(dates, time.Time.Compare)
	return dates
}

// An arrangement is the order of the runs of two files in time.
type arrangement uint8

const (
	single  arrangement = iota // one run each, or unknown
	blocks                     // several, all of one file before all of the other
	inTurns                    // several, alternating, so that the machine's changes are in both
)

func (c *Comparison) arrangement() arrangement {
	was, is := c.Old.began(), c.New.began()
	switch {
	case len(was) < 2 || len(is) < 2:
		return single
	case was[0].Before(is[len(is)-1]) && is[0].Before(was[len(was)-1]):
		return inTurns
	}
	return blocks
}

// order returns how the repetitions lie in time, for the decision.
func (c *Comparison) order() order {
	if c.arrangement() == inTurns {
		return order{turns: min(len(c.Old.began()), len(c.New.began())), together: true}
	}
	return order{turns: 1, together: c.oneRun()}
}

// oneRun reports whether OLD and NEW are parts of one run, compared by GOMAXPROCS.
func (c *Comparison) oneRun() bool {
	was, is := c.Old.values(dateKey), c.New.values(dateKey)
	return c.Procs != nil && len(was) == 1 && slices.Equal(was, is)
}

// sameVersion returns the common version of sluice of both runs, or "". With a
// common version, changes are not due to the code of sluice.
func (c *Comparison) sameVersion() string {
	was, is := c.Old.values(versionKey), c.New.values(versionKey)
	if len(was) != 1 || !slices.Equal(was, is) || strings.Contains(was[0], "with changes") {
		return ""
	}
	return was[0]
}
