package doctor

import (
	"fmt"
	"math"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Dropping is the finding that sends give up when the channel is full.
const Dropping Kind = "dropping"

// A send that finds the channel full wakes nothing, and no goroutine waits. So a
// service that drops its values looks idle: the signs are CPU samples in sends
// that never wake a receiver, while no receiver waits. A queue whose receivers
// never wait is full sooner or later.
const (
	// shedSamples is the smallest number of CPU samples in such a send. A failed
	// attempt costs a few nanoseconds, so each sample is more than a hundred
	// thousand values.
	shedSamples = 3
	// shedSure is the number of samples for which that is no chance.
	shedSure = 10
)

var shedRules = []rule{{
	kind: Dropping, look: dropping,
	reason: "load shedding is deliberate, and blocking would defeat it: reported without a remedy; a queue that lost a third of its values " +
		"used a tenth of a core, 8 samples of it in the send",
}}

func dropping(f *facts) *Finding {
	o, share := f.pollCost(profile.PollSend)
	if o == nil {
		return nil
	}
	found := &Finding{At: &o.Place, Share: known(share * f.used()), Confidence: Low}
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in sends with default", format.Percent(share)))
	found.RuledOut = []RuledOut{
		{Block, "without the default case the loop blocks and runs at the receiver's pace: right only if no " +
			"value may be dropped."},
		{Buffer, "a buffer of any size stays full if the receiver is slower."},
	}
	if f.loaded && !f.light && share >= f.limit(pollShare) {
		found.Channels = true
		found.Text = fmt.Sprintf("A loop sends without blocking, and drops or retries what does not fit: %s. %s", o, lookAtDrops)
		return found
	}
	to, gives := f.givesUp(o)
	if !gives {
		return nil
	}
	samples := f.samples(o)
	if samples >= shedSure {
		found.Confidence = Medium
	}
	found.Text = fmt.Sprintf("Sends give up when the channel is full, and its receivers never wait, so that it fills: %s. %s", o, lookAtDrops)
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%.0f samples in this send, and none of them wakes a receiver", samples))
	found.addEvidence(profile.KindGoroutine, fmt.Sprintf("no goroutine waits in the %s", to))
	if out := f.outsideOf(to); out != nil {
		found.addEvidence(profile.KindGoroutine, fmt.Sprintf("the receivers wait at the %s", out.Site))
		// A profile shows no values that were lost, so the gain has no figure.
		found.Remedies = []Remedy{{MoreReceivers, fmt.Sprintf("let more goroutines receive, so that several can be in the %s at the same time", out.Site), Range{}, ""}}
	}
	return found
}

// lookAtDrops is the advice about sends that give up.
const lookAtDrops = "Such values are lost, unless the default case keeps them: look at the counter of drops, or add one."

// samples returns the number of CPU samples in an operation.
func (f *facts) samples(o *Operation) float64 { return math.Round(value(o.CPU) / f.period()) }

// givesUp reports whether a send with default seems to find its channel full, and
// returns the receive that may belong to it.
func (f *facts) givesUp(o *Operation) (to *Operation, yes bool) {
	g := f.capture.Goroutines
	if g == nil || !g.StatesKnown || f.samples(o) < shedSamples || o.wake > 0 || f.loaded && !f.light && f.channelCPU() >= transferShare {
		return nil, false
	}
	for i := range f.operations {
		r := &f.operations[i]
		if sends(r) || !faces(o, r) || f.related(o, r) || !sameRepository(o.Function, r.Function) || r.Function == "main.main" {
			continue
		}
		if r.Op == profile.Select && value(r.CPU) == 0 || !f.mayMeet(o, r) && len(f.pairs()) > 0 && waits(r) > 0 {
			continue // it has nothing to do with this send
		}
		if deref(r.Waiting) > 0 || f.earlier(r) > 0 {
			return nil, false // a receiver waits or waited: the channel was empty
		}
		if to == nil {
			to = r
		}
	}
	return to, to != nil && !slices.ContainsFunc(f.pairs(), func(p profile.Pair) bool { return p.Waker == o.site })
}

// earlier returns the number of goroutines that were in an operation at the start
// of the window, 0 if unknown.
func (f *facts) earlier(o *Operation) (n int) {
	for _, s := range f.capture.Goroutines.Sites {
		if s.Site == o.site {
			n += s.Earlier
		}
	}
	return n
}

// outsideOf returns where the goroutines of a receive wait for I/O, or nil.
func (f *facts) outsideOf(r *Operation) *profile.GoroutineSite {
	for _, root := range r.roots {
		if out := f.waitsOutside(root); out != nil {
			return out
		}
	}
	return nil
}
