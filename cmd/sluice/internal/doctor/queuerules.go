package doctor

import (
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
	"github.com/sluice-go/sluice/livepage"
)

// Findings from the counters of the service's own channels, which package livepage
// serves.
const (
	GrowingQueue  Kind = "growing queue"
	DroppedValues Kind = "dropped values"
	NoReceiver    Kind = "no receiver"
	FullCycle     Kind = "cycle of full channels"
)

const (
	// grownValues and grownPart are the growth of a queue in the window that is
	// not chance: values, and a part of the values sent. The queues of healthy
	// pipelines varied by less than 1% of the values sent in five seconds.
	grownValues = 100
	grownPart   = 0.02
	// rests is the part of the time that each receiver of a slow stage waits for
	// a value at most: one of a slow stage waited for less than 1%.
	rests = 0.10
	// droppedPart is the part of the values sent that is dropped, from which on
	// it is a finding.
	droppedPart = 0.01
)

var queueRules = []rule{
	{
		kind: GrowingQueue, look: growingQueue, instead: []Kind{SlowStage, Downstream, Lockstep},
		reason: "a queue that took 4 values for each 3 received: a second receiver ×1.3, a longer queue ×1.0",
	},
	{
		kind: DroppedValues, look: droppedValues, instead: []Kind{SlowStage, Downstream, Lockstep},
		reason: "DropOldest with a receiver at half the speed of the sender: a second receiver ×2.0, more slots ×1.0",
	},
	{
		kind: NoReceiver, look: noReceiver, instead: []Kind{Leak},
		reason: "four senders of a full channel whose receiver had returned: nothing moved in the window",
	},
	{
		kind: FullCycle, look: fullCycle, instead: []Kind{Leak, NoReceiver, SlowStage, Downstream},
		reason: "two stages that send to each other, both channels full: nothing moved in the window",
	},
}

// ofQueue reports whether a finding of kind k blames the receivers of a channel.
func (k Kind) ofQueue() bool { return k == GrowingQueue || k == DroppedValues }

// stuck reports whether findings of kind k mean that goroutines wait forever.
func (k Kind) stuck() bool { return k == Leak || k == NoReceiver || k == FullCycle }

// growingQueue finds the queue that grows most, of those whose receivers never
// wait.
func growingQueue(f *facts) *Finding {
	var most *queue
	for i := range f.queues {
		q := &f.queues[i]
		grown := q.grows() * q.over
		if grown < max(grownValues, grownPart*q.sent*q.over) || !f.busyReceivers(q) || !q.moves() {
			continue
		}
		if most == nil || q.grows()/q.sent > most.grows()/most.sent {
			most = q
		}
	}
	if most == nil {
		return nil
	}
	name := format.Clean(most.Name)
	found := f.queueFinding(most, 1-most.received/most.sent)
	from := ""
	if most.before != nil {
		from = fmt.Sprintf(" (%s to %s values)", format.Count(float64(most.before.Len)), format.Count(float64(most.Len)))
	}
	end := "; it has no limit, so memory ends before the queue does"
	if most.Cap != nil {
		left := float64(*most.Cap-most.Len) / most.grows()
		end = " and is full in " + about(left)
		if left < 1 {
			end = fmt.Sprintf(" and is full now, at %s", format.Count(float64(*most.Cap)))
		}
	}
	found.Text = fmt.Sprintf("%s grows by %s/s%s%s: %s.", name, format.Count(most.grows()), from, end, f.receiversAre(most))
	found.addEvidence(profile.KindFlow, fmt.Sprintf("%s: %s values/s sent, %s received", name, format.Count(most.sent), format.Count(most.received)))
	if most.OldestValue > 0 {
		found.addEvidence(profile.KindFlow, fmt.Sprintf("its oldest value has waited for %s", format.Seconds(most.OldestValue)))
	}
	if most.Cap == nil {
		found.Remedies = append(found.Remedies, Remedy{Limit, fmt.Sprintf("give the %s a limit and an overflow policy: senders then wait, or values are "+
			"dropped, before the process runs out of memory", most.Kind), between(1, 1, 1), "it bounds memory, and does not change throughput"})
	}
	f.moreFor(found, most, most.sent/most.received)
	return found
}

