package workload

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
)

// Swing is one goroutine that alternately sends and receives width values, at
// least n in total each way, while around values stay queued. It is the worst
// case for a queue that shrinks without hysteresis: around a power of two, such
// a queue copies itself at each swing. Filling and draining the channel is not
// timed. It requires a contender that keeps the order of one goroutine's
// values.
func Swing(around, width int) Workload {
	return Workload{
		Name:      fmt.Sprintf("swing of %d around %d", width, around),
		Capacity:  around + width,
		Senders:   1,
		Receivers: 1,
		single:    true,
		run: func(w Workload, c contender.Contender, n uint64) (outcome, error) {
			return swing(c.Make(w.Capacity), uint64(around), uint64(width), n), nil
		},
	}
}

func swing(ch contender.Channel, around, width, n uint64) outcome {
	var t contender.Tally
	receive := func(values uint64) {
		for range values {
			got := ch.Recv(1)
			if got.Count == 0 {
				return // the tally reveals it
			}
			t.Add(got.Last())
		}
	}
	ch.Send(0, around)
	sent := around
	cycles := (n + width - 1) / width
	began := time.Now()
	for range cycles {
		ch.Send(sent, sent+width)
		sent += width
		receive(width)
	}
	elapsed := time.Since(began)
	ch.Close()
	receive(around + 1) // one more than are left: the end, or a surplus value
	return outcome{Result{cycles * width, elapsed}, t, upTo(sent)}
}
