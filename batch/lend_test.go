package batch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// lendSize is a size of slices that are worth lending.
const lendSize = 64

// fill returns vs with the next n values appended.
func fill(vs []int, n int, next *int) []int {
	for range n {
		vs = append(vs, *next)
		*next++
	}
	return vs
}

// The slice that the body gets is the one that was sent, and comes back later.
func TestSendSliceByReference(t *testing.T) {
	c := sluice.NewBounded[int](4*lendSize, nil)
	b := batch.NewSender(c, lendSize, nil)
	vs, err := b.SendSlice(t.Context(), nil)
	if err != nil || len(vs) != 0 || cap(vs) != lendSize {
		t.Fatalf("a slice for %d values: %v", cap(vs), err)
	}
	sent, next, received := map[*int]int{}, 0, 0
	send := func() {
		vs = fill(vs, lendSize, &next)
		sent[&vs[0]]++
		if vs, err = b.SendSlice(t.Context(), vs); err != nil || len(vs) != 0 || cap(vs) != lendSize {
			t.Fatalf("a slice for %d values: %v", cap(vs), err)
		}
	}
	send()
	for got := range batch.Receive(t.Context(), c, lendSize, nil).All() {
		if sent[&got[0]] == 0 || cap(got) != lendSize || len(got) != lendSize || got[0] != received {
			t.Fatalf("batch %d is a copy, or not the next one: %v", received/lendSize, got)
		}
		if received += lendSize; received == 100*lendSize {
			break
		}
		send()
	}
	if len(sent) > 6 {
		t.Errorf("%d slices for one in the channel", len(sent))
	}
}

// SendSlice sends any slice to any channel, in order with the values of Send.
func TestSendSliceAnywhere(t *testing.T) {
	for name, c := range map[string]sluice.Channel[int]{
		"Bounded":     sluice.NewBounded[int](10_000, nil),
		"drop oldest": sluice.NewBounded[int](10_000, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest}),
		"Elastic":     sluice.NewElastic[int](10_000, nil),
		"Sharded":     sluice.NewSharded[int](10_000, &sluice.ShardedOptions[int]{Lanes: 1}),
		"single":      sluice.NewBounded[int](10_000, &sluice.BoundedOptions[int]{SingleSender: true, SingleReceiver: true}),
		"large slots": sluice.NewBounded[int](1<<20, nil),
	} {
		for _, linger := range lingers {
			b, next, first := batch.NewSender(c, lendSize, withLinger(linger)), 0, 0
			var vs []int
			var err error
			for i := range 40 {
				mustAccept(t, b, fill(nil, i%3, &next)...)
				n := []int{lendSize, 1, 0, lendSize - 1, 2 * lendSize}[i%5]
				own := fill(nil, n, &next)
				if i%2 == 0 {
					own = append(vs, own...)
				}
				before := slices.Clone(own)
				kept := vs
				if vs, err = b.SendSlice(t.Context(), own); err != nil || len(vs) != 0 {
					t.Fatalf("%s: %d values are left: %v", name, len(vs), err)
				}
				if (cap(own) == 0 || cap(kept) == 0 || &own[:1][0] != &kept[:1][0]) && !slices.Equal(own, before) {
					t.Fatalf("%s: a slice of the caller was changed", name)
				}
			}
			if b.Len() != 0 || c.Len() != next {
				t.Errorf("%s: %d held, %d queued of %d", name, b.Len(), c.Len(), next)
			}
			buf := make([]int, 50)
			for first < next {
				n, err := c.RecvBatch(t.Context(), buf)
				if err != nil || !slices.Equal(buf[:n], fill(nil, n, &first)) {
					t.Fatalf("%s: received %v up to %d: %v", name, buf[:n], first, err)
				}
			}
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// After a failure SendSlice returns the rest, and the next call goes on.
func TestSendSliceFails(t *testing.T) {
	c := sluice.NewBounded[int](2*lendSize-10, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})
	b, next := batch.NewSender(c, lendSize, nil), 0
	var vs []int
	var err error
	for range 2 {
		if vs, err = b.SendSlice(t.Context(), vs); err != nil {
			t.Fatal(err)
		}
		vs = fill(vs, lendSize, &next)
	}
	vs, err = b.SendSlice(t.Context(), vs)
	if !errors.Is(err, sluice.ErrFull) || !slices.Equal(vs, []int{118, 119, 120, 121, 122, 123, 124, 125, 126, 127}) {
		t.Fatalf("%v are left: %v", vs, err)
	}
	buf := make([]int, 2*lendSize)
	if n, err := c.RecvBatch(t.Context(), buf); n != 118 || err != nil || !slices.Equal(buf[:n], sequence(118)) {
		t.Fatalf("received %v: %v", buf[:n], err)
	}
	if vs, err = b.SendSlice(t.Context(), vs); err != nil || len(vs) != 0 || c.Len() != 10 {
		t.Fatalf("%d are left, %d are queued: %v", len(vs), c.Len(), err)
	}

	mustAccept(t, b, -1)
	c.Close()
	vs = fill(vs, 2, &next)
	if vs, err = b.SendSlice(t.Context(), vs); !errors.Is(err, sluice.ErrClosed) || len(vs) != 2 || b.Len() != 1 {
		t.Errorf("closed channel: %v are left, %d are held: %v", vs, b.Len(), err)
	}
	b.TakeUnsent()
	if vs, err = b.SendSlice(t.Context(), vs); !errors.Is(err, sluice.ErrClosed) || len(vs) != 2 {
		t.Errorf("closed channel: %v are left: %v", vs, err)
	}
	_ = b.Close(t.Context())
	if vs, err = b.SendSlice(t.Context(), vs); !errors.Is(err, sluice.ErrClosed) || len(vs) != 2 {
		t.Errorf("closed Sender: %v are left: %v", vs, err)
	}
	var none context.Context
	mustPanic(t, "Sender.SendSlice", []string{"nil context"}, func() { _, _ = b.SendSlice(none, vs) })
}

// A context that panics while SendSlice waits loses nothing, and the Sender can be used.
func TestSendSliceContextPanics(t *testing.T) {
	c := sluice.NewBounded[int](2*lendSize, nil)
	b, next := batch.NewSender(c, lendSize, nil), 0
	var vs []int
	for range 2 {
		vs, _ = b.SendSlice(t.Context(), vs)
		vs = fill(vs, lendSize, &next)
	}
	vs, _ = b.SendSlice(t.Context(), vs)
	vs = fill(vs, lendSize, &next)
	func() {
		defer func() {
			if recover() != "a bad context" {
				t.Error("no panic")
			}
		}()
		_, _ = b.SendSlice(badContext{t.Context()}, vs)
	}()
	if v, err := c.Recv(t.Context()); v != 0 || err != nil {
		t.Error(v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if vs, err := b.SendSlice(ctx, vs); len(vs) != lendSize-1 || !errors.Is(err, context.Canceled) || c.Len() != 2*lendSize {
		t.Errorf("%d are left, %d queued: %v", len(vs), c.Len(), err)
	}
}

type badContext struct{ context.Context }

func (badContext) Err() error { panic("a bad context") }

// A body that leaves the loop keeps its slice; nothing else gets it.
func TestLentSliceKept(t *testing.T) {
	c := sluice.NewBounded[int](8*lendSize, nil)
	b, next := batch.NewSender(c, lendSize, nil), 0
	vs, _ := b.SendSlice(t.Context(), nil)
	var kept [][]int
	for round := range 10 {
		for range 3 {
			var err error
			if vs, err = b.SendSlice(t.Context(), fill(vs, lendSize, &next)); err != nil {
				t.Fatal(err)
			}
		}
		i := 0
		for got := range batch.Receive(t.Context(), sluice.LeaveOpen(c), lendSize, nil).All() {
			if i++; i == 3 {
				kept = append(kept, got)
				break
			}
		}
		for j, k := range kept {
			if first := (3*j + 2) * lendSize; k[0] != first || k[lendSize-1] != first+lendSize-1 {
				t.Fatalf("round %d: the slice of round %d was changed: %v", round, j, k)
			}
		}
	}
	if c.Len() != 0 {
		t.Errorf("%d are left", c.Len())
	}
}

// A loop with a linger fills its batches whatever the slices are, and one with a smaller
// maximum keeps to it.
func TestLentSlicesOfOtherSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			max    int
			linger time.Duration
			want   []int
		}{
			{lendSize, time.Second, []int{64, 64, 62}},
			{100, time.Second, []int{100, 90}},
			{50, 0, []int{50, 50, 50, 40}},
			{1000, 0, []int{190}},
		} {
			c := sluice.NewBounded[int](8*lendSize, nil)
			b, next, first := batch.NewSender(c, lendSize, nil), 0, 0
			vs, _ := b.SendSlice(t.Context(), nil)
			for _, n := range []int{64, 62, 64} {
				vs, _ = b.SendSlice(t.Context(), fill(vs, n, &next))
			}
			var got []int
			go func() {
				time.Sleep(2 * time.Second)
				c.Close()
			}()
			for vs := range batch.Receive(t.Context(), c, test.max, withLinger(test.linger)).All() {
				if !slices.Equal(vs, fill(nil, len(vs), &first)) {
					t.Fatalf("batches of %d: %v up to %d", test.max, vs, first)
				}
				got = append(got, len(vs))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("batches of %d: %v, want %v", test.max, got, test.want)
			}
		}
	})
}

