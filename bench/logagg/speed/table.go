package speed

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/results"
)

// Floor is how many times as fast as the built-in channel the best kind should be.
const Floor = 1.3

// Markdown returns the section of bench/RESULTS.md.
func (s Settings) Markdown(host results.Host, began time.Time, figures []Figure) string {
	var text strings.Builder
	fmt.Fprintf(&text, "## A log aggregator, end to end\n\n")
	fmt.Fprintf(&text, "Written by `go run ./bench/logagg bench`; see `bench/logagg/speed` for the method.\n\n")
	text.WriteString(host.Markdown(began))
	fmt.Fprintf(&text, "- medians of %d rounds of %d lines over %d connections; a channel of %d events; batches of %d\n\n",
		s.Rounds, s.Lines, s.Connections, s.Capacity, s.Batch)
	text.WriteString("From the socket to the table of counts: reading, framing, parsing, the channel, counting.\n" +
		"The CPU is that of the service, its share of the kernel's included. The delay is from when a\n" +
		"line was read until it was counted, while clients send as fast as they can: so it is that of\n" +
		"full queues, and of a fair turn for each client. It is not that of a line sent at a given rate:\n" +
		"a reader that waits for room leaves the lines behind it in their sockets, where no clock runs\n" +
		"for them. And no line can wait for longer than its run takes. The reference is the built-in channel, batched\n" +
		"(a channel of slices) where the row is.\n")
	text.WriteString("\n| row | P | reference | ratio | of rounds | lines a second | CPU ns a line | p99 delay ms |\n|---|--:|---|--:|---|--:|--:|--:|\n")
	s.rows(&text, figures)
	text.WriteString("\n")
	for _, procs := range s.Procs {
		text.WriteString(verdict(figures, procs))
	}
	return text.String()
}

// rows writes the rows of the table.
func (s Settings) rows(text *strings.Builder, figures []Figure) {
	for _, f := range figures {
		reference := find(figures, f.Procs, native(f.Batch))
		ratio, least, most := f.against(reference)
		fmt.Fprintf(text, "| logagg %v | %d | %v | %.2f | %.2f-%.2f | %.0f | %.0f | %.1f |\n",
			f.Variant, f.Procs, reference.Variant, ratio, least, most, f.median(perSecond), f.median(cpu), f.median(delay)/1e6)
	}
}

func native(batch int) Variant { return Variant{"native", batch} }

func find(figures []Figure, procs int, v Variant) Figure {
	return figures[slices.IndexFunc(figures, func(f Figure) bool { return f.Procs == procs && f.Variant == v })]
}

// verdict says how far the best kind of sluice is from the floor: against the built-in
// channel used in the same way, and against that used as most services use it, one event
// at a time.
func verdict(figures []Figure, procs int) string {
	alike, alikeRatio := best(figures, procs, func(f Figure) Variant { return native(f.Batch) })
	plain, plainRatio := best(figures, procs, func(Figure) Variant { return native(1) })
	return fmt.Sprintf("- GOMAXPROCS=%d: the best kind of sluice beside native in the same use is %v, at %.2f, which %s the floor of %.1f; "+
		"beside native one by one it is %v, at %.2f, which %s it.\n",
		procs, alike.Variant, alikeRatio, judged(alikeRatio), Floor, plain.Variant, plainRatio, judged(plainRatio))
}

// best returns the figure of sluice with the largest ratio to its reference.
func best(figures []Figure, procs int, reference func(Figure) Variant) (most Figure, ratio float64) {
	for _, f := range figures {
		if f.Procs != procs || f.Kind == "native" {
			continue
		}
		if r, _, _ := f.against(find(figures, procs, reference(f))); r > ratio {
			most, ratio = f, r
		}
	}
	return most, ratio
}

func judged(ratio float64) string {
	if ratio >= Floor {
		return "reaches"
	}
	return "falls short of"
}
