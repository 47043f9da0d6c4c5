package sluicetest

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// testPipelines builds structures of several channels, as programs do. Sends
// wait in all of them, so it applies only to kinds that block.
func testPipelines(t *testing.T, k Kind) {
	t.Run("relay", func(t *testing.T) { k.inBothWorlds(t, k.testRelay) })
	if k.Order != AnyOrder {
		t.Run("sieve", func(t *testing.T) { k.inBothWorlds(t, k.testSieve) })
	}
	t.Run("exchange", func(t *testing.T) { k.inBothWorlds(t, k.testExchange) })
	t.Run("select", func(t *testing.T) { k.inBothWorlds(t, k.testSelect) })
	t.Run("time limits", func(t *testing.T) { synctest.Test(t, k.testTimeLimits) })
	t.Run("stacks", k.testStacks)
}

// testRelay passes values along a chain of goroutines. The first operation of
// each goroutine waits.
func (k Kind) testRelay(t *testing.T) {
	ctx := context.Background()
	first := k.numbers(t)
	last := first
	for range k.rounds(300) {
		from, to := last, k.numbers(t)
		go func() {
			defer to.Close()
			for v := range allOf(ctx, from) {
				if err := to.Send(ctx, v+1); err != nil {
					t.Errorf("Send along the chain: %v", err)
				}
			}
		}()
		last = to
	}
	go func() {
		defer first.Close()
		for i := range uint64(10) {
			if err := first.Send(ctx, i); err != nil {
				t.Errorf("Send into the chain: %v", err)
			}
		}
	}()
	want := make([]uint64, 10)
	for i := range want {
		want[i] = uint64(k.rounds(300) + i)
	}
	got := slices.Collect(allOf(ctx, last))
	if k.Order == AnyOrder {
		slices.Sort(got)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the chain delivers %v, want %v", got, want)
	}
}

// testSieve finds primes with a goroutine and a channel per prime, and leaves
// all of them waiting until they are closed.
func (k Kind) testSieve(t *testing.T) {
	ctx := context.Background()
	var all sync.WaitGroup
	var channels []Channel[uint64]
	open := func() Channel[uint64] {
		c := k.numbers(t)
		channels = append(channels, c)
		return c
	}
	source := open()
	all.Go(func() {
		for i := uint64(2); source.Send(ctx, i) == nil; i++ {
			// The source of an unlimited channel must not run ahead.
			for source.Len() > 1000 && !source.Stats().Closed {
				runtime.Gosched()
			}
		}
	})
	numbers := source
	var primes []uint64
	for len(primes) < 15 {
		prime, err := numbers.Recv(ctx)
		if err != nil {
			t.Fatalf("Recv of the next prime: %v", err)
		}
		primes = append(primes, prime)
		from, to := numbers, open()
		all.Go(func() {
			for v := range allOf(ctx, from) {
				if v%prime != 0 && to.Send(ctx, v) != nil {
					return
				}
			}
		})
		numbers = to
	}
	for _, c := range channels {
		c.Close()
	}
	all.Wait()
	if !slices.Equal(primes, []uint64{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47}) {
		t.Fatalf("the sieve finds %v", primes)
	}
}

// testExchange: request/response, with a client that polls for the response.
func (k Kind) testExchange(t *testing.T) {
	ctx := context.Background()
	requests, responses := k.numbers(t), k.numbers(t)
	var server sync.WaitGroup
	server.Go(func() {
		for v := range allOf(ctx, requests) {
			if err := responses.Send(ctx, v*2); err != nil {
				t.Errorf("Send of a response: %v", err)
			}
		}
	})
	for i := range uint64(k.rounds(500)) {
		if err := requests.Send(ctx, i); err != nil {
			t.Fatalf("Send of a request: %v", err)
		}
		v, err := responses.TryRecv()
		for err == sluice.ErrEmpty {
			runtime.Gosched()
			v, err = responses.TryRecv()
		}
		if v != i*2 || err != nil {
			t.Fatalf("response to %d: %d, %v", i, v, err)
		}
	}
	requests.Close()
	server.Wait()
}

// testSelect waits on several channels with a native select.
func (k Kind) testSelect(t *testing.T) {
	ctx := context.Background()
	var channels [3]Channel[uint64]
	var senders sync.WaitGroup
	const each = 300
	for i := range channels {
		c := k.numbers(t)
		channels[i] = c
		senders.Go(func() {
			for v := range uint64(each) {
				if err := c.Send(ctx, v); err != nil {
					t.Errorf("Send: %v", err)
				}
			}
		})
	}
	var got [3]uint64
	for got != [3]uint64{each, each, each} {
		i := 0
		select {
		case <-channels[0].Ready():
		case <-channels[1].Ready():
			i = 1
		case <-channels[2].Ready():
			i = 2
		}
		for {
			v, err := channels[i].TryRecv()
			if err != nil {
				break
			}
			if v != got[i] && k.Order != AnyOrder {
				t.Fatalf("channel %d delivers %d, want %d", i, v, got[i])
			}
			got[i]++
		}
	}
	senders.Wait()
}

// testTimeLimits: both sides give up after a timeout, sleep, and retry, on the
// bubble's clock. Order and number of the values are preserved.
func (k Kind) testTimeLimits(t *testing.T) {
	const n = 100
	limited := func(op func(ctx context.Context) error) {
		for {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			err := op(ctx)
			cancel()
			if err == nil {
				return
			}
			if err != context.DeadlineExceeded {
				t.Errorf("under a deadline: %v", err)
				return
			}
		}
	}
	c := k.numbers(t)
	go func() {
		for i := range uint64(n) {
			if i%3 == 0 {
				time.Sleep(50 * time.Millisecond)
			}
			limited(func(ctx context.Context) error { return c.Send(ctx, i) })
		}
	}()
	for i := range uint64(n) {
		if i%4 == 0 {
			time.Sleep(70 * time.Millisecond)
		}
		limited(func(ctx context.Context) error {
			v, err := c.Recv(ctx)
			if err == nil && v != i && k.Order != AnyOrder {
				t.Errorf("received %d, want %d", v, i)
			}
			return err
		})
	}
	settle()
	mustBeEmpty(t, c)
}

// testStacks collects garbage while goroutines wait at different depths of
// stacks that grow and shrink: a channel must not keep pointers into a stack.
func (k Kind) testStacks(t *testing.T) {
	f := newFlow(k, k.senders(8), k.receivers(8), k.rounds(3000))
	f.send = func(c Channel[uint64], _ int, vs []uint64) error {
		for len(vs) > 0 {
			n, err := 0, error(nil)
			deep(rand.IntN(60), func() { n, err = c.SendBatch(context.Background(), vs[:min(len(vs), 3)]) })
			if err != nil {
				return err
			}
			vs = vs[n:]
		}
		return nil
	}
	f.receive = func(c Channel[uint64], got func(uint64)) {
		for {
			var buf [5]uint64
			n, err := 0, error(nil)
			deep(rand.IntN(60), func() { n, err = c.RecvBatch(context.Background(), buf[:]) })
			if err != nil {
				return
			}
			for _, v := range buf[:n] {
				got(v)
			}
		}
	}
	stop := make(chan struct{})
	var collector sync.WaitGroup
	collector.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC() // shrinks the stacks of waiting goroutines
			}
		}
	})
	f.run(t)
	close(stop)
	collector.Wait()
}

// deep calls f at the given stack depth.
//
//go:noinline
func deep(depth int, f func()) byte {
	var frame [256]byte
	if depth == 0 {
		f()
		return 0
	}
	frame[depth] = 1
	return deep(depth-1, f) + frame[depth]
}
