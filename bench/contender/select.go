package contender

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/sluice-go/sluice"
)

// A fan combines several channels: each loop of a sender gets the next channel
// for itself, and the one receiver selects over all. The capacity applies to
// each channel.
type fan struct {
	channels []Channel
	senders  atomic.Int64
}

func (f *fan) Send(lo, hi uint64) bool {
	return f.channels[int(f.senders.Add(1)-1)%len(f.channels)].Send(lo, hi)
}

func (f *fan) Close() {
	for _, c := range f.channels {
		c.Close()
	}
}

// nativeFan is a fan of built-in channels. A channel that has ended is nil.
type nativeFan struct {
	fan
	open [4]<-chan uint64
}

func (f *nativeFan) Recv(most uint64) (t Tally) {
	open := &f.open
	for t.Count < most && *open != [4]<-chan uint64{} {
		var v uint64
		var ok bool
		from := 0
		if len(f.channels) == 2 {
			select {
			case v, ok = <-open[0]:
			case v, ok = <-open[1]:
				from = 1
			}
		} else {
			select {
			case v, ok = <-open[0]:
			case v, ok = <-open[1]:
				from = 1
			case v, ok = <-open[2]:
				from = 2
			case v, ok = <-open[3]:
				from = 3
			}
		}
		if ok {
			t.Add(v)
		} else {
			open[from] = nil
		}
	}
	return t
}

// NativeFan is 2 or 4 built-in channels, and a select over them.
func NativeFan(n int) Contender {
	if n != 2 && n != 4 {
		panic(fmt.Sprintf("contender: NativeFan: unsupported n %d (want 2 or 4)", n))
	}
	return Contender{
		Name:        fmt.Sprintf("native select of %d", n),
		OneReceiver: true,
		Make: func(capacity int) Channel {
			f := new(nativeFan)
			for i := range n {
				c := make(chan uint64, capacity)
				f.channels, f.open[i] = append(f.channels, ends{c, c}), c
			}
			return f
		},
	}
}

// ownFan is a fan of sluice.Bounded, or of sluice.Rendezvous.
type ownFan struct {
	fan
	cases []sluice.Case // of the channels that are not drained
}

func (f *ownFan) Recv(most uint64) (t Tally) {
	ctx := context.Background()
	for t.Count < most && len(f.cases) > 0 {
		chosen, err := sluice.Select(ctx, f.cases...)
		if err == nil {
			t.Add(chosen.(*sluice.RecvCase[uint64]).Value)
			continue
		}
		for i, c := range f.cases {
			if c == chosen {
				f.cases = append(f.cases[:i], f.cases[i+1:]...)
				break
			}
		}
	}
	return t
}

// Select is n channels, each a sluice.Bounded, or a sluice.Rendezvous at capacity
// 0, and a sluice.Select over them.
func Select(n int) Contender {
	return Contender{
		Name:        fmt.Sprintf("sluice.Select of %d", n),
		OneReceiver: true,
		Make: func(capacity int) Channel {
			f := new(ownFan)
			for range n {
				k := ours{ctx: context.Background(), c: sluice.NewRendezvous[uint64](nil)}
				if capacity > 0 {
					k.c = newBounded(capacity, Options{})
				}
				f.channels, f.cases = append(f.channels, k), append(f.cases, sluice.OnRecv[uint64](k.c))
			}
			return f
		},
	}
}
