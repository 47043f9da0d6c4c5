package batch_test

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/source"
)

// A load is values 0, 1, … with sizes, and a limit of batches of them.
// newLoad makes a random load of n values. Some are above the limit.
// batches is the model: the batches of the values from first on, up to the first one that
// fails, and the values that are dropped. No time passes between the values.
// check fails t if a batch breaks a limit, or if a value was asked for its size twice.
// inLoads runs f in a bubble with random loads, each of which a goroutine sends into each of
// the queues.
// With a long linger, batches are as full as the limits permit, whether the body leaves the
// loop between two batches or not. A value that fails ends the loop in front of it.
// takeFailed takes the values that a loop has left in front of value v, which is above the
// limit, and returns the number of the value after them.
// With a linger of 0, the values of one RecvBatch are cut where the limits are.
func TestReceiveMaxBytesWithoutLinger(t *testing.T) {
	inLoads(t, func(t *testing.T, random *rand.Rand, l *load, r receiver) {
		batches := batch.Receive(t.Context(), sluice.LeaveOpen(r), l.max, withBytes(int64(l.maxBytes), 0, l.options()))
		var got [][]int
		failing := 0 // values that TakeRest has returned
		for again := true; again; {
			again = false
			for b := range batches.All() {
				if got = append(got, slices.Clone(b)); random.IntN(8) == 0 {
					again = true
					break
				}
			}
			if batches.Err() != nil {
				rest := batches.TakeRest()
				if len(rest) == 0 || l.sizes[rest[0]] <= l.maxBytes || l.policy != batch.Fail {
					t.Fatalf("%v, with %v", batches.Err(), rest)
				}
				failing, again = failing+len(rest), true
			}
		}
		l.check(t, got)
		all := append(slices.Concat(got...), l.dropped...)
		slices.Sort(all)
		if len(all)+failing != len(l.sizes) || len(slices.Compact(all)) != len(l.sizes)-failing {
			t.Errorf("%d values of %d, and %d taken", len(all), len(l.sizes), failing)
		}
		if values := slices.Concat(got...); !slices.IsSorted(values) {
			t.Errorf("out of order: %v", values)
		}
	})
}

// However a loop ends early, values that it has received and not yielded stay, in front of
// those in the channel.
func TestReceiveMaxBytesEndsEarly(t *testing.T) {
	for name, end := range endings {
		for _, linger := range []time.Duration{0, time.Second} {
			for maxBytes := int64(1); maxBytes < 6; maxBytes++ {
				t.Run(fmt.Sprint(name, linger, maxBytes), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c := sluice.NewBounded[int](20, nil)
						mustSend(t, c, sequence(10)...)
						batches := batch.Receive(t.Context(), end.wrap(c), 4, &batch.Options[int]{MaxBytes: maxBytes, Linger: linger, Size: func(int) int { return 1 }})
						got := loopOnce(batches, func() bool { return end.body(func() {}) })
						if err := batches.Err(); err != end.err {
							t.Errorf("Err: %v, want %v", err, end.err)
						}
						if len(got) < min(int(maxBytes), 4) {
							t.Errorf("yielded %v", got)
						}
						got = append(got, batches.TakeRest()...)
						if got = slices.AppendSeq(got, c.Drain()); !slices.Equal(got, sequence(10)) {
							t.Errorf("yielded, taken or left: %v", got)
						}
						if err := c.TrySend(1); err != sluice.ErrClosed {
							t.Errorf("Send after the end: %v", err)
						}
					})
				})
			}
		}
	}
}

// The context ends a loop only after all values that it has received.
func TestReceiveMaxBytesContext(t *testing.T) {
	for _, linger := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			c := sluice.NewBounded[int](20, nil)
			mustSend(t, c, sequence(10)...)
			batches := batch.Receive(closedContext(), c, 100, &batch.Options[int]{MaxBytes: 4, Linger: linger, Size: func(int) int { return 1 }})
			var got [][]int
			for b := range batches.All() {
				got = append(got, slices.Clone(b))
			}
			if err := batches.Err(); fmt.Sprint(got) != "[[0 1 2 3] [4 5 6 7] [8 9]]" || !errors.Is(err, closedContext().Err()) {
				t.Errorf("linger %v: %v, %v", linger, got, err)
			}
		})
	}
}

