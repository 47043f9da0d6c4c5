package contender

import (
	"context"
	"fmt"
	"testing"
)

// filled returns a closed built-in channel that holds 0 … n-1: to a pump it
// looks like senders that are always faster.
func filled(n uint64) <-chan uint64 {
	in := make(chan uint64, n)
	for v := range n {
		in <- v
	}
	close(in)
	return in
}

func drain(r <-chan uint64) Tally { return ends{r: r}.Recv(All) }

// As published, the flushing pump lost a value after maxRun in a row.
func TestMendedPumpsLoseNothing(t *testing.T) {
	const n = 5*maxRun + 7
	for _, p := range []Published{
		{},
		{Flushing: true},
		{Flushing: true, Shrink: PublishedShrinkHalf},
		{Flushing: true, RecvBuffer: PublishedBuffer},
	} {
		got := drain(p.start(filled(n)))
		if got.Count != n || got.Sum != n*(n-1)/2 || got.Unordered != 0 {
			t.Errorf("%s: of %d values: %+v", p.Contender().Name, n, got)
		}
	}
}

// The same burst through this library's elastic channel, directly and with
// built-in ends.
func TestElasticLosesNothing(t *testing.T) {
	const n = 5*maxRun + 7
	for _, c := range []Contender{Elastic(context.Background(), nil), Pipe(nil)} {
		ch := c.Make(0)
		ch.Send(0, n)
		ch.Close()
		got := ch.Recv(All)
		if got.Count != n || got.Sum != n*(n-1)/2 || got.Unordered != 0 {
			t.Errorf("%s: of %d values: %+v", c.Name, n, got)
		}
	}
}

// The size of the queue after a burst in each shrink mode: as published, and in
// the modes that complete it.
func TestPublishedShrinkModes(t *testing.T) {
	const burst = 1000
	for _, mode := range []struct {
		shrink                  PublishedShrink
		start                   int
		atPeak, with400, atZero int
	}{
		{PublishedNoShrink, 0, 1024, 1024, 1024},
		{PublishedNoShrink, 4096, 4096, 4096, 4096}, // pre-sized
		{PublishedShrinkHalf, 0, 1024, 512, 1},
		{PublishedShrinkEmpty, 0, 1024, 1024, 1024}, // frees nothing
		{LazyShrinkHalf, 0, 1024, 1024, 2},
		{FreeWhenEmpty, 0, 1024, 1024, 0},
		{FreeWhenEmpty, 64, 1024, 1024, 64},
	} {
		q := newPublishedQueue(mode.shrink, mode.start)
		// The indices run freely: let them wrap on the way.
		q.head = ^uint(0) - 700
		q.tail = q.head
		for v := range uint64(burst) {
			q.push(v)
		}
		check := func(when string, want int) {
			if len(q.buf) != want {
				t.Errorf("%v from %d slots, %s: %d slots, not %d", mode.shrink, mode.start, when, len(q.buf), want)
			}
		}
		check("at the peak", mode.atPeak)
		for want := uint64(0); q.len() > 0; want++ {
			if q.len() == 400 {
				check("with 400 values", mode.with400)
			}
			if v := q.front(); v != want {
				t.Fatalf("%v: %d came out, not %d", mode.shrink, v, want)
			}
			q.pop()
		}
		check("when empty", mode.atZero)
	}
}

// Without hysteresis, a queue that swings around a power of two copies all its
// values at each swing; a lazier one keeps its size.
func TestPublishedShrinkHalfHasNoHysteresis(t *testing.T) {
	for shrink, after := range map[PublishedShrink]int{PublishedShrinkHalf: 512, LazyShrinkHalf: 1024} {
		q := newPublishedQueue(shrink, 0)
		for v := range uint64(512) {
			q.push(v)
		}
		for swing := range 10 {
			q.push(0)
			grown := len(q.buf)
			q.pop()
			q.pop()
			if shrunk := len(q.buf); grown != 1024 || shrunk != after {
				t.Fatalf("%v, swing %d: %d slots, then %d, want 1024, then %d", shrink, swing, grown, shrunk, after)
			}
			q.push(0)
		}
	}
}

func TestCan(t *testing.T) {
	for _, one := range []struct {
		c                            Contender
		capacity, senders, receivers int
		can                          bool
	}{
		{Contender{}, 0, 8, 8, true},
		{Contender{Bound: Buffered}, 0, 1, 1, false},
		{Contender{Bound: Buffered}, 1, 1, 1, true},
		{Contender{Bound: UnbufferedOnly}, 0, 1, 1, true},
		{Contender{Bound: UnbufferedOnly}, 1, 1, 1, false},
		{Contender{Bound: UnboundedOnly}, 0, 1, 1, true},
		{Contender{Bound: UnboundedOnly}, 128, 8, 8, true},
		{Contender{OneSender: true}, 1, 2, 1, false},
		{Contender{OneSender: true}, 1, 1, 2, true},
		{Contender{OneReceiver: true}, 1, 1, 2, false},
		{Contender{OneReceiver: true}, 1, 2, 1, true},
	} {
		if can := one.c.Can(one.capacity, one.senders, one.receivers); can != one.can {
			t.Errorf("%+v: %v", one, can)
		}
	}
}

// A tally detects loss, change and disorder; equal values are out of order too.
func TestTally(t *testing.T) {
	for _, one := range []struct {
		values []uint64
		want   Tally
	}{
		{nil, Tally{}},
		{[]uint64{0, 1, 2}, Tally{Count: 3, Sum: 3, next: 3}},
		{[]uint64{5, 9}, Tally{Count: 2, Sum: 14, next: 10}},
		{[]uint64{1, 0, 2}, Tally{Count: 3, Sum: 3, Unordered: 1, next: 3}},
		{[]uint64{3, 3}, Tally{Count: 2, Sum: 6, Unordered: 1, next: 4}},
	} {
		var got Tally
		got.AddAll(one.values)
		if got != one.want {
			t.Errorf("%v: %+v, not %+v", one.values, got, one.want)
		}
	}
}

func ExamplePublished() {
	study := Published{Flushing: true, Shrink: PublishedShrinkHalf, SendBuffer: PublishedBuffer, RecvBuffer: PublishedBuffer}
	c := study.Contender()
	ch := c.Make(0)
	ch.Send(0, 3000) // more than both buffers hold
	ch.Close()
	fmt.Println(c.Name, "carried", ch.Recv(All).Count)
	// Output: published {Flushing:true Shrink:shrink half SendBuffer:128 RecvBuffer:128 Slots:0} carried 3000
}
