package contender

import (
	"context"

	"github.com/sluice-go/sluice"
)

// closing is a built-in channel whose receivers also select on a second channel
// that is closed at the end. Programs do this when no sender may close the
// first.
type closing struct {
	c    chan uint64
	done chan struct{}
}

func (k closing) SendRange(lo, hi uint64) {
	for v := lo; v < hi; v++ {
		k.c <- v
	}
}

func (k closing) Drain() Tally {
	var t Tally
	for {
		select {
		case v := <-k.c:
			t.Add(v)
		case <-k.done:
			return k.rest(t)
		}
	}
}

// rest adds the values that were sent before the end and are still queued.
func (k closing) rest(t Tally) Tally {
	for {
		select {
		case v := <-k.c:
			t.Add(v)
		default:
			return t
		}
	}
}

func (k closing) Send(v uint64) bool {
	k.c <- v
	return true
}

func (k closing) Recv() (uint64, bool) {
	select {
	case v := <-k.c:
		return v, true
	case <-k.done:
	}
	select {
	case v := <-k.c:
		return v, true
	default:
		return 0, false
	}
}

func (k closing) Close() { close(k.done) }

// NativeClosing is the built-in chan with a select in its receivers, over the
// values and a channel that is closed at the end.
func NativeClosing() Contender {
	return Contender{
		Name: "native select, close channel",
		Make: func(capacity int) Channel {
			return closing{make(chan uint64, capacity), make(chan struct{})}
		},
	}
}

// boundedClosing is the same with a sluice.Bounded, a sluice.Rendezvous and
// sluice.Select. It offers no batches, because a receiver of batches would miss
// the end.
type boundedClosing struct {
	bounded bounded
	done    *sluice.Rendezvous[struct{}]
}

func (k boundedClosing) SendRange(lo, hi uint64) { k.bounded.SendRange(lo, hi) }

func (k boundedClosing) Send(v uint64) bool { return k.bounded.Send(v) }

func (k boundedClosing) Drain() Tally {
	var t Tally
	values, end := sluice.OnRecv[uint64](k.bounded.c), sluice.OnRecv[struct{}](k.done)
	for {
		if _, err := sluice.Select(k.bounded.ctx, values, end); err != nil {
			break // only Close ends a wait on done
		}
		t.Add(values.Value)
	}
	for {
		v, err := k.bounded.c.TryRecv()
		if err != nil {
			return t
		}
		t.Add(v)
	}
}

func (k boundedClosing) Recv() (uint64, bool) {
	values, end := sluice.OnRecv[uint64](k.bounded.c), sluice.OnRecv[struct{}](k.done)
	if _, err := sluice.Select(k.bounded.ctx, values, end); err == nil {
		return values.Value, true
	}
	v, err := k.bounded.c.TryRecv()
	return v, err == nil
}

func (k boundedClosing) Close() { k.done.Close() }

// SelectClosing is sluice.Bounded with a sluice.Select in its receivers, over
// the values and a channel that is closed at the end.
func SelectClosing() Contender {
	return Contender{
		Name:  "sluice.Select, close channel",
		Bound: Buffered,
		Make: func(capacity int) Channel {
			b := bounded{context.Background(), sluice.NewBounded[uint64](capacity, nil)}
			return boundedClosing{b, sluice.NewRendezvous[struct{}](nil)}
		},
	}
}
