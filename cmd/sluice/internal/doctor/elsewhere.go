package doctor

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings that are not about channels.
const (
	Collector Kind = "collector"
	SyncMutex Kind = "sync.Mutex"
	PlainCPU  Kind = "plain CPU"
	Kernel    Kind = "system calls"
)

const (
	// collectorShare of CPU time, allocation included. A service bound by it had
	// 0.87, healthy ones 0.05 to 0.25.
	collectorShare = 0.40
	// syncShare of CPU time in package sync.
	syncShare = 0.25
	// syncWaiting is how many goroutines are blocked on package sync on average,
	// for each P. A service bound by a mutex had 13, hot channels count elsewhere.
	syncWaiting = 0.5
	// userShare of CPU time, and busyCores of those there are: a service that is
	// healthy and has much to do.
	userShare = 0.60
	busyCores = 0.70
	// kernelShare of CPU time in system calls and the network.
	kernelShare = 0.35
)

var elsewhereRules = []rule{
	{
		kind: Collector, shares: true, look: collector,
		reason: "collection and allocation 87 %, channels 1 %: it is the collector",
	},
	{
		kind: SyncMutex, look: syncMutex,
		reason: "25 to 29 s/s of mutex wait on 2 Ps is sync.Mutex: of runtime locks it cannot be more than there are Ps",
	},
	{
		kind: Kernel, shares: true, look: kernel,
		reason: "a service that talks much and computes little",
	},
	{
		kind: PlainCPU, shares: true, look: plainCPU,
		reason: "user CPU 99 % is healthy: no remedy gave more than ×1.08",
	},
}

func nothing(why string) []Not { return []Not{{Buffer, why}, {Shard, why}} }

func collector(f *facts) *Finding {
	share := f.share(profile.Collecting, profile.Allocating) - f.collectorForTimers()
	if share < f.limit(collectorShare) {
		return nil
	}
	found := &Finding{Share: known(share * f.used()), Confidence: High}
	found.Text = fmt.Sprintf("The collector and allocation take %s of CPU time.", percent(share))
	found.says(profile.KindCPU, fmt.Sprintf("collector %s, allocation %s, channels %s",
		percent(f.share(profile.Collecting)), percent(f.share(profile.Allocating)), percent(f.channelCPU())))
	if m := f.capture.Metrics; m != nil {
		if n, ok := m.Cycles(); ok && f.metricsWindow() > 0 {
			found.says(profile.KindMetrics, fmt.Sprintf("%s collections a second", number(n/f.metricsWindow())))
		}
	}
	found.Not = nothing(fmt.Sprintf("channels take %s of CPU time. Allocate less, or give the collector more room (GOGC, GOMEMLIMIT).", percent(f.channelCPU())))
	return found
}

// syncMutex needs no CPU time: goroutines that wait use none.
func syncMutex(f *facts) *Finding {
	share, waiting := f.share(profile.Locking), value(f.syncWait)
	procs := max(1, f.procs)
	states := f.blockedOnSync()
	byTime := waiting >= syncWaiting*float64(procs)
	if !byTime && (!f.busy || share < f.limit(syncShare)) {
		return nil
	}
	found := &Finding{Share: known(max(share, 1-f.used()) * min(1, max(share, waiting/float64(procs)))), Confidence: Medium}
	found.Text = "A sync.Mutex is what goroutines wait for."
	if s := f.heldLongest(); s != nil {
		at := place(s.Site)
		found.At = &at
		found.Text = fmt.Sprintf("A sync.Mutex is what goroutines wait for, held until %s.", s.At)
		found.says(profile.KindMutex, fmt.Sprintf("%s of waiting ended there", duration(s.Delay.Seconds())))
		found.Confidence = High
	}
	if f.syncWait != nil {
		text := fmt.Sprintf("%s goroutines blocked on package sync on average (%s)", number(waiting), f.asleepFrom)
		found.says(profile.KindMetrics, text)
	}
	if f.busy {
		found.says(profile.KindCPU, fmt.Sprintf("package sync %s of CPU time, channels %s", percent(share), percent(f.channelCPU())))
	}
	if states > 0 {
		found.says(profile.KindGoroutineText, fmt.Sprintf("%d goroutines wait for a mutex at once", states))
		found.Confidence = High
	}
	found.Not = nothing("it is a mutex of the program that is waited for, not a channel: hold it shorter, split what it guards, or give each goroutine its own.")
	return found
}

// heldLongest is where the sync lock was released that most was waited for.
func (f *facts) heldLongest() *profile.Contention {
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

// blockedOnSync is how many goroutines wait for a mutex by their states.
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

func kernel(f *facts) *Finding {
	share := f.share(profile.SystemCalls)
	if share < f.limit(kernelShare) {
		return nil
	}
	found := &Finding{Share: known(share * f.used()), Confidence: Medium}
	found.Text = fmt.Sprintf("System calls and the network take %s of CPU time.", percent(share))
	found.says(profile.KindCPU, fmt.Sprintf("system calls %s, channels %s", percent(share), percent(f.channelCPU())))
	found.Not = nothing("a channel in front does not make calls cheaper; fewer and larger ones do.")
	return found
}

func plainCPU(f *facts) *Finding {
	share := f.share(profile.UserCode)
	if share < userShare || f.used() < busyCores {
		return nil
	}
	found := &Finding{Share: known(share * f.used()), Confidence: High}
	found.Text = fmt.Sprintf("The program's own code takes %s of CPU time: it computes, and is healthy.", percent(share))
	own := f.inSluice()
	if own >= handOverShare {
		found.Confidence = Low
		found.Text = fmt.Sprintf("The program's own code takes %s of CPU time, sluice's channels in it %s: "+
			"only built-in channels are judged here.", percent(share), percent(own))
	}
	if users := f.capture.CPU.Users; len(users) > 0 {
		found.says(profile.KindCPU, fmt.Sprintf("most of it, %s of CPU time, in %s", percent(users[0].Self.Seconds()/f.cpu), users[0].Function))
	}
	found.says(profile.KindCPU, fmt.Sprintf("channels take %s", percent(f.channelCPU())))
	found.Not = nothing("with so little in channels no change to them gave more than ×1.08.")
	return found
}

// inSluice is the share of CPU time in the channels of this module. They are Go
// code, and in a profile part of the program.
func (f *facts) inSluice() float64 {
	if f.capture.CPU == nil || f.cpu <= 0 {
		return 0
	}
	const module = "github.com/sluice-go/sluice"
	spent := 0.0
	for _, u := range f.capture.CPU.Users {
		pkg := profile.Frame{Function: u.Function}.Package()
		if pkg == module || strings.HasPrefix(pkg, module+"/internal/") {
			spent += u.Self.Seconds()
		}
	}
	return spent / f.cpu
}

// serving reports whether a goroutine waits for connections or requests, which a
// server does when all is well.
func serving(s profile.GoroutineSite) bool {
	for _, frame := range []profile.Frame{s.At, s.Caller, {Function: s.Root}} {
		if strings.HasPrefix(frame.Function, "net/http.") {
			return true
		}
	}
	return strings.Contains(s.CreatedBy.Function, "net/http.")
}
