package spill

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// TestUndeliveredOnce: each value that a call drops reaches the hook once, if all calls of the hook
// panic, or end the goroutine. Then the first panic continues.
func TestUndeliveredOnce(t *testing.T) {
	elastic := func(memory int64, overflow sluice.Overflow) func(hook func(uint64, sluice.Reason)) hooked {
		return func(hook func(uint64, sluice.Reason)) hooked {
			return on(t, new(faulty), &ElasticOptions[uint64]{
				MemoryLimit: memory, Capacity: 4, Overflow: overflow, Codec: fixed{}, OnUndelivered: hook,
			})
		}
	}
	durable := func(o DurableOptions[uint64]) func(hook func(uint64, sluice.Reason)) hooked {
		return func(hook func(uint64, sluice.Reason)) hooked {
			o.Capacity, o.Codec, o.OnUndelivered = 4, fixed{}, hook
			return durableOn(newMemoryStore(), &o).AutoAck()
		}
	}
	send := func(vs ...uint64) func(c hooked) {
		return func(c hooked) {
			if len(vs) == 1 {
				_ = c.Send(context.Background(), vs[0])
				return
			}
			_, _ = c.SendBatch(context.Background(), vs)
		}
	}
	for _, test := range []struct {
		what string
		open func(hook func(uint64, sluice.Reason)) hooked
		wait time.Duration // after four values were sent
		call func(c hooked)
		want []uint64
	}{
		{"Elastic, DropNewest", elastic(1000, sluice.DropNewest), 0, send(4), []uint64{4}},
		{"Elastic, DropNewest, on disk", elastic(16, sluice.DropNewest), 0, func(c hooked) { _ = c.TrySend(4) }, []uint64{4}},
		{"Elastic, DropOldest", elastic(1000, sluice.DropOldest), 0, func(c hooked) { _ = c.TrySend(4) }, []uint64{0}},
		{"Elastic, DropOldest, a batch on disk", elastic(16, sluice.DropOldest), 0, send(4, 5, 6), []uint64{0, 1, 2}},
		{"Elastic, Discard", elastic(1000, sluice.Block), 0, func(c hooked) { c.(*Elastic[uint64]).Discard() }, []uint64{0, 1, 2, 3}},
		{"Elastic, Discard, on disk", elastic(16, sluice.Block), 0, func(c hooked) { c.(*Elastic[uint64]).Discard() }, []uint64{0, 1, 2, 3}},
		{"Durable, DropNewest", durable(DurableOptions[uint64]{Overflow: sluice.DropNewest}), 0, send(4, 5, 6), []uint64{4, 5, 6}},
		{"Durable, DropOldest", durable(DurableOptions[uint64]{Overflow: sluice.DropOldest}), 0, send(4, 5, 6), []uint64{0, 1, 2}},
		{"Durable, DropOldest, its own", durable(DurableOptions[uint64]{Overflow: sluice.DropOldest}), 0, send(4, 5, 6, 7, 8, 9), []uint64{0, 1, 2, 3, 4, 5}},
		{"Durable, MaxAge, Send", durable(DurableOptions[uint64]{MaxAge: time.Minute}), time.Hour, send(4, 5), []uint64{0, 1, 2, 3}},
		{"Durable, MaxAge, TryRecv", durable(DurableOptions[uint64]{MaxAge: time.Minute}), time.Hour, func(c hooked) { _, _ = c.TryRecv() }, []uint64{0, 1, 2, 3}},
		{"Durable, MaxAge, RecvBatch", durable(DurableOptions[uint64]{MaxAge: time.Minute}), time.Hour, func(c hooked) {
			_, _ = c.RecvBatch(context.Background(), make([]uint64, 3))
		}, []uint64{0, 1, 2, 3}},
	} {
		for name, fail := range map[string]func(v uint64){"panic": func(v uint64) { panic(v) }, "Goexit": func(uint64) { runtime.Goexit() }} {
			t.Run(test.what+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var got []uint64
					c := test.open(func(v uint64, _ sluice.Reason) {
						got = append(got, v)
						fail(v)
					})
					send(0, 1, 2, 3)(c)
					time.Sleep(test.wait)
					var panicked any
					returned, done := false, make(chan struct{})
					go func() {
						defer close(done)
						defer func() { panicked = recover() }()
						test.call(c)
						returned = true
					}()
					<-done
					if !slices.Equal(got, test.want) || returned || (name == "panic") != (panicked == test.want[0]) {
						t.Errorf("the hook got %v, want %v; returned %v, panicked with %v", got, test.want, returned, panicked)
					}
				})
			})
		}
	}
}

// A hooked is a channel with a hook.
type hooked interface {
	sluice.BatchSender[uint64]
	sluice.BatchReceiver[uint64]
}
