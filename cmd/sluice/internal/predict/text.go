package predict

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// WriteText writes the report in lines of at most width characters: the answer,
// the figures, what limits them, and the remedies. With details, also the law
// and published curves.
func (r *Report) WriteText(w io.Writer, width int, details bool) error {
	s := &format.Text{Width: width}
	r.writePeak(s)
	r.writeFigures(s)
	r.writeLimits(s)
	r.writeRemedies(s)
	r.writeCurve(s)
	if details {
		r.writeDetails(s)
	} else {
		s.Paragraph("", "With -v: the law, and the published curves that looked most like this one.")
	}
	return s.Print(w)
}

// paragraph writes sentences, if there are any, below an empty line.
func paragraph(s *format.Text, sentences []string) {
	if len(sentences) > 0 {
		s.WriteString("\n")
		s.Paragraph("", sentences...)
	}
}

// item writes a line of a list, and indents the lines that follow it.
func item(s *format.Text, text string) { s.Paragraph("    ", "  "+text) }

func (f Figure) band() string {
	if f.Lo == f.Hi {
		return "no interval"
	}
	return format.Rate(f.Lo) + " to " + format.Rate(f.Hi)
}

func (r *Report) writePeak(s *format.Text) {
	what, where := "This curve", ""
	if r.Curve.Design == ChannelDesign {
		what = "One channel"
	}
	switch {
	case r.Here:
		where = " on this machine"
	case r.Curve.Machine != "":
		where = " on " + r.Curve.Machine
	}
	p := r.Peak
	s.Paragraph("", fmt.Sprintf("%s%s carries most on %s: %s, %s (%s).", what, where, format.Plural(p.CPUs, "CPU"), format.Rate(p.X), p.Mode, p.band()))
	switch {
	case p.From != p.To:
		s.Paragraph("", fmt.Sprintf("Another number of CPUs, from %d to %d, may do as well: bands overlap.", p.From, p.To))
	case p.AtEnd:
		s.Paragraph("", "No larger number of CPUs has a figure, so more may carry more.")
	}
	best := slices.MaxFunc(r.Swept.Single, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	all := r.Swept.Single[len(r.Swept.Single)-1]
	if least, most := best.Lo/all.Hi, best.Hi/all.Lo; least > 1 {
		band := ""
		if least < most {
			band = " (" + format.Figure(least) + " to " + format.Figure(most) + ")"
		}
		s.Paragraph("", fmt.Sprintf("It carries %s times as much on %s as on %d%s.", format.Figure(best.X/all.X), format.Plural(best.Procs, "CPU"), all.Procs, band))
	}
}

func (r *Report) writeFigures(s *format.Text) {
	rows := [][]string{{"CPUs", "rate", "ns/op", "band", "origin"}}
	measured := doublings(r.Swept.Single)
	for _, f := range r.Figures {
		if f.Mode == Measured && !slices.ContainsFunc(measured, func(p Point) bool { return p.Procs == f.CPUs }) {
			continue // of many measured counts, the doublings
		}
		rows = append(rows, []string{strconv.Itoa(f.CPUs), format.Rate(f.X), format.Figure(1e9 / f.X), f.band(), string(f.Mode)})
	}
	s.WriteString("\n")
	s.Table("r", rows)
}

// writeLimits explains what the figures are worth, and which are missing.
func (r *Report) writeLimits(s *format.Text) {
	var text []string
	last := r.Swept.Single[len(r.Swept.Single)-1]
	predicted := slices.DeleteFunc(slices.Clone(r.Figures), func(f Figure) bool { return f.Mode != Extrapolated })
	if len(predicted) > 0 {
		text = append(text, fmt.Sprintf("A band covers what became of %.0f%% of the published curves that looked like this one.", 100*level))
	}
	if slices.ContainsFunc(predicted, func(f Figure) bool { return f.Lo <= last.X && last.X <= f.Hi }) {
		text = append(text, fmt.Sprintf("It includes that nothing changes beyond %s.", format.Plural(last.Procs, "CPU")))
	}
	if r.Law == nil {
		text = append(text, "No prediction beyond "+format.Plural(last.Procs, "CPU")+": "+r.NoLaw+".")
	}
	kind := func(why string) string { kind, _, _ := strings.Cut(why, ":"); return kind } // without its figures
	for i, refused := range r.Refused {
		if r.Law != nil && (i == 0 || kind(refused.Why) != kind(r.Refused[i-1].Why)) {
			text = append(text, fmt.Sprintf("No figure for %s: %s.", format.Plural(refused.CPUs, "CPU"), refused.Why))
		}
	}
	paragraph(s, text)
}

// writeRemedies writes a line for each remedy. A limit has its reason.
func (r *Report) writeRemedies(s *format.Text) {
	if len(r.Remedies) == 0 {
		return
	}
	fmt.Fprintf(s, "\nRemedies, on %s:\n", format.Plural(r.OnCPUs, "CPU"))
	for _, remedy := range r.Remedies {
		text := fmt.Sprintf("%s, %s (%s)", format.Rate(remedy.X), remedy.Mode, remedy.band())
		if remedy.AtMost != "" {
			text = fmt.Sprintf("at most %s: %s", format.Rate(remedy.X), remedy.AtMost)
		}
		item(s, fmt.Sprintf("%-16s %s", remedy.What, text))
	}
	if len(r.Swept.Batches) == 0 {
		item(s, "batches          no figure: their cost per value was not measured")
	}
}

func (r *Report) writeCurve(s *format.Text) {
	var text []string
	if facts := r.Curve.facts(); facts != "" {
		text = append(text, "The curve: "+facts+".")
	}
	if r.Others > 0 {
		text = append(text, fmt.Sprintf("The file has %d other series: -list shows them, -series chooses one.", r.Others))
	}
	if len(r.Curve.Above) > 0 {
		text = append(text, fmt.Sprintf("Left out: GOMAXPROCS %s, above the %s.",
			strings.Trim(fmt.Sprint(slices.Compact(slices.Clone(r.Curve.Above))), "[]"), format.Plural(r.Limits.Measured.CPUs, "CPU")))
	}
	if !r.CPUsKnown {
		text = append(text, "The file does not have the number of CPUs of its machine; counts above it are not points of a curve: set -from-cpus.")
	}
	if r.OwnUsed > 0 {
		text = append(text, fmt.Sprintf("Bands and comparisons include %s of your own.", format.Plural(r.OwnUsed, "curve")))
	}
	paragraph(s, text)
}

// writeDetails writes the law, and published curves.
func (r *Report) writeDetails(s *format.Text) {
	s.WriteString("\nDetails:\n")
	item(s, "The band of a measured figure is the interval of its median, or the range of fewer than 6 repetitions.")
	if r.Swept.Single[0].Procs == 1 {
		item(s, "No figure is above the best rate of one CPU, times the number of CPUs.")
	}
	if r.Law != nil {
		item(s, fmt.Sprintf("The law: X(N) = λN / (1 + σ(N−1) + κN(N−1)), λ = %s, σ = %.3g, κ = %.3g.", format.Rate(r.Law.Lambda), r.Law.Sigma, r.Law.Kappa))
	}
	if r.Law != nil && r.Law.Kappa > 0 {
		item(s, "By the law there is no plateau: each additional CPU slows the others.")
	}
	if len(r.Alike) > 0 {
		s.WriteString("\n")
		s.Paragraph("", "Published curves that looked most like this one (compare shapes, not figures):")
	}
	for _, c := range r.Alike {
		item(s, c.facts())
		var text []string
		for _, p := range doublings(c.Points) {
			text = append(text, fmt.Sprintf("%d:%s%s", p.Procs, format.NoBreak, strings.ReplaceAll(format.Rate(p.X), " ", "")))
		}
		item(s, "  "+strings.Join(text, ", "))
		item(s, "  source: "+c.Source)
	}
}

// WriteAdded writes a confirmation of Add.
func WriteAdded(w io.Writer, width int, c Curve, file string) error {
	s := &format.Text{Width: width}
	fmt.Fprintf(s, "Added to %s:\n", file)
	item(s, fmt.Sprintf("%s; %s.", c.facts(), format.Plural(len(c.Points), "count")))
	return s.Print(w)
}
