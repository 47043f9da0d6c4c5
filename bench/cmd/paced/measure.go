package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/rounds"
)

// A cell is a load at one GOMAXPROCS.
type cell struct {
	load  paced.Load
	procs int
	rows  []row
	// others is the share of the machine's CPU time that other processes took, or -1.
	others float64
}

// A row is the measurement of one kind in a cell.
type row struct {
	kind
	rounds []round
	err    error // why there are no more rounds
}

// A round is one run of one kind.
type round struct {
	cpu                    float64 // ns per value
	voluntary, involuntary float64 // context switches per value
	sent, intended         delays
}

// delays are quantiles in ns.
type delays struct{ p50, p99, p999 float64 }

func delaysOf(h *paced.Histogram) delays {
	return delays{h.Quantile(0.5), h.Quantile(0.99), h.Quantile(0.999)}
}

// measure runs the load over each kind in each round, in turns: each round begins with
// the next kind, so none always runs after the same other one. It stops when ctx is done.
func measure(ctx context.Context, s settings, l paced.Load, procs int, kinds []kind) (c cell) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	c = cell{load: l, procs: procs, rows: make([]row, len(kinds))}
	before := machineNow()
	defer func() { c.others = machineNow().othersSince(before) }()
	for i, k := range kinds {
		c.rows[i].kind = k
	}
	for n := range s.Rounds {
		l.Seed = uint64(n)
		for i := range c.rows {
			r := &c.rows[(i+n)%len(c.rows)]
			if r.err != nil {
				continue
			}
			result, err := once(ctx, s.timeout, r.kind, l)
			if ctx.Err() != nil {
				return c
			}
			if r.err = err; err != nil {
				continue
			}
			r.rounds = append(r.rounds, round{
				cpu:         result.PerValue(int64(result.CPU)),
				voluntary:   result.PerValue(result.Voluntary),
				involuntary: result.PerValue(result.Involuntary),
				sent:        delaysOf(&result.FromSend),
				intended:    delaysOf(&result.FromIntended),
			})
		}
	}
	return c
}

// once is one run after a garbage collection. It gives up on a run that hangs, whose
// goroutines are left behind, and when ctx is done.
func once(ctx context.Context, timeout time.Duration, k kind, l paced.Load) (*paced.Result, error) {
	type answer struct {
		result *paced.Result
		err    error
	}
	answers := make(chan answer, 1)
	runtime.GC()
	go func() {
		result, err := run(k, l)
		answers <- answer{result, err}
	}()
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(timeout):
		return nil, fmt.Errorf("%s hangs: %d values not received after %v", k.Name, l.Values, timeout)
	}
}

// find returns the row of the kind with that name.
func (c cell) find(name string) (row, bool) {
	i := slices.IndexFunc(c.rows, func(r row) bool { return r.Name == name })
	if i < 0 {
		return row{}, false
	}
	return c.rows[i], true
}

// median returns the median of a figure over the rounds, NaN without rounds.
func (r row) median(figure func(round) float64) float64 {
	var values []float64
	for _, n := range r.rounds {
		values = append(values, figure(n))
	}
	return rounds.Median(values)
}

// against returns the median, over the rounds, of a figure divided by the reference's.
func (r row) against(reference row, figure func(round) float64) float64 {
	var ratios []float64
	for i := range min(len(r.rounds), len(reference.rounds)) {
		ratios = append(ratios, figure(r.rounds[i])/figure(reference.rounds[i]))
	}
	return rounds.Median(ratios)
}

// The figures of a round.
func cpu(n round) float64         { return n.cpu }
func voluntary(n round) float64   { return n.voluntary }
func involuntary(n round) float64 { return n.involuntary }
func p50(n round) float64         { return n.sent.p50 }
func p99(n round) float64         { return n.sent.p99 }
func p999(n round) float64        { return n.sent.p999 }
func whole50(n round) float64     { return n.intended.p50 }
func whole99(n round) float64     { return n.intended.p99 }
