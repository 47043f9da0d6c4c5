package measure

import (
	"testing"
	"testing/synctest"
	"time"
)

// slow is an entry whose passes take a multiple of what they report, as beside other load.
func slow(contender ContenderID, takes time.Duration) Entry {
	return Entry{contender, func() (Reading, error) {
		time.Sleep(takes)
		return Reading{Ops: 10, Elapsed: 20 * time.Millisecond}, nil
	}}
}

// TestBudget: a run that is slower than planned has fewer rounds, the same for all entries of a
// point, and ends within its limit. Each point has its least rounds in any case.
func TestBudget(t *testing.T) {
	for _, test := range []struct {
		name          string
		takes         time.Duration
		reduced, late bool
		least         int // of the last point
	}{
		{"as planned", 20 * time.Millisecond, false, false, 9},
		{"twice as long", 55 * time.Millisecond, true, false, 3},
		{"far too long", time.Second, true, true, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			var points []*Point
			for range 30 {
				points = append(points, &Point{Setting: Setting{Procs: 1, Count: 9}, Target: 20 * time.Millisecond,
					Entries: []Entry{slow("a", test.takes), slow("b", test.takes)}})
			}
			limit := Estimate(points) * 5 / 4
			seen := &journal{}
			r := runner(seen)
			r.Longer = &Longer{Wide: wideUntil(0), Times: 3, Share: 0.25}
			r.Budget = &Budget{Limit: limit, Least: 3}
			began := time.Now()
			outcomes := r.Run(t.Context(), points)
			if took := time.Since(began); (took > limit) != test.late {
				t.Errorf("%s: took %v with a limit of %v", test.name, took, limit)
			}
			any := false
			for i, o := range outcomes {
				n := len(o.Results[0].Repetitions)
				if n != len(o.Results[1].Repetitions) || n < 3 || n > 9 || (n < 9) != (o.Reduced > 0) || o.Reduced > 0 && n != o.Reduced {
					t.Errorf("%s: point %d has %d and %d repetitions, reduced to %d", test.name, i, n, len(o.Results[1].Repetitions), o.Reduced)
				}
				if !o.Finished || o.Missing(0) != 0 {
					t.Errorf("%s: point %d: finished %v, %d missing", test.name, i, o.Finished, o.Missing(0))
				}
				any = any || o.Reduced > 0
			}
			if last := len(outcomes[29].Results[0].Repetitions); any != test.reduced || last < test.least {
				t.Errorf("%s: reduced %v, the last point has %d repetitions", test.name, any, last)
			}
			if seen.done != Steps(points)+seen.more {
				t.Errorf("%s: Done called %d times, announced %d and %d", test.name, seen.done, Steps(points), seen.more)
			}
		})
	}
}

// TestBudgetOfLonger: the additional rounds of a wide point do not mean that the run is slow.
func TestBudgetOfLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var points []*Point
		for range 30 {
			points = append(points, &Point{Setting: Setting{Procs: 1, Count: 9}, Target: 20 * time.Millisecond,
				Entries: []Entry{slow("a", 20*time.Millisecond), slow("b", 20*time.Millisecond)}})
		}
		r := runner(&journal{})
		r.Longer = &Longer{Wide: func(o *Outcome) bool { return o.Point == points[0] }, Times: 3, Share: 0.25, Whole: Estimate(points)}
		r.Budget = &Budget{Limit: Estimate(points) * 5 / 4, Least: 3}
		outcomes := r.Run(t.Context(), points)
		if n := len(outcomes[0].Results[0].Repetitions); n <= 9 {
			t.Errorf("%d repetitions of the wide point", n)
		}
		for i, o := range outcomes {
			if o.Reduced > 0 {
				t.Errorf("point %d is reduced to %d repetitions", i, o.Reduced)
			}
		}
	})
}
