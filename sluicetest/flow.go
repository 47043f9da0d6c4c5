package sluicetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
)

// A flow sends numbered values through one channel, with several goroutines on
// each side, and accounts for every value.
type flow struct {
	k                  Kind
	senders, receivers int
	each               int // values per sender
	// send sends all of vs; receive receives until the channel is closed and
	// drained.
	send    func(c Channel[uint64], sender int, vs []uint64) error
	receive func(c Channel[uint64], got func(uint64))
}

// newFlow returns a flow of about total values that sends one value per call.
func newFlow(k Kind, senders, receivers, total int) *flow {
	return &flow{
		k: k, senders: senders, receivers: receivers, each: max(2, k.fewer(total)/senders),
		send:    func(c Channel[uint64], _ int, vs []uint64) error { return sendEach(c, vs) },
		receive: recvEach,
	}
}

// value returns the number of a sender's i-th value; apart splits it again.
func value(sender, i int) uint64     { return uint64(sender)<<32 | uint64(i) }
func apart(v uint64) (sender, i int) { return int(v >> 32), int(v & (1<<32 - 1)) }

// run sends all values, closes the channel, and checks the accounts: every
// value was received once or dropped once, and each receiver got the values of
// one sender in order.
func (f *flow) run(t *testing.T) {
	t.Helper()
	var dropped ledger
	c := f.k.dropping(t, dropped.add)
	var senders, receivers sync.WaitGroup
	errs := make([]error, f.senders)
	for s := range f.senders {
		senders.Go(func() {
			vs := make([]uint64, f.each)
			for i := range vs {
				vs[i] = value(s, i)
			}
			errs[s] = f.send(c, s, vs)
		})
	}
	received := make([]ledger, f.receivers)
	for r := range f.receivers {
		receivers.Go(func() { f.receive(c, received[r].add) })
	}
	senders.Wait()
	c.Close()
	receivers.Wait()
	for s, err := range errs {
		if err != nil {
			t.Fatalf("%d to %d: sender %d: %v", f.senders, f.receivers, s, err)
		}
	}
	if err := f.account(&dropped, received); err != nil {
		t.Fatalf("%d to %d: %v", f.senders, f.receivers, err)
	}
}

// A ledger records values in the order of their arrival.
type ledger struct {
	mu     sync.Mutex
	values []uint64
}

func (l *ledger) add(v uint64) {
	l.mu.Lock()
	l.values = append(l.values, v)
	l.mu.Unlock()
}

// account checks that every value sent was received or dropped exactly once, in
// the order that k guarantees.
func (f *flow) account(dropped *ledger, received []ledger) error {
	seen := make([][]bool, f.senders)
	for s := range seen {
		seen[s] = make([]bool, f.each)
	}
	count := 0
	book := func(v uint64, how string) error {
		s, i := apart(v)
		if s >= f.senders || i >= f.each {
			return fmt.Errorf("%s %#x, which was never sent", how, v)
		}
		if seen[s][i] {
			return fmt.Errorf("value %d of sender %d: %s, but it had already been received or dropped", i, s, how)
		}
		seen[s][i] = true
		count++
		return nil
	}
	for _, v := range dropped.values {
		if err := book(v, "dropped"); err != nil {
			return err
		}
	}
	for r := range received {
		last := make([]int, f.senders)
		for _, v := range received[r].values {
			if err := book(v, "received"); err != nil {
				return err
			}
			s, i := apart(v)
			if i+1 <= last[s] && f.k.Order != AnyOrder {
				return fmt.Errorf("receiver %d got value %d of sender %d after its value %d", r, i, s, last[s]-1)
			}
			last[s] = i + 1
		}
	}
	if want := f.senders * f.each; count != want {
		return fmt.Errorf("%d of %d values are lost", want-count, want)
	}
	return nil
}

