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

// width is the longest line of a text, in characters.
const width = 80

// WriteText writes the report as text: the answer, the figures, what limits
// them, and the remedies. With details, also the law and published curves.
func (r *Report) WriteText(w io.Writer, details bool) error {
	var b bytes.Buffer
	r.writePeak(&b)
	r.writeFigures(&b)
	r.writeLimits(&b)
	r.writeRemedies(&b)
	r.writeCurve(&b)
	if details {
		r.writeDetails(&b)
	} else {
		b.WriteString("With -v: the law, the order of designs, published curves.\n")
	}
	_, err := io.WriteString(w, format.CleanLines(b.String())) // names come from files
	return err
}

// paragraph writes sentences, and breaks lines.
func paragraph(b *bytes.Buffer, sentences ...string) {
	if len(sentences) > 0 {
		b.WriteString(format.Wrap(strings.Join(sentences, " "), width, 0, ""))
	}
}

// item writes a line of a list, and indents the lines that follow it.
func item(b *bytes.Buffer, text string) { b.WriteString(format.Wrap("  "+text, width, 0, "    ")) }

func (f Figure) band() string {
	if f.Lo == f.Hi {
		return "no interval"
	}
	return format.Rate(f.Lo) + " to " + format.Rate(f.Hi)
}

func (r *Report) writePeak(b *bytes.Buffer) {
	what, where := "One channel", ""
	if r.Curve.Machine != "" {
		where = " on " + r.Curve.Machine
	}
	if d := r.Curve.Design; d != "" && d != ChannelDesign {
		what = "This resource (" + string(d) + ")"
	} else if r.Curve.Kind == Sharded {
		what = "This resource, with a private part for each CPU,"
	}
	if r.Here {
		where = " on this machine"
	}
	p := r.Peak
	paragraph(b, fmt.Sprintf("%s%s carries most on %s: %s, %s (%s).", what, where, cpusText(math.Round(p.CPUs)), format.Rate(p.X), p.Mode, p.band()))
	switch {
	case p.From != p.To:
		paragraph(b, fmt.Sprintf("Any number of CPUs from %d to %d may do as well: the bands overlap.", p.From, p.To))
	case p.AtEnd:
		paragraph(b, "No larger number of CPUs has a figure, so more may carry more.")
	}
	if best, all, gain := r.fewer(); gain.Lo > 1 {
		band := ""
		if gain.Lo < gain.Hi {
			band = " (" + format.Figure(gain.Lo) + " to " + format.Figure(gain.Hi) + ")"
		}
		paragraph(b, fmt.Sprintf("It carries %s times as much on %s as on %d%s.", format.Figure(gain.X), cpusText(float64(best)), all, band))
	}
}

// fewer compares the best measured count with the largest.
func (r *Report) fewer() (best, all int, gain Figure) {
	counts := r.Swept.Single
	last := counts[len(counts)-1]
	top := slices.MaxFunc(counts, func(a, b Count) int {
		if a.X < b.X {
			return -1
		}
		return 1
	})
	return top.Procs, last.Procs, Figure{X: top.X / last.X, Lo: top.Lo / last.Hi, Hi: top.Hi / last.Lo}
}

func (r *Report) writeFigures(b *bytes.Buffer) {
	fmt.Fprintln(b)
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "CPUs\tthroughput\tns between values\tband\torigin\t")
	for _, f := range r.rows() {
		fmt.Fprintf(table, "%.0f\t%s\t%s\t%s\t%s\t\n", f.CPUs, format.Rate(f.X), format.Figure(1e9/f.X), f.band(), f.Mode)
	}
	_ = table.Flush() // a Buffer cannot fail
}

// rows returns the figures of the table: of many measured counts, the
// doublings.
func (r *Report) rows() []Figure {
	var points []Point
	for _, c := range r.Swept.Single {
		points = append(points, Point{Procs: c.Procs})
	}
	points = shown(points)
	return slices.DeleteFunc(slices.Clone(r.Figures), func(f Figure) bool {
		return f.Mode == Measured && !slices.ContainsFunc(points, func(p Point) bool { return float64(p.Procs) == f.CPUs })
	})
}

