package workload

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
)

// PingPong is n round trips over two channels: a value goes to another
// goroutine, which sends it back. It is the request/response test of the study
// "Channel Direct Send", part (b). An item is a round trip.
func PingPong(capacity int) Workload {
	return Workload{Name: "ping-pong", Capacity: capacity, Senders: 1, Receivers: 1, run: pingPong}
}

func pingPong(w Workload, c contender.Contender, n uint64) (outcome, error) {
	ping, pong := c.Make(w.Capacity), c.Make(w.Capacity)
	var echo sync.WaitGroup
	start := make(chan struct{})
	echo.Go(func() {
		<-start
		for {
			v, ok := ping.Recv()
			if !ok {
				pong.Close()
				return
			}
			pong.Send(v)
		}
	})
	var t contender.Tally
	began := time.Now()
	close(start)
	for i := range n {
		ping.Send(i)
		v, ok := pong.Recv()
		if !ok {
			break
		}
		t.Add(v)
	}
	elapsed := time.Since(began)
	ping.Close()
	echo.Wait()
	// Receive the end of the responses too: some contenders have a goroutine
	// that exits only then.
	if _, ok := pong.Recv(); ok {
		return outcome{}, fmt.Errorf("a surplus response after %d round trips", n)
	}
	return outcome{elapsed: elapsed, items: n, tally: t, want: upTo(n)}, nil
}

// Alternate is one goroutine that sends a value and receives it again, n times: the
// channel is empty before each send, and no goroutine waits. The capacity must be at least
// 1. An item is a pair of both.
func Alternate(capacity int) Workload {
	return Workload{Name: "alternate", Capacity: max(1, capacity), Senders: 1, Receivers: 1, run: alternate}
}

func alternate(w Workload, c contender.Contender, n uint64) (outcome, error) {
	ch := c.Make(w.Capacity)
	var t contender.Tally
	began := time.Now()
	for i := range n {
		ch.Send(i)
		v, ok := ch.Recv()
		if !ok {
			break
		}
		t.Add(v)
	}
	elapsed := time.Since(began)
	ch.Close()
	if _, ok := ch.Recv(); ok {
		return outcome{}, fmt.Errorf("a surplus value after %d pairs", n)
	}
	return outcome{elapsed: elapsed, items: n, tally: t, want: upTo(n)}, nil
}

// TotalRound is the number of values that the study "Go: Buffered and
// Unbuffered Channels" sends through one channel.
const TotalRound = 1000

// SharedTotal is the job of the study "Go: Buffered and Unbuffered Channels":
// one producer sends 1000 values and closes the channel, the workers receive
// and add them atomically to one total, and all goroutines are joined. It
// repeats this, with a new channel and new goroutines, until at least n values
// have been carried; as in the study, all of that time counts.
func SharedTotal(capacity, workers int) Workload {
	return Workload{
		Name:      fmt.Sprintf("shared total, %d workers", workers),
		Capacity:  capacity,
		Senders:   1,
		Receivers: workers,
		run:       sharedTotal,
	}
}

func sharedTotal(w Workload, c contender.Contender, n uint64) (outcome, error) {
	rounds := (n + TotalRound - 1) / TotalRound
	var o outcome
	one := upTo(TotalRound)
	began := time.Now()
	for range rounds {
		total, count := addUp(w, c)
		o.tally.Sum += total
		o.tally.Count += count
	}
	o.elapsed = time.Since(began)
	o.items = rounds * TotalRound
	o.want = contender.Tally{Count: rounds * one.Count, Sum: rounds * one.Sum}
	return o, nil
}

// addUp is one round of SharedTotal.
func addUp(w Workload, c contender.Contender) (total, count uint64) {
	ch := c.Make(w.Capacity)
	var sum, received atomic.Uint64
	var workers sync.WaitGroup
	for range w.Receivers {
		workers.Go(func() {
			var mine uint64
			for {
				v, ok := ch.Recv()
				if !ok {
					break
				}
				sum.Add(v)
				mine++
			}
			received.Add(mine)
		})
	}
	workers.Go(func() {
		ch.SendRange(0, TotalRound)
		ch.Close()
	})
	workers.Wait()
	return sum.Load(), received.Load()
}
