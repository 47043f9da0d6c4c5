package sluicetest

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice"
)

// testOneshot: a channel for one value, used by two new goroutines: the first
// park and wake-up of each.
func testOneshot(t *testing.T, k Kind) {
	k.inBothWorlds(t, func(t *testing.T) {
		for i := range k.fewer(k.rounds(500)) {
			c := k.numbers(t)
			var both sync.WaitGroup
			both.Go(func() {
				if err := sendEach(c, []uint64{uint64(i)}); err != nil {
					t.Errorf("Send: %v", err)
				}
				if i%2 == 0 {
					c.Close()
				}
			})
			both.Go(func() {
				if k.Overflow == sluice.DropNewest && k.Capacity == 0 {
					return // the value may be dropped
				}
				if v, err := c.Recv(context.Background()); v != uint64(i) || err != nil {
					t.Errorf("Recv: %d, %v, want %d", v, err, i)
				}
			})
			both.Wait()
		}
	})
}

// testTryContention: Try operations fail only for the documented reason, even
// under contention.
func testTryContention(t *testing.T, k Kind) {
	const goroutines = 4
	// A remote kind may show the operations of other goroutines late.
	if k.Capacity >= goroutines && !k.OneSender && !k.OneReceiver && !k.Remote {
		t.Run("own value", func(t *testing.T) { k.testOwnValue(t, goroutines) })
	}
	if k.Capacity > 1 && !k.Remote {
		t.Run("length", k.testLength)
	}
	if k.Capacity > 0 && !k.OneReceiver && !k.Remote {
		t.Run("closing", k.testTryRecvClosing)
	}
	if k.Overflow == sluice.Block {
		t.Run("poll", k.testPoll)
	}
}

// testOwnValue: there are never more values queued than goroutines, so each
// goroutine has room to send, and finds a value to receive after its own send.
func (k Kind) testOwnValue(t *testing.T, goroutines int) {
	for _, try := range []bool{true, false} {
		c := k.numbers(t)
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for i := range k.rounds(3000) {
					send := c.TrySend
					if !try {
						send = func(v uint64) error { return c.Send(context.Background(), v) }
					}
					if err := send(value(g, i)); err != nil {
						t.Errorf("a send to a channel that is not full: %v", err)
						return
					}
					if _, err := c.TryRecv(); err != nil {
						t.Errorf("TryRecv after the goroutine's own send: %v", err)
						return
					}
				}
			})
		}
		all.Wait()
		if c.Len() != 0 {
			t.Fatalf("Len is %d after as many receives as sends", c.Len())
		}
	}
}

// testLength: one goroutine puts a value in and takes it out again, so no
// observer ever sees more than one.
func (k Kind) testLength(t *testing.T) {
	c := k.numbers(t)
	var busy atomic.Bool
	var worker sync.WaitGroup
	busy.Store(true)
	worker.Go(func() {
		defer busy.Store(false)
		for i := range 5000 + k.rounds(15000) {
			if err := c.TrySend(uint64(i)); err != nil {
				t.Errorf("TrySend to an empty channel: %v", err)
			}
			if _, err := c.TryRecv(); err != nil {
				t.Errorf("TryRecv after the goroutine's own send: %v", err)
			}
		}
	})
	for busy.Load() {
		if n := c.Len(); n < 0 || n > 1 {
			t.Errorf("Len is %d of a channel that never held more than one value", n)
			break
		}
		if s := c.Stats(); s.Len > 1 || s.HighWater > 1 {
			t.Errorf("a channel that never held more than one value: Len %d, HighWater %d", s.Len, s.HighWater)
			break
		}
	}
	worker.Wait()
}

// testTryRecvClosing: a channel that holds a value until it is closed is never
// both empty and open.
func (k Kind) testTryRecvClosing(t *testing.T) {
	for range k.rounds(2000) {
		c := k.numbers(t)
		mustSend(t, c, 1)
		var other sync.WaitGroup
		other.Go(func() {
			if _, err := c.TryRecv(); err == sluice.ErrEmpty {
				t.Errorf("TryRecv of a channel that holds a value, or is closed: %v", err)
			}
		})
		c.Close()
		_, _ = c.TryRecv()
		other.Wait()
		if t.Failed() {
			return
		}
	}
}

// testPoll: both sides use only Try operations; every value arrives. Without a
// buffer, two Try operations never pair: there, the receivers wait.
func (k Kind) testPoll(t *testing.T) {
	for _, shape := range k.shapes([][2]int{{1, 1}, {4, 4}}) {
		f := newFlow(k, shape[0], shape[1], k.rounds(4000))
		f.send = func(c Channel[uint64], _ int, vs []uint64) error {
			for _, v := range vs {
				if err := insist(func() error { return c.TrySend(v) }); err != nil {
					return err
				}
			}
			return nil
		}
		if k.Capacity > 0 {
			f.receive = func(c Channel[uint64], got func(uint64)) {
				for {
					switch v, err := c.TryRecv(); err {
					case nil:
						got(v)
					case sluice.ErrEmpty:
						runtime.Gosched()
					default:
						return
					}
				}
			}
		}
		f.run(t)
	}
}

// testCloseStorm closes at a random moment. Accepted values come out, refused
// values do not, and no goroutine stays parked.
func testCloseStorm(t *testing.T, k Kind) {
	k.inBothWorlds(t, func(t *testing.T) {
		for _, shape := range k.shapes([][2]int{{1, 1}, {3, 3}, {8, 2}, {2, 8}}) {
			for range k.fewer(20 + k.rounds(20)) {
				k.closeOnce(t, shape[0], shape[1])
				if t.Failed() {
					return
				}
			}
		}
	})
}

