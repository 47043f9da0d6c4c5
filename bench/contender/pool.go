package contender

import (
	"context"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// A Pool is a channel whose values are jobs for workers.
type Pool interface {
	Channel
	// Serve calls job with each value, in the given number of goroutines, until
	// the channel is closed and drained and all jobs are done.
	Serve(workers int, job func(v uint64))
}

// Serves reports whether the contender's channels are a Pool.
func (c Contender) Serves() bool {
	ch := c.Make(1)
	_, ok := ch.(Pool)
	ch.Close()
	ch.Drain() // lets a pump end
	return ok
}

// each runs n goroutines and waits for them.
func each(workers int, work func()) {
	var all sync.WaitGroup
	for range workers {
		all.Go(work)
	}
	all.Wait()
}

// Serve is the common worker pool of Go programs: goroutines that range over a
// chan.
func (e ends) Serve(workers int, job func(v uint64)) {
	each(workers, func() {
		for v := range e.r {
			job(v)
		}
	})
}

// Serve is workers.Run.
func (k bounded) Serve(count int, job func(v uint64)) {
	err := workers.Run(k.ctx, k.c, count, func(_ context.Context, v uint64) error {
		job(v)
		return nil
	}, nil)
	if err != nil {
		panic(err)
	}
}

// byHand is a Bounded whose workers take batches of a fixed size.
type byHand struct {
	bounded
	size int
}

func (k byHand) Serve(workers int, job func(v uint64)) {
	each(workers, func() {
		buf := make([]uint64, k.size)
		for {
			n, err := k.c.RecvBatch(k.ctx, buf)
			if err != nil {
				return
			}
			for _, v := range buf[:n] {
				job(v)
			}
		}
	})
}

// ByHand is sluice.Bounded with workers that take batches of 64, regardless of
// the jobs' duration, and never share their batch: a simple version of
// workers.Run, with the tail latency that workers.Run avoids.
func ByHand(ctx context.Context) Contender {
	return own("sluice.Bounded, 64 by hand", Buffered, ctx, nil, func(capacity int) Channel {
		return byHand{bounded{ctx, sluice.NewBounded[uint64](capacity, nil)}, 64}
	})
}