// The linger of a value that did not fit counts from the moment at which it was received, also
// if the body or the time between two loops takes a part of it. What has come meanwhile is in
// the batch.
func TestReceiveMaxBytesLinger(t *testing.T) {
	for _, test := range []struct{ body, pause, want time.Duration }{
		{0, 0, 10 * time.Second},
		{4 * time.Second, 0, 10 * time.Second},
		{15 * time.Second, 0, 15 * time.Second},
		{0, 4 * time.Second, 10 * time.Second},
		{0, 15 * time.Second, 15 * time.Second},
	} {
		inBubbles(t, func(t *testing.T, s sluice.Sender[int], r receiver) {
			start := time.Now()
			mustSend(t, s, 0, 1)
			go func() {
				time.Sleep(3 * time.Second)
				mustSend(t, s, 2)
			}()
			batches := batch.Receive(t.Context(), sluice.LeaveOpen(r), 100, &batch.Options[int]{MaxBytes: 10, Linger: 10 * time.Second, Size: func(v int) int { return []int{6, 6, 3}[v] }})
			var got []string
			for range 2 {
				for b := range batches.All() {
					got = append(got, fmt.Sprint(b, time.Since(start)))
					if len(got) == 2 || test.pause > 0 {
						break
					}
					time.Sleep(test.body)
				}
				if len(got) == 2 {
					break
				}
				time.Sleep(test.pause)
			}
			if want := fmt.Sprintf("[[0] 0s [1 2] %v]", test.want); fmt.Sprint(got) != want {
				t.Errorf("a body of %v, a pause of %v: %v, want %v", test.body, test.pause, got, want)
			}
		})
	}
}

// A loop receives about as many values ahead as its batches have.
func TestReceiveMaxBytesReadsLittleAhead(t *testing.T) {
	const n, each = 100_000, 10
	c := sluice.NewElastic[int](n, nil)
	for range n {
		_ = c.TrySend(1)
	}
	yielded := 0
	for b := range batch.Receive(t.Context(), c, sluice.Unlimited, &batch.Options[int]{MaxBytes: each, Linger: time.Hour, Size: func(v int) int { return v }}).All() {
		yielded += len(b)
		if ahead := n - c.Len() - yielded; ahead > 256 || yielded > 1000 && ahead > each+1 {
			t.Fatalf("after %d values, %d more were received", yielded, ahead)
		}
		if yielded > 10_000 {
			break
		}
	}
}

