package batch_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/internal/stage"
)

var errBroken = errors.New("broken")

// breaking is a receiver that fails once it has delivered some values.
type breaking struct {
	*sluice.Bounded[int]
	values int
}

func (b *breaking) RecvBatch(ctx context.Context, buf []int) (int, error) {
	if b.values == 0 {
		return 0, errBroken
	}
	n, err := b.Bounded.RecvBatch(ctx, buf[:min(len(buf), b.values)])
	b.values -= n
	return n, err
}

// panicking is a receiver that panics once it has delivered some values.
type panicking struct{ breaking }

func (p *panicking) RecvBatch(ctx context.Context, buf []int) (int, error) {
	n, err := p.breaking.RecvBatch(ctx, buf)
	if err == errBroken {
		panic(errBroken)
	}
	return n, err
}

// An ending is a way in which a loop over batches ends early.
type ending struct {
	body func(cancel context.CancelFunc) (leave bool) // called with the first batch
	wrap func(*sluice.Bounded[int]) (r receiver)      // the channel to receive from
	err  error                                        // what Err returns after it
}

type receiver = sluice.BatchReceiver[int]

func itself(c *sluice.Bounded[int]) receiver { return c }

// endings are all ways. A channel that fails does so after its first four values.
var endings = map[string]ending{
	"break":               {func(context.CancelFunc) bool { return true }, itself, nil},
	"panic":               {func(context.CancelFunc) bool { panic("body") }, itself, nil},
	"Goexit":              {func(context.CancelFunc) bool { runtime.Goexit(); return true }, itself, nil},
	"context, then break": {func(cancel context.CancelFunc) bool { cancel(); return true }, itself, nil},
	"error of the channel": {
		func(context.CancelFunc) bool { return false },
		func(c *sluice.Bounded[int]) receiver { return &breaking{c, 4} }, errBroken,
	},
	"panic of the channel": {
		func(context.CancelFunc) bool { return false },
		func(c *sluice.Bounded[int]) receiver { return &panicking{breaking{c, 4}} }, nil,
	},
}

// loopOnce ranges over the batches once, in a goroutine that may panic or exit.
func loopOnce(batches *batch.Batches[int], body func() bool) (got []int) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = recover() }()
		for vs := range batches.All() {
			got = append(got, vs...)
			if body() {
				break
			}
		}
	}()
	<-ended
	return got
}

// TestReceiveEndsEarly: whichever way a loop ends early, waiting senders get ErrClosed,
// and every value that was accepted is yielded or still queued. The bubble ends only if
// all goroutines do.
func TestReceiveEndsEarly(t *testing.T) {
	for name, end := range endings {
		for _, linger := range []time.Duration{0, time.Second} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := sluice.NewBounded[int](4, nil)
					mustSend(t, c, 0, 1, 2, 3)
					refused := make(chan error)
					accepted := []int{0, 1, 2, 3}
					go func() {
						for v := 4; ; v++ {
							if err := c.Send(context.Background(), v); err != nil {
								refused <- err
								return
							}
							accepted = append(accepted, v)
						}
					}()
					synctest.Wait()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					batches := batch.Receive(ctx, end.wrap(c), 4, withLinger(linger))
					got := loopOnce(batches, func() bool { return end.body(cancel) })
					if err := batches.Err(); err != end.err {
						t.Errorf("Err: %v, want %v", err, end.err)
					}
					if err := <-refused; !errors.Is(err, sluice.ErrClosed) {
						t.Errorf("Send after the end: %v", err)
					}
					if len(got) != 4 {
						t.Errorf("yielded %v, want four values", got)
					}
					for v := range c.Drain() {
						got = append(got, v)
					}
					if !slices.Equal(got, accepted) {
						t.Errorf("yielded or left: %v, accepted: %v", got, accepted)
					}
				})
			})
		}
	}
}

// TestReceiveEndsByContext: the context ends a loop that waits, with and without a batch
// begun. Then sends fail.
func TestReceiveEndsByContext(t *testing.T) {
	for _, linger := range []time.Duration{0, time.Hour} {
		for _, queued := range []int{0, 3} {
			synctest.Test(t, func(t *testing.T) {
				c := sluice.NewElastic[int](10, nil)
				mustSend(t, c, sequence(queued)...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				batches := batch.Receive(ctx, c, 5, withLinger(linger))
				got := loopOnce(batches, func() bool { return false })
				if err := batches.Err(); err != context.DeadlineExceeded || len(got) != queued {
					t.Errorf("linger %v: yielded %v, Err: %v", linger, got, err)
				}
				if err := c.TrySend(1); err != sluice.ErrClosed {
					t.Errorf("TrySend after the end: %v", err)
				}
			})
		}
	}
}

// TestReceiveEndsClean: a context that is canceled while a closed channel is drained
// does not end the loop, and is not reported.
func TestReceiveEndsClean(t *testing.T) {
	for _, linger := range []time.Duration{0, time.Hour} {
		inBubbles(t, func(t *testing.T, s sluice.Sender[int], r sluice.BatchReceiver[int]) {
			mustSend(t, s, sequence(10)...)
			s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			batches := batch.Receive(ctx, r, 4, withLinger(linger))
			got := loopOnce(batches, func() bool { cancel(); return false })
			if err := batches.Err(); err != nil || !slices.Equal(got, sequence(10)) {
				t.Errorf("linger %v: yielded %v, Err: %v", linger, got, err)
			}
		})
	}
}

// TestReceiveClosedDuringBody: the context ends a batch that lingers, and the channel is
// closed before the loop would wait again: nothing is missing, so Err is nil.
func TestReceiveClosedDuringBody(t *testing.T) {
	inBubbles(t, func(t *testing.T, s sluice.Sender[int], r sluice.BatchReceiver[int]) {
		mustSend(t, s, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		batches := batch.Receive(ctx, r, 4, withLinger(time.Hour))
		got := loopOnce(batches, func() bool {
			if ctx.Err() != nil {
				_ = s.TrySend(1)
				s.Close()
			}
			return false
		})
		if err := batches.Err(); err != nil || !slices.Equal(got, sequence(2)) {
			t.Errorf("yielded %v, Err: %v", got, err)
		}
	})
}

// TestReceiveContinues: a second loop over All continues where the first one ended, and
// Err is about the last loop.
func TestReceiveContinues(t *testing.T) {
	for _, open := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := sluice.NewBounded[int](10, nil)
			mustSend(t, c, sequence(6)...)
			var r receiver = c
			if open {
				r = sluice.LeaveOpen[int](c)
			}
			ctx, cancel := context.WithCancel(t.Context())
			batches := batch.Receive(ctx, r, 2, withLinger(time.Second))
			got := loopOnce(batches, func() bool { return true })
			if batches.Err() != nil || !slices.Equal(got, sequence(2)) {
				t.Fatalf("the first loop: %v, %v", got, batches.Err())
			}
			if err := c.TrySend(6); (err == nil) != open {
				t.Errorf("TrySend after the first loop: %v", err)
			}
			got = loopOnce(batches, func() bool { cancel(); return false })
			want, wantErr := sequence(6)[2:], error(nil)
			if open {
				want, wantErr = sequence(7)[2:], context.Canceled
			}
			if err := batches.Err(); err != wantErr || !slices.Equal(got, want) {
				t.Errorf("open %v: the second loop: %v, %v; want %v, %v", open, got, err, want, wantErr)
			}
			if open {
				mustSend(t, c, 7)
			}
		})
	}
}

