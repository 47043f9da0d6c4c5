package measure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
)

// An Observer is notified of the progress of a run. Its methods are called from
// one goroutine, never while a pass is timed.
type Observer interface {
	Start(point *Point, entry ContenderID) // before each repetition
	Done()                                 // after it, even if the entry was given up
	More(steps int)                        // the run has been extended by this many repetitions, or reduced
}

// A Runner has the settings of a run.
type Runner struct {
	Observer Observer
	// Stall is the time after which a pass without an end makes the Runner give
	// up its entry. The goroutines of such a pass cannot be stopped, and leak.
	Stall time.Duration
	// Grace is the time that an interrupt waits for the current pass.
	Grace time.Duration
	// Usage, if not nil, reads the usage of the machine. It is called before
	// and after each repetition.
	Usage func() host.Usage
	// Pace, if not nil, changes the planned rounds of points.
	Pace *Pace
	// Finished, if not nil, is called with each completely measured point.
	Finished func(*Outcome)
}

// Run measures the points in order and returns an Outcome for each of them.
// When ctx ends, Run stops after the current pass, and some outcomes are
// incomplete. It restores GOMAXPROCS.
func (r *Runner) Run(ctx context.Context, points []*Point) []Outcome {
	outcomes := NewOutcomes(points)
	r.Continue(ctx, outcomes)
	return outcomes
}

// Continue is Run for outcomes of which some are finished: it skips these. The
// others must have no repetitions.
func (r *Runner) Continue(ctx context.Context, outcomes []Outcome) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for i := range outcomes {
		if outcomes[i].Finished || ctx.Err() != nil {
			continue
		}
		r.reduce(outcomes[i:])
		runtime.GOMAXPROCS(outcomes[i].Point.Procs)
		r.point(ctx, &outcomes[i])
		if outcomes[i].Finished && r.Finished != nil {
			r.Finished(&outcomes[i])
		}
	}
}

// reduce reduces the rounds of the first of the outcomes that are left, if necessary.
func (r *Runner) reduce(left []Outcome) {
	var points []*Point
	for i := range left {
		if !left[i].Finished {
			points = append(points, left[i].Point)
		}
	}
	if rounds := r.Pace.rounds(points); rounds < points[0].Count {
		left[0].Reduced = rounds
		r.Observer.More((rounds - points[0].Count) * len(points[0].Entries))
	}
}

// point measures all rounds of a point, and additional ones. The point is finished
// after the planned rounds: an interrupt of the additional ones does not change that.
func (r *Runner) point(ctx context.Context, outcome *Outcome) {
	done := outcome.rounds()
	if !r.rounds(ctx, outcome, 0, done) {
		return
	}
	outcome.Finished = true
	if r.Pace == nil || outcome.Reduced > 0 {
		return
	}
	for more := r.Pace.more(outcome, done); more > 0; more = r.Pace.more(outcome, done) {
		r.Observer.More(more * len(outcome.Point.Entries))
		if !r.rounds(ctx, outcome, done, done+more) {
			return
		}
		r.Pace.took(outcome.Point, done, done+more)
		done += more
	}
}

// rounds takes one repetition of each entry, then the next of each, so that a
// disturbance of the machine affects all entries. Each round begins with
// another entry, so that no entry always follows the same one. rounds returns
// false after an interrupt.
func (r *Runner) rounds(ctx context.Context, outcome *Outcome, from, to int) bool {
	point := outcome.Point
	n := len(point.Entries)
	for round := from; round < to; round++ {
		for turn := range n {
			i := (round + turn) % n
			entry, result := &point.Entries[i], &outcome.Results[i]
			r.Observer.Start(point, entry.Contender)
			if result.Err == nil {
				repetition, usage, err := r.repetition(ctx, entry, point.Target, round == 0)
				switch {
				case ctx.Err() != nil:
					return false // the figure, if any, may be from a disturbed pass
				case err != nil:
					result.Err = fmt.Errorf("repetition %d of %d: %w", round+1, to, err)
				default:
					result.Repetitions = append(result.Repetitions, repetition)
					outcome.use(usage)
				}
			}
			r.Observer.Done()
		}
	}
	return true
}

// repetition takes one repetition of an entry and returns the usage of the machine
// meanwhile. A warm-up pass, which does not count, precedes the first repetition.
func (r *Runner) repetition(ctx context.Context, entry *Entry, target time.Duration, first bool) (Repetition, *host.Usage, error) {
	if first && target > 0 {
		if _, err := r.pass(ctx, entry); err != nil {
			return Repetition{}, nil, err
		}
	}
	runtime.GC() // no entry pays for the garbage of the one before
	if r.Usage == nil {
		repetition, err := r.fill(ctx, entry, target)
		return repetition, nil, err
	}
	before := r.Usage()
	repetition, err := r.fill(ctx, entry, target)
	used := r.Usage().Since(before)
	return repetition, &used, err
}

// fill repeats the pass until its total time reaches target, and returns the mean.
func (r *Runner) fill(ctx context.Context, entry *Entry, target time.Duration) (Repetition, error) {
	var total Reading
	for {
		reading, err := r.pass(ctx, entry)
		if err != nil {
			return Repetition{}, err
		}
		if reading.Figures != nil && reading.Elapsed == 0 {
			return Repetition{Ops: max(1, reading.Ops), Figures: reading.Figures}, nil
		}
		if reading.Ops < 1 || reading.Elapsed <= 0 {
			return Repetition{}, fmt.Errorf("a pass of %d operations took %v", reading.Ops, reading.Elapsed)
		}
		total.add(reading)
		if total.Elapsed >= target {
			ns := float64(total.Elapsed.Nanoseconds()) / float64(total.Ops)
			return Repetition{Ops: total.Ops, Figures: append([]Figure{{NsPerOp, ns}}, total.Figures...)}, nil
		}
	}
}

// add adds another pass with the same kinds of figures.
func (r *Reading) add(pass Reading) {
	r.Ops += pass.Ops
	r.Elapsed += pass.Elapsed
	if r.Figures == nil {
		r.Figures = make([]Figure, len(pass.Figures))
	}
	for i, figure := range pass.Figures {
		share := float64(pass.Elapsed) / float64(r.Elapsed)
		r.Figures[i].Unit = figure.Unit
		r.Figures[i].Value += share * (figure.Value - r.Figures[i].Value)
	}
}

// pass runs one pass on its own goroutine, so that a contender that hangs or
// panics does not affect the other results.
func (r *Runner) pass(ctx context.Context, entry *Entry) (Reading, error) {
	if err := ctx.Err(); err != nil {
		return Reading{}, err
	}
	type answer struct {
		reading Reading
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("panic: %v", p)
			}
			answers <- a
		}()
		a.reading, a.err = entry.Pass()
	}()
	stall := time.NewTimer(r.Stall)
	defer stall.Stop()
	select {
	case a := <-answers:
		return a.reading, a.err
	case <-stall.C:
		return Reading{}, fmt.Errorf("%w after %v", errStalled, r.Stall)
	case <-ctx.Done():
	}
	grace := time.NewTimer(r.Grace)
	defer grace.Stop()
	select {
	case a := <-answers:
		return a.reading, a.err
	case <-grace.C:
		return Reading{}, ctx.Err()
	}
}

var errStalled = errors.New("the pass did not end")