// writeLimits explains what the figures are worth, and which are missing.
func (r *Report) writeLimits(b *bytes.Buffer) {
	var text []string
	largest := float64(r.Swept.Single[len(r.Swept.Single)-1].Procs)
	predicted := r.Figures[len(r.Figures)-1].CPUs / largest
	for _, flat := range r.Flat {
		if predicted > 1 && (flat.UpTo == Near || predicted > Near) {
			text = append(text, flat.String())
		}
	}
	if r.Law == nil {
		text = append(text, "No prediction beyond "+cpusText(largest)+": "+r.NoLaw+".")
	} else {
		text = append(text, r.refusals()...)
	}
	if len(text) > 0 {
		fmt.Fprintln(b)
		paragraph(b, text...)
	}
}

// refusals names the CPUs without a figure, with the reason once.
func (r *Report) refusals() []string {
	var text []string
	for i, refused := range r.Refused {
		if i > 0 && errorKind(refused.Why) == errorKind(r.Refused[i-1].Why) {
			continue
		}
		text = append(text, fmt.Sprintf("No figure for %s: %s.", cpusText(float64(refused.CPUs)), refused.Why))
	}
	return text
}

// errorKind returns the part of a reason that has no figures.
func errorKind(why string) string {
	kind, _, _ := strings.Cut(why, ":")
	return kind
}

// String compares predictions with flat in a sentence.
func (s FlatScore) String() string {
	of := "published curves"
	if s.GoOnly {
		of = "Go's published curves"
	}
	first := fmt.Sprintf("Up to %dx the measured CPUs, predictions of %d of %s", s.UpTo, s.Curves, of)
	if s.Better() {
		return first + fmt.Sprintf(" are off by a factor of %.2f (median); to assume no change, by %.2f.", s.Median, s.Flat)
	}
	return first + fmt.Sprintf(" are no better than to assume no change: off by a factor of %.2f (median) instead of %.2f.", s.Median, s.Flat)
}

// writeRemedies writes a line for each remedy. A ceiling that the hardware sets
// has its reason.
func (r *Report) writeRemedies(b *bytes.Buffer) {
	c := r.Ceilings
	if c.CPUs < 2 {
		return
	}
	fmt.Fprintf(b, "\nRemedies, on %s:\n", cpusText(float64(c.CPUs)))
	if n := len(c.Lanes); n > 0 {
		item(b, fmt.Sprintf("%-22s%s", fmt.Sprintf("%d lanes", c.Lanes[n-1].Parts), c.Lanes[n-1].text()))
	}
	for _, batch := range c.Batches {
		item(b, fmt.Sprintf("%-22s%s", fmt.Sprintf("batches of %d", batch.Parts), batch.text()))
	}
	if len(c.Batches) == 0 {
		item(b, "batches               no figure: their cost per value was not measured")
	}
}

// text describes a ceiling.
func (c Ceiling) text() string {
	switch {
	case c.Mode == Measured:
		return fmt.Sprintf("%s, measured (%s)", format.Rate(c.X), c.band())
	case c.Bounded:
		return fmt.Sprintf("at most %s: %s", format.Rate(c.X), c.Bound.Why)
	}
	return fmt.Sprintf("at most %s, %s from one channel", format.Rate(c.X), c.Mode)
}

func (r *Report) writeCurve(b *bytes.Buffer) {
	text := []string{"The curve: " + r.Curve.facts() + "."}
	if r.Others > 0 {
		text = append(text, fmt.Sprintf("The file has %d other series: -list shows them, -series chooses one.", r.Others))
	}
	if len(r.Curve.Above) > 0 {
		text = append(text, fmt.Sprintf("Left out: GOMAXPROCS %s, above the %s.",
			strings.Trim(fmt.Sprint(slices.Compact(slices.Clone(r.Curve.Above))), "[]"), cpusText(float64(r.Limits.Measured.CPUs))))
	}
	if !r.CPUsKnown {
		text = append(text, "The file does not have the number of CPUs of its machine; counts above it are not points of a curve: set -from-cpus.")
	}
	if r.Own > 0 {
		text = append(text, fmt.Sprintf("Bands and comparisons include %s of your own.", format.Plural(r.Own, "curve")))
	}
	fmt.Fprintln(b)
	paragraph(b, text...)
}

