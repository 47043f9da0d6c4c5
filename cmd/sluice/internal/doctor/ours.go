package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
	"github.com/sluice-go/sluice/livepage"
)

// Operations of this module's channels follow the same rules as those of
// built-in channels. This file has what is known of them in addition: which
// channel an operation uses, by the map, and which call or option a remedy is.

// ours reports whether the operation is one of this module's channels.
func (o *Operation) ours() bool { return o.site.Call != "" }

// by reports whether the operation belongs to a stage of the map.
func (o *Operation) by(s livepage.Stage) bool {
	return o.ours() && (o.Function == s.Function || o.root == s.Function || o.site.Caller.Function == s.Function)
}

// queueOf returns the queue that an operation uses, if the map shows one only.
func (f *facts) queueOf(o *Operation) *queue {
	var only *queue
	for i := range f.queues {
		q := &f.queues[i]
		sending := o.Op.Sends() && slices.ContainsFunc(q.from, o.by)
		receiving := o.Op.Receives() && slices.ContainsFunc(q.to, o.by)
		if !sending && !receiving {
			continue
		}
		if only != nil {
			return nil
		}
		only = q
	}
	return only
}

// mappedPartners pairs a send into a channel on the map with the receives from
// it.
func (f *facts) mappedPartners(s *Operation) (pairs []Partners) {
	q := f.queueOf(s)
	if q == nil {
		return nil
	}
	for i := range f.operations {
		if r := &f.operations[i]; r.Op.Receives() && slices.ContainsFunc(q.to, r.by) {
			pairs = append(pairs, Partners{Sender: s.Place, Receiver: r.Place, Sure: OnMap})
		}
	}
	return pairs
}

// moves reports whether a goroutine that waits in an operation of this module
// waits its turn: values pass through its channel, so it is no leak.
func (f *facts) moves(site profile.Site) bool {
	if site.Call == "" {
		return false
	}
	for i := range f.operations {
		o := &f.operations[i]
		if o.site != site {
			continue
		}
		if q := f.queueOf(o); q != nil {
			return q.moves()
		}
		return value(o.CPU) > 0 || deref(o.Parks) > 0 && value(o.WaitWindow) > 0
	}
	return false
}

// calls are the remedies in the words of this module's channels.
var calls = map[RemedyName]string{
	Batch: "send with SendBatch, or with a batch.NewSender, which collects values and flushes after a linger (the longest a value waits for its " +
		"batch); receive with RecvBatch or batch.Receive",
	Shard:  "make it a sluice.Sharded: a lane for each sender, in order per lane, or per key with SendKey",
	Buffer: "make it a sluice.NewBounded of about 128 slots, if it has fewer",
}

// inOurWords replaces advice about built-in channels by that about this
// module's, where the finding is about one of these.
func (f *Finding) inOurWords(of *facts) {
	o := of.operation(f)
	if o == nil || !o.ours() {
		return
	}
	q := of.queueOf(o)
	for i := range f.Remedies {
		r := &f.Remedies[i]
		how, known := calls[r.Name]
		if !known {
			continue
		}
		r.How = how
		if q != nil {
			r.How = strings.Replace(how, "make it", "make "+format.Clean(q.Name), 1)
		}
	}
	of.poolSize(f)
	batched := strings.Contains(o.site.Call, "Batch")
	f.Remedies = slices.DeleteFunc(f.Remedies, func(r Remedy) bool {
		done := r.Name == Batch && batched || r.Name == Shard && q != nil && q.Kind == "Sharded" || r.Name == Buffer && q != nil && q.Cap != nil && *q.Cap >= manySlots
		if done {
			f.RuledOut = append(f.RuledOut, RuledOut{r.Name, "it does so already."})
		}
		return done
	})
	of.promise(f, q)
}

// poolSize names the argument of a worker pool, whose goroutines receive at the
// line that calls it.
func (f *facts) poolSize(found *Finding) {
	o := f.operation(found)
	i := slices.IndexFunc(found.Remedies, func(r Remedy) bool { return r.Name == MoreReceivers })
	if i < 0 {
		return
	}
	q := f.queueOf(o)
	if q == nil || len(q.to) != 1 {
		return
	}
	for j := range f.operations {
		r := &f.operations[j]
		if r.Op.Receives() && r.by(q.to[0]) && r.Function != q.to[0].Function {
			found.Remedies[i].How = fmt.Sprintf("let more workers run %s: the number of goroutines is an argument at %s", format.Clean(q.to[0].Name),
				profile.Frame{Function: r.Function, File: r.File, Line: r.Line})
		}
	}
}

// manySlots is a number of slots beyond which more of them gave nothing.
const manySlots = 128

// promise suggests a promise of one goroutine at an end, where every snapshot
// has one.
func (f *facts) promise(found *Finding, q *queue) {
	if q == nil || !found.Kind.ofShares() || q.Kind != "Bounded" && q.Kind != "Elastic" {
		return
	}
	var options, who []string
	for _, side := range []struct {
		option string
		stages []livepage.Stage
	}{{"SingleSender", q.from}, {"SingleReceiver", q.to}} {
		if len(side.stages) == 1 {
			if c := f.crewOf(side.stages[0]); c.n == 1 {
				options = append(options, side.option)
				who = append(who, format.Clean(side.stages[0].Name))
			}
		}
	}
	if len(options) == 0 {
		return
	}
	verb := "is the only goroutine seen at its end"
	if len(who) == 2 {
		verb = "are the only goroutines seen at its ends"
	}
	found.Remedies = append(found.Remedies, Remedy{Promise, fmt.Sprintf("set %s in the options of %s: %s %s", format.And(options), format.Clean(q.Name), format.And(who), verb),
		f.gain(f.load(0), stay{1, promised}), "the measured cost of a value with and without the promises"})
}

// promised is the part of a value's cost that remained with both promises: 17.5 of
// 28.4 ns on one P, 11.4 of 18.5 ns on two.
const promised = 0.6
