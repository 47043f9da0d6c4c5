package compare

import (
	"slices"
	"strings"
	"time"
)

// A Difference is a setting that two runs do not share.
type Difference struct {
	Key string   `json:"key"`
	Old []string `json:"old"` // nil if the run does not say
	New []string `json:"new"`
	// Expected says that any two runs differ in it, or that it is what a user
	// compares. All others are warned of.
	Expected bool `json:"expected,omitempty"`
}

// contrast compares what the files say of their runs.
func contrast(was, is *Run) (differences []Difference, readings []Reading) {
	differences, readings = []Difference{}, []Reading{}
	for _, key := range keysOf(was, is) {
		d := Difference{Key: key, Old: was.values(key), New: is.values(key), Expected: expected(key)}
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

// expected says whether a setting differs between any two runs, or is what they
// are compared for.
func expected(key string) bool {
	switch key {
	case dateKey, versionKey, "commit", "branch", "load":
		return true
	}
	return disturbance(key)
}

// Settings that the comparison has a sentence about.
const (
	dateKey    = "date"
	versionKey = "sluice" // the commit that the lab was built from
)

// mixed returns the settings of which the run holds several values, although
// its points are not distinguished by them.
func (r *Run) mixed() (mixed []Setting) {
	for _, s := range r.Settings {
		if len(s.Values) > 1 && s.Key != procsKey && !disturbance(s.Key) {
			mixed = append(mixed, s)
		}
	}
	return mixed
}

// began returns when the runs joined in a file began, in order, nil if it does
// not say so of each.
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

// An arrangement is how the runs of two files lie in time.
type arrangement uint8

const (
	single  arrangement = iota // one run each, or nobody knows
	blocks                     // several, all of one file before all of the other
	inTurns                    // several, of both files alternately: what the machine does is in both
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

// sameVersion returns the version of sluice that both runs are of, if they say
// so and it is one: what they differ in is then not the code.
func (c *Comparison) sameVersion() string {
	was, is := c.Old.values(versionKey), c.New.values(versionKey)
	if len(was) != 1 || !slices.Equal(was, is) || strings.Contains(was[0], "with changes") {
		return ""
	}
	return was[0]
}
