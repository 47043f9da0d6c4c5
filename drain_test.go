package sluice_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// TestValuesErr: Err is nil if the loop received every value or its body left, and the
// context's error if the context ended the loop.
func TestValuesErr(t *testing.T) {
	for kind, c := range eachKind() {
		if c.Cap() == 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			_ = c.TrySend(1)
			c.Close()
			cancel() // a value is still queued
			values := c.Values(ctx)
			got := slices.Collect(values.All())
			if err := values.Err(); err != nil || !slices.Equal(got, []int{1}) {
				t.Errorf("%s: closed and drained under a canceled context: %v, %v", kind, got, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := sluice.NewBounded[int](3, nil)
		_, _ = c.SendBatch(ctx, []int{1, 2, 3})
		values := c.Values(ctx)
		for v := range values.All() {
			if v == 2 {
				break
			}
		}
		if values.Err() != nil || c.Len() != 1 {
			t.Errorf("after a break: %v, Len %d", values.Err(), c.Len())
		}
		if got := slices.Collect(values.All()); !slices.Equal(got, []int{3}) || !errors.Is(values.Err(), context.DeadlineExceeded) {
			t.Errorf("after the deadline: %v, %v", got, values.Err())
		}
	})
}

// broken is a receiver that always fails with err.
type broken struct{ err error }

func (b broken) Recv(context.Context) (int, error) { return 0, b.err }
func (b broken) TryRecv() (int, error)             { return 0, b.err }

func TestNewValues(t *testing.T) {
	b := broken{errors.New("disk on fire")}
	values := sluice.NewValues(t.Context(), b)
	for range values.All() {
		t.Error("a broken receiver yielded a value")
	}
	if values.Err() != b.err {
		t.Errorf("Err is %v", values.Err())
	}
	mustPanic(t, "NewValues", []string{"nil context"}, func() { sluice.NewValues(nil, b) })
	mustPanic(t, "NewValues", []string{"nil receiver"}, func() { sluice.NewValues[int](t.Context(), nil) })
	mustPanic(t, "LeaveOpen", []string{"nil receiver"}, func() { sluice.LeaveOpen[int](nil) })
}

// TestTryRecvBatch: TryRecvBatch receives the queued values without blocking, or returns
// ErrEmpty or ErrClosed.
func TestTryRecvBatch(t *testing.T) {
	for kind, c := range eachKind() {
		if c.Cap() == 0 {
			continue
		}
		buf := make([]int, 3)
		if n, err := c.TryRecvBatch(buf); n != 0 || err != sluice.ErrEmpty {
			t.Errorf("%s: empty: %d, %v", kind, n, err)
		}
		if n, err := c.TryRecvBatch(nil); n != 0 || err != nil {
			t.Errorf("%s: empty buffer: %d, %v", kind, n, err)
		}
		_ = c.TrySend(5)
		if n, err := c.TryRecvBatch(buf); n != 1 || err != nil || buf[0] != 5 {
			t.Errorf("%s: %d, %v, %v", kind, n, err, buf)
		}
		c.Close()
		if n, err := c.TryRecvBatch(buf); n != 0 || err != sluice.ErrClosed {
			t.Errorf("%s: closed: %d, %v", kind, n, err)
		}
	}
}

// TestDrain: a select loop over Ready and Drain receives every value, even if the body
// breaks or continues, and notices Close.
func TestDrain(t *testing.T) {
	const n = 500
	for kind, c := range eachKind() {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			go func() {
				for i := range n {
					_ = c.Send(ctx, i)
				}
				c.Close()
			}()
			tick, received := time.NewTicker(time.Minute), 0
			defer tick.Stop()
			for open := true; open; {
				select {
				case <-tick.C:
					t.Fatalf("%s: Ready is silent after %d values", kind, received)
				case _, open = <-c.Ready():
					for v := range c.Drain() {
						if v != received {
							t.Fatalf("%s: received %d, want %d", kind, v, received)
						}
						received++
						if v%3 == 0 {
							break // the remaining values make Ready readable again
						}
						if v%5 == 0 {
							continue
						}
					}
					if !open { // the loop above may have left values, and Ready will not report them again
						for range c.Drain() {
							received++
						}
					}
				}
			}
			if received != n {
				t.Errorf("%s: received %d of %d", kind, received, n)
			}
		})
	}
}
