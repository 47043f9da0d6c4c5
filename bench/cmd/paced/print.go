package main

import (
	"fmt"
	"io"
	"strings"
)

// describe names a load: "10k/s 8->1", with its group and job if it has them.
func (c cell) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/s, %s", rateText(c.load.Rate), c.load.Shape())
	if c.load.Group > 1 {
		fmt.Fprintf(&b, ", groups of %d", c.load.Group)
	}
	if c.load.Sleep {
		b.WriteString(", sleeping senders")
	}
	if c.load.Job > 0 {
		fmt.Fprintf(&b, ", jobs of %v", c.load.Job)
	}
	return b.String()
}

// rateText writes a rate as the flag reads it.
func rateText(rate float64) string {
	switch {
	case rate >= 1e6:
		return fmt.Sprintf("%gM", rate/1e6)
	case rate >= 1e3:
		return fmt.Sprintf("%gk", rate/1e3)
	}
	return fmt.Sprintf("%g", rate)
}

// show prints the table of a cell. Times are in µs; a ratio is ours divided by the
// reference's, so below 1 ours is cheaper or earlier.
func (c cell) show(w io.Writer) {
	fmt.Fprintf(w, "\nGOMAXPROCS=%d, %s; other processes took %s of the CPU time\n", c.procs, c.describe(), others([]cell{c}))
	fmt.Fprintf(w, "%-18s %7s %7s %7s %7s %7s %8s %8s %7s %7s | %5s %5s %5s\n",
		"", "CPU", "added", "p50", "p99", "p99.9", "due p50", "due p99", "switch", "preempt", "CPU", "p50", "p99")
	base := c.nothing()
	for _, r := range c.rows {
		if r.err != nil {
			fmt.Fprintf(w, "%-18s no figure: %v\n", r.Name, r.err)
			continue
		}
		if len(r.rounds) == 0 {
			continue
		}
		us := func(figure func(round) float64) float64 { return r.median(figure) / 1e3 }
		fmt.Fprintf(w, "%-18s %7.2f %7.2f %7.2f %7.1f %7.1f %8.1f %8.1f %7.2f %7.3f |",
			r.Name, us(cpu), us(cpu)-base, us(p50), us(p99), us(p999), us(whole50), us(whole99), r.median(voluntary), r.median(involuntary))
		if reference, ok := c.find(r.Reference); ok {
			fmt.Fprintf(w, " %5.2f %5.2f %5.2f", r.against(reference, cpu), r.against(reference, p50), r.against(reference, p99))
		}
		fmt.Fprintln(w)
	}
}