// writeDetails writes how the figures are derived, and published curves.
func (r *Report) writeDetails(b *bytes.Buffer) {
	fmt.Fprintln(b, "\nDetails:")
	item(b, "The band of a measured figure is the interval of its median, or the range of fewer than 6 repetitions.")
	item(b, fmt.Sprintf("Other bands cover %.0f%% of published curves, up to the best rate of a CPU, times their number.", 100*level))
	r.writeLaw(b)
	for _, lanes := range r.Ceilings.Lanes {
		if lanes.Mode == Measured {
			continue // above
		}
		item(b, fmt.Sprintf("%d lanes: %s (band %s).", lanes.Parts, lanes.text(), lanes.band()))
	}
	if c := r.Ceilings; len(c.Lanes) > 0 {
		item(b, fmt.Sprintf("S lanes on N CPUs carry at most min(S, N) times one channel on N/S CPUs. Published separate parts fell short by up to %.1fx (%d curves).",
			c.LaneShortfall, c.LaneCurves))
	}
	if c := r.Ceilings; c.OwnCostKnown {
		item(b, fmt.Sprintf("A batch of B values takes the time of one transfer plus B times %.2f ns, the cost of a value in batches of %d. Batches on two Ps fell short of that by up to %.0fx.",
			c.OwnCost, workload.BatchSize, c.BatchShortfall))
	}
	if len(r.Order) > 0 {
		item(b, fmt.Sprintf("Designs on many CPUs, the fastest first: %s. This is right for %s of published pairs that differ by more than %dx on more than %d CPUs (%d of %d).",
			list(r.Order), format.PercentDigits(r.OrderIs.Share(), 1), FarApart, r.OrderIs.Above, r.OrderIs.Right, r.OrderIs.Pairs))
	}
	r.writeBeside(b)
}

func (r *Report) writeLaw(b *bytes.Buffer) {
	if r.Law == nil {
		return
	}
	item(b, fmt.Sprintf("The law: X(N) = λN / (1 + σ(N−1) + κN(N−1)), λ = %s, σ = %.3g, κ = %.3g.", format.Rate(r.Law.Lambda), r.Law.Sigma, r.Law.Kappa))
	if r.Law.Kappa > 0 {
		item(b, "By the law there is no plateau: each additional CPU slows the others.")
	}
}

func (r *Report) writeBeside(b *bytes.Buffer) {
	if len(r.Beside) == 0 {
		return
	}
	fmt.Fprint(b, "\nPublished curves from other machines (compare shapes, not figures):\n")
	for _, n := range r.Beside {
		lock := "the same lock"
		if !n.SameLock {
			lock = "another lock"
		}
		item(b, fmt.Sprintf("%s, %s (%s): %s", n.Machine, n.Version, lock, n.Workload))
		var points []string
		for _, p := range shown(n.Points) {
			points = append(points, fmt.Sprintf("%d:%s%s", p.Procs, format.NoBreak, strings.ReplaceAll(format.Rate(p.X), " ", "")))
		}
		b.WriteString("    " + format.Wrap(strings.Join(points, ", "), width, 4, "    "))
		item(b, "  source: "+n.Source)
	}
}

// facts returns what is known of a curve.
func (c Curve) facts() string {
	known := slices.DeleteFunc([]string{c.Workload, c.Machine, c.Version}, func(fact string) bool { return fact == "" })
	return strings.Join(known, "; ")
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
	var b bytes.Buffer
	fmt.Fprintf(&b, "Added to %s:\n", file)
	item(&b, fmt.Sprintf("%s; %s.", c.facts(), format.Plural(len(c.Points), "count")))
	_, err := io.WriteString(w, format.CleanLines(b.String())) // names come from files
	return err
}
