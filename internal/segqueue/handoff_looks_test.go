package segqueue

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
)

func TestLookBeforePark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // parking would be a deadlock
		for _, prepare := range []func(*Engine[int]){
			func(e *Engine[int]) { _ = e.TrySend(1) },
			func(e *Engine[int]) { e.Close() },
		} {
			e := New(engine.Config[int]{Limit: 20})
			prepare(e)
			receiver := turn{receives: true}
			for !receiver.wait.Joined() {
				if e.awaitValue(context.Background(), &receiver) {
					t.Fatal("a receiver was handed a value that nobody has sent")
				}
			}
			if receiver.wait.Queued() || !e.receivers.Idle() {
				t.Error("a receiver that is about to poll is in the queue")
			}
			receiver.wait.Leave()
		}
	})
}

func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, elastic := range []bool{false, true} {
			e := New(engine.Config[int]{Limit: 20, Elastic: elastic})
			e.recv.yields.Record(false) // until yields are no longer tried
			for e.recv.yields.Pay() {
				e.recv.yields.Record(false)
			}
			is := func(want bool, when string) {
				if got := e.recv.word.Load()&flags == quiet; got != want {
					t.Fatalf("quiet is %v %s", got, when)
				}
			}
			for v := range 3 * 256 { // some of these try to spin and yield
				r := recvLater(context.Background(), e)
				_ = e.TrySend(v)
				if synctest.Wait(); r.v != v || r.err != nil {
					t.Fatalf("received %d, %v, want %d", r.v, r.err, v)
				}
			}
			is(true, "after hand-offs")
			if _, err := e.TryRecv(); err != engine.ErrEmpty {
				t.Errorf("TryRecv of an empty channel: %v", err)
			}
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := e.Recv(ended); err != context.Canceled {
				t.Errorf("Recv with a context that has ended: %v", err)
			}
			_ = e.TrySend(7)
			if v, err := e.Recv(ended); v != 7 || err != nil {
				t.Errorf("received %d, %v, want 7", v, err)
			}
			is(false, "after a value in the chain")
			r := recvLater(context.Background(), e)
			_ = e.TrySend(8)
			synctest.Wait()
			is(true, "after one more hand-off")
			e.Close()
			if _, err := e.Recv(context.Background()); err != engine.ErrClosed || r.v != 8 {
				t.Errorf("Recv of a closed channel: %v; received %d", err, r.v)
			}
			if s := e.Stats(); s.Sent != 3*256+2 || s.Received != s.Sent || s.RecvWaits != 3*256+1 {
				t.Errorf("%+v", s)
			}
		}
	})
}

type intruder struct {
	context.Context
	does func()
}

func (m intruder) Done() <-chan struct{} {
	m.does()
	return m.Context.Done()
}

func TestLookInTheSeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // parking would be a deadlock
		for _, quietly := range []bool{false, true} {
			for name, test := range map[string]struct {
				does func(*Engine[int])
				v    int
				err  error
			}{
				"a value": {func(e *Engine[int]) { _ = e.TrySend(5) }, 5, nil},
				"a batch": {func(e *Engine[int]) { _, _ = e.SendBatch(context.Background(), []int{5, 6}) }, 5, nil},
				"Close":   {func(e *Engine[int]) { e.Close() }, 0, engine.ErrClosed},
			} {
				e := New(engine.Config[int]{Limit: 20})
				for e.recv.yields.Pay() {
					e.recv.yields.Record(false)
				}
				for range 2 { // the first waiter becomes the seat
					_ = recvLater(context.Background(), e)
					_ = e.TrySend(1)
					synctest.Wait()
				}
				if !quietly {
					_ = e.TrySend(1)
					_, _ = e.TryRecv()
				}
				v, err := e.Recv(intruder{context.Background(), func() { test.does(e) }})
				if v != test.v || err != test.err || !e.receivers.Idle() {
					t.Errorf("%s, quietly %v: %d, %v; idle %v", name, quietly, v, err, e.receivers.Idle())
				}
			}
		}
	})
}

func TestLucky(t *testing.T) {
	for _, step := range []uint64{1, 2, 7, 128, 256, 1024, 1 << 20} {
		n := 0
		for i := range uint64(256 * 100) {
			if lucky(i * step) {
				n++
			}
		}
		if n < 50 || n > 200 {
			t.Errorf("%d of %d numbers in steps of %d, want about 100", n, 256*100, step)
		}
	}
}
