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
type fan[C any] struct {
	channels []C
	senders  atomic.Int64
}

// next returns the channel of the next sender.
func (f *fan[C]) next() C { return f.channels[int(f.senders.Add(1)-1)%len(f.channels)] }

// makeFan makes n channels.
func makeFan[C any](n int, build func() C) *fan[C] {
	f := &fan[C]{channels: make([]C, n)}
	for i := range f.channels {
		f.channels[i] = build()
	}
	return f
}

// nativeFan is a fan of built-in channels.
type nativeFan struct{ *fan[chan uint64] }

func (f nativeFan) SendRange(lo, hi uint64) {
	c := f.next()
	for v := lo; v < hi; v++ {
		c <- v
	}
}

func (f nativeFan) Send(v uint64) bool {
	f.next() <- v
	return true
}

func (f nativeFan) Recv() (uint64, bool) {
	if len(f.channels) == 2 {
		return recv2(f.channels[0], f.channels[1])
	}
	return recv4(f.channels[0], f.channels[1], f.channels[2], f.channels[3])
}

// recv2 and recv4 receive until all channels are closed.
func recv2(a, b chan uint64) (v uint64, ok bool) {
	for a != nil || b != nil {
		select {
		case v, ok = <-a:
			if !ok {
				a = nil
			}
		case v, ok = <-b:
			if !ok {
				b = nil
			}
		}
		if ok {
			return v, true
		}
	}
	return 0, false
}

func recv4(a, b, c, d chan uint64) (v uint64, ok bool) {
	for a != nil || b != nil || c != nil || d != nil {
		select {
		case v, ok = <-a:
			if !ok {
				a = nil
			}
		case v, ok = <-b:
			if !ok {
				b = nil
			}
		case v, ok = <-c:
			if !ok {
				c = nil
			}
		case v, ok = <-d:
			if !ok {
				d = nil
			}
		}
		if ok {
			return v, true
		}
	}
	return 0, false
}

func (f nativeFan) Drain() Tally {
	var t Tally
	if len(f.channels) == 2 {
		a, b := f.channels[0], f.channels[1]
		for a != nil || b != nil {
			select {
			case v, ok := <-a:
				if !ok {
					a = nil
					continue
				}
				t.Add(v)
			case v, ok := <-b:
				if !ok {
					b = nil
					continue
				}
				t.Add(v)
			}
		}
		return t
	}
	a, b, c, d := f.channels[0], f.channels[1], f.channels[2], f.channels[3]
	for a != nil || b != nil || c != nil || d != nil {
		select {
		case v, ok := <-a:
			if !ok {
				a = nil
				continue
			}
			t.Add(v)
		case v, ok := <-b:
			if !ok {
				b = nil
				continue
			}
			t.Add(v)
		case v, ok := <-c:
			if !ok {
				c = nil
				continue
			}
			t.Add(v)
		case v, ok := <-d:
			if !ok {
				d = nil
				continue
			}
			t.Add(v)
		}
	}
	return t
}

func (f nativeFan) Close() {
	for _, c := range f.channels {
		close(c)
	}
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
			return nativeFan{makeFan(n, func() chan uint64 { return make(chan uint64, capacity) })}
		},
	}
}

// ownFan is a fan of sluice.Bounded, or of sluice.Rendezvous.
type ownFan struct {
	*fan[sluice.Channel[uint64]]
	cases []sluice.Case // of the channels that are not drained
}

func (f *ownFan) SendRange(lo, hi uint64) {
	ctx := context.Background()
	switch c := f.next().(type) {
	case *sluice.Bounded[uint64]:
		bounded{ctx, c}.SendRange(lo, hi)
	case *sluice.Rendezvous[uint64]:
		rendezvous{ctx, c}.SendRange(lo, hi)
	}
}

func (f *ownFan) Send(v uint64) bool { return f.next().Send(context.Background(), v) == nil }

func (f *ownFan) Recv() (uint64, bool) {
	ctx := context.Background()
	for len(f.cases) > 0 {
		chosen, err := sluice.Select(ctx, f.cases...)
		if err == nil {
			return chosen.(*sluice.RecvCase[uint64]).Value, true
		}
		f.drop(chosen)
	}
	return 0, false
}

func (f *ownFan) Drain() Tally {
	var t Tally
	ctx := context.Background()
	for len(f.cases) > 0 {
		chosen, err := sluice.Select(ctx, f.cases...)
		if err != nil {
			f.drop(chosen)
			continue
		}
		t.Add(chosen.(*sluice.RecvCase[uint64]).Value)
	}
	return t
}

// drop removes a case.
func (f *ownFan) drop(drained sluice.Case) {
	for i, c := range f.cases {
		if c == drained {
			f.cases = append(f.cases[:i], f.cases[i+1:]...)
			return
		}
	}
}

func (f *ownFan) Close() {
	for _, c := range f.channels {
		c.Close()
	}
}

// Select is n channels, each a sluice.Bounded, or a sluice.Rendezvous at capacity
// 0, and a sluice.Select over them.
func Select(n int) Contender {
	return Contender{
		Name:        fmt.Sprintf("sluice.Select of %d", n),
		OneReceiver: true,
		Make: func(capacity int) Channel {
			f := &ownFan{fan: makeFan(n, func() sluice.Channel[uint64] {
				if capacity == 0 {
					return sluice.NewRendezvous[uint64](nil)
				}
				return sluice.NewBounded[uint64](capacity, nil)
			})}
			for _, c := range f.channels {
				f.cases = append(f.cases, sluice.OnRecv[uint64](c))
			}
			return f
		},
	}
}