// droppedValues finds the channel that drops most.
func droppedValues(f *facts) *Finding {
	var most *queue
	for i := range f.queues {
		if q := &f.queues[i]; q.dropped > max(1, droppedPart*q.sent) && (most == nil || q.dropped > most.dropped) {
			most = q
		}
	}
	if most == nil {
		return nil
	}
	name := format.Clean(most.Name)
	offered := max(most.sent, most.received+most.dropped)
	found := f.queueFinding(most, most.dropped/offered)
	busy := f.busyReceivers(most)
	found.Text = fmt.Sprintf("%s drops %s values/s, %s of what is sent: %s.", name, format.Count(most.dropped), format.Percent(most.dropped/offered), f.receiversAre(most))
	found.addEvidence(profile.KindFlow, fmt.Sprintf("%s: %s values/s sent, %s received, %s dropped", name, format.Count(most.sent), format.Count(most.received), format.Count(most.dropped)))
	if !busy {
		found.Confidence = Low
		found.Remedies = []Remedy{{Buffer, "give " + name + " more slots: its receiver waits at times, so the values come in bursts", between(1, min(mostGain, offered/max(1, most.received)), min(mostGain, offered/max(1, most.received)*(1+uncertain))),
			"the values sent, at most"}}
		return found
	}
	f.moreFor(found, most, offered/max(1, most.received))
	return found
}

// noReceiver finds a channel whose senders wait while nothing is received.
func noReceiver(f *facts) *Finding {
	var most *queue
	for i := range f.queues {
		q := &f.queues[i]
		if q.before == nil || q.Closed || q.moves() || q.Senders == 0 || q.before.Senders == 0 || len(q.to) > 0 && q.Receivers > 0 {
			continue
		}
		if most == nil || q.Senders > most.Senders {
			most = q
		}
	}
	if most == nil {
		return nil
	}
	name := format.Clean(most.Name)
	found := &Finding{Channels: true, Confidence: High, Share: known(0), channel: most.ID}
	what := "no receiver"
	if to := most.receiver(); to != nil {
		what = format.Clean(to.Name) + " has stopped receiving"
	}
	found.Text = fmt.Sprintf("%s on %s: %s, and nothing was received in %s.", format.Capital(what), name, theyWait(most.Senders, "sender"), about(most.over))
	if len(most.from) > 0 {
		found.At = f.placeOf(most.from[0], profile.Send)
	}
	found.addEvidence(profile.KindFlow, fmt.Sprintf("%s holds %s values, and was sent %s and received %s since it was made", name, format.Count(float64(most.Len)), format.Count(float64(most.Sent)), format.Count(float64(most.Received))))
	found.Remedies = []Remedy{{Cancel, "close " + name + " when its receiver returns, so that senders get sluice.ErrClosed (workers.Run, batch.Receive and fan.In " +
		"do), or send with a context that ends", between(1, 1, 1), "it ends the wait, and does not change throughput"}}
	found.RuledOut = []RuledOut{{Buffer, "nothing receives: more slots are full soon."}}
	return found
}

// fullCycle reports stages that wait for each other.
func fullCycle(f *facts) *Finding {
	b := f.bottleneck()
	if b == nil || b.Kind != "cycle" {
		return nil
	}
	for i := range f.queues {
		if q := &f.queues[i]; q.ID == b.Channel && q.moves() {
			return nil // slow, but not stuck
		}
	}
	found := &Finding{Channels: true, Confidence: High, Share: known(0), channel: b.Channel}
	found.Text = "Stages wait for each other in a cycle: " + strings.TrimSuffix(format.Clean(b.Text), ".") + "."
	for _, s := range f.capture.Flow.Stages {
		if s.ID == b.Stage {
			found.At = f.placeOf(s, profile.Send)
		}
	}
	found.addEvidence(profile.KindFlow, "all channels of the cycle are full, and nothing was received")
	found.Remedies = []Remedy{{Elastic, "let one channel of the cycle grow (sluice.NewElastic, with a limit in values that the cycle never reaches), or send into it " +
		"with TrySend and handle ErrFull", between(1, 1, 1), "it ends the wait, and does not change throughput"}}
	found.RuledOut = []RuledOut{{Buffer, "a cycle of full channels fills any fixed number of slots."}, {MoreReceivers, "all of them would wait for the same cycle."}}
	return found
}

// queueFinding returns a finding about the receivers of q.
func (f *facts) queueFinding(q *queue, lost float64) *Finding {
	found := &Finding{Share: known(min(1, max(0, lost))), Confidence: Medium, channel: q.ID}
	if q.before != nil && f.busyReceivers(q) {
		found.Confidence = High
	}
	if to := q.receiver(); to != nil {
		found.At = f.placeOf(*to, profile.Receive)
		found.addEvidence(profile.KindFlow, f.neighbors(to.ID))
	}
	return found
}

// placeOf returns the place of a stage. A method value has no line on the map:
// its function does.
func (f *facts) placeOf(s livepage.Stage, op profile.Op) *Place {
	at := &Place{Op: op, Function: s.Function, File: s.File, Line: s.Line}
	if path.Base(s.File) == "<autogenerated>" {
		at.File, at.Line = "", 0
	}
	for i := range f.operations { // the line of the operation
		o := &f.operations[i]
		same := o.Op == op || op == profile.Receive && o.Op.Receives()
		if same && o.site.Call != "" && (o.Function == s.Function || o.root == s.Function) {
			at.File, at.Line, at.Op = o.File, o.Line, o.Op
			if o.Function != s.Function {
				at.File, at.Line = "", 0
				at.Caller = profile.Frame{Function: o.Function, File: o.File, Line: o.Line}.String()
			}
			break
		}
	}
	return at
}

