package semaphore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/semaphore"
)

// Requests wait while the memory that others use leaves too little for them.
func Example() {
	ctx := context.Background()
	memory := semaphore.New(64<<20, nil)

	const size = 48 << 20
	if err := memory.Acquire(ctx, size); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("second request at once:", memory.TryAcquire(size))
	memory.Release(size)
	fmt.Println("after the first:", memory.TryAcquire(size))
	memory.Release(size)

	fmt.Println(memory.Acquire(ctx, 65<<20))
	// Output:
	// second request at once: false
	// after the first: true
	// sluice: larger than the limit
}

// At most two of the goroutines are between Acquire and Release at any time.
func ExampleNew() {
	ctx := context.Background()
	running := semaphore.New(2, nil)
	var most, now atomic.Int64
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if err := running.Acquire(ctx, 1); err != nil {
				return // ctx is done
			}
			defer running.Release(1)
			if n := now.Add(1); n > 2 {
				most.Store(n)
			}
			now.Add(-1)
		})
	}
	all.Wait()
	fmt.Println("more than two:", most.Load() > 0)
	// Output: more than two: false
}

// A limit counts what is queued and what is being worked on: the room of a value is free
// once its work is done, not when it is received.
func Example_untilDone() {
	ctx := context.Background()
	room := semaphore.New(10, nil)
	queue := sluice.NewElastic[int64](sluice.Unlimited, nil)

	offer := func(size int64) error {
		if err := room.Acquire(ctx, size); err != nil {
			return err // ctx is done, or size is above the limit
		}
		if err := queue.TrySend(size); err != nil { // closed
			room.Release(size)
			return err
		}
		return nil
	}
	fmt.Println(offer(7), offer(11))

	size, _ := queue.Recv(ctx)
	fmt.Println("room for 4 during the work:", room.TryAcquire(4))
	room.Release(size)
	fmt.Println("room for 4 after it:", room.TryAcquire(4))

	queue.Close()
	fmt.Println(offer(1))
	// Output:
	// <nil> sluice: larger than the limit
	// room for 4 during the work: false
	// room for 4 after it: true
	// sluice: channel closed
}
