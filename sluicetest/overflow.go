package sluicetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// testOverflow: what each policy does with a value that finds no room.
func testOverflow(t *testing.T, k Kind) {
	for name, send := range map[string]func(c Channel[uint64], v uint64) error{
		"Send":    func(c Channel[uint64], v uint64) error { return c.Send(context.Background(), v) },
		"TrySend": func(c Channel[uint64], v uint64) error { return c.TrySend(v) },
		"SendBatch": func(c Channel[uint64], v uint64) error {
			_, err := c.SendBatch(context.Background(), []uint64{v})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { k.testOverflowExact(t, send) })
		})
	}
	t.Run("batch", func(t *testing.T) { synctest.Test(t, k.testOverflowBatch) })
	if !k.drops() {
		return
	}
	if k.Capacity > 0 {
		t.Run("stays full", k.testStaysFull)
	}
	t.Run("reenter", func(t *testing.T) { synctest.Test(t, k.testDropReenters) })
	t.Run("panic", func(t *testing.T) { synctest.Test(t, k.testDropPanics) })
	k.inBothWorlds(t, k.testDropFlow)
}

// testOverflowExact sends three values more than fit.
func (k Kind) testOverflowExact(t *testing.T, send func(Channel[uint64], uint64) error) {
	const extra = 3
	var dropped []uint64
	c := k.dropping(t, func(v uint64) { dropped = append(dropped, v) })
	fill(t, k, c)
	for i := range extra {
		var want error
		if k.Overflow == sluice.Reject {
			want = sluice.ErrFull
		}
		if err := send(c, uint64(k.Capacity+i)); err != want {
			t.Fatalf("a send to a full channel under %v: %v, want %v", k.Overflow, err, want)
		}
	}
	// Make room again: the policy must leave nothing behind.
	total := uint64(k.Capacity + extra)
	var kept, gone []uint64
	switch k.Overflow {
	case sluice.DropOldest:
		kept, gone = counted(k.Capacity, extra), counted(extra, 0)
	case sluice.DropNewest:
		kept, gone = counted(k.Capacity, 0), counted(extra, uint64(k.Capacity))
	default:
		kept = counted(k.Capacity, 0)
	}
	if k.Order == AnyOrder && k.Overflow == sluice.DropOldest && len(dropped) == extra {
		// The oldest value is not determined: any value qualifies, but each
		// only once.
		gone = dropped
		kept = slices.DeleteFunc(counted(k.Capacity+extra, 0), func(v uint64) bool { return slices.Contains(gone, v) })
	}
	if !slices.Equal(dropped, gone) {
		t.Fatalf("OnUndelivered saw %v after %d values were sent into room for %d, want %v", dropped, total, k.Capacity, gone)
	}
	rejected := uint64(0)
	if k.Overflow == sluice.Reject {
		rejected = extra
	}
	if s := c.Stats(); s.Rejected != rejected {
		t.Fatalf("Stats after %d sends to a full channel under %v: Rejected %d, want %d", extra, k.Overflow, s.Rejected, rejected)
	}
	if s := c.Stats(); s.Dropped != uint64(len(gone)) || s.Len != k.Capacity {
		t.Fatalf("Stats after %d drops: Dropped %d, Len %d", len(gone), s.Dropped, s.Len)
	}
	c.Close()
	if err := send(c, 99); err != sluice.ErrClosed {
		t.Fatalf("a send to a full and closed channel: %v, want %v", err, sluice.ErrClosed)
	}
	var got []uint64
	for v := range allOf(context.Background(), c) {
		got = append(got, v)
	}
	if k.Order == AnyOrder {
		slices.Sort(got)
	}
	if !slices.Equal(got, kept) {
		t.Fatalf("%v kept %v, want %v", k.Overflow, got, kept)
	}
	if len(dropped) != len(gone) {
		t.Fatalf("OnUndelivered saw %v, want %v: received or refused values are not dropped", dropped, gone)
	}
}

