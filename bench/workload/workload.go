// Package workload provides the jobs on which contenders are compared. Every
// contender runs the same loops from the same start and proves that the work
// was done.
//
// The package contains only jobs that any contender may be given. The caller
// chooses the contenders and the number of runs, and evaluates the results.
package workload

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
)

// A Workload is a job for a contender.
type Workload struct {
	Name               string // such as "1->1" or "ping-pong"
	Capacity           int    // of the channels that it makes; see FillDrain
	Senders, Receivers int

	single bool // it exchanges single values

	// run does the job with n values and returns the expected tally with the
	// outcome.
	run func(w Workload, c contender.Contender, n uint64) (outcome, error)
}

// outcome contains the measurements of a job and the tally of its receivers.
type outcome struct {
	Result
	tally, want contender.Tally
}

// A Result is the duration of a job.
type Result struct {
	Items   uint64        // values carried, or round trips
	Elapsed time.Duration // wall-clock time, from the common start to the last receive
}

// NsPerItem returns nanoseconds per item.
func (r Result) NsPerItem() float64 { return float64(r.Elapsed) / float64(r.Items) }

// Can reports whether c can do the job.
func (w Workload) Can(c contender.Contender) bool {
	if w.single && c.LoopsOnly {
		return false
	}
	return c.Can(w.Capacity, w.Senders, w.Receivers)
}

// Run does the job once, with n values and its own channels, and returns when
// all its goroutines have finished. It fails, with an error that names the
// contender and the workload, if c cannot do the job or if the received values
// differ from those sent; then there is no result.
//
// Values are counted and summed. If one goroutine sends, each receiver must
// also receive in order, unless the contender does not keep the order.
func (w Workload) Run(c contender.Contender, n uint64) (Result, error) {
	if n == 0 {
		return Result{}, fmt.Errorf("workload %s: no values to carry", w.Name)
	}
	if !w.Can(c) {
		return Result{}, fmt.Errorf("workload %s: %s cannot do it", w.Name, c.Name)
	}
	o, err := w.run(w, c, n)
	if err != nil {
		return Result{}, fmt.Errorf("workload %s: %s: %w", w.Name, c.Name, err)
	}
	if err := verify(o.tally, o.want, w.Senders == 1 && !c.AnyOrder); err != nil {
		return Result{}, fmt.Errorf("workload %s: %s: %w", w.Name, c.Name, err)
	}
	return o.Result, nil
}

// verify compares the received values with those sent.
func verify(got, want contender.Tally, ordered bool) error {
	if err := got.Check(want); err != nil {
		return err
	}
	if ordered && got.Unordered != 0 {
		return fmt.Errorf("received %d of %d values out of order", got.Unordered, got.Count)
	}
	return nil
}

// upTo returns the tally of the values 0 … n-1, of fewer than 1<<32.
func upTo(n uint64) contender.Tally { return contender.Tally{Count: n, Sum: n * (n - 1) / 2} }
