package compare

import (
	"math"
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

// Settings with a meaning.
const (
	dateKey    = "date"
	versionKey = "sluice" // the commit that the lab was built from
)

// reading reports whether a key names a reading that a run took of its machine: a
// disturbance, such as "noise", or a time, such as "line-ns". The lab writes them as
// comments ("# noise: 2.1%"), because benchstat separates runs by their settings.
func reading(key string) bool {
	return strings.HasSuffix(key, "-ns") || slices.ContainsFunc([]string{"noise", "spread", "steal", "psi", "pressure"},
		func(word string) bool { return strings.Contains(key, word) })
}

// contrast returns the settings that differ. GOMAXPROCS differs as expected if the user
// asked to compare two values of it.
func contrast(was, is *Run, asked bool) []Difference {
	differences := []Difference{}
	seen := map[string]bool{}
	for _, s := range slices.Concat(was.Settings, is.Settings) {
		d := Difference{Key: s.Key, Old: was.values(s.Key), New: is.values(s.Key)}
		d.Expected = reading(s.Key) || slices.Contains([]string{dateKey, versionKey, "commit", "branch", "load"}, s.Key) || asked && s.Key == procsKey
		if !seen[s.Key] && !slices.Equal(slices.Sorted(slices.Values(d.Old)), slices.Sorted(slices.Values(d.New))) {
			differences = append(differences, d)
		}
		seen[s.Key] = true
	}
	return differences
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

// An order is how the repetitions of both sides lie in time.
type order struct {
	turns    int  // runs on each side, if they were measured alternately; otherwise 1
	together bool // the machine's drift is in both sides
}

// order returns how the repetitions lie in time. Several runs alternate if neither side
// was over before the other began.
func (c *Comparison) order() order {
	was, is := c.Old.began(), c.New.began()
	if n := min(len(was), len(is)); n > 1 && was[0].Before(is[len(is)-1]) && is[0].Before(was[len(was)-1]) {
		return order{n, true}
	}
	// Parts of one run may be compared by GOMAXPROCS.
	dates := c.Old.values(dateKey)
	return order{1, c.Procs != nil && len(dates) == 1 && slices.Equal(dates, c.New.values(dateKey))}
}

// believed returns the part of a drift that may be the machine's, as a logarithm.
func (o order) believed(drift float64) float64 {
	if o.together {
		return 0
	}
	return min(drift, math.Log(maxDrift))
}
