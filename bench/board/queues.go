package main

import (
	"context"
	"fmt"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/peers"
	"github.com/sluice-go/sluice/bench/workload"
)

// A queue is a contender with a capacity.
type queue struct {
	contender.Contender
	capacity int
}

// cancelable is the context of every call of our kinds: one that can end.
var cancelable, cancel = context.WithCancel(context.Background())

const (
	parks, sleeps, polls = "parks", "sleeps", "polls"
	yes, no              = "yes", "no"
	anybody              = "any time"
	last                 = "last send"
	none                 = "none"
	theContext           = "context"
)

// own returns a row of ours.
func own(name string, c contender.Contender) row {
	return row{name: name, ours: true, waits: parks, ctx: yes, close: anybody, amid: true, what: c}
}

// peer returns a row of another library.
func peer(c contender.Contender, waits, closed string) row {
	return row{name: c.Name, waits: waits, ctx: no, close: closed, note: c.Note, what: c}
}

// native and selecting are the built-in channel, and the same in a select with a context.
// The latter is stopped by that context, as programs do.
func native() row {
	return row{name: "chan", waits: parks, ctx: no, close: last, what: contender.Native(), note: "a send after Close panics"}
}

func selecting() row {
	return row{name: "chan, select ctx.Done", waits: parks, ctx: yes, close: theContext,
		note: "its storm ends with the context, and queued values stay behind", what: contender.NativeSelect(cancelable)}
}

// queueRows returns one list of all queues.
func queueRows() []row {
	oneToOne := &contender.Options{SingleSender: true, SingleReceiver: true}
	return []row{
		{name: nothing},
		native(),
		selecting(),
		own("sluice.Bounded", contender.Bounded(cancelable, nil)),
		own("sluice.Bounded, one to one", contender.Bounded(cancelable, oneToOne)),
		own("sluice.Elastic", contender.Elastic(cancelable, nil)),
		own("sluice.Sharded", contender.Sharded(cancelable)),
		peer(peers.Chanx(), parks, last),
		peer(peers.XsyncUMPSC(), parks, none),
		peer(peers.XsyncMPMC(), polls, none),
		peer(peers.XsyncSPSC(), polls, none),
		peer(peers.LfqSPSC(), sleeps, none),
		peer(peers.LfqMPMC(), sleeps, none),
		peer(peers.LfqMPMCYielding(), polls, none),
		peer(peers.Disruptor(), sleeps, last),
		peer(peers.DisruptorSpinning(), polls, last),
	}
}

// sized gives the rows their capacity, and opens them as sinks.
func sized(rows []row, capacity int) []row {
	for i := range rows {
		r := &rows[i]
		c, ok := r.what.(contender.Contender)
		if !ok {
			continue
		}
		r.what = queue{c, capacity}
		r.open = func(n int, take func(int, uint64)) paced.Sink {
			return paced.Open(c.Make(capacity), n, take)
		}
	}
	return rows
}

// A shape is a number of senders and receivers.
type shape struct{ senders, receivers int }

var shapes = []shape{{1, 1}, {8, 1}, {1, 8}}

// speed returns the columns of nanoseconds per value that is sent one way.
func speed(procs []int, shapes []shape) (columns []column) {
	for _, s := range shapes {
		work := func(q queue) workload.Workload { return workload.OneWay(q.capacity, s.senders, s.receivers) }
		name := fmt.Sprintf("%d->%d", s.senders, s.receivers)
		can := func(r row) bool {
			q, ok := r.what.(queue)
			return ok && work(q).Can(q.Contender) || rustCan(r)
		}
		columns = append(columns, timed(procs, name, can, func(r row, n uint64) (workload.Result, error) {
			q := r.what.(queue)
			return work(q).Run(q.Contender, n)
		})...)
	}
	return columns
}

// queueSections returns the tables of queues: with 128 slots, with 1024, and without any.
func queueSections(procs []int) []section {
	return []section{
		{"queues", append(sized(queueRows(), 128), rustRows("128")...), append(speed(procs, shapes), waiting(1, 1, 10_000)...)},
		{"queues 1024", append(sized(queueRows()[1:], 1024), rustRows("1024")...), speed(procs, shapes)},
		{"no buffer", append(sized([]row{
			{name: nothing}, native(), selecting(),
			own("sluice.Rendezvous", contender.Rendezvous(cancelable, nil)),
			own("sluice.Rendezvous, no context", contender.Rendezvous(context.Background(), nil)),
		}, 0), rustRows("0")...), append(speed(procs, shapes), waiting(1, 1, 10_000)...)},
	}
}

// batchSize is the number of values per call in the section of batches.
const batchSize = 16

// batches compares ways to move many values at once.
func batches(procs []int) section {
	oneToOne := &contender.Options{SingleSender: true, SingleReceiver: true}
	inBatches := func(r row) row {
		r.what = r.what.(contender.Contender).InBatches(batchSize)
		return r
	}
	rows := sized([]row{
		native(), // one value at a time, for comparison
		{name: "chan of slices", waits: parks, ctx: no, close: last, what: contender.NativeSlices(batchSize), note: "allocates each slice"},
		inBatches(own("sluice.Bounded", contender.Bounded(cancelable, nil))),
		inBatches(own("sluice.Bounded, one to one", contender.Bounded(cancelable, oneToOne))),
		inBatches(own("sluice.Elastic", contender.Elastic(cancelable, nil))),
		own("batch.Sender", contender.Batching(cancelable, batchSize)),
		inBatches(peer(peers.Disruptor(), sleeps, last)),
		inBatches(peer(peers.DisruptorSpinning(), polls, last)),
	}, 1024)
	return section{"batches of 16", rows, speed(procs, shapes[:2])}
}

// selects compares a receiver that waits for several queues.
func selects(procs []int) section {
	builtIn, ours := contender.NativeFan(4), contender.Select(4)
	rows := sized([]row{
		{name: "select of 4 chans", waits: parks, ctx: no, close: last, what: builtIn},
		own("sluice.Select of 4", ours),
	}, 128)
	return section{"select", rows, speed(procs, []shape{{4, 1}})}
}

// priorities compares queues whose urgent values overtake: four levels, 128 slots.
func priorities(procs []int) section {
	reference := own("sluice.Bounded", contender.Bounded(cancelable, nil))
	reference.ours, reference.waits, reference.note = false, "", "no priorities, for comparison"
	heap := peer(contender.Heap(), parks, anybody)
	heap.amid, heap.note = true, "under a mutex, with a condition for each side"
	rows := sized([]row{
		{name: nothing}, heap, own("sluice.Priority", contender.Priority(cancelable)), reference,
	}, 128)
	return section{"priority", rows, append(speed(procs, shapes), waiting(1, 1, 10_000)...)}
}
