package main

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/rounds"
)

// A cell is a way to be measured under a load.
type cell struct {
	way
	load
}

func (c cell) name() string {
	size := fmt.Sprint(c.size)
	if c.pointers {
		size += "*"
	}
	return fmt.Sprintf("%s %d->%d %d", size, c.senders, c.receivers, c.batch)
}

// choose returns the cells whose name matches.
func choose(match *regexp.Regexp) (chosen []cell) {
	for _, w := range allWays() {
		for _, goroutines := range [][2]int{{1, 1}, {4, 1}, {4, 4}} {
			for _, batch := range []int{16, 64, 512} {
				c := cell{w, load{batch: batch, senders: goroutines[0], receivers: goroutines[1]}}
				if match.MatchString(c.name()) {
					chosen = append(chosen, c)
				}
			}
		}
	}
	return chosen
}

// The ways, in the order of the columns.
const (
	fresh = iota
	pooled
	copied
	batches
	lent
	columns
)

// A figure is what a way costs per value: the medians of the rounds.
type figure struct {
	ns, bytes float64
	gcs       float64 // collections per million values
}

// A line is the measurement of a cell.
type line struct {
	cell
	figures [columns]figure
	// Medians of the ratios of the rounds; more than 1: ours is faster.
	poolToCopied, poolToBatches, poolToLent, freshToLent float64
}

// measure measures the cell at the current GOMAXPROCS.
func (s settings) measure(c cell) (line, error) {
	movers := [columns]mover{c.fresh, c.pooled, c.copied, c.batches, c.lent}
	var rounds [columns][]figure
	c.values = 4096
	for range 2 { // the second time, c.values is nearly right
		f, err := once(c.pooled, c.load)
		if err != nil {
			return line{}, err
		}
		c.values = max(4096, int(float64(s.run)/max(1, f.ns))/4*4)
	}
	for round := range s.Rounds + 1 {
		for i := range columns {
			if round%2 == 1 { // so that no way always follows the same one
				i = columns - 1 - i
			}
			f, err := once(movers[i], c.load)
			if err != nil {
				return line{}, err
			}
			if round > 0 { // the first one warms up
				rounds[i] = append(rounds[i], f)
			}
		}
	}
	l := line{cell: c}
	for i := range columns {
		l.figures[i] = figure{
			ns:    median(rounds[i], func(f figure) float64 { return f.ns }),
			bytes: median(rounds[i], func(f figure) float64 { return f.bytes }),
			gcs:   median(rounds[i], func(f figure) float64 { return f.gcs }),
		}
	}
	l.poolToCopied = ratio(rounds[pooled], rounds[copied])
	l.poolToBatches = ratio(rounds[pooled], rounds[batches])
	l.poolToLent = ratio(rounds[pooled], rounds[lent])
	l.freshToLent = ratio(rounds[fresh], rounds[lent])
	return l, nil
}

// once moves the values of l once.
func once(move mover, l load) (figure, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	arrived := move(l)
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	if arrived != uint64(l.values) {
		return figure{}, fmt.Errorf("%d of %d values arrived", arrived, l.values)
	}
	n := float64(l.values)
	return figure{
		ns:    float64(took) / n,
		bytes: float64(after.TotalAlloc-before.TotalAlloc) / n,
		gcs:   float64(after.NumGC-before.NumGC) / n * 1e6,
	}, nil
}

// ratio returns the median of the ratios of the times in the rounds.
func ratio(reference, ours []figure) float64 {
	var ratios []float64
	for i := range reference {
		ratios = append(ratios, reference[i].ns/ours[i].ns)
	}
	return median(ratios, func(r float64) float64 { return r })
}

func median[T any](all []T, of func(T) float64) float64 {
	var fs []float64
	for _, v := range all {
		fs = append(fs, of(v))
	}
	return rounds.Median(fs)
}

const heading = "cell             new ns  pool ns  SendBatch  Sender  SendSlice  pool/SendBatch  pool/Sender  pool/SendSlice  new/SendSlice"

func (l line) String() string {
	f := l.figures
	return fmt.Sprintf("%-15s %7.1f %8.1f %10.1f %7.1f %10.1f %15.2f %12.2f %15.2f %14.2f",
		l.name(), f[fresh].ns, f[pooled].ns, f[copied].ns, f[batches].ns, f[lent].ns,
		l.poolToCopied, l.poolToBatches, l.poolToLent, l.freshToLent)
}

// markdown returns the section of one GOMAXPROCS; facts is the list of what was measured
// where.
func (s settings) markdown(facts string, procs int, lines []line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Batches beside slices over a channel, GOMAXPROCS=%d\n\n%s", procs, facts)
	fmt.Fprintf(&b, "- rounds: %d of about %v; figures are medians\n\n", s.Rounds, s.run)
	b.WriteString("ns per value. `new` and `pool`: slices over the built-in channel, made anew or from a `sync.Pool`. " +
		"`SendBatch`: a Bounded with SendBatch and RecvBatch. `Sender`: with batch.Sender and batch.Receive. `SendSlice`: the same with SendSlice, by reference. " +
		"Ratios above 1: the Bounded is faster. Memory is allocated bytes per value, and collections per million values. " +
		"A value with * contains pointers. The queues have room for 1024 values.\n\n")
	b.WriteString("| bytes, shape, batch | new | pool | SendBatch | Sender | SendSlice | pool/SendBatch | pool/Sender | pool/SendSlice | new/SendSlice | new: memory | pool | SendBatch | Sender | SendSlice |\n")
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s |", strings.ReplaceAll(l.name(), "*", `\*`))
		for _, f := range l.figures {
			fmt.Fprintf(&b, " %.1f |", f.ns)
		}
		fmt.Fprintf(&b, " %.2f | %.2f | %.2f | %.2f |", l.poolToCopied, l.poolToBatches, l.poolToLent, l.freshToLent)
		for _, f := range l.figures {
			fmt.Fprintf(&b, " %.1f, %.1f |", f.bytes, f.gcs)
		}
		b.WriteString("\n")
	}
	return b.String()
}
