package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about both ends of a channel that wait while cores idle: for each other, or for work.
const (
	Lockstep Kind = "lockstep"
	Bursts   Kind = "bursts"
)

const (
	// turnsShare is the share of CPU time in channels, parks included, below
	// which cores are idle for another reason. Stages in lockstep had 0.08 and
	// 0.10.
	turnsShare = 0.03
	// burstQueue is the mean number of goroutines that are ready to run for each P from which
	// cores idle at other times than those at which goroutines wait: where a buffer filled idle
	// cores it was 0 to 2, and 4.5 in a service to which it gave ×1.3; in one whose clients paused
	// it was 8 to 12, and a buffer gave ×0.9 to ×1.06.
	burstQueue = 5
	// burstShare is the share of CPU time in channels below which bursts are the answer: that
	// service had 0.14 to 0.20, and one whose channels take more gains CPU time in any case.
	burstShare = 0.30
	// rarely is the ratio of waits at both ends above which one end hardly
	// waits.
	rarely = 20
)

var lockstepRules = []rule{
	{
		kind: Lockstep, shares: true, look: lockstep, instead: []Kind{CPUBound},
		reason: "channel and scheduler only 8% of CPU time, but 30% of the cores idle with both ends parking: " +
			"buffer ×1.48",
	},
	{
		kind: Bursts, shares: true, look: bursts, instead: []Kind{SystemCallBound, TransferCost, TinyJobs, SlowStage, CPUBound},
		reason: "32 connections whose clients paused for 1 ms: 17 to 25 runnable goroutines while a third of the cores idled; buffer ×0.9 to ×1.06. Under four times the load " +
			"78 to 104, and a buffer ×1.25, a second receiver ×1.32",
	},
}

// lockstep detects channels that cost little CPU time but keep cores idle,
// because the two ends wait for each other alternately.
func lockstep(f *facts) *Finding {
	from, to := f.inTurns()
	if from == nil || f.inBursts() {
		return nil
	}
	found := &Finding{Channels: true, At: &from.Place, Share: known(1 - f.cores/f.room()), Confidence: Medium}
	found.Text = fmt.Sprintf("Sender and receiver run in lockstep while cores idle: %s and %s.", from, to)
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of %s cores in use; channels and the scheduler after them take only %s of that",
		format.Number(f.cores), f.roomText(), format.Percent(f.channelCPU())))
	f.addWakeups(found)
	if from.Parks == nil {
		found.Confidence = Low // one snapshot of waiting goroutines does not count waits
		found.decides(f, "whether both ends wait for each other, or only one of them")
	}
	p := f.prices
	found.Remedies = []Remedy{{Buffer, "give the channel a buffer, so that both ends can work at the same time",
		f.gain(f.load(coldWork), after(p.Unbuffered, p.Buffered, p.Buffered)), byLoad}}
	found.RuledOut = []RuledOut{
		{Shard, "no goroutine waits for the channel's lock."},
		{LowerGOMAXPROCS, "the cores are idle, not contended."},
	}
	return found
}

// inTurns returns the send and the receive that wait in turns while cores idle, or nil.
func (f *facts) inTurns() (from, to *Operation) {
	if !f.passesWhileIdle(transferShare) {
		return nil, nil
	}
	from, to = f.bothPark()
	if from == nil || to == nil || !f.mayMeet(from, to) || from.Parks != nil && to.Parks != nil && oneSided(*from.Parks, *to.Parks) {
		return nil, nil
	}
	return from, to
}

// passesWhileIdle reports whether goroutines wake each other while cores idle, and channels
// take less than a share of the CPU time.
func (f *facts) passesWhileIdle(below float64) bool {
	return f.channelCPU() < below && f.channelCPU() >= turnsShare && f.share(profile.Collecting, profile.Allocating) < collectorShare &&
		f.cores <= (1-idleCores)*f.room() && !f.isStarved() && !f.queuedPs() && !f.noneIdle() && (f.wakeups == nil || *f.wakeups >= busyWakeups*f.room())
}

// inBursts reports whether a trace shows many goroutines ready to run although cores idle: they
// do not idle because goroutines wait for each other.
func (f *facts) inBursts() bool {
	return f.procs > 0 && f.cores <= (1-idleCores)*f.room() && f.readyToRun() >= burstQueue*float64(f.procs)
}

// bursts detects goroutines that queue for cores, although cores idle at other times.
func bursts(f *facts) *Finding {
	from, to := f.bothPark()
	if !f.passesWhileIdle(burstShare) || !f.inBursts() || from == nil || to == nil {
		return nil
	}
	if (f.share(profile.SystemCalls) >= kernelShare || f.writer() != nil) && !f.mayMeet(from, to) {
		return nil // what goroutines do between waits is in the kernel
	}
	found := &Finding{Share: known(1 - f.cores/f.room()), Confidence: Medium}
	found.Text = fmt.Sprintf("The work comes in bursts, so the load may be the limit. In a burst goroutines queue for the cores, "+
		"%s on average; between bursts no work is there, and so %s of %s cores idle or belong to other processes.",
		format.Number(f.readyToRun()), format.Number(f.room()-f.cores), f.roomText())
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s cores in use, channels %s of that", format.Number(f.cores), format.Percent(f.channelCPU())))
	f.addWakeups(found)
	found.RuledOut = []RuledOut{{Buffer, "cores idle when nothing arrives: a buffer saves wake-ups, and gave ×0.9 to ×1.06 of the throughput while senders paused."}}
	found.Next = "raise the load. If the service then takes more, the load is the limit, and no change raises its throughput; -compare shows what a change saves. " +
		"If it does not, observe it under that load"
	if s := f.stageAfterLimit(); s != nil {
		found.Next += f.nextLimit(s)
	}
	return found
}

// oneSided reports whether one end hardly ever waits: that end is the slow one,
// and there is no lockstep.
func oneSided(a, b int64) bool { return min(a, b)*rarely < max(a, b) }

// bothPark returns the send and the receive with the most waits, or nil.
func (f *facts) bothPark() (from, to *Operation) {
	for i := range f.operations {
		o := &f.operations[i]
		parked := waits(o) > 0 || o.wake > 0 && o.Parks == nil
		switch {
		case !parked || o.Weight == 0:
		case sends(o) && (from == nil || waits(o) > waits(from)):
			from = o
		case receives(o) && (to == nil || waits(o) > waits(to)):
			to = o
		}
	}
	return from, to
}
