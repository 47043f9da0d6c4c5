package workload

import (
	"fmt"
	"sync"
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