// shapes removes the numbers of senders and receivers that k does not allow.
func (k Kind) shapes(all [][2]int) (allowed [][2]int) {
	for _, shape := range all {
		if k.senders(shape[0]) == shape[0] && k.receivers(shape[1]) == shape[1] {
			allowed = append(allowed, shape)
		}
	}
	return allowed
}

// testFlow: with any number of goroutines and any mix of calls, no value is
// lost or duplicated, and the order is kept.
func testFlow(t *testing.T, k Kind) {
	shapes := k.shapes([][2]int{
		{1, 1}, {2, 2}, {8, 1}, {1, 10}, {64, 64}, {2, 1}, {1, 2}, {8, 8}, {64, 1}, {1, 64},
	})
	if k.quick() {
		shapes = shapes[:min(len(shapes), 5)]
	}
	k.inBothWorlds(t, func(t *testing.T) {
		for _, shape := range shapes {
			total := k.rounds(6000)
			newFlow(k, shape[0], shape[1], total).run(t)

			mixed := newFlow(k, shape[0], shape[1], total)
			mixed.send = sendMixed
			mixed.receive = recvMixed
			mixed.run(t)
		}
	})
}

func sendEach(c Channel[uint64], vs []uint64) error {
	for _, v := range vs {
		if err := insist(func() error { return c.Send(context.Background(), v) }); err != nil {
			return err
		}
	}
	return nil
}

// insist repeats op while the channel has no room.
func insist(op func() error) error {
	for {
		err := op()
		if err != sluice.ErrFull {
			return err
		}
		runtime.Gosched()
	}
}

func recvEach(c Channel[uint64], got func(uint64)) {
	for {
		v, err := c.Recv(context.Background())
		if err != nil {
			return
		}
		got(v)
	}
}

// sendMixed uses a different way of sending for each sender.
func sendMixed(c Channel[uint64], sender int, vs []uint64) error {
	ctx := context.Background()
	for len(vs) > 0 {
		n, err := 0, error(nil)
		switch (sender + len(vs)/32) % 4 {
		case 0:
			err = c.Send(ctx, vs[0])
		case 1:
			err = c.TrySend(vs[0])
		default:
			size := min(len(vs), 1+rand.IntN(40))
			if n, err = c.SendBatch(ctx, vs[:size]); err == nil {
				n--
			}
		}
		switch err {
		case nil:
			vs = vs[n+1:]
		case sluice.ErrFull:
			vs = vs[n:]
			runtime.Gosched()
		default:
			return err
		}
	}
	return nil
}

// recvMixed cycles through all ways of receiving.
func recvMixed(c Channel[uint64], got func(uint64)) {
	ctx := context.Background()
	buf := make([]uint64, 33)
	for {
		err := error(nil)
		var v uint64
		switch rand.IntN(6) {
		case 0:
			if v, err = c.Recv(ctx); err == nil {
				got(v)
			}
		case 1:
			if v, err = c.TryRecv(); err == nil {
				got(v)
			} else if err == sluice.ErrEmpty {
				runtime.Gosched()
				err = nil
			}
		case 2:
			var n int
			n, err = c.RecvBatch(ctx, buf[:1+rand.IntN(len(buf))])
			for _, v := range buf[:n] {
				got(v)
			}
		case 3:
			left := 1 + rand.IntN(8)
			for v := range allOf(ctx, c) {
				got(v)
				if left--; left == 0 {
					break
				}
			}
		case 4:
			if c, ok := c.(tryBatcher); ok {
				var n int
				n, err = c.TryRecvBatch(buf[:1+rand.IntN(len(buf))])
				for _, v := range buf[:n] {
					got(v)
				}
				if err == sluice.ErrEmpty {
					runtime.Gosched()
					err = nil
				}
			}
		case 5:
			if c, ok := c.(drainer); ok {
				for v := range c.Drain() {
					got(v)
				}
			}
		}
		if err != nil {
			return
		}
	}
}
