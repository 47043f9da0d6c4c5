package sluice_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
)

// TestSizes: a limit in bytes counts what Size returns. A value above the limit fails
// with ErrTooLarge, and a negative size panics.
func TestSizes(t *testing.T) {
	ctx := context.Background()
	c := sluice.NewElastic(100, &sluice.ElasticOptions[int]{MaxBytes: 10, Size: func(v int) int { return v }})
	for _, v := range []int{11, math.MaxInt} {
		if err := c.Send(ctx, v); err != sluice.ErrTooLarge {
			t.Errorf("Send of %d bytes into a limit of 10: %v, want %v", v, err, sluice.ErrTooLarge)
		}
		if err := c.TrySend(v); err != sluice.ErrTooLarge {
			t.Errorf("TrySend of %d bytes into a limit of 10: %v, want %v", v, err, sluice.ErrTooLarge)
		}
	}
	for _, v := range []int{4, 0, 6, 0} {
		if err := c.TrySend(v); err != nil {
			t.Errorf("TrySend of %d bytes that fit: %v", v, err)
		}
	}
	if err := c.TrySend(1); err != sluice.ErrFull {
		t.Errorf("TrySend of the 11th byte: %v, want %v", err, sluice.ErrFull)
	}
	n, err := c.SendBatch(canceledContext(), []int{0, 0, 1, 0})
	if n != 2 || err != context.Canceled {
		t.Errorf("SendBatch whose third value does not fit: %d, %v, want 2, %v", n, err, context.Canceled)
	}
	for _, want := range []int{4, 0, 6, 0, 0, 0} {
		if v, err := c.TryRecv(); v != want || err != nil {
			t.Errorf("TryRecv: %d, %v, want %d", v, err, want)
		}
	}
	for method, send := range map[string]func(){
		"Send":      func() { _ = c.Send(ctx, -1) },
		"TrySend":   func() { _ = c.TrySend(-1) },
		"SendBatch": func() { _, _ = c.SendBatch(ctx, []int{-1}) },
	} {
		t.Run(method, func(t *testing.T) { mustPanic(t, method, []string{"Size", "-1"}, send) })
	}
	if err := c.TrySend(10); err != nil || c.Len() != 1 {
		t.Errorf("TrySend after panics: %v, Len %d", err, c.Len())
	}
}

// TestFixedSize: without Size, values without pointers have the size of their type, and the
// limit in bytes is one in values.
func TestFixedSize(t *testing.T) {
	const word = 4 << (^uint(0) >> 63) // bytes of an int
	for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject} {
		o := &sluice.ElasticOptions[int]{MaxBytes: 3*word + word - 1, Overflow: overflow}
		if n := sluice.NewElastic(2, o).Cap(); n != 2 {
			t.Errorf("with room for 3 and a limit of 2, Cap is %d", n)
		}
		c := sluice.NewElastic(sluice.Unlimited, o)
		if n, err := c.SendBatch(canceledContext(), make([]int, 9)); n != 3 || err == nil || c.Cap() != 3 {
			t.Errorf("%d values of %d bytes in %d: %v, Cap %d", n, word, o.MaxBytes, err, c.Cap())
		}
	}
	empty := sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[struct{}]{MaxBytes: 5})
	if empty.Cap() != 5 {
		t.Errorf("values without a size count as %d/5 bytes", empty.Cap())
	}
}

// TestKnownSizes: without Size, a string counts as its length plus its header, under every policy.
func TestKnownSizes(t *testing.T) {
	for _, policy := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
		texts := sluice.NewElastic(9, &sluice.ElasticOptions[string]{MaxBytes: 255, Overflow: policy})
		for range 3 { // two fit
			_ = texts.TrySend(strings.Repeat("s", 100))
		}
		if texts.Len() != 2 {
			t.Errorf("%v: %d strings within the limit", policy, texts.Len())
		}
		if err := texts.TrySend(strings.Repeat("s", 255)); err != sluice.ErrTooLarge {
			t.Errorf("%v: a value above the limit: %v", policy, err)
		}
	}
}

// TestBytesOfKnownSizes: Stats.Bytes does not count the header of a string or slice,
// which its slot already contains, a second time.
func TestBytesOfKnownSizes(t *testing.T) {
	for _, policy := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
		known := sluice.NewElastic(99, &sluice.ElasticOptions[string]{MaxBytes: 255, Overflow: policy})
		given := sluice.NewElastic(99, &sluice.ElasticOptions[string]{MaxBytes: 255, Overflow: policy, Size: func(s string) int { return len(s) }})
		for n := range 10 {
			if got, want := known.Stats().Bytes, given.Stats().Bytes; got != want {
				t.Errorf("%v: %d bytes with %d strings, want %d", policy, got, n, want)
			}
			_, _ = known.TrySend("four"), given.TrySend("four")
			if n%3 == 0 {
				_, _ = known.TryRecv()
				_, _ = given.TryRecv()
			}
		}
	}
}

// TestSizesDoNotOverflow: a sum of sizes beyond MaxInt64 is above every limit.
func TestSizesDoNotOverflow(t *testing.T) {
	c := sluice.NewElastic(3, &sluice.ElasticOptions[int]{MaxBytes: math.MaxInt64, Size: func(v int) int { return v }})
	if err := c.TrySend(math.MaxInt); err != nil {
		t.Fatalf("TrySend of %d bytes into an equal limit: %v", math.MaxInt, err)
	}
	if err := c.TrySend(math.MaxInt); math.MaxInt == math.MaxInt64 && err != sluice.ErrFull {
		t.Errorf("a second TrySend of that size: %v, want %v", err, sluice.ErrFull)
	}
}

// TestBytesSaturate: with sizes and a limit near the largest int, Stats.Bytes is at least their sum, and not
// negative, although the memory of the queue is added to the sizes.
func TestBytesSaturate(t *testing.T) {
	for _, policy := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropOldest, sluice.DropNewest} {
		for _, size := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt / 2, math.MaxInt/3 + 1} {
			c := sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[int]{
				Overflow: policy, MaxBytes: math.MaxInt, Size: func(int) int { return size },
			})
			fits := math.MaxInt / size
			for v := range 10 {
				_ = c.TrySend(v)
				if s := c.Stats(); s.Len != min(v+1, fits) || s.Bytes < int64(s.Len)*int64(size) {
					t.Errorf("%v, size %d: after %d sends: %+v", policy, size, v+1, s)
				}
			}
			for range fits {
				if _, err := c.TryRecv(); err != nil {
					t.Errorf("%v, size %d: %v", policy, size, err)
				}
			}
			if s := c.Stats(); s.Len != 0 || s.Bytes < 0 || s.Bytes > 1<<16 {
				t.Errorf("%v, size %d: empty: %+v", policy, size, s)
			}
		}
	}
}
