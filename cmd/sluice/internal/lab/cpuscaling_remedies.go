package lab

import (
	"fmt"
	"runtime"
	"strconv"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// byClockOf identifies byClock with a fixed number of channels.
func byClockOf(channels int) ContenderID {
	return ContenderID(fmt.Sprintf("published_%d_channels_by_clock", channels))
}

// manyPs is the study's GOMAXPROCS on machines with more CPUs.
const manyPs = 32

// A remedy is a contestant that should carry more than one channel.
type remedy struct {
	contestant
	procs   int           // GOMAXPROCS while it works; 0 for the point's
	several bool          // several channels, with a consumer each
	parts   []ContenderID // the remedies that a combination is made of
}

// cpuRoster returns all remedies for procs Ps, alone and combined. The first
// entry is one built-in channel.
func cpuRoster(procs int) []remedy {
	with := func(id ContenderID, r contender.Remedy, parts ...ContenderID) remedy {
		return remedy{contestant: contestant{id, r.Contender(), studySlots, false}, several: r.Channels > 0, parts: parts}
	}
	as := func(id ContenderID, c contender.Contender) remedy {
		return remedy{contestant: contestant{id, c, studySlots, false}}
	}
	const slice = workload.BatchSize
	roster := []remedy{
		as(Native, contender.Native()),
		{contestant: contestant{capped, contender.Native(), studySlots, false}, procs: manyPs},
		with(pinned, contender.Remedy{Locked: true}),
		with(timeAfter, contender.Remedy{Timeout: contender.TimeAfter}),
		with(reusedTimer, contender.Remedy{Timeout: contender.ReusedTimer}),
		with(SharedSlices, contender.Remedy{Slice: slice}),
		{contestant: contestant{OwnSlices, contender.NativeSlices(), studySlots, true}},
		as(nativeFan2, contender.NativeFan(2)),
		as(nativeFan4, contender.NativeFan(4)),
	}
	for _, channels := range []int{2, 4, 8} {
		roster = append(roster, with(byClockOf(channels), contender.Remedy{Channels: channels, ByClock: true}))
	}
	return append(roster,
		with(byClock, contender.Remedy{Channels: procs, ByClock: true}),
		with(asNeeded, contender.Remedy{Channels: procs, ByClock: true, Scaled: true}),
		with(byGoroutine, contender.Remedy{Channels: procs}),
		with(clockSlices, contender.Remedy{Channels: procs, ByClock: true, Slice: slice}, byClock, SharedSlices),
		with(eachSlices, contender.Remedy{Channels: procs, Slice: slice}, byGoroutine, SharedSlices),
		with(withoutMore, contender.Remedy{Slice: slice, Timeout: contender.TimeAfter, Locked: true},
			SharedSlices, timeAfter, pinned),
		with(allTogether, contender.Remedy{Channels: procs, ByClock: true, Slice: slice, Timeout: contender.TimeAfter, Locked: true},
			byClock, SharedSlices, timeAfter, pinned),
		as(ownBounded, contender.Bounded(background, nil)),
		remedy{contestant: contestant{elastic, contender.Elastic(background, nil), unbounded, false}},
		as(ownSharded, contender.ShardedBounded(background, nil)),
		as(ShardedLanes, contender.ShardedLanes(background, nil)),
		as(batchSender, contender.Batching(background, slice)),
	)
}

func cpuRemedies(s Scale) Section {
	n := cpuValues(s)
	section := Section{Sweep: Sweep{
		Name:  SectionRemedies,
		Title: "Remedies, alone and together",
		Text: "All have " + strconv.Itoa(studySlots) + " slots per channel. “native” is one built-in channel. " +
			"A single consumer receives from several channels with one select.",
		Axis:     "GOMAXPROCS",
		Measures: []Measure{Throughput}, // the derived tables have the lock waits
	}}
	for _, procs := range cpuProcs(s) {
		for _, to := range []struct {
			load      Load
			receivers int
		}{{LoadOneConsumer, 1}, {loadMatched, procs}} {
			p := s.cpuPoint(SectionRemedies, Panel{Load: to.load}, string(to.load), procs)
			for _, r := range cpuRoster(procs) {
				if whyNot := r.whyNot(to.load, procs); whyNot != "" {
					p.LeftOut = append(p.LeftOut, measure.LeftOut{Contender: r.id, Reason: whyNot})
					continue
				}
				p.Entries = append(p.Entries, r.enter(n, procs, to.receivers))
			}
			section.Points = append(section.Points, p)
		}
	}
	section.Points = byPanel(section.Points)
	return section
}

// whyNot returns the reason why a remedy is left out of a load with procs Ps,
// or "".
func (r remedy) whyNot(load Load, procs int) string {
	switch {
	case procs <= r.procs:
		return "only for more than " + strconv.Itoa(r.procs) + " Ps: the other points show fewer"
	case r.several && load == LoadOneConsumer:
		return "each of its channels needs its own consumer"
	case r.contender.LeastReceivers > procs:
		return "it has more channels than the load has consumers"
	case r.contender.OneReceiver && load == loadMatched:
		return "one consumer selects over all its channels"
	}
	return ""
}

// enter enters r in the work of carrying n values. The time of changing
// GOMAXPROCS does not count.
func (r remedy) enter(n, senders, receivers int) measure.Entry {
	entry := r.carry(n, senders, receivers)
	if r.procs == 0 {
		return entry
	}
	pass := entry.Pass
	entry.Pass = func() (measure.Reading, error) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(r.procs))
		return pass()
	}
	return entry
}
