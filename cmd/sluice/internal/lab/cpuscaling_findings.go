package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

func cpuConclusion(m *Measured) Conclusion {
	c := Conclusion{Summary: m.shardFrom(), Tables: m.remedyTables()}
	m.cpuAnswer(&c)
	for _, shape := range shapes {
		c.Findings = append(c.Findings, m.fromOneCPU(shape))
	}
	c.Findings = append(c.Findings, m.laws()...)
	for _, shape := range shapes {
		c.Findings = append(c.Findings, effect("Selecting on data and a close channel instead of range ("+shape.name+")",
			atGOMAXPROCS, m.within(SectionShapes, Panel{}, shape.of(Native), shape.of(nativeSelects))))
	}
	c.Findings = append(c.Findings, effect("As many consumers as producers instead of one", atGOMAXPROCS,
		m.within(SectionShapes, Panel{}, manyToOne.of(Native), manyToMany.of(Native))))
	for _, capacity := range cpuCapacities[1:] {
		c.Findings = append(c.Findings, effect(fmt.Sprintf("A capacity of %d instead of none", capacity), atGOMAXPROCS,
			m.within(SectionCapacity, Panel{}, withSlots(Native, 0), withSlots(Native, capacity))))
	}
	for _, load := range []Load{LoadOneConsumer, loadMatched} {
		c.Findings = append(c.Findings, m.alone(load), m.best(load))
		c.Findings = append(c.Findings, m.together(load)...)
	}
	for _, id := range moreThanOne {
		c.Findings = append(c.Findings, carries(NameOf(id)+", compared with one channel,", axis{"with ", "with "}, m.byProducers(id)))
	}
	c.Findings = slices.DeleteFunc(c.Findings, func(f string) bool { return f == "" })
	return c
}

// counted returns the points of a panel that are not oversubscribed.
func (m *Measured) counted(section SectionID, panel Panel) []*Point {
	var points []*Point
	for _, s := range m.sections {
		if s.Name != section {
			continue
		}
		for _, p := range s.Points {
			if p.Panel == panel && !p.Beyond {
				points = append(points, p)
			}
		}
	}
	return points
}

// scaling returns the numbers of CPUs at which a contender was measured, in
// ascending order, with its times at each. A GOMAXPROCS above the CPUs does not
// count.
func (m *Measured) scaling(section SectionID, panel Panel, id ContenderID) (counts []int, times [][]float64) {
	for _, p := range m.counted(section, panel) {
		if samples := m.Samples(section, panel, p.X, id, measure.NsPerOp); len(samples) > 0 {
			counts, times = append(counts, p.Procs), append(times, samples)
		}
	}
	return counts, times
}

// within compares two contenders by GOMAXPROCS, up to the number of CPUs.
func (m *Measured) within(section SectionID, panel Panel, base, other ContenderID) []place {
	var places []place
	for _, p := range m.counted(section, panel) {
		if c, ok := m.change(section, panel, p.X, base, other); ok {
			places = append(places, place{p.X, c})
		}
	}
	return places
}

// byProducers compares a contender with one channel, by the number of producers.
func (m *Measured) byProducers(id ContenderID) []place {
	places := m.gains(SectionProducers, Panel{}, Native, id)
	for i := range places {
		places[i].name = producers(places[i].name)
	}
	return places
}

// gains returns the additional throughput of other, as a fraction of base, up to
// the number of CPUs.
func (m *Measured) gains(section SectionID, panel Panel, base, other ContenderID) []place {
	return m.within(section, panel, other, base)
}

// most returns the place with the most CPUs at which base was measured.
func (m *Measured) most(section SectionID, panel Panel, base ContenderID) (x string, ok bool) {
	for _, p := range m.counted(section, panel) {
		if len(m.Samples(section, panel, p.X, base, measure.NsPerOp)) > 0 {
			x, ok = p.X, true
		}
	}
	return x, ok
}

// carries describes a throughput relative to another: "sluice.Sharded carries
// 2.15 (1.67 to 2.40) times as much at GOMAXPROCS 2; as much, within noise, at
// 1". It returns "" without places.
func carries(subject string, by axis, places []place) string {
	var clear, same []string
	times, at := " times as much", by.first // each written once
	for _, p := range places {
		if p.change.Confidence == 0 || p.change.Clear() {
			clear = append(clear, factor(p.change)+times+" "+at+p.name)
			times, at = "", by.later
		}
	}
	for _, p := range places {
		if p.change.Confidence > 0 && !p.change.Clear() {
			same = append(same, at+p.name)
			at = by.later
		}
	}
	const asMuch = "as much, within noise, "
	switch {
	case len(places) == 0:
		return ""
	case len(clear) == 0:
		return subject + " carries " + asMuch + format.And(same) + "."
	case len(same) == 0:
		return subject + " carries " + format.And(clear) + "."
	}
	return subject + " carries " + format.And(clear) + "; " + asMuch + format.And(same) + "."
}

