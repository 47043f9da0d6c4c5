package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/results"
)

// The table whole-grid has every rate with every number of ends, with and without bursts, and
// every job that the receivers can do at that rate. The table grid has those of its loads that
// differ from the load in the middle in at most two of these four: so each value of each is
// there, alone and beside each value of another one, in a third of the time. Their sections
// have one line for each load.

const (
	gridTable  = "grid"
	wholeTable = "whole-grid"
)

// burst is the group of the loads with bursts.
const burst = 64

// middle is the load from which the loads of the grid differ.
var middle = at(10_000)

// gridLoads returns the loads of the grid.
func gridLoads() []tableLoad {
	return slices.DeleteFunc(wholeGrid(), func(l tableLoad) bool { return differences(l.load) > 2 })
}

// differences is in how many of rate, ends, bursts and job the load differs from the middle.
func differences(l paced.Load) (n int) {
	for _, differs := range []bool{
		l.Rate != middle.Rate, l.Shape() != middle.Shape(), l.Group != middle.Group, l.Job != middle.Job,
	} {
		if differs {
			n++
		}
	}
	return n
}

// wholeGrid returns all loads of the whole grid.
func wholeGrid() (loads []tableLoad) {
	for _, rate := range []float64{1_000, 10_000, 100_000, 1_000_000} {
		for _, ends := range [][2]int{{1, 1}, {8, 1}, {1, 8}, {8, 8}} {
			for _, group := range []int{0, burst} {
				if group > 0 && rate > burst*paced.Wakeups/2 {
					continue // values arrive in such groups anyway
				}
				for _, job := range []time.Duration{0, time.Microsecond, 20 * time.Microsecond} {
					if rate*job.Seconds() > 0.5 {
						continue // more than half of one receiver's time: it is busy
					}
					l := between(rate, ends[0], ends[1])
					l.Group, l.Job = group, job
					loads = append(loads, tableLoad{l, gridKinds})
				}
			}
		}
	}
	return loads
}

// gridKinds are the built-in channel, with and without a select, and each kind of ours once.
func gridKinds(k kind) bool { return fewKinds(k) || k.Name == "Bounded 128 ctx" }

// gridMarkdown returns the section of the grid.
func (t table) gridMarkdown(s settings, host results.Host, began time.Time, cells []cell) string {
	var b strings.Builder
	t.head(&b, s, host, began, cells)
	b.WriteString("Under a built-in channel: CPU time of the process per value, p50 and p99 of the delay from the call of\n" +
		"Send until a receiver has the value, in µs. Under one of ours: the same in times of the built-in channel of\n" +
		"the same capacity, used in the same way.\n\n")
	for i, c := range cells {
		if i == 0 {
			c.gridHeading(&b)
		}
		fmt.Fprintf(&b, "| %s | %d ", c.describe(), c.procs)
		for _, r := range c.rows {
			if r.Name != without {
				fmt.Fprintf(&b, "| %s ", c.gridCell(r))
			}
		}
		b.WriteString("|\n")
	}
	return b.String()
}

func (c cell) gridHeading(w io.Writer) {
	fmt.Fprint(w, "| grid | P ")
	for _, r := range c.rows {
		if r.Name != without {
			fmt.Fprintf(w, "| %s ", r.Name)
		}
	}
	fmt.Fprintf(w, "|\n|---|--:%s|\n", strings.Repeat("|---", len(c.rows)-1))
}

// gridCell returns the three figures of a kind.
func (c cell) gridCell(r row) string {
	reference, ok := c.find(r.Reference)
	switch {
	case r.err != nil || ok && reference.err != nil:
		return "no figure"
	case !ok:
		return fmt.Sprintf("%.2f, %.2f, %.1f", r.median(cpu)/1e3, r.median(p50)/1e3, r.median(p99)/1e3)
	}
	return fmt.Sprintf("%.2f, %.2f, %.2f", r.against(reference, cpu), r.against(reference, p50), r.against(reference, p99))
}

// An eta estimates when a table will be complete.
type eta struct {
	began       time.Time
	done, whole int
}

func (e *eta) String() string {
	took := time.Since(e.began)
	left := time.Duration(float64(took) / float64(max(1, e.done)) * float64(e.whole-e.done))
	return fmt.Sprintf("%d of %d loads in %v, about %v left", e.done, e.whole, took.Round(time.Second), left.Round(time.Second))
}

// complete returns the cells whose kinds all took part in each round, or failed.
func complete(cells []cell, rounds int) []cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c cell) bool {
		return slices.ContainsFunc(c.rows, func(r row) bool { return r.err == nil && len(r.rounds) < rounds })
	})
}
