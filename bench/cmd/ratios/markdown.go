package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/peers"
	"github.com/sluice-go/sluice/bench/results"
)

// A document is what a Markdown file tells.
type document struct {
	settings settings
	host     results.Host
	began    time.Time
	asked    int // figures
	lines    []line
}

func writeMarkdown(w io.Writer, d document) {
	fmt.Fprintf(w, "# Floors, goals, and what was measured\n\n")
	fmt.Fprintf(w, "Written by `go run ./bench/cmd/ratios`; see there for the method.\n\n")
	fmt.Fprint(w, d.host.Markdown(d.began))
	fmt.Fprintf(w, "- medians of %d rounds of %v each, uint64 values\n\n", d.settings.rounds, d.settings.run)
	if len(d.lines) < d.asked {
		fmt.Fprintf(w, "**Interrupted: %d of %d figures were measured.**\n\n", len(d.lines), d.asked)
	}
	fmt.Fprintf(w, "The ratio is the reference's time by ours, so above 1 ours is faster; times are\nnanoseconds per value, or per round trip. Goals are set at GOMAXPROCS=2.\nA line's nanoseconds are those of a cache line between two cores, measured in the\nsame rounds: where they grow, whatever two goroutines share does.\n")
	procs := 0
	for _, l := range d.lines {
		if l.procs != procs {
			procs = l.procs
			fmt.Fprintf(w, "\n## GOMAXPROCS=%d\n\n", procs)
			fmt.Fprintf(w, "| row | reference | floor | goal | ratio | of rounds | reference ns | ours ns | line ns | |\n|---|---|--:|--:|--:|---|--:|--:|--:|---|\n")
		}
		writeRow(w, l)
	}
	fmt.Fprintf(w, "\n%s\n", summary(d.lines))
	writePeers(w, d.lines)
	writeNotes(w, d.lines)
}

func writeRow(w io.Writer, l line) {
	fmt.Fprintf(w, "| %s | %s | %.2f | %s ", l.row, l.reference.Name, l.floorAt(l.procs), l.goalText())
	if l.err != nil {
		fmt.Fprintf(w, "| | | | | | no figure: %v |\n", l.err)
		return
	}
	fmt.Fprintf(w, "| %.2f | %.2f-%.2f | %.1f | %.1f | %s | %s |\n",
		median(l.ratios), l.ratios[0], l.ratios[len(l.ratios)-1], l.refNs, l.oursNs, l.lineText(), l.verdict())
}

// writePeers adds a table of the peers, one column each.
func writePeers(w io.Writer, lines []line) {
	var names []string
	for _, l := range lines {
		for _, p := range l.peers {
			if !slices.Contains(names, p.name) {
				names = append(names, p.name)
			}
		}
	}
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## Go peers\n\nNanoseconds per value in the same rounds, one by one; in brackets the ratio to the reference.\n\n| P | row | reference | ours |")
	for _, name := range names {
		fmt.Fprintf(w, " %s |", name)
	}
	fmt.Fprintf(w, "\n|--:|---|--:|--:|")
	for range names {
		fmt.Fprintf(w, "--:|")
	}
	fmt.Fprintln(w)
	for _, l := range lines {
		if len(l.peers) == 0 {
			continue
		}
		fmt.Fprintf(w, "| %d | %s | %.1f | %.1f |", l.procs, l.row, l.refNs, l.oursNs)
		for _, name := range names {
			fmt.Fprintf(w, " %s |", l.peerCell(name))
		}
		fmt.Fprintln(w)
	}
}

// peerCell is the figure of the peer of that name, or why there is none.
func (l line) peerCell(name string) string {
	for _, p := range l.peers {
		switch {
		case p.name != name:
		case p.err != nil:
			return "no figure"
		default:
			return fmt.Sprintf("%.1f (%.2f)", p.ns, p.ratio)
		}
	}
	return "-"
}

// writeNotes adds what must be known of the contenders that took part.
func writeNotes(w io.Writer, lines []line) {
	var took []contender.Contender
	meet := func(c contender.Contender) {
		known := func(k contender.Contender) bool { return k.Name == c.Name }
		if c.Note != "" && !slices.ContainsFunc(took, known) {
			took = append(took, c)
		}
	}
	for _, l := range lines {
		meet(l.reference)
		meet(l.ours)
		for _, p := range peers.All() {
			if slices.ContainsFunc(l.peers, func(f peerFigure) bool { return f.name == p.Name }) {
				meet(p)
			}
		}
	}
	if len(took) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## Notes\n\n")
	for _, c := range took {
		fmt.Fprintf(w, "- %s: %s.\n", c.Name, c.Note)
	}
}