// closeOnce closes a channel while senders with values left, and receivers, use
// it or wait.
func (k Kind) closeOnce(t *testing.T, senders, receivers int) {
	var dropped ledger
	c := k.dropping(t, dropped.add)
	accepted := make([]int, senders)
	var all sync.WaitGroup
	var moves atomic.Int64
	budget := rand.IntN(60)
	for s := range senders {
		all.Go(func() {
			for i := 0; i < budget; {
				moves.Add(1)
				n, err := 1, error(nil)
				if s%3 == 2 {
					n, err = c.SendBatch(context.Background(), []uint64{value(s, i), value(s, i+1)})
				} else if err = c.Send(context.Background(), value(s, i)); err != nil {
					n = 0
				}
				i += n
				accepted[s] = i
				if err == sluice.ErrClosed {
					return
				} else if err != nil || i%4 == 0 {
					yield()
				}
			}
		})
	}
	received := make([]ledger, receivers)
	for r := range receivers {
		receive := recvMixed
		if r%2 == 0 {
			receive = recvEach
		}
		all.Go(func() { receive(c, received[r].add) })
	}
	limit, timeout := rand.Int64N(int64(senders*budget+1)), rand.IntN(400)
	for i := 0; i < timeout && moves.Load() < limit; i++ {
		runtime.Gosched()
	}
	c.Close()
	all.Wait()
	checkDrained(t, c)
	out := dropped.values
	for r := range received {
		out = append(out, received[r].values...)
	}
	sent := 0
	for _, n := range accepted {
		sent += n
	}
	if sent != len(out) {
		t.Errorf("%d to %d: %d sent before Close, %d received or dropped", senders, receivers, sent, len(out))
	}
	for _, v := range out {
		if s, i := apart(v); s >= senders || i >= accepted[s] {
			t.Errorf("value %d of sender %d came out, of which %d were accepted", i, s, accepted[s])
		}
	}
}

// A stormer is a worker of a cancel storm: any goroutine may cancel its current
// operation.
type stormer struct {
	cancel atomic.Pointer[context.CancelFunc]
}

// attempt runs op with a context that the storm may cancel.
func (s *stormer) attempt(wrap func(context.Context) context.Context, op func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.cancel.Store(&cancel)
	if rand.IntN(8) == 0 {
		yield() // otherwise goroutines on one processor run in lockstep
	}
	return op(wrap(ctx))
}

// testCancelStorm continuously cancels random waiting operations. Each is
// retried until it succeeds, so a value delivered despite an error appears
// twice, and a lost value is missing.
func testCancelStorm(t *testing.T, k Kind) {
	k.storm(t, func(ctx context.Context) context.Context { return ctx })
}

// testChaosContext is a storm with contexts that yield the processor when
// called.
func testChaosContext(t *testing.T, k Kind) {
	k.storm(t, func(ctx context.Context) context.Context { return chaos{ctx} })
}

func (k Kind) storm(t *testing.T, wrap func(context.Context) context.Context) {
	k.inBothWorlds(t, func(t *testing.T) {
		for _, shape := range k.shapes([][2]int{{1, 1}, {2, 2}, {3, 1}, {1, 3}, {8, 8}}) {
			k.stormOnce(t, shape[0], shape[1], wrap)
			if t.Failed() {
				return
			}
		}
	})
}

func (k Kind) stormOnce(t *testing.T, senders, receivers int, wrap func(context.Context) context.Context) {
	const total = 2000
	workers := make([]stormer, senders+receivers)
	var calm atomic.Bool
	var storm sync.WaitGroup
	storm.Go(func() {
		// The storm ends eventually: a bubble detects that the other goroutines
		// hang only if no goroutine keeps running.
		for gusts := 0; gusts < 20*total && !calm.Load(); gusts++ {
			// Cancel several at once: a waiter may be served by another one
			// that is itself leaving.
			for range 1 + rand.IntN(3) {
				if cancel := workers[rand.IntN(len(workers))].cancel.Swap(nil); cancel != nil {
					(*cancel)()
				}
			}
			yield()
		}
	})
	defer storm.Wait()
	defer calm.Store(true)
	f := newFlow(k, senders, receivers, k.rounds(total))
	f.send = func(c Channel[uint64], sender int, vs []uint64) error {
		for len(vs) > 0 {
			n := 0
			err := workers[sender].attempt(wrap, func(ctx context.Context) (err error) {
				if (sender+len(vs)/16)%3 == 0 {
					n, err = c.SendBatch(ctx, vs[:min(len(vs), 5)])
				} else if err = c.Send(ctx, vs[0]); err == nil {
					n = 1
				}
				return err
			})
			if vs = vs[n:]; err == sluice.ErrClosed {
				return err
			}
			if err != nil {
				runtime.Gosched()
			}
		}
		return nil
	}
	next := atomic.Int64{}
	f.receive = func(c Channel[uint64], got func(uint64)) {
		me := &workers[senders+int(next.Add(1))-1]
		buf := make([]uint64, 4)
		for i := 0; ; i++ {
			n := 0
			err := me.attempt(wrap, func(ctx context.Context) (err error) {
				if i%4 == 0 {
					n, err = c.RecvBatch(ctx, buf)
				} else if buf[0], err = c.Recv(ctx); err == nil {
					n = 1
				}
				return err
			})
			for _, v := range buf[:n] {
				got(v)
			}
			if err == sluice.ErrClosed {
				return
			}
		}
	}
	f.run(t)
}
