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
	return Workload{Name: "ping-pong", Capacity: capacity, Senders: 1, Receivers: 1, single: true, run: pingPong}
}

func pingPong(w Workload, c contender.Contender, n uint64) (outcome, error) {
	ping, pong := c.Make(w.Capacity), c.Make(w.Capacity)
	var echo sync.WaitGroup
	start := make(chan struct{})
	echo.Go(func() {
		<-start
		for {
			got := ping.Recv(1)
			if got.Count == 0 {
				pong.Close()
				return
			}
			pong.Send(got.Last(), got.Last()+1)
		}
	})
	var t contender.Tally
	began := time.Now()
	close(start)
	for i := range n {
		ping.Send(i, i+1)
		got := pong.Recv(1)
		if got.Count == 0 {
			break
		}
		t.Add(got.Last())
	}
	elapsed := time.Since(began)
	ping.Close()
	echo.Wait()
	// Receive the end of the responses too: some contenders have a goroutine
	// that exits only then.
	if pong.Recv(1).Count > 0 {
		return outcome{}, fmt.Errorf("a surplus response after %d round trips", n)
	}
	return outcome{Result{n, elapsed}, t, upTo(n)}, nil
}
