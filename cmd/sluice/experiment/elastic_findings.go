package experiment

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/measure"
	"github.com/sluice-go/sluice/cmd/sluice/stat"
)

func elasticFindings(m *Measured) []string {
	var findings []string
	add := func(finding string) {
		if finding != "" {
			findings = append(findings, finding)
		}
	}
	add(m.priceOfGrowth(flushingPump, "the published flushing pump"))
	add(m.priceOfGrowth(elastic, "sluice.Elastic"))
	for _, panel := range []string{fillFirst, bothAtOnce} {
		add(m.byX("procs", panel, "GOMAXPROCS", simplePump, flushingPump, "Flushing, "+panel+","))
	}
	for _, question := range []struct{ panel, base, other, what string }{
		{fillFirst, shrinkNever, presized, "A pre-sized queue"},
		{swinging, shrinkHalf, shrinkQuarter, "Shrinking at a quarter, not at a half,"},
		{swinging, shrinkHalf, shrinkNever, "Not shrinking"},
	} {
		add(m.openQuestion(question.base, question.other, question.what))
	}
	add(m.bestBuffer())
	add(m.memory())
	return findings
}

// priceOfGrowth compares a growing channel with a built-in one of 1024 slots,
// both at once, which is the load that either can do.
func (m *Measured) priceOfGrowth(who, name string) string {
	var places []place
	for _, x := range m.xs("procs", bothAtOnce) {
		c, ok := m.change("procs", bothAtOnce, x, native1024, who)
		if !ok {
			continue
		}
		places = append(places, place{"at GOMAXPROCS " + x, factor(c)})
	}
	if len(places) == 0 {
		return ""
	}
	return sentence("Beside a built-in channel of 1024 slots, both ends at work, "+name+" takes", places)
}

// factor says how one time relates to another: "3.4 times the time (3.1 to 3.6)".
func factor(c stat.Change) string {
	if c.Confidence > 0 && !c.Clear() {
		return "the same time within noise"
	}
	return fmt.Sprintf("%.2f times the time (%.2f to %.2f)", 1+c.Median, 1+c.Lo, 1+c.Hi)
}

// byX says what other brings over base at every place of a panel.
func (m *Measured) byX(section, panel, axis, base, other, what string) string {
	var places []place
	for _, x := range m.xs(section, panel) {
		if c, ok := m.change(section, panel, x, base, other); ok {
			places = append(places, place{"at " + axis + " " + x, verdict(c)})
		}
	}
	if len(places) == 0 {
		return ""
	}
	return sentence(what, places)
}

// openQuestion says what a change of the published pump brings on each load of
// the shrink section.
func (m *Measured) openQuestion(base, other, what string) string {
	var places []place
	for _, panel := range []string{fillFirst, bothAtOnce, swinging} {
		if c, ok := m.change("shrink", panel, "", base, other); ok {
			places = append(places, place{"(" + panel + ")", verdict(c)})
		}
	}
	if len(places) == 0 {
		return ""
	}
	return sentence("Left open by the study, published flushing pump: "+what, places)
}

// bestBuffer names the size of both built-in channels that was fastest.
func (m *Measured) bestBuffer() string {
	type found struct {
		x  string
		ns float64
	}
	var all []found
	for _, x := range m.xs("buffers", bothAtOnce) {
		samples := m.Samples("buffers", bothAtOnce, x, flushingPump, measure.NsPerOp)
		if len(samples) > 0 {
			all = append(all, found{x, stat.Summarize(samples).Median})
		}
	}
	if len(all) < 2 {
		return ""
	}
	best := slices.MinFunc(all, func(a, b found) int { return int(a.ns - b.ns) })
	worst := slices.MaxFunc(all, func(a, b found) int { return int(a.ns - b.ns) })
	return fmt.Sprintf("Of the sizes tried for its two buffers, the published flushing pump was fastest, both ends at work, "+
		"with %s slots (%.0f ns per value) and slowest with %s (%.0f ns).", best.x, best.ns, worst.x, worst.ns)
}

func (m *Measured) memory() string {
	held := func(who string) (string, bool) {
		var medians [3]float64
		for i, unit := range []string{measure.BytesPeak, measure.BytesFull, measure.BytesDrained} {
			samples := m.Samples("memory", "", "", who, unit)
			if len(samples) == 0 {
				return "", false
			}
			medians[i] = stat.Summarize(samples).Median
		}
		return fmt.Sprintf("%.1f bytes at the worst moment of filling, %.1f when full, and %.1f KiB in all after the drain",
			medians[0], medians[1], medians[2]/1024), true
	}
	theirs, ok := held(shrinkHalf)
	ours, ok2 := held(ownHalf)
	if !ok || !ok2 {
		return ""
	}
	return "Per queued value of 8 bytes, the published channel that halves holds " + theirs + "; sluice.Elastic holds " + ours + "."
}
