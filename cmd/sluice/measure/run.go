package measure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// An Observer is told how a run gets on. Its methods are called from one
// goroutine, never while a pass is timed.
type Observer interface {
	Start(point *Point, entry string) // before each repetition
	Done()                            // after it, or instead of it when the entry was given up
}

// A Runner holds what all points of a run share.
type Runner struct {
	Observer Observer
	// Stall is how long one pass may take before its entry is given up. The
	// goroutines of such a pass cannot be stopped; they are left behind.
	Stall time.Duration
	// Grace is how long an interrupt waits for the pass under way.
	Grace time.Duration
}

// Steps returns how many repetitions there are in points: how often Done will be
// called, unless the run is interrupted.
func Steps(points []*Point) int {
	steps := 0
	for _, point := range points {
		steps += point.Count * len(point.Entries)
	}
	return steps
}

// Run measures the points in order and returns an Outcome for each of them. When
// ctx ends it stops after the pass under way; the outcomes then tell what is
// missing. GOMAXPROCS is as before when it returns.
func (r *Runner) Run(ctx context.Context, points []*Point) []Outcome {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	outcomes := make([]Outcome, len(points))
	for i, point := range points {
		outcomes[i] = Outcome{Point: point, Results: make([]Result, len(point.Entries))}
		for j := range point.Entries {
			outcomes[i].Results[j].Contender = point.Entries[j].Contender
		}
		if ctx.Err() == nil {
			runtime.GOMAXPROCS(point.Procs)
			r.point(ctx, &outcomes[i])
		}
	}
	return outcomes
}

// point takes one repetition of each entry, then the next of each: what disturbs
// the machine for a while disturbs all of them. Each round begins with another
// entry, so that none always runs after the same one.
func (r *Runner) point(ctx context.Context, outcome *Outcome) {
	point := outcome.Point
	n := len(point.Entries)
	for round := range point.Count {
		for turn := range n {
			i := (round + turn) % n
			entry, result := &point.Entries[i], &outcome.Results[i]
			r.Observer.Start(point, entry.Contender)
			if result.Err == nil {
				repetition, err := r.repetition(ctx, entry, point.Target, round == 0)
				switch {
				case ctx.Err() != nil:
					return // the figure, if any, may be of a disturbed pass
				case err != nil:
					result.Err = fmt.Errorf("repetition %d of %d: %w", round+1, point.Count, err)
				default:
					result.Repetitions = append(result.Repetitions, repetition)
				}
			}
			r.Observer.Done()
		}
	}
}

// repetition repeats the pass until it has been timed for target and returns the
// mean. The first repetition of an entry is preceded by a pass that does not
// count: it brings code and memory in.
func (r *Runner) repetition(ctx context.Context, entry *Entry, target time.Duration, first bool) (Repetition, error) {
	if first && target > 0 {
		if _, err := r.pass(ctx, entry); err != nil {
			return Repetition{}, err
		}
	}
	runtime.GC() // nobody pays for the garbage of the one before
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

// add counts a further pass, which has the same figures.
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

// pass runs one pass on a goroutine of its own: a contender that hangs or panics
// there must not take the other results with it.
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

var errStalled = errors.New("no end of the pass")