// busyReceivers reports whether the receivers of q hardly ever wait for a value.
func (f *facts) busyReceivers(q *queue) bool {
	n := 1
	if to := q.receiver(); to != nil {
		n = max(1, f.crewOf(*to).n)
	}
	return q.receiving <= rests*float64(n) && q.Receivers*2 <= n
}

// receiversAre describes what the receivers of q do: "store, its one receiver,
// is busy all the time".
func (f *facts) receiversAre(q *queue) string {
	to := q.receiver()
	if to == nil {
		return "which function receives is not known"
	}
	c := f.crewOf(*to)
	one := c.n <= 1 && len(q.to) == 1
	who := fmt.Sprintf("%s, its one receiver, is", format.Clean(to.Name))
	if !one {
		who = fmt.Sprintf("its receivers, %s in %s, are", format.Plural(c.n, "goroutine"), format.Clean(to.Name))
		if c.n == 0 {
			who = fmt.Sprintf("its receivers in %s are", format.Clean(to.Name))
		}
	}
	switch {
	case !f.busyReceivers(q):
		return strings.TrimSuffix(strings.TrimSuffix(who, " are"), " is") + waitPart(one, q.receiving/float64(max(1, c.n)))
	case c.waits != nil:
		return fmt.Sprintf("%s busy all the time: mostly %s at %s", who, idling[c.waits.Op], c.waits.At)
	case c.computes():
		return who + " busy all the time: " + format.Number(c.cores) + " cores compute"
	}
	return who + " busy all the time"
}

// idling is what a goroutine does that waits for something else than a channel.
var idling = map[profile.Op]string{profile.Sleep: "asleep", profile.IO: "in I/O", profile.Lock: "waiting for a lock"}

func waitPart(one bool, part float64) string {
	verb := " wait"
	if one {
		verb = " waits"
	}
	return fmt.Sprintf("%s for values %s of the time", verb, format.Percent(min(1, part)))
}

// about writes an estimate, in whole seconds up to two minutes.
func about(seconds float64) string {
	if seconds >= 1 && seconds < 120 {
		return fmt.Sprintf("%.0f s", seconds)
	}
	return format.Seconds(seconds)
}

func theyWait(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " waits"
	}
	return format.Plural(n, noun) + " wait"
}

// moreFor adds the remedy of more receivers. demand is what is sent, as a factor
// of what is received.
func (f *facts) moreFor(found *Finding, q *queue, demand float64) {
	found.RuledOut = append(found.RuledOut,
		RuledOut{Buffer, "a longer queue takes longer to fill, and drains no faster (measured ×1.0)."},
		RuledOut{Shard, "the senders do not wait for a lock: the receivers are slow."})
	to := q.receiver()
	if to == nil {
		return
	}
	c := f.crewOf(*to)
	n := max(1, c.n)
	need := max(n+1, int(math.Ceil(float64(n)*demand)))
	most := min(demand, mostGain)
	if c.computes() && f.avail > 0 {
		others := max(0, f.cores-c.cores)
		room := max(1, (f.avail-others)/max(c.cores, 1.0/mostGain))
		if room < worthIt {
			found.RuledOut = append(found.RuledOut, RuledOut{MoreReceivers, "all cores are in use: less work for each value is the only way."})
			return
		}
		most = min(most, room)
	}
	how := fmt.Sprintf("let a second goroutine receive from %s: that halves what each has to do", format.Clean(q.Name))
	if n > 1 || need > 2 {
		how = fmt.Sprintf("let %d goroutines receive from %s instead of %d", need, format.Clean(q.Name), n)
	}
	how += f.batchesFor(q)
	found.Remedies = append([]Remedy{{MoreReceivers, how, between(1+(most-1)*stageLow, 1+(most-1)*stageMid, most*(1+uncertain)),
		"what is sent, as a multiple of what is received, within the free cores"}}, found.Remedies...)
}

// batchesFor adds the advice of batches to a receiver that waits for something
// else for each value.
func (f *facts) batchesFor(q *queue) string {
	to := q.receiver()
	c := f.crewOf(*to)
	if c.waits == nil || c.waits.Op == profile.Lock {
		return ""
	}
	for i := range f.operations {
		if o := &f.operations[i]; o.Op.Receives() && o.Function == to.Function && strings.Contains(o.site.Call, "Batch") {
			return ""
		}
	}
	return ", or receive several at once (RecvBatch, batch.Receive) and wait once for all"
}
