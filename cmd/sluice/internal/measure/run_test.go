package measure

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A journal records the calls of an Observer.
type journal struct {
	started []string
	done    int
	more    int
	onDone  func()
}

func (j *journal) Start(_ *Point, entry ContenderID) { j.started = append(j.started, string(entry)) }
func (j *journal) More(steps int)                    { j.more += steps }
func (j *journal) Done() {
	j.done++
	if j.onDone != nil {
		j.onDone()
	}
}

func timed(contender ContenderID, ns int) Entry {
	return Entry{contender, func() (Reading, error) {
		return Reading{Ops: 10, Elapsed: time.Duration(10 * ns)}, nil
	}}
}

func runner(o Observer) *Runner {
	return &Runner{Observer: o, Stall: time.Hour, Grace: time.Minute}
}

func TestRunTakesTurns(t *testing.T) {
	seen := &journal{}
	point := &Point{Setting: Setting{Procs: 1, Count: 3}, Entries: []Entry{timed("a", 5), timed("b", 7), timed("c", 9)}}
	outcomes := runner(seen).Run(t.Context(), []*Point{point})
	if got, want := strings.Join(seen.started, ""), "abcbcacab"; got != want {
		t.Errorf("order %q, want %q: each entry once per round, another one first each time", got, want)
	}
	if seen.done != Steps([]*Point{point}) {
		t.Errorf("Done called %d times, Steps says %d", seen.done, Steps([]*Point{point}))
	}
	for i, want := range []float64{5, 7, 9} {
		got := outcomes[0].Results[i].Samples(NsPerOp)
		if !slices.Equal(got, []float64{want, want, want}) {
			t.Errorf("samples of entry %d: %v, want three times %v", i, got, want)
		}
		if missing := outcomes[0].Missing(i); missing != 0 {
			t.Errorf("entry %d misses %d repetitions", i, missing)
		}
	}
}

func TestRunFillsTheTarget(t *testing.T) {
	point := &Point{Setting: Setting{Procs: 1, Count: 1}, Target: 1000, Entries: []Entry{timed("a", 9)}}
	got := runner(&journal{}).Run(t.Context(), []*Point{point})[0].Results[0].Repetitions[0]
	if got.Ops != 120 { // 12 passes of 90 ns are the first to reach 1000 ns
		t.Errorf("mean of %d operations, want 120", got.Ops)
	}
}

func TestRunSetsAndRestoresGOMAXPROCS(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	var seen []int
	look := Entry{"a", func() (Reading, error) {
		seen = append(seen, runtime.GOMAXPROCS(0))
		return Reading{Figures: []Figure{{"x", 1}}}, nil
	}}
	points := []*Point{
		{Setting: Setting{Procs: before + 1, Count: 1}, Entries: []Entry{look}},
		{Setting: Setting{Procs: before + 2, Count: 1}, Entries: []Entry{look}},
	}
	runner(&journal{}).Run(t.Context(), points)
	if want := []int{before + 1, before + 2}; !slices.Equal(seen, want) {
		t.Errorf("passes saw GOMAXPROCS %v, want %v", seen, want)
	}
	if now := runtime.GOMAXPROCS(0); now != before {
		t.Errorf("GOMAXPROCS left at %d, was %d", now, before)
	}
}

func TestRunNamesFailures(t *testing.T) {
	wrong := errors.New("9 of 10 values arrived")
	passes := 0
	entries := []Entry{
		timed("sound", 5),
		{"wrong", func() (Reading, error) {
			if passes++; passes > 2 {
				return Reading{}, wrong
			}
			return Reading{Ops: 1, Elapsed: 1}, nil
		}},
		{"panics", func() (Reading, error) { panic("send on closed channel") }},
		{"idle", func() (Reading, error) { return Reading{}, nil }},
	}
	seen := &journal{}
	outcome := runner(seen).Run(t.Context(), []*Point{{Setting: Setting{Procs: 1, Count: 4}, Entries: entries}})[0]
	if r := outcome.Result("sound"); r.Err != nil || len(r.Repetitions) != 4 {
		t.Errorf("the sound entry suffered: %+v", r)
	}
	if r := outcome.Result("wrong"); !errors.Is(r.Err, wrong) || !strings.Contains(r.Err.Error(), "repetition 3 of 4") {
		t.Errorf("error of the wrong tally: %v", r.Err)
	}
	if r := outcome.Result("panics"); r.Err == nil || !strings.Contains(r.Err.Error(), "send on closed channel") {
		t.Errorf("error of the panic: %v", r.Err)
	}
	if r := outcome.Result("idle"); r.Err == nil {
		t.Error("a pass without operations passed for a measurement")
	}
	if seen.done != 16 {
		t.Errorf("Done called %d times, want 16: given-up entries count as done", seen.done)
	}
}

func TestRunGivesUpAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hang := Entry{"hangs", func() (Reading, error) { <-release; return Reading{}, nil }}
		r := &Runner{Observer: &journal{}, Stall: 30 * time.Second, Grace: time.Second}
		began := time.Now()
		outcome := r.Run(t.Context(), []*Point{{Setting: Setting{Procs: 1, Count: 3}, Entries: []Entry{hang, timed("sound", 5)}}})[0]
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("gave up after %v, want 30s, and once only", took)
		}
		if err := outcome.Results[0].Err; !errors.Is(err, errStalled) {
			t.Errorf("error %v, want %v", err, errStalled)
		}
		if n := len(outcome.Results[1].Repetitions); n != 3 {
			t.Errorf("the entry beside it has %d repetitions, want 3", n)
		}
		close(release)
	})
}

func TestRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := &journal{}
	seen.onDone = func() {
		if seen.done == 5 {
			cancel()
		}
	}
	entries := []Entry{timed("a", 5), timed("b", 7)}
	points := []*Point{{Setting: Setting{Procs: 1, Count: 2}, Entries: entries}, {Setting: Setting{Procs: 1, Count: 2}, Entries: entries}, {Setting: Setting{Procs: 1, Count: 2}, Entries: entries}}
	outcomes := runner(seen).Run(ctx, points)
	missing := []int{}
	for i := range outcomes {
		missing = append(missing, outcomes[i].Missing(0), outcomes[i].Missing(1))
	}
	if want := []int{0, 0, 1, 2, 2, 2}; !slices.Equal(missing, want) {
		t.Errorf("missing repetitions %v, want %v", missing, want)
	}
	for i := range outcomes {
		for _, result := range outcomes[i].Results {
			if result.Err != nil {
				t.Errorf("an interrupt is not a failure of %s: %v", result.Contender, result.Err)
			}
		}
	}
}

// An interrupt ends the run even if the current pass never ends.
func TestRunInterruptedInAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		release := make(chan struct{})
		hang := Entry{"hangs", func() (Reading, error) { <-release; return Reading{}, nil }}
		r := &Runner{Observer: &journal{}, Stall: time.Hour, Grace: 2 * time.Second}
		began := time.Now()
		outcome := r.Run(ctx, []*Point{{Setting: Setting{Procs: 1, Count: 1}, Entries: []Entry{hang}}})[0]
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("returned after %v, want 5s", took)
		}
		if outcome.Missing(0) != 1 {
			t.Error("the pass that did not end is not missing")
		}
		close(release)
	})
}

// A pass may have figures beside its time. They are averaged by time, and
// follow the time in the repetition.
func TestRunAveragesFiguresByTime(t *testing.T) {
	passes := []Reading{
		{Ops: 1, Elapsed: 999, Figures: []Figure{{"%", 99}, {"B/s", 7}}}, // the warm-up pass
		{Ops: 10, Elapsed: 100, Figures: []Figure{{"%", 30}, {"B/s", 8}}},
		{Ops: 10, Elapsed: 300, Figures: []Figure{{"%", 10}, {"B/s", 8}}},
	}
	entry := Entry{"a", func() (Reading, error) {
		reading := passes[0]
		passes = passes[1:]
		return reading, nil
	}}
	point := &Point{Setting: Setting{Procs: 1, Count: 1}, Target: 400, Entries: []Entry{entry}}
	result := runner(&journal{}).Run(t.Context(), []*Point{point})[0].Results[0]
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	want := []Figure{{NsPerOp, 20}, {"%", 15}, {"B/s", 8}}
	if got := result.Repetitions[0]; got.Ops != 20 || !slices.Equal(got.Figures, want) {
		t.Errorf("repetition %+v, want 20 operations and %v", got, want)
	}
}
