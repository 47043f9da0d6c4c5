package lab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

func elasticConclusion(m *Measured) Conclusion {
	c := Conclusion{Summary: elasticSummary(m), Findings: elasticFindings(m)}
	m.elasticAnswer(&c)
	return c
}

// elasticSummary compares the two elastic channels at the study's own load.
func elasticSummary(m *Measured) []string {
	text := effect("A channel that grows, sluice.Elastic instead of a goroutine between two built-in channels,", atGOMAXPROCS,
		m.across(sectionProcs, Panel{Load: bothAtOnce}, flushingPump, elastic))
	if text == "" {
		return nil
	}
	return []string{text}
}

func elasticFindings(m *Measured) []string {
	const beside = "Compared with a built-in channel of 1024 slots, both ends at once, "
	findings := []string{
		ratio(beside+"the published flushing pump", atGOMAXPROCS, m.across(sectionProcs, Panel{Load: bothAtOnce}, native1024, flushingPump)),
		ratio(beside+"sluice.Elastic", atGOMAXPROCS, m.across(sectionProcs, Panel{Load: bothAtOnce}, native1024, elastic)),
	}
	for _, change := range []struct {
		subject     string
		base, other ContenderID
	}{
		{"sluice.Elastic instead of the published flushing pump", flushingPump, elastic},
		{"bridge.Pipe instead of the published flushing pump", flushingPump, pipe},
		{"Batches of 64 through sluice.Elastic instead of single values", elastic, elasticBatches},
		{"Flushing in the published pump instead of a select per value", simplePump, flushingPump},
	} {
		for _, load := range []Load{fillFirst, bothAtOnce} {
			findings = append(findings,
				effect(change.subject+" ("+load.String()+")", atGOMAXPROCS, m.across(sectionProcs, Panel{Load: load}, change.base, change.other)))
		}
	}
	findings = append(findings,
		effect("Left open by the study: a pre-sized queue", withLoad, m.acrossPanels(sectionShrink, "", shrinkNever, presized)),
		effect("Left open by the study: shrinking below a quarter instead of a half", withLoad, m.acrossPanels(sectionShrink, "", shrinkHalf, shrinkQuarter)),
		effect("Left open by the study: not shrinking instead of shrinking below a half", withLoad, m.acrossPanels(sectionShrink, "", shrinkHalf, shrinkNever)),
		m.bestBuffer(),
		m.memory())
	return slices.DeleteFunc(findings, func(f string) bool { return f == "" })
}

// bestBuffer names the fastest size of both built-in channels.
func (m *Measured) bestBuffer() string {
	samples, medians := make(map[string][]float64), make(map[string]float64) // ns per value
	for _, x := range m.xs(sectionPumpBuffers, Panel{Load: bothAtOnce}) {
		if found := m.Samples(sectionPumpBuffers, Panel{Load: bothAtOnce}, x, flushingPump, measure.NsPerOp); len(found) > 0 {
			samples[x], medians[x] = found, stat.Summarize(found).Median
		}
	}
	if len(medians) < 2 {
		return ""
	}
	sizes := slices.SortedFunc(maps.Keys(medians), func(a, b string) int { return cmp.Compare(medians[a], medians[b]) })
	best, worst := sizes[0], sizes[len(sizes)-1]
	if !stat.Between(samples[best], samples[worst]).Clear() {
		return "The size of its two buffers makes no difference beyond noise to the published flushing pump (both at once)."
	}
	return fmt.Sprintf("The published flushing pump is fastest with two buffers of %s slots (%.0f ns per value) "+
		"and slowest with %s (%.0f ns; both at once).", best, medians[best], worst, medians[worst])
}

func (m *Measured) memory() string {
	held := func(id ContenderID) (string, bool) {
		var medians [3]float64
		for i, unit := range []string{measure.BytesPeak, measure.BytesFull, measure.BytesDrained} {
			samples := m.Samples(sectionMemory, Panel{}, "", id, unit)
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
