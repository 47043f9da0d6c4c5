package batch_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// A Close that is canceled leaves a closed Sender whose timer is still flushing.
// TakeUnsent ends that flush and returns all values.
func TestSenderCloseCancelled(t *testing.T) {
	for _, unsent := range []bool{false, true} {
		inStuckBubbles(t, func(t *testing.T, c sluice.Channel[int], b *batch.Sender[int]) {
			mustAccept(t, b, 2)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if err := b.Close(ctx); err != context.DeadlineExceeded {
				t.Errorf("Close: %v", err)
			}
			if err := b.Send(t.Context(), 3); err != sluice.ErrClosed {
				t.Errorf("Send after Close: %v", err)
			}
			if unsent {
				if rest := b.TakeUnsent(); !slices.Equal(rest, sequence(3)) || b.Len() != 0 {
					t.Errorf("TakeUnsent is %v, Len %d", rest, b.Len())
				}
				return
			}
			got := receive(t, c, 2)
			time.Sleep(time.Hour)
			if b.Len() != 1 {
				t.Errorf("%d are left after Close", b.Len())
			}
			go func() {
				if err := b.Close(t.Context()); err != nil {
					t.Errorf("Close again: %v", err)
				}
			}()
			if got = append(got, receive(t, c, 1)...); !slices.Equal(got, sequence(3)) {
				t.Errorf("received %v", got)
			}
		})
	}
}

// TakeUnsent cancels a flush by the timer. The Sender can still be used, with its timer.
func TestSenderUnsentDuringFlush(t *testing.T) {
	inStuckBubbles(t, func(t *testing.T, c sluice.Channel[int], b *batch.Sender[int]) {
		mustAccept(t, b, 2, 3)
		if rest := b.TakeUnsent(); !slices.Equal(rest, sequence(4)) {
			t.Errorf("TakeUnsent is %v", rest)
		}
		for v, err := c.TryRecv(); err == nil; v, err = c.TryRecv() {
			if v >= 0 {
				t.Errorf("%d was sent, and taken back", v)
			}
		}
		for range 2 {
			mustAccept(t, b, 0, 1)
			if got := receive(t, c, 2); !slices.Equal(got, sequence(2)) {
				t.Errorf("received %v", got)
			}
		}
	})
}

// Values that were sent are not returned by TakeUnsent.
func TestSenderUnsentAfterPart(t *testing.T) {
	for _, capacity := range slotted {
		synctest.Test(t, func(t *testing.T) {
			c, b := stuckSender(t, capacity)
			got := []int{}
			for range capacity + 1 {
				v, _ := c.Recv(t.Context())
				synctest.Wait()
				if v >= 0 {
					got = append(got, v)
				}
			}
			rest := b.TakeUnsent()
			c.Close()
			for v, err := c.TryRecv(); err == nil; v, err = c.TryRecv() {
				if v >= 0 {
					got = append(got, v)
				}
			}
			if all := append(got, rest...); !slices.Equal(all, sequence(2)) || len(rest) == 2 {
				t.Errorf("capacity %d: received %v, taken back %v", capacity, got, rest)
			}
		})
	}
}

// The channel is closed under a flush by the timer: the goroutine ends, and each call of
// the owner fails until it takes its values out.
func TestSenderClosedBelow(t *testing.T) {
	inStuckBubbles(t, func(t *testing.T, c sluice.Channel[int], b *batch.Sender[int]) {
		mustAccept(t, b, 2)
		c.Close()
		synctest.Wait()
		for i, call := range []func() error{
			func() error { return b.Send(t.Context(), -1) },
			func() error { return b.Flush(t.Context()) },
			func() error { time.Sleep(2 * time.Second); synctest.Wait(); return b.TrySend(-1) },
			func() error { return b.Close(t.Context()) },
		} {
			if err := call(); err != sluice.ErrClosed {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if rest := b.TakeUnsent(); !slices.Equal(rest, sequence(3)) {
			t.Errorf("TakeUnsent is %v", rest)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Errorf("Close with nothing left: %v", err)
		}
	})
}

// A waiting Send fails when the channel is closed under a flush by the timer.
func TestSenderClosedUnderWaitingSend(t *testing.T) {
	inStuckBubbles(t, func(t *testing.T, c sluice.Channel[int], b *batch.Sender[int]) {
		mustAccept(t, b, 2, 3, 4)
		ended := make(chan error)
		go func() { ended <- b.Send(t.Context(), -1) }()
		synctest.Wait()
		c.Close()
		if err := <-ended; err != sluice.ErrClosed {
			t.Errorf("Send: %v", err)
		}
		if rest := b.TakeUnsent(); !slices.Equal(rest, sequence(5)) {
			t.Errorf("TakeUnsent is %v", rest)
		}
	})
}

// Under Reject, a flush by the timer fails. The next call of the owner repeats it first;
// if that fails too, the timer tries once more.
func TestSenderRejected(t *testing.T) {
	for _, roomAgain := range []bool{false, true} {
		for _, capacity := range []int{1, 16} {
			synctest.Test(t, func(t *testing.T) {
				c := open(shape{capacity: capacity, overflow: sluice.Reject}, nil)
				for c.TrySend(-1) == nil {
				}
				b := batch.NewSender(c, 4, withLinger(time.Second))
				mustAccept(t, b, 0, 1)
				time.Sleep(time.Hour)
				if roomAgain {
					for c.Len() > 0 {
						_, _ = c.TryRecv()
					}
				}
				err := b.Send(t.Context(), 2)
				switch {
				case !roomAgain || capacity == 1: // there is room for one of two
					if err != sluice.ErrFull {
						t.Errorf("Send after a failed flush: %v", err)
					}
				case err != nil || b.Len() != 1:
					t.Errorf("Send after a failed flush, with room: %v, %d held", err, b.Len())
				}
				for c.Len() > 0 {
					_, _ = c.TryRecv()
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if capacity > 1 && b.Len() != 0 {
					t.Errorf("the timer did not try again: %d held", b.Len())
				}
				if err := b.TrySend(3); err != nil {
					t.Errorf("TrySend: %v", err)
				}
			})
		}
	}
}

// The owner makes no other call: the values arrive, and no goroutine is left.
func TestSenderAbandoned(t *testing.T) {
	for _, capacity := range slotted {
		synctest.Test(t, func(t *testing.T) {
			c := kindOf(capacity)
			func() { mustAccept(t, batch.NewSender(c, 10, withLinger(time.Second)), sequence(5)...) }()
			start := time.Now()
			if got := receive(t, c, 5); !slices.Equal(got, sequence(5)) || time.Since(start) != time.Second {
				t.Errorf("received %v after %v", got, time.Since(start))
			}
		})
	}
}

// The channel calls Goexit in the goroutine of the timer: the next call tries again.
func TestSenderGoexitBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		b := batch.NewSender(r, 3, withLinger(time.Second))
		r.act = runtime.Goexit
		mustAccept(t, b, 0, 1)
		time.Sleep(time.Second)
		synctest.Wait()
		r.act = nil
		mustAccept(t, b, 2)
		if !slices.Equal(r.all(), sequence(2)) || b.Len() != 1 {
			t.Errorf("sent %v, %d held", r.all(), b.Len())
		}
	})
}
