package doctor

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about bottlenecks other than channels.
const (
	GarbageCollection Kind = "garbage collection"
	SyncMutex         Kind = "sync.Mutex"
	CPUBound          Kind = "CPU bound"
	SystemCallBound   Kind = "system calls"
)

const (
	// collectorShare is a share of CPU time, including allocation. Services bound by
	// it had 0.58 to 0.87, others, with another remedy, up to 0.43.
	collectorShare = 0.50
	// syncShare is a share of CPU time in package sync.
	syncShare = 0.25
	// syncWaiting is the mean number of goroutines blocked on package sync, per
	// P. A service bound by a mutex had 13.
	syncWaiting = 0.5
	// lockRoom is the part of the cores that is idle or in package sync below
	// which its locks limit nothing: goroutines queue for them because the cores
	// are busy. Two services that compute had 0.11 and 0.16, and up to 21
	// goroutines in a lock; ones bound by a mutex 0.44 and more.
	lockRoom = 0.25
	// userShare is a share of CPU time, and busyCores a part of the cores: a
	// healthy, busy service exceeds both.
	userShare = 0.60
	busyCores = 0.70
	// kernelShare is a share of CPU time in system calls and the network.
	kernelShare = 0.35
)

var elsewhereRules = []rule{
	{
		kind: GarbageCollection, shares: true, look: garbageCollection,
		reason: "collection and allocation 87%, channels 1%: garbage collection is the bottleneck",
	},
	{
		kind: SyncMutex, look: syncMutex, instead: []Kind{CPUBound},
		reason: "25 to 29 s/s of mutex wait on 2 Ps must be sync.Mutex: runtime locks cannot exceed the number of Ps",
	},
	{
		kind: SystemCallBound, shares: true, look: systemCalls,
		reason: "a service with much I/O and little computation",
	},
	{
		kind: CPUBound, shares: true, look: cpuBound,
		reason: "user CPU of 99% is healthy: no remedy gave more than ×1.08",
	},
}

func noChannelRemedy(why string) []RuledOut { return []RuledOut{{Buffer, why}, {Shard, why}} }

func garbageCollection(f *facts) *Finding {
	share := f.share(profile.Collecting, profile.Allocating) - f.collectorForTimers()
	if share < f.limit(collectorShare) {
		return nil
	}
	found := &Finding{Share: known(share * f.used()), Confidence: High}
	found.Text = fmt.Sprintf("Garbage collection and allocation take %s of CPU time.", format.Percent(share))
	found.addEvidence(profile.KindCPU, fmt.Sprintf("garbage collection %s, allocation %s, channels %s",
		format.Percent(f.share(profile.Collecting)), format.Percent(f.share(profile.Allocating)), format.Percent(f.channelCPU())))
	if m := f.capture.Metrics; m != nil {
		if n, ok := m.Cycles(); ok && f.metricsWindow() > 0 {
			found.addEvidence(profile.KindMetrics, fmt.Sprintf("%s collections per second", format.Number(n/f.metricsWindow())))
		}
	}
	f.reuseSlices(found)
	found.RuledOut = noChannelRemedy(fmt.Sprintf("channels take %s of CPU time. Allocate less, or give the collector more memory (GOGC, GOMEMLIMIT).", format.Percent(f.channelCPU())))
	return found
}

// syncMutex needs no CPU shares: waiting goroutines use no CPU.
func syncMutex(f *facts) *Finding {
	share, waiting := f.share(profile.Locking), value(f.syncWait)
	procs := max(1, f.procs)
	states := f.blockedOnSync()
	byTime := waiting >= syncWaiting*float64(procs)
	if !byTime && (!f.busy || share < f.limit(syncShare)) || f.busyBesideLocks() {
		return nil
	}
	found := &Finding{Share: known(max(share, 1-f.used()) * min(1, max(share, waiting/float64(procs)))), Confidence: Medium}
	found.Text = "Lock contention on a sync.Mutex."
	if s := f.mostContended(); s != nil {
		at := place(s.Site)
		found.At = &at
		found.Text = fmt.Sprintf("Lock contention on a sync.Mutex, which is released at %s.", s.At)
		found.addEvidence(profile.KindMutex, fmt.Sprintf("%s of waiting ended there", format.Seconds(s.Delay.Seconds())))
		found.Confidence = High
	} else if q := f.lockQueue(); q != nil {
		at := place(q.Site)
		found.At = &at
		found.Text = fmt.Sprintf("Lock contention on a sync.Mutex: goroutines wait to lock it at %s.", q.At)
	}
	if f.syncWait != nil && f.metricsWindow() > 0 {
		text := fmt.Sprintf("%s goroutines are blocked on package sync on average (%s)", format.Number(waiting), f.asleepFrom)
		found.addEvidence(profile.KindMetrics, text)
	}
	if f.busy {
		found.addEvidence(profile.KindCPU, fmt.Sprintf("package sync %s of CPU time, channels %s", format.Percent(share), format.Percent(f.channelCPU())))
	}
	if f.syncWait != nil && f.metricsWindow() == 0 {
		from, many := profile.KindGoroutine, "at least %s goroutines wait for it, %s"
		if f.glimpsedLocks() == waiting {
			from, many = profile.KindGlimpse, "%s goroutines wait for it on average, %s"
		}
		found.addEvidence(from, fmt.Sprintf(many, format.Number(waiting), f.asleepFrom))
	}
	if states > 0 {
		found.addEvidence(profile.KindGoroutineText, format.Plural(states, "goroutine")+" in the state of waiting for a mutex")
		found.Confidence = High
	}
	f.lockedPool(found, f.lockQueue())
	found.RuledOut = noChannelRemedy("goroutines wait for a mutex, not for a channel: hold it for less time, split what it guards, " +
		"or give each goroutine its own.")
	return found
}

