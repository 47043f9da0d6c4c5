package predict

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// WriteText writes the report as text: the answer first, then the figures, then
// published curves.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	r.writePeak(&b)
	r.writeFigures(&b)
	r.writeLaw(&b)
	r.writeFewer(&b)
	r.writeLanes(&b)
	r.writeBatches(&b)
	r.writeRefused(&b)
	r.writeBeside(&b)
	_, err := w.Write(b.Bytes())
	return err
}

func (f Figure) band() string {
	if f.Lo == f.Hi {
		return "no interval"
	}
	return format.Rate(f.Lo) + " to " + format.Rate(f.Hi)
}

func (r *Report) writePeak(b *bytes.Buffer) {
	where := "of " + r.Curve.Machine
	if r.Here {
		where = "on this machine"
	}
	p := r.Peak
	peaks := "peaks at"
	if p.AtEnd {
		peaks = "has its highest throughput at"
	}
	fmt.Fprintf(b, "One channel %s %s %s: %s (%s, %s).\n", where, peaks, format.Plural(int(math.Round(p.CPUs)), "CPU"), format.Rate(p.X), p.Mode, p.band())
	if p.AtEnd {
		fmt.Fprintln(b, "No larger count has a figure, so the peak may be beyond.")
	}
	if p.From != p.To {
		fmt.Fprintf(b, "Within the bands, any number from %d to %d may be as good.\n", p.From, p.To)
	}
	fmt.Fprintf(b, "Measured: %s; %s; %s.\n", r.Curve.Workload, r.Curve.Machine, r.Curve.Version)
	if len(r.Curve.Above) > 0 {
		fmt.Fprintf(b, "Left out: GOMAXPROCS %s, above the %d CPUs. Such points test robustness, not scaling.\n",
			strings.Trim(fmt.Sprint(r.Curve.Above), "[]"), r.Limits.Measured.CPUs)
	}
	if !r.CPUsKnown {
		fmt.Fprintln(b, "The file does not have the number of CPUs of its machine. Counts above it would not be points of a curve: set -from-cpus.")
	}
	if r.Own > 0 {
		fmt.Fprintf(b, "Bands and comparisons include %s of your own.\n", format.Plural(r.Own, "curve"))
	}
}

func (r *Report) writeFigures(b *bytes.Buffer) {
	fmt.Fprintln(b)
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "CPUs\tthroughput\tns between values\tband\tmode\t")
	for _, f := range r.Figures {
		fmt.Fprintf(table, "%.0f\t%s\t%s\t%s\t%s\t\n", f.CPUs, format.Rate(f.X), format.Figure(1e9/f.X), f.band(), f.Mode)
	}
	_ = table.Flush() // a Buffer cannot fail
	fmt.Fprintln(b, "The band of a measured figure is the interval of its median, or the range of fewer than 6 repetitions.")
	if slices.ContainsFunc(r.Figures, func(f Figure) bool { return f.Mode != Measured }) {
		fmt.Fprintf(b, "The other bands cover %.0f%% of published curves; sluice predict -score shows their accuracy.\n", 100*level)
	}
}

func (r *Report) writeLaw(b *bytes.Buffer) {
	fmt.Fprintln(b)
	if r.Law == nil {
		fmt.Fprintf(b, "No law: %s.\n", r.NoLaw)
		if counts := len(r.Swept.Single); counts < MinCounts {
			fmt.Fprintf(b, "%s %s too few to fit a law, so there is no prediction beyond %s.\n",
				format.Plural(counts, "count"), format.Are(counts), format.Plural(r.Swept.Single[counts-1].Procs, "CPU"))
		}
		return
	}
	fmt.Fprintf(b, "The law: X(N) = λN / (1 + σ(N−1) + κN(N−1)) with λ = %s, σ = %.3g, κ = %.3g.\n", format.Rate(r.Law.Lambda), r.Law.Sigma, r.Law.Kappa)
	switch {
	case r.Law.Kappa > 0:
		fmt.Fprintln(b, "Plateau: none, by the law: each additional CPU slows the others, and the curve comes down.")
	case r.Law.Sigma == 0:
		fmt.Fprintln(b, "Plateau: not visible in these counts.")
	case r.Plateau == nil:
		fmt.Fprintln(b, "Plateau: the law levels off, but beyond a boundary that was not measured: no figure.")
	default:
		fmt.Fprintf(b, "Plateau: %s (%s, %s).\n", format.Rate(r.Plateau.X), r.Plateau.Mode, r.Plateau.band())
	}
}

