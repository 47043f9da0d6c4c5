package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
)

// A row is one figure of the table per GOMAXPROCS: ours against a reference on
// one workload.
type row struct {
	name        string
	work        workload.Workload
	ours        contender.Contender
	reference   contender.Contender
	refWork     workload.Workload // the same work, with the reference's capacity
	floor, goal float64           // for reference/ours in ns per item, at GOMAXPROCS=2
	wide        bool              // the floor also applies at GOMAXPROCS=8
	elsewhere   float64           // the floor at any other GOMAXPROCS; 0 means 1
}

func (r row) String() string { return r.name + " " + r.work.Name }

// floorAt returns the minimum ratio at a GOMAXPROCS. Except at 2, and at 8 for
// wide rows, ours must only not be slower, unless the row says otherwise.
func (r row) floorAt(procs int) float64 {
	if procs == 2 || procs == 8 && r.wide {
		return r.floor
	}
	return cmp.Or(r.elsewhere, 1)
}

// shapes are the one-way workloads: senders and receivers.
var shapes = [4][2]int{{1, 1}, {8, 1}, {1, 10}, {8, 8}}

// A target is a floor with its goal.
type target struct{ floor, goal float64 }

// elasticStandIn is the capacity of the native chan that stands in for a
// channel without a limit.
const elasticStandIn = 1024

// oneWay returns the rows of the one-way workloads, one per target.
func oneWay(name string, capacity, refCapacity int, ours, reference contender.Contender, targets ...target) []row {
	var rows []row
	for i, t := range targets {
		senders, receivers := shapes[i][0], shapes[i][1]
		rows = append(rows, row{
			name:      name,
			work:      workload.OneWay(capacity, senders, receivers),
			ours:      ours,
			reference: reference,
			refWork:   workload.OneWay(refCapacity, senders, receivers),
			floor:     t.floor,
			goal:      t.goal,
		})
	}
	return rows
}

// elsewhere sets the floor of rows where it is not set.
func elsewhere(floor float64, rows []row) []row {
	for i := range rows {
		rows[i].elsewhere = floor
	}
	return rows
}

// wide sets the floor of rows at every GOMAXPROCS.
func wide(floor float64, rows []row) []row {
	for i := range rows {
		rows[i].floor, rows[i].elsewhere, rows[i].wide = floor, floor, true
	}
	return rows
}

// fewSlots returns the rows of the one-way workloads for each capacity, against a built-in
// chan of the same capacity. name is a format.
func fewSlots(name string, ours, reference contender.Contender, t target, capacities ...int) (rows []row) {
	for _, n := range capacities {
		rows = append(rows, oneWay(fmt.Sprintf(name, n), n, n, ours, reference, t, t, t, t)...)
	}
	return rows
}

// manySenders returns the rows with the shapes that lanes are designed for.
func manySenders(name string, capacity int, ours, reference contender.Contender, to1, toMany target) []row {
	rows := oneWay(name, capacity, elasticStandIn, ours, reference, target{}, to1, target{}, toMany)
	rows = []row{rows[1], rows[3]}
	rows[0].wide, rows[1].wide = true, true
	return rows
}

// batched makes ours work in batches; the reference still works one by one.
func batched(rows []row) []row {
	for i := range rows {
		w := rows[i].work
		rows[i].work = workload.OneWayBatches(w.Capacity, w.Senders, w.Receivers)
	}
	return rows
}

// fan returns the row of n senders, each with its own channel, and one receiver
// that selects over all.
func fan(name string, n, capacity int, t target) []row {
	w := workload.OneWay(capacity, n, 1)
	return []row{{
		name: name, work: w, ours: contender.Select(n),
		reference: contender.NativeFan(n), refWork: w, floor: t.floor, goal: t.goal,
	}}
}

// jobLengths are the durations of the jobs in the rows about workers.
var jobLengths = [3]time.Duration{100 * time.Nanosecond, time.Microsecond, 100 * time.Microsecond}

// workersOf returns the rows of jobs for three workers, for each length, sent
// one by one and in batches: workers.Run on a Bounded of 1024 slots against
// goroutines that range over a built-in chan of refCapacity.
func workersOf(name string, refCapacity int, ours, reference contender.Contender, targets ...target) []row {
	const capacity, workers = 1024, 3
	var rows []row
	for i, t := range targets {
		for _, job := range []func(int, int, time.Duration) workload.Workload{workload.Jobs, workload.JobsInBatches} {
			rows = append(rows, row{
				name:      name,
				work:      job(capacity, workers, jobLengths[i]),
				ours:      ours,
				reference: reference,
				refWork:   workload.Jobs(refCapacity, workers, jobLengths[i]),
				floor:     t.floor,
				goal:      t.goal,
			})
		}
	}
	return rows
}

// sameWork lets the reference work as ours does, batches included.
func sameWork(rows []row) []row {
	for i := range rows {
		rows[i].refWork = rows[i].work
	}
	return rows
}