// busyBesideLocks reports whether the cores are so busy outside package sync that
// its locks limit nothing.
func (f *facts) busyBesideLocks() bool {
	if !f.busy || f.avail == 0 || f.window == 0 {
		return false
	}
	return 1-f.used()+f.share(profile.Locking)*f.used() < lockRoom
}

// mostContended returns the site that released the sync lock with the longest
// total wait.
func (f *facts) mostContended() *profile.Contention {
	if f.capture.Mutex == nil {
		return nil
	}
	for i := range f.capture.Mutex.Sites {
		if s := &f.capture.Mutex.Sites[i]; !s.Op.Channel() && s.Delay > 0 {
			return s
		}
	}
	return nil
}

// blockedOnSync returns the number of goroutines in a mutex wait state.
func (f *facts) blockedOnSync() int {
	n := 0
	if g := f.capture.Goroutines; g != nil {
		for state, many := range g.States {
			if strings.HasPrefix(state, "sync.Mutex") || strings.HasPrefix(state, "sync.RWMutex") {
				n += many
			}
		}
	}
	return n
}

func systemCalls(f *facts) *Finding {
	share := f.share(profile.SystemCalls)
	wire := f.overWire()
	if share < f.limit(kernelShare) && f.writer() == nil && !wire {
		return nil
	}
	found := &Finding{Share: known(share * f.used()), Confidence: Medium}
	found.Text = fmt.Sprintf("System calls and the network take %s of CPU time.", format.Percent(share))
	found.addEvidence(profile.KindCPU, fmt.Sprintf("system calls %s, channels %s", format.Percent(share), format.Percent(f.channelCPU())))
	found.RuledOut = noChannelRemedy("a channel does not make system calls cheaper; fewer and larger calls do.")
	if wire {
		found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of %d cores in use, much of it for reading and writing connections, whose other ends may have the other cores",
			format.Number(f.cores), f.procs))
	}
	if root, part := f.mostSyncs(); part > 0 && part >= share/2 {
		found.Text = fmt.Sprintf("System calls take %s of CPU time, syncs of files in %s %s.", format.Percent(share), profile.Frame{Function: root}, format.Percent(part))
		found.Next = "let more values share a sync of a file, if a value may count as stored later: a sync takes as long for one as for many"
		return found
	}
	f.writeSeveral(found)
	if found.leads = share < f.limit(kernelShare) && !wire; found.leads && lacksValues(f, found) != "" { // it leads by its remedy
		return nil
	}
	return found
}

func cpuBound(f *facts) *Finding {
	share, most := f.share(profile.UserCode), "with so little time in channels, no change to them gave more than ×1.08."
	used := f.used()
	if f.inPassing() {
		share, used = f.ownShare(), 1
		most = "goroutines compute and hardly wait for each other: copying and collecting slices of values cost as much as channels that take a fifth to a third of CPU time (measured ×0.93 to ×1.06)."
	}
	if share < userShare || used < busyCores {
		return nil
	}
	found := &Finding{Share: known(share * f.used()), Confidence: High}
	found.Text = fmt.Sprintf("CPU bound: the program's own code takes %s of CPU time, which is healthy.", format.Percent(share))
	if f.avail == 0 {
		found.Confidence = Low
		found.Text = fmt.Sprintf("The program's own code takes %s of CPU time. Whether it could use more cores than %s is unknown.",
			format.Percent(share), format.Number(f.cores))
	}
	if f.inPassing() {
		found.Confidence = Medium
		found.Text = fmt.Sprintf("CPU bound: the program's own code, and the memory that it allocates, take %s of CPU time, which is healthy.", format.Percent(share))
		found.RuledOut = append(found.RuledOut, RuledOut{Batch, most})
	}
	if users := f.capture.CPU.Users; len(users) > 0 {
		found.addEvidence(profile.KindCPU, fmt.Sprintf("the largest part, %s of CPU time, in %s", format.Percent(users[0].Self.Seconds()/f.cpu), users[0].Function))
	}
	found.addEvidence(profile.KindCPU, fmt.Sprintf("channels take %s", format.Percent(f.channelCPU())))
	found.RuledOut = append(noChannelRemedy(most), found.RuledOut...)
	if h := f.hop(busyHopWork); h != nil && f.inPassing() {
		found.Next = fmt.Sprintf("make the code itself cheaper, give it more cores, or remove a hop: %s, for %s of CPU time; %s can do that itself",
			h, format.Percent((h.stage.work+h.stage.channel)/f.cores), profile.Frame{Function: h.from.Function})
	}
	return found
}

// serving reports whether a goroutine waits for connections or requests, as in
// any healthy server.
func serving(s profile.GoroutineSite) bool {
	for _, frame := range []profile.Frame{s.At, s.Caller, {Function: s.Root}} {
		if strings.HasPrefix(frame.Function, "net/http.") {
			return true
		}
	}
	return strings.Contains(s.CreatedBy.Function, "net/http.")
}
