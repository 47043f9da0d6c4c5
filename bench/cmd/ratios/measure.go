package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-go/sluice/bench/cacheline"
	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/peers"
	"github.com/sluice-go/sluice/bench/rounds"
	"github.com/sluice-go/sluice/bench/workload"
)

// A line is the measurement of one row at one GOMAXPROCS.
type line struct {
	row
	procs  int
	ratios []float64 // reference/ours of each round, ascending
	refNs  float64   // median ns per item
	oursNs float64
	lineNs float64 // median cache line transfer between cores, NaN with one core
	peers  []peerFigure
	err    error // why there is no figure
}

type peerFigure struct {
	name  string
	ns    float64 // median ns per item
	ratio float64 // reference/peer, median over the rounds
	err   error
}

// An entry is a contender of a row with the results of its runs.
type entry struct {
	contender contender.Contender
	work      workload.Workload
	timeout   time.Duration // how long a run may take before it counts as hung
	repeats   int
	ns        []float64 // per item, of each round
	err       error
}

// maxRepeats limits how often a fast contender repeats its work in a run.
const maxRepeats = 64

// measureAll measures the rows until ctx is done, and returns the completed
// lines. It also passes each line to show as soon as it is complete.
func measureAll(ctx context.Context, s settings, rows []row, show func(line)) []line {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var lines []line
	for _, procs := range s.Procs {
		runtime.GOMAXPROCS(procs)
		for _, r := range rows {
			l, err := measure(ctx, s, r, procs)
			if err != nil {
				return lines
			}
			show(l)
			lines = append(lines, l)
		}
	}
	return lines
}

// measure returns the line of r at the current GOMAXPROCS. Its error is always
// the error of ctx.
func measure(ctx context.Context, s settings, r row, procs int) (line, error) {
	l := line{row: r, procs: procs}
	entries := []*entry{
		{contender: r.reference, work: r.refWork, timeout: s.timeout},
		{contender: r.ours, work: r.work, timeout: s.timeout},
	}
	if s.peers {
		for _, p := range peersOf(r) {
			entries = append(entries, &entry{contender: p, work: r.refWork, timeout: s.timeout})
		}
	}
	n, err := calibrate(ctx, s.run, entries)
	if err != nil {
		return l, err
	}
	if entries[0].err != nil || entries[1].err != nil {
		l.fill(entries)
		return l, nil
	}
	var lineNs []float64
	for round := range s.Rounds {
		lineNs = append(lineNs, cacheline.Transfer())
		// The starter alternates, so that neither always runs after the other.
		for i := range entries {
			e := entries[i]
			if round%2 == 1 {
				e = entries[len(entries)-1-i]
			}
			if e.err != nil {
				continue
			}
			result, err := e.run(ctx, n)
			if ctx.Err() != nil {
				return l, ctx.Err()
			}
			e.err = err
			e.ns = append(e.ns, result.NsPerItem())
		}
	}
	l.lineNs = rounds.Median(lineNs)
	l.fill(entries)
	return l, nil
}

// peersOf returns the peers to compare in row r: those that can do the
// reference's work and have a limit if ours has one. Rows about batches,
// contexts and the published channel concern features that the peers do not
// have.
func peersOf(r row) []contender.Contender {
	if r.work.Batch > 0 || r.reference.Name != contender.Native().Name {
		return nil
	}
	return slices.DeleteFunc(peers.All(), func(p contender.Contender) bool {
		unlimited := p.Bound == contender.UnboundedOnly
		return unlimited != (r.ours.Bound == contender.UnboundedOnly) || !r.refWork.Can(p)
	})
}

// fill computes the line's figures from entries: reference, ours, peers.
func (l *line) fill(entries []*entry) {
	reference, ours := entries[0], entries[1]
	if l.err = errors.Join(reference.err, ours.err); l.err != nil {
		return
	}
	l.refNs, l.oursNs = rounds.Median(reference.ns), rounds.Median(ours.ns)
	l.ratios = quotients(reference.ns, ours.ns)
	for _, e := range entries[2:] {
		f := peerFigure{name: e.contender.Name, err: e.err}
		if e.err == nil {
			f.ns = rounds.Median(e.ns)
			f.ratio = rounds.Median(quotients(reference.ns, e.ns))
		}
		l.peers = append(l.peers, f)
	}
}

// calibrate returns the number of values with which the reference runs for
// about the given time, and sets the repetitions of the others to run as long:
// all contenders do the same work, but a very short run is inaccurate.
func calibrate(ctx context.Context, run time.Duration, entries []*entry) (uint64, error) {
	reference := entries[0]
	reference.repeats = 1
	n := uint64(1000)
	for {
		result, err := reference.run(ctx, n)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if err != nil {
			reference.err = err
			return n, nil
		}
		if result.Elapsed >= run/4 {
			n = uint64(float64(run) / result.NsPerItem())
			break
		}
		n *= 4
	}
	n = max(n, 1000)
	for _, e := range entries[1:] {
		e.repeats = 1
		result, err := e.run(ctx, n)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		e.err = err
		if err == nil {
			e.repeats = int(min(max(1, run/result.Elapsed), maxRepeats))
		}
	}
	return n, nil
}

// run does e's work with n values e.repeats times, each time with new channels
// after a garbage collection. Only the work itself is timed.
//
// It gives up on work that hangs, and when ctx is done; the goroutines of that
// work are left behind.
func (e *entry) run(ctx context.Context, n uint64) (workload.Result, error) {
	var total workload.Result
	for range e.repeats {
		type answer struct {
			result workload.Result
			err    error
		}
		answers := make(chan answer, 1)
		runtime.GC()
		go func() {
			result, err := e.work.Run(e.contender, n)
			answers <- answer{result, err}
		}()
		select {
		case a := <-answers:
			if a.err != nil {
				return total, a.err
			}
			total = total.Add(a.result)
		case <-ctx.Done():
			return total, ctx.Err()
		case <-time.After(e.timeout):
			return total, fmt.Errorf("workload %s: %s: hangs: not done with %d values after %v",
				e.work.Name, e.contender.Name, n, e.timeout)
		}
	}
	return total, nil
}

// quotients returns a[i]/b[i], ascending.
func quotients(a, b []float64) []float64 {
	q := make([]float64, len(a))
	for i := range a {
		q[i] = a[i] / b[i]
	}
	slices.Sort(q)
	return q
}
