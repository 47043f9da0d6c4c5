package measure

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
)

// slow is an entry whose passes take a multiple of what they report, as beside other load.
func slow(contender ContenderID, takes time.Duration) Entry {
	return Entry{contender, func() (Reading, error) {
		time.Sleep(takes)
		return Reading{Ops: 10, Elapsed: 20 * time.Millisecond}, nil
	}}
}

// TestPaceOfASlowRun: a run that is slower than planned has fewer rounds, the same for all entries of a
// point, and ends within its limit. Each point has its least rounds in any case.
func TestPaceOfASlowRun(t *testing.T) {
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
			r.Pace = &Pace{Wide: wideUntil(0), Times: 3, Share: 0.25, Whole: Estimate(points), Least: 3}
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

// TestPaceOfAWidePoint: the additional rounds of a wide point are no sign that the run is slow.
func TestPaceOfAWidePoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var points []*Point
		for range 30 {
			points = append(points, &Point{Setting: Setting{Procs: 1, Count: 9}, Target: 20 * time.Millisecond,
				Entries: []Entry{slow("a", 20*time.Millisecond), slow("b", 20*time.Millisecond)}})
		}
		r := runner(&journal{})
		r.Pace = &Pace{Wide: func(o *Outcome) bool { return o.Point == points[0] }, Times: 3, Share: 0.25, Whole: Estimate(points), Least: 3}
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

// wideUntil is a rule that considers a point wide until its entries have n
// repetitions.
func wideUntil(n int) func(*Outcome) bool {
	return func(o *Outcome) bool { return len(o.Results[0].Repetitions) < n }
}

func always(*Outcome) bool { return true }

func TestPace(t *testing.T) {
	for _, tt := range []struct {
		name string
		rule *Pace
		want []int // repetitions of both entries at each of four points
	}{
		{"no rule", nil, []int{6, 6, 6, 6}},
		{"never wide", &Pace{Wide: wideUntil(0), Times: 3, Share: 100}, []int{6, 6, 6, 6}},
		{"wide until there is more", &Pace{Wide: wideUntil(9), Times: 3, Share: 100}, []int{10, 10, 10, 10}},
		{"always wide", &Pace{Wide: always, Times: 3, Share: 100}, []int{18, 18, 18, 18}},
		{"at most twice", &Pace{Wide: always, Times: 2, Share: 100}, []int{12, 12, 12, 12}},
		{"as planned, at most", &Pace{Wide: always, Times: 1, Share: 100}, []int{6, 6, 6, 6}},
		// A third of 6 rounds is a third of the time of a point.
		{"a little time", &Pace{Wide: always, Times: 3, Share: 0.34}, []int{8, 8, 8, 8}},
		{"less time than one addition a point", &Pace{Wide: always, Times: 3, Share: 0.17}, []int{6, 8, 6, 8}},
		// An advance of 98 µs; an addition takes 24 µs.
		{"the first lives on a loan", &Pace{Wide: always, Times: 3, Share: 0.17, Whole: 8 * 288_000}, []int{14, 6, 6, 6}},
		{"no time", &Pace{Wide: always, Times: 3}, []int{6, 6, 6, 6}},
		{"the last lives on what the others left", &Pace{Times: 3, Share: 0.34, Wide: func(o *Outcome) bool { return o.Point.Name == "last" }}, []int{6, 6, 6, 14}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var points []*Point
			for range 4 {
				points = append(points, &Point{Setting: Setting{Procs: 1, Count: 6}, Entries: []Entry{timed("a", 500), timed("b", 700)}})
			}
			points[3].Name = "last"
			seen := &journal{}
			r := runner(seen)
			r.Pace = tt.rule
			total := 0
			for i, outcome := range r.Run(t.Context(), points) {
				for _, result := range outcome.Results {
					if n := len(result.Repetitions); n != tt.want[i] {
						t.Errorf("point %d: %s has %d repetitions, want %d", i, result.Contender, n, tt.want[i])
					}
				}
				if !outcome.Finished || outcome.Missing(0) != 0 {
					t.Errorf("point %d: finished %v, %d missing", i, outcome.Finished, outcome.Missing(0))
				}
				total += 2 * tt.want[i]
			}
			if seen.done != total || Steps(points)+seen.more != total {
				t.Errorf("Done called %d times, announced %d and %d more, want %d", seen.done, Steps(points), seen.more, total)
			}
		})
	}
}

// Memory is not timed: more rounds gain nothing, and cost no counted time.
func TestPaceIsOfTimes(t *testing.T) {
	held := Entry{"a", func() (Reading, error) { return Reading{Figures: []Figure{{"B", 1}}}, nil }}
	r := runner(&journal{})
	r.Pace = &Pace{Wide: wideUntil(0), Times: 3, Share: 1}
	outcome := r.Run(t.Context(), []*Point{{Setting: Setting{Procs: 1, Count: 3}, Entries: []Entry{held}}})[0]
	if n := len(outcome.Results[0].Repetitions); n != 3 || outcome.timed() != 0 {
		t.Errorf("%d repetitions, %v timed", n, outcome.timed())
	}
}

