package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/sluice-go/sluice"
)

// A full queue says no at the door, while the caller can still do something else.
func Example_shedLoad() {
	ctx := context.Background()
	requests := sluice.NewBounded(2, &sluice.BoundedOptions[string]{Overflow: sluice.Reject})
	accept := func(request string) int {
		switch err := requests.Send(ctx, request); {
		case errors.Is(err, sluice.ErrFull):
			return 503 // busy: come again
		case err != nil:
			return 500 // closed
		}
		return 202
	}
	for _, request := range []string{"a", "b", "c"} {
		fmt.Println(request, accept(request))
	}
	// Output:
	// a 202
	// b 202
	// c 503
}

// Several workers, and the values of one key one after the other: each worker has a
// channel of its own, and the key says which.
func Example_orderPerKey() {
	type event struct {
		account string
		n       int
	}
	ctx := context.Background()
	seed := maphash.MakeSeed()
	var mu sync.Mutex
	seen := map[string][]int{}

	parts := make([]*sluice.Bounded[event], 4)
	var workers sync.WaitGroup
	for i := range parts {
		part := sluice.NewBounded(128, &sluice.BoundedOptions[event]{SingleReceiver: true})
		parts[i] = part
		workers.Go(func() {
			for e := range part.Values(ctx).All() {
				mu.Lock()
				seen[e.account] = append(seen[e.account], e.n)
				mu.Unlock()
			}
		})
	}
	for n := range 4 {
		for _, account := range []string{"ann", "bob", "eve"} {
			part := parts[maphash.String(seed, account)%uint64(len(parts))]
			_ = part.Send(ctx, event{account, n}) // not closed yet, and ctx never ends
		}
	}
	for _, part := range parts {
		part.Close()
	}
	workers.Wait()
	fmt.Println(seen)
	// Output: map[ann:[0 1 2 3] bob:[0 1 2 3] eve:[0 1 2 3]]
}

// The question goes through a queue. The answer is one value, for one goroutine:
// a built-in channel of one slot is all that it takes.
func Example_requestReply() {
	type question struct {
		n      int
		answer chan<- int
	}
	ctx := context.Background()
	questions := sluice.NewBounded[question](64, nil)
	defer questions.Close()
	go func() {
		for q := range questions.Values(ctx).All() {
			q.answer <- q.n * q.n // has room: never waits for who asked
		}
	}()

	answer := make(chan int, 1)
	if err := questions.Send(ctx, question{7, answer}); err != nil {
		fmt.Println(err) // it will not be answered
		return
	}
	select {
	case squared := <-answer:
		fmt.Println(squared)
	case <-ctx.Done():
	}
	// Output: 49
}