// factor writes a change as a factor, with its interval. Of a clear change that is
// not known more precisely, it writes the end that is closer to 1.
func factor(gain stat.Change) string {
	f := gain.Above(-1)
	switch {
	case gain.Confidence == 0:
		return fmt.Sprintf("%.2f (no interval)", f.Median)
	case f.Known():
		return format.Interval(f.Median, f.Lo, f.Hi)
	case gain.Lo > 0:
		return "at least " + format.Figure(f.Lo)
	case gain.Hi < 0:
		return "at most " + format.Figure(f.Hi)
	}
	return format.NotKnownHere
}

// fromOneCPU describes the throughput of one built-in channel from the fewest
// CPUs to the most.
func (m *Measured) fromOneCPU(shape shape) string {
	counts, sweep := m.scaling(SectionShapes, Panel{}, shape.of(Native))
	if len(counts) < 2 {
		return ""
	}
	last := len(counts) - 1
	few, many := Throughput.Show(stat.Summarize(sweep[0])), Throughput.Show(stat.Summarize(sweep[last]))
	if !few.Known() || !many.Known() {
		return fmt.Sprintf("How many values one built-in channel, %s, carries on %s and on %d is %s.",
			shape.name, format.Plural(counts[0], "CPU"), counts[last], format.NotKnownHere)
	}
	text := fmt.Sprintf("One built-in channel, %s, carries %s million values per second on %s and %s on %d",
		shape.name, format.Interval(few.Median, few.Lo, few.Hi), format.Plural(counts[0], "CPU"), format.Interval(many.Median, many.Lo, many.Hi), counts[last])
	switch {
	case few.Confidence == 0 || many.Confidence == 0:
		text += ", with too few repetitions to distinguish from noise"
	case few.Lo > many.Hi:
		text += fmt.Sprintf(": divided by %.2f", few.Median/many.Median)
	case few.Hi < many.Lo:
		text += fmt.Sprintf(": times %.2f", many.Median/few.Median)
	default:
		text += ": no difference beyond noise"
	}
	if shape.name == manyToOne.name {
		text += "; published: divided by three from 1 to 128 CPUs"
	}
	return text + "."
}

// A gained is a remedy with its gain at one place.
type gained struct {
	remedy
	gain stat.Change
}

// gained returns the remedies measured at the place with the most CPUs, best
// first.
func (m *Measured) gained(load Load) (x string, all []gained) {
	panel := Panel{Load: load}
	x, ok := m.most(SectionRemedies, panel, Native)
	if !ok {
		return "", nil
	}
	procs, err := strconv.Atoi(x)
	if err != nil {
		panic("lab: the axis of the remedies is GOMAXPROCS: " + err.Error())
	}
	for _, r := range cpuRoster(procs)[1:] {
		if c, ok := m.change(SectionRemedies, panel, x, r.id, Native); ok {
			all = append(all, gained{r, c})
		}
	}
	slices.SortStableFunc(all, func(a, b gained) int { return cmp.Compare(b.gain.Median, a.gain.Median) })
	return x, all
}

// alone describes the gain of each remedy by itself.
func (m *Measured) alone(load Load) string {
	x, all := m.gained(load)
	var clear, nothing, unknown []string
	for _, g := range all {
		switch {
		case len(g.parts) > 0:
		case g.gain.Confidence == 0:
			unknown = append(unknown, g.name())
		case g.gain.Clear():
			clear = append(clear, "“"+g.name()+"” "+factor(g.gain))
		default:
			nothing = append(nothing, "“"+g.name()+"”")
		}
	}
	var text string
	switch {
	case len(clear) > 0:
		text = fmt.Sprintf("Throughput of each remedy alone, as a multiple of one channel's (%s, GOMAXPROCS %s): %s.", load, x, format.And(clear))
	case len(nothing) > 0:
		text = fmt.Sprintf("No remedy alone makes a difference beyond noise (%s, GOMAXPROCS %s).", load, x)
	case len(unknown) > 0:
		return fmt.Sprintf("Remedies (%s, GOMAXPROCS %s): too few repetitions to distinguish from noise.", load, x)
	default:
		return ""
	}
	if len(clear) > 0 && len(nothing) > 0 {
		text += " No difference beyond noise: " + format.And(nothing) + "."
	}
	return text
}

// best names the remedy with the highest throughput, and whether its lead over
// the next is beyond noise.
func (m *Measured) best(load Load) string {
	x, all := m.gained(load)
	if len(all) < 2 || !all[0].gain.Clear() || all[0].gain.Median < 0 {
		return ""
	}
	first, next := all[0], all[1]
	text := fmt.Sprintf("Best remedy (%s, GOMAXPROCS %s): “%s”, with %s times the throughput of one channel; ",
		load, x, first.name(), factor(first.gain))
	lead, _ := m.change(SectionRemedies, Panel{Load: load}, x, first.id, next.id)
	if lead.Clear() && lead.Median > 0 {
		return text + "ahead of “" + next.name() + "” beyond noise."
	}
	return text + "no difference to “" + next.name() + "” beyond noise."
}