// testOverflowBatch sends one batch that exceeds the capacity.
func (k Kind) testOverflowBatch(t *testing.T) {
	const extra = 5
	var dropped []uint64
	c := k.dropping(t, func(v uint64) { dropped = append(dropped, v) })
	n, err := c.SendBatch(context.Background(), counted(k.Capacity+extra, 0))
	wantN, wantErr := k.Capacity+extra, error(nil)
	if k.Overflow == sluice.Reject {
		wantN, wantErr = k.Capacity, sluice.ErrFull
	}
	if n != wantN || err != wantErr {
		t.Fatalf("SendBatch of %d into room for %d under %v: %d, %v, want %d, %v",
			k.Capacity+extra, k.Capacity, k.Overflow, n, err, wantN, wantErr)
	}
	c.Close()
	all := dropped
	for v := range allOf(context.Background(), c) {
		all = append(all, v)
	}
	if slices.Sort(all); !slices.Equal(all, counted(n, 0)) {
		t.Fatalf("SendBatch returned %d, but %v were received or dropped", n, all)
	}
	if k.drops() && len(dropped) != extra {
		t.Fatalf("SendBatch of %d too many dropped %v", extra, dropped)
	}
}

// testStaysFull: a send that drops a value leaves the channel full at every
// moment.
func (k Kind) testStaysFull(t *testing.T) {
	c := k.numbers(t)
	fill(t, k, c)
	var busy atomic.Bool
	var sender sync.WaitGroup
	busy.Store(true)
	sender.Go(func() {
		defer busy.Store(false)
		for i := range k.rounds(20000) {
			if err := c.TrySend(uint64(i)); err != nil {
				t.Errorf("TrySend to a full channel that drops: %v", err)
			}
		}
	})
	for busy.Load() {
		if n := c.Len(); n != k.Capacity {
			t.Errorf("Len is %d of a full channel of %d", n, k.Capacity)
			break
		}
	}
	sender.Wait()
}

// testDropReenters: OnUndelivered runs without a lock held, so it may use the channel.
func (k Kind) testDropReenters(t *testing.T) {
	var c Channel[uint64]
	var dropped []uint64
	c = k.dropping(t, func(v uint64) {
		dropped = append(dropped, v)
		_, _ = c.Len(), c.Stats()
		if len(dropped) > 1 {
			return
		}
		// Make room and fill it again: the first drop must not cause a second.
		if _, err := c.TryRecv(); err == nil {
			if err := c.TrySend(77); err != nil {
				t.Errorf("TrySend within OnUndelivered: %v", err)
			}
		}
	})
	fill(t, k, c)
	p := start(func(p *call) {
		defer func() {
			if reason := recover(); reason != nil {
				p.err, p.done = fmt.Errorf("panic: %v", reason), true
			}
		}()
		p.err = c.Send(context.Background(), 99)
	})
	p.returned(t, "a Send whose OnUndelivered uses the channel", nil)
	if len(dropped) != 1 {
		t.Fatalf("OnUndelivered saw %v, want one value", dropped)
	}
	if c.Len() != k.Capacity {
		t.Fatalf("Len is %d after OnUndelivered took one and sent one, want %d", c.Len(), k.Capacity)
	}
}

// testDropPanics: a panic in OnUndelivered reaches the caller of Send, and the channel
// remains usable.
func (k Kind) testDropPanics(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("dropped") }, "Goexit": runtime.Goexit} {
		calls := 0
		c := k.dropping(t, func(uint64) {
			if calls++; calls == 1 {
				fail()
			}
		})
		fill(t, k, c)
		var recovered any
		p := start(func(p *call) {
			defer func() {
				recovered = recover()
				p.done = true
			}()
			p.err = c.Send(context.Background(), 99)
		})
		p.returned(t, "a Send whose OnUndelivered ends in "+name, nil)
		if name == "panic" && recovered != "dropped" {
			t.Fatalf("the panic of OnUndelivered reached the caller of Send as %v", recovered)
		}
		for range 3 {
			p = startSend(context.Background(), c, 98)
			p.returned(t, "a Send after OnUndelivered ended in "+name, nil)
		}
		c.Close()
		if n := drain(c); n != k.Capacity || calls != 4 {
			t.Fatalf("after a %s in OnUndelivered: %d received, %d dropped, want %d, 4", name, n, calls, k.Capacity)
		}
	}
}

// testDropFlow: when senders outrun the receivers, every value is received or
// passed to OnUndelivered, exactly once.
func (k Kind) testDropFlow(t *testing.T) {
	for _, shape := range k.shapes([][2]int{{1, 1}, {8, 1}, {8, 8}}) {
		f := newFlow(k, shape[0], shape[1], k.rounds(6000))
		f.receive = func(c Channel[uint64], got func(uint64)) {
			recvEach(c, func(v uint64) {
				got(v)
				yield()
			})
		}
		f.run(t)
	}
}