// table returns all rows. work is the context of the cancelable ones.
func table(work context.Context) []row {
	var (
		background = context.Background()
		native     = contender.Native()
		selecting  = contender.NativeSelect(work)
		rendezvous = contender.Rendezvous(background, nil)
		bounded    = contender.Bounded(background, nil)
		oneToOne   = contender.Bounded(background, &contender.Options{SingleSender: true, SingleReceiver: true})
		elastic    = contender.Elastic(background, nil)
		ranked     = contender.Priority(background)
		batcher    = contender.Batching(background, workload.BatchSize, 0)
		lingering  = contender.Batching(background, workload.BatchSize, time.Millisecond)
		// Without shrinking it is at its fastest (70 ns against 80-100 with
		// ShrinkHalf, Go 1.26, 2 cores): the harder reference.
		published = contender.Published{
			Pump:       contender.Flushing,
			Shrink:     contender.PublishedNoShrink,
			SendBuffer: contender.PublishedBuffer,
			RecvBuffer: contender.PublishedBuffer,
		}.Contender()
		few         = target{1.3, 2} // cancelable, with at most eight slots
		level       = 0.95           // with at most eight slots: each value waits, as in a built-in chan
		cancellable = []target{{3, 5}, {3, 5}, {3, 5}, {2, 4}}
	)
	groups := [][]row{
		elsewhere(level, oneWay("Rendezvous", 0, 0, rendezvous, native, target{1, 1.4}, target{1.1, 2}, target{1.7, 3}, target{1, 1.5})),
		elsewhere(level, oneWay("Bounded 1", 1, 1, bounded, native, target{1.1, 1.4}, target{1.3, 2}, target{1.3, 2}, target{1, 1.5})),
		elsewhere(level, fewSlots("Bounded %d", bounded, native, target{level, 1.2}, 2, 4, 8)),
		oneWay("Bounded 128", 128, 128, bounded, native, target{2, 3}, target{2.2, 3}, target{2.2, 3}, target{1.1, 2}),
		oneWay("Bounded 1024", 1024, 1024, bounded, native, target{1.5, 2.5}, target{1.8, 3}, target{1.8, 3}, target{1, 2}),
		oneWay("Bounded 1024 one to one", 1024, 1024, oneToOne, native, target{2.5, 6}),
		oneWay("Elastic", 0, elasticStandIn, elastic, native, target{2.5, 3.5}, target{2.5, 4}, target{2.5, 4}, target{1.8, 3}),
		batched(oneWay("Elastic", 0, elasticStandIn, elastic, native, target{15, 25}, target{12, 25}, target{12, 25}, target{12, 25})),
		oneWay("batch.Sender 64", 1024, 1024, batcher, native, target{5, 10}, target{5, 10}),
		oneWay("batch.Sender 64 and batch.Receive, linger", 1024, 1024, lingering, native, target{2, 4}, target{2, 4}),
		{{
			name: "Rendezvous", work: workload.PingPong(0), ours: rendezvous,
			reference: native, refWork: workload.PingPong(0), floor: 1.05, goal: 1.4,
		}},
		elsewhere(few.floor, oneWay("ctx Rendezvous", 0, 0, contender.Rendezvous(work, nil), selecting, few, few, few, few)),
		elsewhere(few.floor, oneWay("ctx Bounded 1", 1, 1, contender.Bounded(work, nil), selecting, cancellable...)),
		elsewhere(few.floor, fewSlots("ctx Bounded %d", contender.Bounded(work, nil), selecting, few, 2, 4, 8)),
		oneWay("ctx Bounded 128", 128, 128, contender.Bounded(work, nil), selecting, cancellable...),
		oneWay("ctx Bounded 1024", 1024, 1024, contender.Bounded(work, nil), selecting, cancellable...),
		oneWay("ctx Elastic", 0, elasticStandIn, contender.Elastic(work, nil), selecting, cancellable...),
		oneWay("Elastic against pump", 0, 0, elastic, published, target{5, 7}, target{5, 7}, target{4, 6}, target{4, 6}),
		manySenders("Sharded lanes 1024", 1024, contender.ShardedLanes(background, nil), native, target{5, 10}, target{5, 10}),
		manySenders("Sharded", 0, contender.Sharded(background, nil), native, target{2, 3}, target{1.5, 3}),
		manySenders("Sharded 1024", 1024, contender.ShardedBounded(background, nil), native, target{1, 2}, target{1, 2}),
		manySenders("Sharded keys", 0, contender.ShardedKeys(background, nil), native, target{1, 2}, target{1, 2}),
		wide(0.7, oneWay("Priority 128 against Bounded", 128, 128, ranked, bounded, target{0.7, 1}, target{0.7, 1}, target{0.7, 1}, target{0.7, 1})),
		wide(0.7, oneWay("Priority 1024 against Bounded", 1024, 1024, ranked, bounded, target{0.7, 1}, target{0.7, 1}, target{0.7, 1}, target{0.7, 1})),
		wide(3, oneWay("Priority 128 against heap", 128, 128, ranked, contender.Heap(), target{3, 4}, target{3, 4}, target{3, 4}, target{3, 4})),
		wide(3, oneWay("Priority 1024 against heap", 1024, 1024, ranked, contender.Heap(), target{3, 4}, target{3, 4}, target{3, 4}, target{3, 4})),
		oneWay("Pipe against pump", 0, 0, contender.Pipe(nil), published, target{1.15, 1.5}),
		fan("Select 4", 4, 1024, target{1, 1.5}),
		fan("Select 2", 2, 1024, target{1, 1.5}),
		fan("Select 4 rendezvous", 4, 0, target{1, 1.2}),
		workersOf("Workers", 1024, bounded, native, target{4, 6}, target{1.7, 2.2}, target{1, 1.01}),
		workersOf("Workers, unbuffered ref.", 0, bounded, native, target{4, 6}, target{1.7, 2.2}, target{1, 1.01}),
		workersOf("By hand", 1024, contender.ByHand(background), native, target{4, 6}, target{1.7, 2.2}, target{1, 1.01}),
		sameWork(workersOf("Workers against by hand", 1024, bounded, contender.ByHand(background), target{1, 1.1}, target{1, 1.1}, target{1, 1.01})),
	}
	var rows []row
	for _, group := range groups {
		rows = append(rows, group...)
	}
	return rows
}

// choose returns the rows whose String matches.
func choose(rows []row, match *regexp.Regexp) []row {
	var chosen []row
	for _, r := range rows {
		if match.MatchString(r.String()) {
			chosen = append(chosen, r)
		}
	}
	return chosen
}
