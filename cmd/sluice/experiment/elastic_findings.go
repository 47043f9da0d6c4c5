package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/measure"
	"github.com/sluice-go/sluice/cmd/sluice/stat"
)

func elasticConclusion(m *Measured) Conclusion {
	return Conclusion{Summary: elasticSummary(m), Findings: elasticFindings(m)}
}

// elasticSummary compares the two elastic channels at the study's own load.
func elasticSummary(m *Measured) []string {
	said := effect("A channel that grows, sluice.Elastic in place of a goroutine between two built-in channels,", atGOMAXPROCS,
		m.byProcs(bothAtOnce, flushingPump, elastic))
	if said == "" {
		return nil
	}
	return []string{said}
}

func elasticFindings(m *Measured) []string {
	const beside = "Beside a built-in channel of 1024 slots, both ends at work, "
	findings := []string{
		ratio(beside+"the published flushing pump", atGOMAXPROCS, m.byProcs(bothAtOnce, native1024, flushingPump)),
		ratio(beside+"sluice.Elastic", atGOMAXPROCS, m.byProcs(bothAtOnce, native1024, elastic)),
	}
	for _, change := range []struct{ subject, base, other string }{
		{"sluice.Elastic, in place of the published flushing pump", flushingPump, elastic},
		{"sluice.Ends, in place of the published flushing pump", flushingPump, ends},
		{"Batches of 64 through sluice.Elastic, in place of single values", elastic, elasticBatches},
		{"Flushing in the published pump, in place of a select for each value", simplePump, flushingPump},
	} {
		for _, panel := range []string{fillFirst, bothAtOnce} {
			findings = append(findings,
				effect(change.subject+" ("+panel+"),", atGOMAXPROCS, m.byProcs(panel, change.base, change.other)))
		}
	}
	findings = append(findings,
		effect("Left open by the study: a pre-sized queue", withLoad, m.byLoad(shrinkNever, presized)),
		effect("Left open by the study: shrinking below a quarter, in place of a half,", withLoad, m.byLoad(shrinkHalf, shrinkQuarter)),
		effect("Left open by the study: not shrinking, in place of shrinking below a half,", withLoad, m.byLoad(shrinkHalf, shrinkNever)),
		m.bestBuffer(),
		m.memory())
	return slices.DeleteFunc(findings, func(f string) bool { return f == "" })
}

// byProcs compares two contenders by GOMAXPROCS, with one of the study's loads.
func (m *Measured) byProcs(panel, base, other string) []place {
	var places []place
	for _, x := range m.xs("procs", panel) {
		if c, ok := m.change("procs", panel, x, base, other); ok {
			places = append(places, place{x, c})
		}
	}
	return places
}

// byLoad compares two contenders of the shrink section.
func (m *Measured) byLoad(base, other string) []place {
	var places []place
	for _, panel := range m.panels("shrink") {
		if c, ok := m.change("shrink", panel, "", base, other); ok {
			places = append(places, place{"“" + panel + "”", c})
		}
	}
	return places
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
	byTime := func(a, b found) int { return cmp.Compare(a.ns, b.ns) }
	best, worst := slices.MinFunc(all, byTime), slices.MaxFunc(all, byTime)
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