// Slices go round: nothing is allocated.
func TestSendSliceAllocs(t *testing.T) {
	c := sluice.NewBounded[int](16*lendSize, nil)
	b := batch.NewSender(c, lendSize, nil)
	vs, _ := b.SendSlice(t.Context(), nil)
	send := func() {
		for range 8 {
			for range lendSize {
				vs = append(vs, 1)
			}
			vs, _ = b.SendSlice(t.Context(), vs)
		}
	}
	runs, ctx := 0, t.Context()
	send()
	next := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		n := 0
		for range batch.Receive(ctx, c, lendSize, nil).All() {
			if n++; n%8 == 0 {
				next <- struct{}{}
			}
		}
	}()
	<-next
	if n := testing.AllocsPerRun(50, func() {
		send()
		<-next
		runs++
	}); n >= 1 {
		t.Errorf("%v allocations for 8 slices", n)
	}
	c.Close()
	<-done
}

// counting is a channel that counts values without memory.
type counting struct {
	sluice.BatchSender[struct{}]
	n int
}

func (c *counting) SendBatch(_ context.Context, vs []struct{}) (int, error) {
	c.n += len(vs)
	return len(vs), nil
}

// Slices of values without memory are all the same one: no channel lends them, and SendSlice sends
// each. See TestLendsWhat of package segqueue.
func TestSendSliceOfEmptyValues(t *testing.T) {
	const size = 256
	c := new(counting)
	b := batch.NewSender(c, size, nil)
	vs, err := b.SendSlice(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if vs, err = b.SendSlice(t.Context(), vs[:size]); err != nil || len(vs) != 0 || cap(vs) != size {
			t.Fatalf("a slice for %d values: %v", cap(vs), err)
		}
		if want := (i + 1) * size; c.n != want {
			t.Fatalf("sent %d, want %d", c.n, want)
		}
	}
}
