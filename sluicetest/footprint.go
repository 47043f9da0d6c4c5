package sluicetest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// testGoroutines: a channel leaves no goroutine behind when it is dropped or
// closed, when its waiters give up, or when a loop over it ends early.
func testGoroutines(t *testing.T, k Kind) {
	before := runtime.NumGoroutine()
	for range 20 {
		k.useAndForget()
	}
	// Goroutines that are about to exit, or that exit once the collector has
	// found their channel, get time; a leaked goroutine uses all of it.
	for wait := time.Millisecond; runtime.NumGoroutine() > before; wait *= 2 {
		if wait > 2*time.Second {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks)
		}
		runtime.GC()
		time.Sleep(wait)
	}
}

// useAndForget uses some channels and closes only some of them.
func (k Kind) useAndForget() {
	ctx, cancel := context.WithCancel(context.Background())
	untouched := k.Numbers(nil)
	_ = untouched.Len()

	filled := k.Numbers(nil)
	_ = filled.Ready()
	for range min(k.Capacity, 4) {
		_ = filled.TrySend(1)
	}
	if k.Capacity > 0 {
		for range allOf(ctx, filled) {
			break
		}
	}

	var waiters sync.WaitGroup
	left := k.Numbers(nil)
	for range k.receivers(3) {
		waiters.Go(func() { _, _ = left.Recv(ctx) })
	}
	closed := k.Numbers(nil)
	for range k.receivers(3) {
		waiters.Go(func() {
			for range allOf(context.Background(), closed) {
				break
			}
		})
	}
	broken := k.Numbers(nil)
	waiters.Go(func() {
		for range allOf(ctx, broken) {
			break
		}
	})
	yield()
	_ = broken.TrySend(1)
	if k.Capacity == 0 {
		waiters.Go(func() { _ = broken.Send(ctx, 2) })
	}
	yield()
	closed.Close()
	cancel()
	waiters.Wait()
}

// testAllocations: no operation allocates in steady state, at any backlog, and
// a backlog that swings across an internal boundary does not allocate either.
func testAllocations(t *testing.T, k Kind) {
	ctx := context.Background()
	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	over := done()
	check := func(what string, op func()) {
		t.Helper()
		op()
		if n := testing.AllocsPerRun(20, op); n > 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
	c := k.numbers(t)
	buf := make([]uint64, 16)
	const swing = 20
	for _, level := range []int{0, 1, 2, 15, 50, 120, 128, 250, 1000, 5000} {
		up := min(swing, k.Capacity-level)
		if up < 1 {
			continue
		}
		for c.Len() < level {
			mustSend(t, c, 0)
		}
		check(fmt.Sprintf("a backlog that swings from %d to %d", level, level+up), func() {
			for i := range up {
				_ = c.Send(cancellable, uint64(i))
			}
			for range up {
				_, _ = c.Recv(cancellable)
			}
		})
		check("the same in batches", func() {
			_, _ = c.SendBatch(ctx, buf[:min(len(buf), up)])
			for c.Len() > level {
				_, _ = c.RecvBatch(ctx, buf[:min(len(buf), c.Len()-level)])
			}
		})
	}
	drain(c)
	if k.Capacity <= fillable {
		fill(t, k, c)
		check("sending to a full channel", func() {
			_ = c.TrySend(1)
			_ = c.Send(over, 1)
			_, _ = c.SendBatch(over, buf)
		})
		drain(c)
	}
	check("failed TryRecv calls", func() { _, _ = c.TryRecv() })
	// Two goroutines that make each other wait.
	there, back := k.Numbers(nil), k.Numbers(nil)
	var echo sync.WaitGroup
	echo.Go(func() {
		for v := range allOf(ctx, there) {
			_ = insist(func() error { return back.Send(cancellable, v) })
		}
	})
	if !k.drops() || k.Capacity > 0 {
		check("a round trip", func() {
			for range 100 {
				_ = insist(func() error { return there.Send(cancellable, 1) })
				_, _ = back.Recv(cancellable)
			}
		})
	}
	there.Close()
	echo.Wait()
}
