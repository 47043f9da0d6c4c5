package measure

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
)

// wideUntil is a rule that considers a point wide until its entries have n
// repetitions.
func wideUntil(n int) func(*Outcome) bool {
	return func(o *Outcome) bool { return len(o.Results[0].Repetitions) < n }
}

func always(*Outcome) bool { return true }

func TestLonger(t *testing.T) {
	for _, tt := range []struct {
		name string
		rule *Longer
		want []int // repetitions of both entries at each of four points
	}{
		{"no rule", nil, []int{6, 6, 6, 6}},
		{"never wide", &Longer{Wide: wideUntil(0), Times: 3, Share: 100}, []int{6, 6, 6, 6}},
		{"wide until there is more", &Longer{Wide: wideUntil(9), Times: 3, Share: 100}, []int{10, 10, 10, 10}},
		{"always wide", &Longer{Wide: always, Times: 3, Share: 100}, []int{18, 18, 18, 18}},
		{"at most twice", &Longer{Wide: always, Times: 2, Share: 100}, []int{12, 12, 12, 12}},
		{"as planned, at most", &Longer{Wide: always, Times: 1, Share: 100}, []int{6, 6, 6, 6}},
		// A third of 6 rounds is a third of the time of a point.
		{"a little time", &Longer{Wide: always, Times: 3, Share: 0.34}, []int{8, 8, 8, 8}},
		{"less time than one addition a point", &Longer{Wide: always, Times: 3, Share: 0.17}, []int{6, 8, 6, 8}},
		// An advance of 98 µs; an addition takes 24 µs.
		{"the first lives on a loan", &Longer{Wide: always, Times: 3, Share: 0.17, Whole: 8 * 288_000}, []int{14, 6, 6, 6}},
		{"no time", &Longer{Wide: always, Times: 3}, []int{6, 6, 6, 6}},
		{"the last lives on what the others left", &Longer{Times: 3, Share: 0.34, Wide: func(o *Outcome) bool { return o.Point.Name == "last" }}, []int{6, 6, 6, 14}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var points []*Point
			for range 4 {
				points = append(points, &Point{Setting: Setting{Procs: 1, Count: 6}, Entries: []Entry{timed("a", 500), timed("b", 700)}})
			}
			points[3].Name = "last"
			seen := &journal{}
			r := runner(seen)
			r.Longer = tt.rule
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
func TestLongerIsOfTimes(t *testing.T) {
	held := Entry{"a", func() (Reading, error) { return Reading{Figures: []Figure{{"B", 1}}}, nil }}
	r := runner(&journal{})
	r.Longer = &Longer{Wide: wideUntil(0), Times: 3, Share: 1}
	outcome := r.Run(t.Context(), []*Point{{Setting: Setting{Procs: 1, Count: 3}, Entries: []Entry{held}}})[0]
	if n := len(outcome.Results[0].Repetitions); n != 3 || outcome.timed() != 0 {
		t.Errorf("%d repetitions, %v timed", n, outcome.timed())
	}
}

// An entry that was given up costs no more rounds; the others continue in pairs.
func TestLongerWithAFailure(t *testing.T) {
	wrong := Entry{"wrong", func() (Reading, error) { return Reading{}, errors.New("wrong") }}
	r := runner(&journal{})
	r.Longer = &Longer{Wide: always, Times: 2, Share: 100}
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
	r.Longer = &Longer{Wide: always, Times: 3, Share: 100}
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
