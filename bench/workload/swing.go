package workload

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
)

// Swing is one goroutine that sends width values and receives as many, in turn, at
// least n of each, while around values are queued when the swing is at its lowest.
// It is what hurts a queue that shrinks without hysteresis: around a power of two
// such a queue copies itself at each swing. What fills the channel before, and
// drains it afterwards, is not timed. It is for contenders that keep the order of all
// that one goroutine sends.
func Swing(around, width int) Workload {
	return Workload{
		Name:      fmt.Sprintf("swing of %d around %d", width, around),
		Capacity:  around + width,
		Senders:   1,
		Receivers: 1,
		run: func(w Workload, c contender.Contender, n uint64) (outcome, error) {
			return swing(c.Make(w.Capacity), uint64(around), uint64(width), n), nil
		},
	}
}

func swing(ch contender.Channel, around, width, n uint64) outcome {
	var t contender.Tally
	receive := func(values uint64) {
		for range values {
			v, ok := ch.Recv()
			if !ok {
				return // the tally tells
			}
			t.Add(v)
		}
	}
	ch.SendRange(0, around)
	sent := around
	cycles := (n + width - 1) / width
	began := time.Now()
	for range cycles {
		ch.SendRange(sent, sent+width)
		sent += width
		receive(width)
	}
	elapsed := time.Since(began)
	ch.Close()
	receive(around + 1) // one more than there is: the end, or a value too many
	return outcome{elapsed: elapsed, items: cycles * width, tally: t, want: upTo(sent)}
}
