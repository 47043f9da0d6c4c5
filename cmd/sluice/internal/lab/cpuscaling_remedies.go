package lab

import (
	"fmt"
	"runtime"
	"strconv"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// Panels of the remedies.
const (
	oneConsumer = "P producers, one consumer"
	matched     = "P producers, matched consumers"
)

// Names of remedies. Those of the study's author are called published; the native ones
// are what else is done without a library.
const (
	capped       = "published, GOMAXPROCS 32"
	pinned       = "published, pinned threads"
	timeAfter    = "published, timeout by time.After"
	reusedTimer  = "native, timeout by reused timer"
	slicesOf     = "published, slices"
	ownSlices    = "native, slices of each sender"
	byClock      = "published, P channels by clock"
	asNeeded     = "published, channels as needed"
	byGoroutine  = "native, P channels, one each"
	nativeFan2   = "native, select of 2 channels"
	nativeFan4   = "native, select of 4 channels"
	clockSlices  = "published, P channels + slices"
	eachSlices   = "native, P channels, one each + slices"
	withoutMore  = "published, slices + timeout + threads"
	allTogether  = "published, all together"
	ownSharded   = "sluice.Sharded"
	ownLanes     = "sluice.Sharded, lane each, runs"
	ownBatcher   = "sluice.Batcher of 64"
	fixedByClock = "published, %d channels by clock"
)

// manyPs is what the study sets GOMAXPROCS to on machines that have more CPUs.
const manyPs = 32

// A remedy is somebody who is to carry more than one channel does.
type remedy struct {
	contestant
	procs   int      // GOMAXPROCS while it works; 0 for that of the point
	several bool     // channels, with a consumer each
	parts   []string // of a combination: the remedies that it is made of
}

// cpuRoster is every remedy, alone and together, for that many Ps. The first is
// one channel as it is.
func cpuRoster(procs int) []remedy {
	with := func(name string, r contender.Remedy, parts ...string) remedy {
		return remedy{contestant: contestant{name, r.Contender(), studySlots, false}, several: r.Channels > 0, parts: parts}
	}
	as := func(name string, c contender.Contender) remedy {
		return remedy{contestant: contestant{name, c, studySlots, false}}
	}
	const slice = workload.BatchSize
	roster := []remedy{
		as(native, contender.Native()),
		{contestant: contestant{capped, contender.Native(), studySlots, false}, procs: manyPs},
		with(pinned, contender.Remedy{Locked: true}),
		with(timeAfter, contender.Remedy{Timeout: contender.TimeAfter}),
		with(reusedTimer, contender.Remedy{Timeout: contender.ReusedTimer}),
		with(slicesOf, contender.Remedy{Slice: slice}),
		{contestant: contestant{ownSlices, contender.NativeSlices(), studySlots, true}},
		as(nativeFan2, contender.NativeFan(2)),
		as(nativeFan4, contender.NativeFan(4)),
	}
	for _, channels := range []int{2, 4, 8} {
		roster = append(roster, with(fmt.Sprintf(fixedByClock, channels), contender.Remedy{Channels: channels, ByClock: true}))
	}
	return append(roster,
		with(byClock, contender.Remedy{Channels: procs, ByClock: true}),
		with(asNeeded, contender.Remedy{Channels: procs, ByClock: true, Scaled: true}),
		with(byGoroutine, contender.Remedy{Channels: procs}),
		with(clockSlices, contender.Remedy{Channels: procs, ByClock: true, Slice: slice}, byClock, slicesOf),
		with(eachSlices, contender.Remedy{Channels: procs, Slice: slice}, byGoroutine, slicesOf),
		with(withoutMore, contender.Remedy{Slice: slice, Timeout: contender.TimeAfter, Locked: true},
			slicesOf, timeAfter, pinned),
		with(allTogether, contender.Remedy{Channels: procs, ByClock: true, Slice: slice, Timeout: contender.TimeAfter, Locked: true},
			byClock, slicesOf, timeAfter, pinned),
		as(ownBounded, contender.Bounded(background, nil)),
		remedy{contestant: contestant{elastic, contender.Elastic(background, nil), unbounded, false}},
		as(ownSharded, contender.ShardedBounded(background, nil)),
		as(ownLanes, contender.ShardedLanes(background, nil)),
		as(ownBatcher, contender.Batching(background, slice, 0)),
	)
}

func cpuRemedies(s Scale) Section {
	n := cpuValues(s)
	section := Section{
		Name:  "remedies",
		Title: "Remedies, alone and together",
		Text: "All have " + strconv.Itoa(studySlots) + " slots a channel. “native” is one channel as it is. " +
			"With one consumer, several channels are received from by one select.",
		Axis:     "GOMAXPROCS",
		Measures: []Measure{Throughput}, // the derived tables have the lock waits
	}
	for _, procs := range cpuProcs(s) {
		for _, to := range []struct {
			panel, work string
			receivers   int
		}{{oneConsumer, "one-consumer", 1}, {matched, "matched", procs}} {
			p := s.cpuPoint("remedies", to.panel, to.work, procs)
			for _, r := range cpuRoster(procs) {
				if whyNot := r.whyNot(to.panel, procs); whyNot != "" {
					p.LeftOut = append(p.LeftOut, measure.LeftOut{Contender: r.name, Reason: whyNot})
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

// whyNot says why a remedy is not asked to do the work of a panel with that many
// Ps, "" if it is.
func (r remedy) whyNot(panel string, procs int) string {
	switch {
	case procs <= r.procs:
		return "it is for more Ps than " + strconv.Itoa(r.procs) + ": the other points show fewer"
	case r.several && panel == oneConsumer:
		return "each of its channels has a consumer of its own"
	case r.contender.LeastReceivers > procs:
		return "it has more channels than there are consumers"
	case r.contender.OneReceiver && panel == matched:
		return "it is one consumer that selects over all channels"
	}
	return ""
}

// enter enters r in the work of carrying n values. The time that changing GOMAXPROCS
// takes does not count.
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