// writeFewer compares fewer Ps with the largest measured count.
func (r *Report) writeFewer(b *bytes.Buffer) {
	counts := r.Swept.Single
	all := counts[len(counts)-1]
	if len(counts) > 1 {
		fmt.Fprintln(b)
	}
	for _, c := range counts[:len(counts)-1] {
		interval := "no interval"
		if c.Lo < c.Hi || all.Lo < all.Hi {
			interval = format.Figure(c.Lo/all.Hi) + " to " + format.Figure(c.Hi/all.Lo)
		}
		fmt.Fprintf(b, "Fewer Ps: GOMAXPROCS %d has %s times the throughput of %d (%s, %s).\n",
			c.Procs, format.Figure(c.X/all.X), all.Procs, Measured, interval)
	}
}

func (r *Report) writeLanes(b *bytes.Buffer) {
	c := r.Ceilings
	for _, lanes := range c.Lanes {
		fmt.Fprintf(b, "Lanes: %d on %d CPUs reach at most %s, min(S, N) times one channel on N/S CPUs (from a figure that is %s, %s).\n",
			lanes.Parts, c.CPUs, format.Rate(lanes.X), lanes.Mode, lanes.band())
	}
	if len(c.Lanes) > 0 {
		fmt.Fprintf(b, "  The band extends down by %.1fx: published separate parts fell short by that much (%d curves).\n", c.LaneShortfall, c.LaneCurves)
	}
	if found, ok := countAt(r.Swept.Lanes, c.CPUs); ok {
		fmt.Fprintf(b, "  For comparison, a measured sluice.Sharded with its default lanes, on %d CPUs: %s (%s to %s).\n", c.CPUs, format.Rate(found.X), format.Rate(found.Lo), format.Rate(found.Hi))
	}
}

func (r *Report) writeBatches(b *bytes.Buffer) {
	c := r.Ceilings
	for _, batch := range c.Batches {
		fmt.Fprintf(b, "Batches: of %d on %d CPUs reach about %s, T/B plus the value's own cost (from a figure that is %s, %s).\n",
			batch.Parts, c.CPUs, format.Rate(batch.X), batch.Mode, batch.band())
	}
	own := fmt.Sprintf("%.1f ns per value, from batches of %d on one CPU", c.OwnCost, workload.BatchSize)
	if !c.OwnCostKnown {
		own = "not measured, assumed to be 0"
	}
	fmt.Fprintf(b, "  Own cost: %s. The band extends down by %.0fx: on two Ps, batches fell 1.7 to 2x short of the ceiling.\n", own, c.BatchShortfall)
	if found, ok := countAt(r.Swept.Batches, c.CPUs); ok {
		fmt.Fprintf(b, "  For comparison, a measured chan of slices of %d on %d CPUs: %s (%s to %s).\n",
			workload.BatchSize, c.CPUs, format.Rate(found.X), format.Rate(found.Lo), format.Rate(found.Hi))
	}
}

func (r *Report) writeRefused(b *bytes.Buffer) {
	for i, refused := range r.Refused {
		if i == 0 {
			fmt.Fprintln(b)
		}
		if i > 0 && refused.Why == r.Refused[i-1].Why {
			fmt.Fprintf(b, "No figure for %d CPUs, for the same reason.\n", refused.CPUs)
			continue
		}
		fmt.Fprintf(b, "No figure for %d CPUs: %s.\n", refused.CPUs, refused.Why)
	}
	if len(r.Order) > 0 {
		fmt.Fprintf(b, "Instead of figures, the order of designs on many CPUs, the fastest first: %s.\n"+
			"It is right for %[4]s of published pairs that differ by more than %[2]dx on more than %[3]d CPUs (%[5]d of %[6]d).\n",
			list(r.Order), FarApart, r.OrderIs.Above, format.PercentDigits(r.OrderIs.Share(), 1), r.OrderIs.Right, r.OrderIs.Pairs)
	}
}

func (r *Report) writeBeside(b *bytes.Buffer) {
	fmt.Fprint(b, "\nPublished curves from other machines (compare shapes, not figures):\n")
	for _, n := range r.Beside {
		lock := "the same lock"
		if !n.SameLock {
			lock = "another lock"
		}
		fmt.Fprintf(b, "  %s, %s (%s)\n    %s:", n.Machine, n.Version, lock, n.Workload)
		for _, p := range shown(n.Points) {
			fmt.Fprintf(b, "  %d: %s", p.Procs, strings.ReplaceAll(format.Rate(p.X), " ", ""))
		}
		fmt.Fprintf(b, "\n    source: %s\n", n.Source)
	}
}

// shown returns the doublings of a curve, which show its shape.
func shown(points []Point) []Point {
	thinned := doublings(points)
	if math.Abs(float64(len(points)-len(thinned))) < 2 {
		return points
	}
	return thinned
}

// WriteCurve writes a confirmation of Add.
func WriteCurve(w io.Writer, c Curve, file string) error {
	_, err := fmt.Fprintf(w, "Added to %s: %s; %s; %s; %d counts.\n", file, c.Machine, c.Version, c.Workload, len(c.Points))
	return err
}
