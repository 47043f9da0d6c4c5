package doctor

import (
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// A trace shows who waits for whom: goroutines of a stage that wait for a disk or the
// network most of the time and hardly ever for a value, and senders that wait until one
// of them receives. The stages in front of such a stage wait for each other as well, and
// none of them is the limit.

const (
	// outsidePart is the smallest part of the time of a stage's goroutines in one wait
	// for I/O: an archive that synced after 8 values had 0.87 to 0.96, four of them 0.6.
	outsidePart = 0.50
	// sentPart is the smallest part of the trace for which a goroutine waits to send to
	// it: that archive's dispatcher had 0.86, and 0.4 with one sync for 64 values.
	sentPart = 0.20
	// syncsWorst is the part of the time in syncs that remains if twice as many values
	// share one: a sync of more values takes longer; 1024 slots instead of 128 gained
	// ×1.3. syncCost is the part of the system calls' CPU time that goes with the others.
	syncsWorst, syncCost = 0.7, 0.9
)

// A heldBack is a wait for I/O that holds senders back.
type heldBack struct {
	at   profile.Site // of the wait
	root string       // start function of its goroutines
	n    int          // goroutines
	part float64      // of their time
	send profile.Site
	sent float64 // goroutines that wait in send, on average
	sync bool    // it is a sync of a file
}

// mostOutside returns the wait for I/O with the longest waits of its senders, or nil.
func (f *facts) mostOutside() *heldBack {
	t := f.wakeTrace()
	if t == nil || t.Window <= 0 || f.capture.CPU == nil || f.procs == 0 || f.cores > (1-idleCores)*float64(f.procs) {
		return nil
	}
	var most *heldBack
	for _, s := range t.Sites {
		if s.Op != profile.IO || serving(profile.GoroutineSite{Site: s.Site}) {
			continue
		}
		stage := f.stageIn(t, s.Site)
		if stage == nil || ofRuntime(stage.Root) || ofNetwork(stage.Root) || s.Waited > stage.Waiting { // several stages wait there
			continue
		}
		all := float64(stage.Count) * t.Window.Seconds()
		if s.Waited.Seconds() < outsidePart*all || (stage.Waiting-s.Waited).Seconds() > rests*all {
			continue // it has little I/O, or waits for values
		}
		send, sent := f.sentTo(t, stage)
		if sent >= sentPart && (most == nil || sent > most.sent) {
			most = &heldBack{at: s.Site, root: stage.Root, n: stage.Count, part: min(1, s.Waited.Seconds()/all), send: send, sent: sent, sync: s.Sync}
		}
	}
	return most
}

// sentTo returns the send with the longest waits of those that a stage ends, and how many
// goroutines wait in it on average.
func (f *facts) sentTo(t *profile.Trace, stage *profile.Stage) (send profile.Site, sent float64) {
	for _, s := range t.Sites {
		if s.Op != profile.Send || s.Waited.Seconds() <= sent*t.Window.Seconds() {
			continue
		}
		its, others := int64(0), int64(0)
		for _, p := range t.Pairs {
			switch {
			case p.Sleeper != s.Site:
			case (p.Waker.Op.Receives() || p.Waker.Op == profile.Select) && f.stageIn(t, p.Waker) == stage:
				its += p.Count
			default:
				others += p.Count
			}
		}
		if its > others {
			send, sent = s.Site, s.Waited.Seconds()/t.Window.Seconds()
		}
	}
	return send, sent
}

// mostSyncs returns the start function whose goroutines spend most CPU time in syncs of
// files, and its part of all CPU time.
func (f *facts) mostSyncs() (root string, part float64) {
	for _, s := range f.capture.CPU.Stages {
		if of := s.Syncs.Seconds() / f.cpu; of > part {
			root, part = s.Root, of
		}
	}
	return root, part
}

// stageIn returns the stage whose goroutines wait at a site of a trace, or nil. The
// goroutine profiles have its start function; or else it is the site's own or its
// caller's.
func (f *facts) stageIn(t *profile.Trace, at profile.Site) *profile.Stage {
	if g := f.capture.Goroutines; g != nil {
		for _, s := range g.Sites {
			if s.Site == at && s.Root != "" {
				if i := slices.IndexFunc(t.Stages, func(in profile.Stage) bool { return in.Root == s.Root && in.Count > 0 }); i >= 0 {
					return &t.Stages[i]
				}
			}
		}
	}
	return stageOf(t, at)
}

// outsideByTrace returns a finding about the wait that holds most back, or nil.
func (f *facts) outsideByTrace() *Finding {
	w := f.mostOutside()
	if w == nil {
		return nil
	}
	t := f.wakeTrace()
	o := f.operationAt(w.send)
	found := &Finding{At: &o.Place, Share: known(1 - f.used()), Confidence: High}
	who, what := "receiver behind %s is", "I/O"
	if w.n > 1 {
		who = format.Count(float64(w.n)) + " receivers behind %s are"
	}
	if w.sync {
		what = "a sync of a file"
	}
	found.Text = fmt.Sprintf("Slow downstream I/O: the "+who+" in %s for %s of the time (%s), while senders wait and cores are idle.", o, what, format.Percent(w.part), w.at.At)
	from := profile.KindGlimpse
	if t == f.capture.Trace {
		from = profile.KindTrace
	}
	found.addEvidence(from, fmt.Sprintf("%s of the time in this wait: %s of %s", format.Percent(w.part), format.Plural(w.n, "goroutine"), profile.Frame{Function: w.root}))
	found.addEvidence(from, fmt.Sprintf("in %s, %s of the goroutines that send wait on average, until one of these receives", w.send, format.Number(w.sent)))
	found.addEvidence(profile.KindCPU, fmt.Sprintf("only %s of %s cores in use", format.Number(f.cores), f.roomText()))
	found.RuledOut = []RuledOut{{Buffer, "the channel is full because its receiver is slow: more slots alone drain it no faster (measured ×0.7 to ×1.0)."}}
	if w.sync {
		f.syncRemedies(found, w)
	} else {
		found.Remedies = []Remedy{f.moreReceivers()}
	}
	return found
}

// diskReceivers is the number of receivers with files of their own from which on one disk
// takes no more: two gained ×1.15 to ×1.5, four ×1.4 to ×1.75, and eight the same.
const diskReceivers = 4

// syncRemedies adds the remedies of a wait for syncs.
func (f *facts) syncRemedies(found *Finding, w *heldBack) {
	found.Remedies = []Remedy{{Batch, "if any number of values may share a sync: receive all that are in the channel, write them, and sync once " +
		"(group commit). A value counts as stored after that sync. The slots of the channel are the largest batch. Low end of the range: " +
		"twice as many values for each sync as now; high end: hundreds", f.fewerSyncs(w),
		"the part of the time in the sync, within the cores without its system calls and channel operations"}}
	if w.n >= diskReceivers {
		found.RuledOut = append(found.RuledOut, RuledOut{MoreReceivers, "four receivers with a file each are as fast as one disk gets (measured: eight ×1.0 of four)."})
		return
	}
	found.Remedies = append(found.Remedies, Remedy{MoreReceivers, "if a rule limits the values for each sync: write four files, with a receiver for each",
		between(1, 1.5, 2), "four files on one disk (measured ×1.4 to ×1.75)"})
}

// fewerSyncs predicts the throughput of a stage whose values share syncs.
func (f *facts) fewerSyncs(w *heldBack) Range {
	room := float64(f.procs) / max(f.cores*(1-syncCost*f.share(profile.SystemCalls)-f.channelCPU()), 1.0/mostGain)
	high := min(1/(1-min(w.part, 1-1.0/mostGain)), room, mostGain)
	low := min(1/(1-w.part*(1-syncsWorst)), high)
	return between(low, math.Sqrt(low*high), high)
}