// An entry that was given up costs no more rounds; the others continue in pairs.
func TestPaceWithAFailure(t *testing.T) {
	wrong := Entry{"wrong", func() (Reading, error) { return Reading{}, errors.New("wrong") }}
	r := runner(&journal{})
	r.Pace = &Pace{Wide: always, Times: 2, Share: 100}
	outcome := r.Run(t.Context(), []*Point{{Setting: Setting{Procs: 1, Count: 3}, Entries: []Entry{timed("a", 5), wrong, timed("b", 7)}}})[0]
	if a, b := len(outcome.Results[0].Repetitions), len(outcome.Results[2].Repetitions); a != 6 || b != 6 {
		t.Errorf("%d and %d repetitions, want 6 of both", a, b)
	}
}

// A point stays finished if the additional rounds are interrupted.
func TestInterruptedWhileRunLonger(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := &journal{}
	seen.onDone = func() {
		if seen.done == 9 {
			cancel()
		}
	}
	r := runner(seen)
	r.Pace = &Pace{Wide: always, Times: 3, Share: 100}
	point := &Point{Setting: Setting{Procs: 1, Count: 3}, Entries: []Entry{timed("a", 5), timed("b", 7)}}
	outcomes := r.Run(ctx, []*Point{point, point})
	if first := &outcomes[0]; !first.Finished || first.Missing(0)+first.Missing(1) != 0 {
		t.Errorf("the first point: finished %v, missing %d and %d", first.Finished, first.Missing(0), first.Missing(1))
	}
	if outcomes[1].Finished || outcomes[1].Missing(0) != 3 {
		t.Errorf("the second point: finished %v, missing %d", outcomes[1].Finished, outcomes[1].Missing(0))
	}
}

func TestContinueLeavesWhatIsFinished(t *testing.T) {
	points := []*Point{
		{Setting: Setting{Procs: 1, Count: 2}, Entries: []Entry{{"a", func() (Reading, error) { panic("measured again") }}}},
		{Setting: Setting{Procs: 1, Count: 2}, Entries: []Entry{timed("a", 5)}},
	}
	outcomes := NewOutcomes(points)
	outcomes[0].Finished = true
	outcomes[0].Results[0].Repetitions = []Repetition{{Ops: 1}, {Ops: 1}}
	var told []*Outcome
	r := runner(&journal{})
	r.Finished = func(o *Outcome) { told = append(told, o) }
	r.Continue(t.Context(), outcomes)
	if outcomes[0].Results[0].Err != nil || len(outcomes[1].Results[0].Repetitions) != 2 {
		t.Errorf("outcomes %+v", outcomes)
	}
	if len(told) != 1 || told[0] != &outcomes[1] {
		t.Errorf("Finished was called with %d points, want the second alone", len(told))
	}
}

// The readings bracket the repetitions, without the warm-up pass and the time
// between entries.
func TestUsageIsOfTheRepetitions(t *testing.T) {
	clock := 0.0
	entry := Entry{"a", func() (Reading, error) {
		clock += 10
		return Reading{Ops: 1, Elapsed: 1}, nil
	}}
	seen := &journal{onDone: func() { clock += 1000 }}
	r := runner(seen)
	r.Usage = func() host.Usage {
		stolen := clock / 100
		return host.Usage{Wall: clock, Steal: &stolen}
	}
	outcome := r.Run(t.Context(), []*Point{{Setting: Setting{Procs: 1, Count: 3}, Target: 2, Entries: []Entry{entry, entry}}})[0]
	// Two entries, three repetitions of two passes each.
	if u := outcome.Usage; u == nil || u.Wall != 120 || u.Steal == nil || *u.Steal < 1.19 || *u.Steal > 1.21 || u.Pressure != nil {
		t.Errorf("usage %+v, want 120 s, 1.2 s of them stolen", u)
	}
}

func TestEstimate(t *testing.T) {
	entries := []Entry{timed("a", 5), timed("b", 5)}
	const target = 100 * time.Millisecond
	for _, tt := range []struct {
		name  string
		point Point
		want  time.Duration
	}{
		{"short passes", Point{Setting: Setting{Count: 5}, Target: target, Entries: entries}, 2*5*(target+besidesTimed) + 2*besidesTimed},
		{"long passes", Point{Setting: Setting{Count: 5}, Target: target, Pass: time.Second, Entries: entries}, 2*5*(time.Second+besidesTimed) + 2*time.Second},
		{"no time to fill", Point{Setting: Setting{Count: 5}, Pass: time.Second, Entries: entries}, 2 * 5 * (time.Second + besidesTimed)},
		{"no entries", Point{Setting: Setting{Count: 5}, Target: target}, 0},
	} {
		if got := Estimate([]*Point{&tt.point}); got != tt.want {
			t.Errorf("%s: about %v, want %v", tt.name, got, tt.want)
		}
		if got := Estimate([]*Point{&tt.point, &tt.point}); got != 2*tt.want {
			t.Errorf("%s, twice: about %v, want %v", tt.name, got, 2*tt.want)
		}
	}
}
