package doctor

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Skew is the finding that one of several identical goroutines, each with its
// own channel, gets most of the values.
const Skew Kind = "skewed shards"

const (
	// idleShards is the smallest number of idle goroutines beside the busy
	// one, and idleShardsEach their number per busy one.
	idleShards, idleShardsEach = 3, 2
	// skewWorst and skewUsual are the parts of the gain if all shards worked
	// all the time: 0.6 and 0.9 were measured.
	skewWorst, skewUsual = 0.33, 0.58
)

var skewRules = []rule{{
	kind: Skew, look: skewed, instead: []Kind{SlowStage, Downstream, TinyJobs, Lockstep},
	reason: "9 of 10 connections wait to send, while 7 of 8 shards wait to receive at the same line: spreading the " +
		"keys ×7.2, longer queues ×1.0",
}}

// skewed detects senders and receivers that wait at the same time: in one
// channel they cannot, so there are several, and few of them are full.
func skewed(f *facts) *Finding {
	g := f.capture.Goroutines
	if g == nil || !g.StatesKnown || f.capture.CPU == nil || f.avail > 0 && f.cores > 0 && f.used() > 1-idleCores {
		return nil
	}
	for i := range f.operations {
		to := &f.operations[i]
		idle := deref(to.Waiting)
		if idle < idleShards || !receives(to) && to.Op != profile.Select || to.root == "" || ofRuntime(to.root) || f.grows(to.site) {
			continue
		}
		busy, at := f.awayFrom(to)
		from := f.fullBefore(to)
		if busy == 0 || busy*idleShardsEach > idle || from == nil || f.busyElsewhere(from, to) {
			continue
		}
		return f.skewFinding(from, to, idle, busy, at)
	}
	return nil
}

func (f *facts) skewFinding(from, to *Operation, idle, busy int, at *profile.GoroutineSite) *Finding {
	found := &Finding{At: &from.Place, Share: known(1 - f.used()), Confidence: Medium}
	doing := "busy"
	if at != nil {
		doing = "at " + at.At.String()
	}
	found.Text = fmt.Sprintf("Skewed shards: %d of %d goroutines that receive at %s are idle, while %s wait in the %s for the others, which are %s.",
		idle, idle+busy, to.site.At, format.Plural(deref(from.Waiting), "goroutine"), from, doing)
	found.addEvidence(profile.KindGoroutineText, fmt.Sprintf("%s wait to send and %d to receive at the same time: these are several channels, and few of them are full",
		format.Plural(deref(from.Waiting), "goroutine"), idle))
	if f.capture.CPU != nil {
		found.addEvidence(profile.KindCPU, fmt.Sprintf("only %s cores in use", format.Number(f.cores)))
	}
	var gain Range
	for _, s := range f.stages {
		if s.root == to.root && s.work+s.channel >= saturated*float64(busy) { // they compute
			gain = f.gain(f.load(0), stay{1, 1}, s.root)
			gain.Low, gain.Mid = max(gain.Low, gain.High*stageLow), max(gain.Mid, gain.High*stageMid)
		}
	}
	if all := float64(idle+busy) / float64(busy); !gain.known() && at != nil {
		if f.avail > 0 && f.cores > 0 {
			all = min(all, 1/f.used())
		}
		gain = between(max(1, all*skewWorst), all*skewUsual, all)
	}
	found.Remedies = []Remedy{{BalanceKeys, "spread the values over all of these goroutines: another key or hash, several shards for the busiest key, or let idle " +
		"goroutines take from the others' queues; workers.RunKeyed does, and keeps the values of one key in order", gain, "all of these goroutines at work, instead of the busy ones"}}
	seen := slices.ContainsFunc(f.pairs(), func(p profile.Pair) bool {
		return p.Waker == to.site && p.Sleeper == from.site || p.Waker == from.site && p.Sleeper == to.site
	})
	switch {
	case seen:
		found.Confidence = High
	case len(f.pairs()) == 0:
		found.decides(f, "whether these goroutines are at the two ends of the same kind of channel")
	default:
		found.Confidence = Low
	}
	found.RuledOut = []RuledOut{
		{Buffer, "the queue of the busy goroutine is full because it gets most of the values: a longer one drains no faster (measured ×1.0)."},
		{MoreReceivers, fmt.Sprintf("%d of these goroutines are idle already.", idle)},
	}
	return found
}

// awayFrom returns the number of goroutines of the same stage that do not wait
// in an operation, and where most of those wait that wait for something outside.
func (f *facts) awayFrom(o *Operation) (n int, at *profile.GoroutineSite) {
	g := f.capture.Goroutines
	for i := range g.Sites {
		s := &g.Sites[i]
		if s.Root != o.root {
			continue
		}
		if s.Site == o.site || s.At.Function == o.Function && s.Op.Receives() {
			n += s.Runnable
			continue
		}
		n += max(s.Waiting, s.Runnable)
		if s.Waiting+s.Runnable == 0 {
			n += s.In
		}
		if outsideWait(*s) && (at == nil || s.Count() > at.Count()) {
			at = s
		}
	}
	return n, at
}

// fullBefore returns the send, of other goroutines of the same repository, in
// which most wait; at least backedUp of them.
func (f *facts) fullBefore(to *Operation) (most *Operation) {
	for i := range f.operations {
		o := &f.operations[i]
		isSend := o.Op == profile.Send || o.Op == profile.Select && to.Op != profile.Select
		if isSend && o.root != to.root && deref(o.Waiting) >= backedUp && !f.grows(o.site) && !ofRuntime(o.root) &&
			sameRepository(o.Function, to.Function) && (most == nil || deref(o.Waiting) > deref(most.Waiting)) {
			most = o
		}
	}
	return most
}

// busyElsewhere reports whether goroutines of a third stage, that may be the
// receivers of a send, are busy or wait for something outside: then the two
// operations belong to different channels.
func (f *facts) busyElsewhere(from, to *Operation) bool {
	if len(f.pairs()) > 0 {
		return !slices.ContainsFunc(f.pairs(), func(p profile.Pair) bool {
			return p.Waker == to.site && p.Sleeper == from.site || p.Waker == from.site && p.Sleeper == to.site
		})
	}
	third := func(root string) bool {
		return root != "" && root != from.root && root != to.root && root != "main.main" && !ofRuntime(root) && sameRepository(root, to.Function)
	}
	for _, s := range f.stages {
		if third(s.root) && s.n > 0 && s.work+s.channel >= saturated*float64(s.n) {
			return true
		}
	}
	for i := range f.operations {
		o := &f.operations[i]
		if !third(o.root) || !receives(o) && o.Op != profile.Select {
			continue
		}
		if n, at := f.awayFrom(o); n > 0 && at != nil {
			return true
		}
	}
	return false
}