// TestReceivePanicOfTheChannel: a channel panics while a batch lingers. The body gets the
// values of that batch, then the loop statement panics, even if the body has left the loop.
// The senders get ErrClosed.
func TestReceivePanicOfTheChannel(t *testing.T) {
	for _, leave := range []bool{false, true} {
		for _, values := range []int{0, 3} {
			synctest.Test(t, func(t *testing.T) {
				c := sluice.NewBounded[int](8, nil)
				mustSend(t, c, sequence(values)...)
				batches := batch.Receive(t.Context(), &panicking{breaking{c, values}}, 8, withLinger(time.Second))
				var got []int
				func() {
					defer func() {
						if p := recover(); p != errBroken {
							t.Errorf("leave %v: recovered %v, want the panic of the channel", leave, p)
						}
					}()
					for vs := range batches.All() {
						got = append(got, vs...)
						if leave {
							break
						}
					}
					t.Errorf("leave %v: the loop has ended without a panic", leave)
				}()
				if !slices.Equal(got, sequence(values)) {
					t.Errorf("leave %v: the body got %v, and the channel delivered %d", leave, got, values)
				}
				if err := c.TrySend(0); err != sluice.ErrClosed {
					t.Errorf("leave %v: TrySend after the loop: %v", leave, err)
				}
			})
		}
	}
}

// exiting calls runtime.Goexit once it has delivered its values.
type exiting struct{ *sluice.Bounded[int] }

func (e exiting) RecvBatch(ctx context.Context, buf []int) (int, error) {
	n, err := e.TryRecvBatch(buf)
	if err == sluice.ErrEmpty {
		runtime.Goexit()
	}
	return n, err
}

// TestReceiveGoexitOfTheChannel: a channel calls Goexit while a batch lingers. TakeRest has the
// values of that batch.
func TestReceiveGoexitOfTheChannel(t *testing.T) {
	c := sluice.NewBounded[int](8, nil)
	mustSend(t, c, sequence(3)...)
	batches := batch.Receive(t.Context(), exiting{c}, 8, withLinger(time.Hour))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for vs := range batches.All() {
			t.Errorf("yielded %v", vs)
		}
		t.Error("the loop has ended without Goexit")
	}()
	<-ended
	if rest := batches.TakeRest(); !slices.Equal(rest, sequence(3)) || c.TrySend(3) != sluice.ErrClosed {
		t.Errorf("TakeRest is %v", rest)
	}
}

// Each method of a zero value panics with the name of the constructor.
func TestBatchesZeroValue(t *testing.T) {
	for _, call := range []func(*batch.Batches[int]){
		func(b *batch.Batches[int]) { b.All() },
		func(b *batch.Batches[int]) { _ = b.Err() },
		func(b *batch.Batches[int]) { b.TakeRest() },
		func(b *batch.Batches[int]) { b.Dropped() },
	} {
		mustPanic(t, "Batches", []string{"zero value", "Receive"}, func() { call(new(batch.Batches[int])) })
	}
}

// sharing is a channel that also belongs to other processes.
type sharing struct {
	stage.Shared
	*sluice.Bounded[int]
}

// TestReceiveLeavesOpen: neither a channel that LeaveOpen wraps nor one that other
// processes share is closed, whichever way the loop ends.
func TestReceiveLeavesOpen(t *testing.T) {
	for name, end := range endings {
		for _, wrap := range []func(*sluice.Bounded[int]) receiver{
			func(c *sluice.Bounded[int]) receiver { return sluice.LeaveOpen(end.wrap(c)) },
			func(c *sluice.Bounded[int]) receiver { return sharing{Bounded: c} },
		} {
			synctest.Test(t, func(t *testing.T) {
				c := sluice.NewBounded[int](8, nil)
				mustSend(t, c, sequence(4)...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				loopOnce(batch.Receive(ctx, wrap(c), 4, nil), func() bool { return end.body(cancel) })
				if err := c.TrySend(4); err != nil {
					t.Errorf("%s: TrySend after the end: %v", name, err)
				}
			})
		}
	}
}
