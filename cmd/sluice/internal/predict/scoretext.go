package predict

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// WriteText writes the score for a reader. With details, also the rejected
// alternatives, the bands and the order of designs.
func (s Score) WriteText(w io.Writer, details bool) error {
	var b bytes.Buffer
	intro := fmt.Sprintf("Published curves, each predicted from its smaller counts, with bands from the other sources (%d in all).", s.Sources)
	if s.File != "" {
		intro = fmt.Sprintf("Curves of %s, each predicted from its smaller counts, with bands from published curves.", s.File)
	}
	paragraph(&b, intro, "The factor between truth and prediction: its median, the median if the throughput is assumed to stay flat, and the limit of 90%. Each curve counts as one.")
	b.WriteString("\n")
	s.writeRows(&b)
	b.WriteString("\n")
	for _, line := range s.verdict() {
		paragraph(&b, line)
	}
	if details {
		s.writeDetails(&b)
	} else if s.File == "" {
		b.WriteString("With -v: trials, rejected alternatives, bands, and the order of designs.\n")
	}
	_, err := io.WriteString(w, format.CleanLines(b.String()))
	return err
}

func (s Score) writeRows(b *bytes.Buffer) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tcurves\tmedian\tflat\t90%\tin band\t")
	for _, row := range s.Rows {
		flat := ""
		if row.Flat > 0 {
			flat = fmt.Sprintf("%.2f", row.Flat)
		}
		fmt.Fprintf(table, "%s\t%d\t%.2f\t%s\t%.2f\t%.0f%%\t\n", row.What, row.Curves, row.Median, flat, row.P90, 100*row.Held)
	}
	_ = table.Flush() // a Buffer cannot fail
}

// verdict compares the score with the goals, and names the rows in which it is
// no better than flat.
func (s Score) verdict() []string {
	var lines []string
	noBetter := false
	for _, row := range s.Rows {
		if row.Flat > 0 && !betterThanFlat(row.Median, row.Flat) {
			noBetter = true
			lines = append(lines, fmt.Sprintf("No better than flat: %s (a median factor of %.2f instead of %.2f).", row.What, row.Median, row.Flat))
		}
	}
	reached := func(ok bool) string {
		if ok {
			return "reached"
		}
		return "missed"
	}
	for _, row := range s.Rows {
		if row.What == nearRow {
			if !noBetter {
				lines = append(lines, "Better than flat in all rows.")
			}
			return append(lines, fmt.Sprintf("Goals up to %dx: at least %.0f%% within the band (%s), a median factor of at most %.1f (%s).",
				Near, 100*GoalHeld, reached(row.Held >= GoalHeld), GoalMedian, reached(row.Median <= GoalMedian)))
		}
	}
	return append(lines, "No score beyond the measured counts: no curve has enough of them.")
}

func (s Score) writeDetails(b *bytes.Buffer) {
	b.WriteString("\n")
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\ttrials\ttoo noisy\tmedian\t90%\t")
	for _, row := range append(s.Rows[:len(s.Rows):len(s.Rows)], s.Lost...) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%.2f\t%.2f\t\n", row.What, row.Trials, row.Noisy, row.Median, row.P90)
	}
	_ = table.Flush() // a Buffer cannot fail
	b.WriteString("\n")
	for r, what := range []string{inside: "between counts 2x apart", gap: "between counts 4x apart", near: "up to 2x", far: "up to 4x"} {
		fmt.Fprintf(b, "Band %s: %.2f to %.2f times the prediction, from %d curves.\n", what, s.Bands[r].Lo, s.Bands[r].Hi, s.Bands[r].Curves)
	}
	for _, order := range s.Order {
		paragraph(b, fmt.Sprintf("Order of designs, above %s: right for %d of %d pairs (%.1f%%) that differ by more than %dx.",
			format.Plural(order.Above, "CPU"), order.Right, order.Pairs, 100*order.Share(), FarApart))
	}
	paragraph(b, "The model and the level of the bands were chosen on all published curves.")
}
