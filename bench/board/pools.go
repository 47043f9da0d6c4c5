package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alitto/pond/v2"
	"github.com/panjf2000/ants/v2"
	"github.com/sourcegraph/conc/pool"
	"golang.org/x/sync/errgroup"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/workload"
)

const (
	poolWorkers = 8
	poolSlots   = 1024 // jobs that a pool queues, if it has a queue
	handful     = 64   // jobs of a slice by hand
)

// pools compares pools of eight workers, whose jobs come one by one from one goroutine.
func pools(procs []int) section {
	rows := []row{
		{name: nothing},
		{name: "goroutines over a chan", waits: parks, ctx: no, close: last, open: served(contender.Native())},
		{name: "slices of 64 by hand", waits: parks, ctx: no, close: last, open: openByHand, alone: true},
		{name: "sluice workers.Run", ours: true, waits: parks, ctx: yes, close: anybody, amid: true, open: served(contender.Bounded(cancelable, nil))},
		{name: "sluice batch.Sender 64, workers.Run", ours: true, waits: parks, ctx: yes, close: last, open: served(contender.Lingering(cancelable, handful, time.Millisecond)), alone: true,
			note: "with a linger of 1 ms"},
		{name: "ants", waits: parks, ctx: no, close: anybody, open: openAnts, amid: true},
		{name: "pond", waits: parks, ctx: yes, close: anybody, open: openPond, amid: true},
		{name: "conc", waits: parks, ctx: yes, close: last, open: openConc},
		{name: "errgroup", waits: parks, ctx: yes, close: last, open: openErrgroup, note: "a goroutine for each job"},
	}
	var columns []column
	for _, job := range []time.Duration{0, time.Microsecond} {
		columns = append(columns, timed(procs, fmt.Sprintf("jobs of %v", job), isSink, func(r row, n uint64) (workload.Result, error) {
			return work(r.open, n, workload.Turns(job))
		})...)
	}
	for i := range rows {
		rows[i].shared = true
	}
	return section{"pools", rows, append(columns, waiting(poolWorkers, 1, 10_000)...)}
}

// work runs n jobs of so many turns, and returns when all are done.
func work(open opener, n uint64, turns int) (workload.Result, error) {
	const proofEvery = 64 // jobs; a counter that all workers share costs more than a short job
	var proof atomic.Uint64
	s := open(poolWorkers, func(_ int, v uint64) {
		if turns > 0 {
			_ = workload.Busy(turns)
		}
		if v%proofEvery == 0 {
			proof.Add(1)
		}
	})
	return clocked(n, func() error {
		for v := range n {
			s.Put(v)
		}
		s.Close()
		return received(proof.Load(), (n+proofEvery-1)/proofEvery)
	})
}

// served opens a contender whose values are jobs.
func served(c contender.Contender) opener {
	return func(n int, do func(int, uint64)) paced.Sink {
		p, all := c.Make(poolSlots).(contender.Pool), new(sync.WaitGroup)
		all.Go(func() { p.Serve(n, func(v uint64) { do(0, v) }) })
		return paced.SinkOf(func(v uint64) bool { return p.Send(v, v+1) }, p.Close, all)
	}
}

// openByHand hands slices of jobs to goroutines. It belongs to one sender.
func openByHand(n int, do func(int, uint64)) paced.Sink {
	c, all := make(chan []uint64, poolSlots/handful), new(sync.WaitGroup)
	for range n {
		all.Go(func() {
			for vs := range c {
				for _, v := range vs {
					do(0, v)
				}
			}
		})
	}
	vs := make([]uint64, 0, handful)
	return paced.SinkOf(func(v uint64) bool {
		if vs = append(vs, v); len(vs) == handful {
			c <- vs
			vs = make([]uint64, 0, handful)
		}
		return true
	}, func() {
		c <- vs
		close(c)
	}, all)
}

// openAnts is ants. Its Release does not wait for jobs: the WaitGroup of its examples does.
func openAnts(n int, do func(int, uint64)) paced.Sink {
	p, err := ants.NewPool(n)
	if err != nil {
		panic(err) // of a size above 0
	}
	all := new(sync.WaitGroup)
	return paced.SinkOf(func(v uint64) bool {
		all.Add(1)
		err := p.Submit(func() { defer all.Done(); do(0, v) })
		if err != nil {
			all.Done()
		}
		return err == nil
	}, p.Release, all)
}

// openPond is pond, with a queue as long as the others'.
func openPond(n int, do func(int, uint64)) paced.Sink {
	p := pond.NewPool(n, pond.WithQueueSize(poolSlots))
	return paced.SinkOf(func(v uint64) bool { return p.Go(func() { do(0, v) }) == nil }, p.StopAndWait, nil)
}

// openConc is the pool of conc.
func openConc(n int, do func(int, uint64)) paced.Sink {
	p := pool.New().WithMaxGoroutines(n)
	return paced.SinkOf(func(v uint64) bool { p.Go(func() { do(0, v) }); return true }, p.Wait, nil)
}

// openErrgroup is x/sync's errgroup with a limit.
func openErrgroup(n int, do func(int, uint64)) paced.Sink {
	g := new(errgroup.Group)
	g.SetLimit(n)
	return paced.SinkOf(func(v uint64) bool { g.Go(func() error { do(0, v); return nil }); return true },
		func() { _ = g.Wait() }, nil)
}