// together compares each combination with the best of its parts.
func (m *Measured) together(load Load) []string {
	x, all := m.gained(load)
	var findings []string
	for _, g := range all {
		if len(g.parts) == 0 {
			continue
		}
		for _, part := range all { // the best comes first
			if !slices.Contains(g.parts, part.id) {
				continue
			}
			c, _ := m.change(SectionRemedies, Panel{Load: load}, x, g.id, part.id)
			findings = append(findings, carries(
				fmt.Sprintf("The combination “%s”, compared with the best of its parts, “%s” (%s),", g.name(), part.name(), load),
				atGOMAXPROCS, []place{{x, c}}))
			break
		}
	}
	return findings
}

// remedyTables lists the gain of each remedy at the most CPUs, best first.
func (m *Measured) remedyTables() []Table {
	var tables []Table
	for _, load := range []Load{LoadOneConsumer, loadMatched} {
		x, all := m.gained(load)
		if len(all) == 0 {
			continue
		}
		table := Table{
			Title: "Remedies at GOMAXPROCS " + x + ", " + load.String(),
			Text: "Throughput as a multiple of one built-in channel's in the same rounds, with its interval, and the time spent " +
				"waiting for locks as a share of the time of all Ps.",
			Head: []string{"remedy", "times one channel", "interval", "lock waits, %"},
		}
		one := gained{remedy: remedy{contestant: contestant{id: Native}}}
		for _, g := range append([]gained{one}, all...) {
			times := g.gain.Above(-1)
			row := []string{g.name(), format.Rounded(times.Median, times.Lo, times.Hi), verdict(g.gain), ""}
			if waits := m.Samples(SectionRemedies, Panel{Load: load}, x, g.id, measure.LockWait); len(waits) > 0 {
				row[3] = fmt.Sprintf("%.1f", stat.Summarize(waits).Median)
			}
			table.Rows = append(table.Rows, row)
		}
		tables = append(tables, table)
	}
	return tables
}

// verdict returns the interval of a gain, or the reason why it has no interval.
func verdict(gain stat.Change) string {
	switch {
	case gain.N == 0:
		return "itself"
	case gain.Confidence == 0:
		return "too few repetitions"
	case !gain.Clear():
		return "no difference beyond noise"
	}
	return fmt.Sprintf("%.2f to %.2f", 1+gain.Lo, 1+gain.Hi)
}

// moreThanOne are the contenders of the section of producers with more than one
// lock.
var moreThanOne = []ContenderID{nativeFan2, ownSharded, ShardedLanes}

// shardFrom returns the number of producers from which on more than one channel
// pays: at it and at each larger number, some contender with more than one lock
// carries more, beyond noise, than one built-in channel and than one
// sluice.Bounded. A Bounded alone can be faster than a built-in channel, so
// both count.
func (m *Measured) shardFrom() []string {
	var from, last *Point
	var id ContenderID
	for _, p := range m.counted(SectionProducers, Panel{}) {
		winner, seen := m.winner(p.X)
		switch {
		case !seen:
			continue
		case winner == "":
			from = nil
		case from == nil:
			from, id = p, winner
		}
		last = p
	}
	switch {
	case last == nil:
		return nil
	case from == nil:
		return []string{fmt.Sprintf("On %s, several channels carry no more single values than one: with %s, no multi-channel design outperforms both a "+
			"sluice.Bounded and a built-in channel beyond noise.", format.Plural(last.Procs, "CPU"), producers(last.X))}
	}
	builtIn, _ := m.change(SectionProducers, Panel{}, from.X, id, Native)
	ours, _ := m.change(SectionProducers, Panel{}, from.X, id, ownBounded)
	return []string{fmt.Sprintf("On %s, use more than one channel from %s on: %s carries %s times as much as one built-in channel "+
		"of %d slots, and %s times as much as one sluice.Bounded. (Each lane of a Sharded has as many slots as the one channel.)",
		format.Plural(from.Procs, "CPU"), producers(from.X), NameOf(id), factor(builtIn), studySlots, factor(ours))}
}

// winner returns the contender of moreThanOne with the largest lead over one
// channel beyond noise, or "". seen is false if none has enough repetitions for
// an interval.
func (m *Measured) winner(x string) (winner ContenderID, seen bool) {
	most := 0.0
	for _, id := range moreThanOne {
		builtIn, _ := m.change(SectionProducers, Panel{}, x, id, Native)
		ours, _ := m.change(SectionProducers, Panel{}, x, id, ownBounded)
		seen = seen || builtIn.Confidence > 0 && ours.Confidence > 0
		if builtIn.Clear() && builtIn.Median > most && ours.Clear() && ours.Median > 0 {
			winner, most = id, builtIn.Median
		}
	}
	return winner, seen
}

// producers writes a place on the axis of producers.
func producers(x string) string {
	if x == "1" {
		return "1 producer"
	}
	return x + " producers"
}
