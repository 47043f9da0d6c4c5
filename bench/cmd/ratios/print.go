package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/sluice-go/sluice/bench/rounds"
)

// heading stands above the lines.
var heading = fmt.Sprintf("%-2s %-32s %6s %6s %8s %-13s %9s %9s %6s  %s",
	"P", "row", "floor", "goal", "ratio", "  range", "reference", "ours", "cache", "")

// String formats the line for the terminal; times are ns per item.
func (l line) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-2d %-32s %6.2f %6s ", l.procs, l.row, l.floorAt(l.procs), l.goalText())
	if l.err != nil {
		fmt.Fprintf(&b, "no figure: %v", l.err)
		return b.String()
	}
	fmt.Fprintf(&b, "%8.2f %5.2f - %5.2f %9.1f %9.1f %6s  %s",
		rounds.Median(l.ratios), l.ratios[0], l.ratios[len(l.ratios)-1], l.refNs, l.oursNs, l.lineText(), l.verdict())
	for _, p := range l.peers {
		fmt.Fprintf(&b, "\n   %-32s %s", "  "+p.name, p)
	}
	return b.String()
}

func (p peerFigure) String() string {
	if p.err != nil {
		return fmt.Sprintf("no figure: %v", p.err)
	}
	return fmt.Sprintf("%22.2f %33.1f", p.ratio, p.ns)
}

// goalText returns the goal, which is set only at GOMAXPROCS=2.
func (l line) goalText() string {
	if l.procs != 2 {
		return "-"
	}
	return fmt.Sprintf("%.2f", l.goal)
}

// lineText returns the time of a cache line transfer.
func (l line) lineText() string {
	if math.IsNaN(l.lineNs) {
		return "-"
	}
	return fmt.Sprintf("%.0f", l.lineNs)
}

// verdict compares the ratio with floor and goal.
func (l line) verdict() string {
	ratio := rounds.Median(l.ratios)
	switch {
	case l.err != nil:
		return "no figure"
	case ratio < l.floorAt(l.procs):
		return "falls short"
	case l.procs == 2 && ratio >= l.goal:
		return "goal"
	}
	return "pass"
}

// summary counts the verdicts, and lists the rows that fall short for each
// GOMAXPROCS.
func summary(lines []line) string {
	count := map[string]int{}
	short := map[int][]string{}
	var procs []int
	for _, l := range lines {
		v := l.verdict()
		count[v]++
		if v != "falls short" && v != "no figure" {
			continue
		}
		if short[l.procs] == nil {
			procs = append(procs, l.procs)
		}
		short[l.procs] = append(short[l.procs], l.row.String())
	}
	text := fmt.Sprintf("%d figures: %d reach the goal, %d pass the floor, %d fall short, %d have no figure",
		len(lines), count["goal"], count["pass"], count["falls short"], count["no figure"])
	for _, p := range procs {
		text += fmt.Sprintf("\nnot met at P=%d: %s", p, strings.Join(short[p], "; "))
	}
	return text
}
