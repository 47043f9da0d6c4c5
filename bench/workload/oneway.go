package workload

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
)

// BatchSize is the usual number of values of a batch.
const BatchSize = 64

// OneWay passes n values from senders to receivers, one by one. Each sender
// sends a contiguous range, all goroutines start together, and the last sender
// to finish closes the channel. With one sender and one receiver it is part (a)
// of the study "Channel Direct Send", and the concurrent run of "Elastic
// channels".
func OneWay(capacity, senders, receivers int) Workload {
	name := fmt.Sprintf("%d->%d", senders, receivers)
	if senders == receivers && senders > 1 {
		name = fmt.Sprintf("%dx%d", senders, receivers)
	}
	return Workload{
		Name:      name,
		Capacity:  capacity,
		Senders:   senders,
		Receivers: receivers,
		run:       oneWay,
	}
}

func oneWay(w Workload, c contender.Contender, n uint64) (outcome, error) {
	ch := c.Make(w.Capacity)
	var (
		start    = make(chan struct{})
		sending  atomic.Int64
		finished sync.WaitGroup
		tallies  = make([]contender.Tally, w.Receivers)
	)
	sending.Store(int64(w.Senders))
	for i := range uint64(w.Senders) {
		lo, hi := share(n, i, uint64(w.Senders))
		finished.Go(func() {
			<-start
			ch.Send(lo, hi)
			if sending.Add(-1) == 0 {
				ch.Close()
			}
		})
	}
	for i := range tallies {
		finished.Go(func() {
			<-start
			tallies[i] = ch.Recv(contender.All)
		})
	}
	began := time.Now()
	close(start)
	finished.Wait()
	o := outcome{Result: Result{n, time.Since(began)}, want: upTo(n)}
	for _, t := range tallies {
		o.tally.Merge(t)
	}
	return o, nil
}

// share returns the i-th of k contiguous parts of 0 … n-1.
func share(n, i, k uint64) (lo, hi uint64) {
	size, rest := n/k, n%k
	lo = i*size + min(i, rest)
	hi = lo + size
	if i < rest {
		hi++
	}
	return lo, hi
}

// FillDrain is one goroutine that sends all n values, closes the channel and
// receives them: no two goroutines run concurrently, except a contender's own.
// The channel has n slots if it has a capacity. It is part (c) of the study
// "Channel Direct Send" and the sequential run of "Elastic channels".
func FillDrain() Workload {
	return Workload{Name: "fill-drain", Capacity: 1, Senders: 1, Receivers: 1, run: fillDrain}
}

func fillDrain(w Workload, c contender.Contender, n uint64) (outcome, error) {
	ch := c.Make(int(n))
	began := time.Now()
	ch.Send(0, n)
	ch.Close()
	t := ch.Recv(contender.All)
	return outcome{Result{n, time.Since(began)}, t, upTo(n)}, nil
}