// A batch of a lent slice is a part of that slice, and the slice comes back.
func TestReceiveMaxBytesByReference(t *testing.T) {
	c := sluice.NewBounded[int](4*lendSize, nil)
	b := batch.NewSender(c, lendSize, nil)
	vs, err := b.SendSlice(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	slots := map[*int]bool{}
	next, received := 0, 0
	send := func() {
		vs = fill(vs, lendSize, &next)
		for i := range vs {
			slots[&vs[i]] = true
		}
		if vs, err = b.SendSlice(t.Context(), vs); err != nil {
			t.Fatal(err)
		}
	}
	send()
	for got := range batch.Receive(t.Context(), c, lendSize, &batch.Options[int]{MaxBytes: 40, Size: func(int) int { return 1 }}).All() {
		want := 40
		if received%lendSize != 0 {
			want = lendSize - 40
		}
		if len(got) != want || cap(got) != want || got[0] != received || !slots[&got[0]] {
			t.Fatalf("%d values from %d, want %d from %d in the slice that was sent", len(got), got[0], want, received)
		}
		if received += len(got); received == 100*lendSize {
			break
		}
		if received%lendSize == 0 {
			send()
		}
	}
	if len(slots) > 6*lendSize {
		t.Errorf("%d slices for one in the channel", len(slots)/lendSize)
	}
}

// TestReceiveMaxBytesAllocatesNothing: neither batches cut by bytes nor batches that linger
// allocate.
func TestReceiveMaxBytesAllocatesNothing(t *testing.T) {
	for _, size := range []int{1, 2, 6, 11} {
		c := sluice.NewBounded[int](64, nil)
		batches := batch.Receive(t.Context(), c, 8, &batch.Options[int]{MaxBytes: 10, Linger: time.Microsecond, Size: func(int) int { return size }})
		next, stop := iter.Pull(batches.All())
		allocated := testing.AllocsPerRun(200, func() {
			for range 5 {
				_ = c.TrySend(1)
			}
			if _, ok := next(); !ok {
				t.Error("the loop ended")
			}
		})
		stop()
		if allocated != 0 {
			t.Errorf("size %d: %v allocations per batch", size, allocated)
		}
	}
}

// Code of the user that panics ends the loop. The values stay, except the one that was dropped.
func TestReceiveMaxBytesUserPanics(t *testing.T) {
	run := func(o *batch.Options[int]) (batches *batch.Batches[int], c *sluice.Bounded[int]) {
		c = sluice.NewBounded[int](20, nil)
		mustSend(t, c, sequence(5)...)
		return batch.Receive(t.Context(), c, 10, withBytes(10, time.Hour, o)), c
	}
	loop := func(batches *batch.Batches[int]) {
		for b := range batches.All() {
			t.Errorf("yielded %v", b)
		}
	}
	batches, c := run(&batch.Options[int]{Size: func(v int) int { return 2 - v }})
	mustPanic(t, "Receive", []string{"Size returned -1 (want 0 or more)"}, func() { loop(batches) })
	if rest := batches.TakeRest(); !slices.Equal(rest, sequence(5)) || c.TrySend(1) != sluice.ErrClosed {
		t.Errorf("after a negative size TakeRest is %v", rest)
	}
	batches, c = run(&batch.Options[int]{
		Size: func(v int) int { return []int{1, 1, 1, 11, 1}[v] }, TooLarge: batch.Drop, OnUndelivered: func(int, sluice.Reason) { panic("batch: OnUndelivered: planted") },
	})
	mustPanic(t, "OnUndelivered", []string{"planted"}, func() { loop(batches) })
	if rest := batches.TakeRest(); !slices.Equal(rest, []int{0, 1, 2, 4}) || batches.Dropped() != 1 || c.TrySend(1) != sluice.ErrClosed {
		t.Errorf("after a panic of OnUndelivered TakeRest is %v, %d dropped", rest, batches.Dropped())
	}
}

// Sizes whose sum exceeds an int64 do not wrap.
func TestReceiveMaxBytesHugeSizes(t *testing.T) {
	c := sluice.NewBounded[int](20, nil)
	mustSend(t, c, sequence(6)...)
	c.Close()
	var got [][]int
	for b := range batch.Receive(t.Context(), c, 10, &batch.Options[int]{MaxBytes: math.MaxInt64, Size: func(int) int { return math.MaxInt/2 + 1 }}).All() {
		got = append(got, slices.Clone(b))
	}
	want := "[[0] [1] [2] [3] [4] [5]]"
	if math.MaxInt == math.MaxInt32 {
		want = "[[0 1 2 3 4 5]]"
	}
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// The length of a []byte or a string is known without Size.
func TestReceiveMaxBytesKnown(t *testing.T) {
	texts := []string{"aaa", "bbb", "cccc", "ddddd", "", "e"}
	var slabs [][]byte
	for _, text := range texts {
		slabs = append(slabs, append(make([]byte, 0, 100), text...))
	}
	var got, bytes []string
	for b := range batch.Receive(t.Context(), source.Slice(texts), 10, &batch.Options[string]{MaxBytes: 7, Linger: time.Hour}).All() {
		got = append(got, strings.Join(b, " "))
	}
	for b := range batch.Receive(t.Context(), source.Slice(slabs), 10, &batch.Options[[]byte]{MaxBytes: 7, Linger: time.Hour}).All() {
		text := fmt.Sprintf("%s", b)
		bytes = append(bytes, strings.Trim(text, "[]"))
	}
	if want := []string{"aaa bbb", "cccc", "ddddd  e"}; !slices.Equal(got, want) || !slices.Equal(bytes, want) {
		t.Errorf("%q and %q, want %q", got, bytes, want)
	}
}

func TestOptionsRefused(t *testing.T) {
	c := sluice.NewBounded[int](20, nil)
	one, hook := func(int) int { return 1 }, func(int, sluice.Reason) {}
	for _, test := range []struct {
		maxBytes int64
		o        *batch.Options[int]
		words    string
	}{
		{0, &batch.Options[int]{Size: one}, "Size and TooLarge require MaxBytes"},
		{0, &batch.Options[int]{TooLarge: batch.Drop}, "Size and TooLarge require MaxBytes"},
		{0, &batch.Options[int]{OnUndelivered: hook}, "OnUndelivered requires Drop (got Alone, which drops nothing)"},
		{-1, &batch.Options[int]{Size: one}, "MaxBytes is -1 (want 0 or more)"},
		{1, &batch.Options[int]{}, "MaxBytes requires Size for values of type int"},
		{1, &batch.Options[int]{TooLarge: batch.Drop}, "MaxBytes requires Size for values of type int"},
		{1, &batch.Options[int]{Size: one, TooLarge: 3}, "unknown policy TooLarge(3) (want Alone, Fail or Drop)"},
		{1, &batch.Options[int]{Size: one, TooLarge: batch.Fail, OnUndelivered: hook}, "OnUndelivered requires Drop (got Fail, which drops nothing)"},
	} {
		mustPanic(t, "Receive", []string{test.words}, func() {
			batch.Receive(t.Context(), c, 1, withBytes(test.maxBytes, 0, test.o))
		})
		mustPanic(t, "NewSender", []string{test.words}, func() {
			batch.NewSender(c, 1, withBytes(test.maxBytes, 0, test.o))
		})
	}
	for policy, name := range map[batch.TooLarge]string{batch.Alone: "Alone", batch.Drop: "Drop", 7: "TooLarge(7)"} {
		if policy.String() != name {
			t.Errorf("policy %d is %q", policy, policy.String())
		}
	}
}
