package sluice_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// mustPanic fails t unless f panics with a string that begins with "sluice: ", the
// name of the function, and a colon, and contains all words.
func mustPanic(t *testing.T, function string, words []string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		message, ok := recover().(string)
		if !ok {
			t.Errorf("no panic with a string")
			return
		}
		if !strings.HasPrefix(message, "sluice: "+function+": ") {
			t.Errorf("panic %q does not name the function %s", message, function)
		}
		for _, word := range words {
			if !strings.Contains(message, word) {
				t.Errorf("panic %q does not contain %q", message, word)
			}
		}
	}()
	f()
}

func TestBadCapacity(t *testing.T) {
	for _, n := range []int{-1, math.MinInt} {
		mustPanic(t, "NewBounded", []string{"capacity", fmt.Sprint(n)}, func() { sluice.NewBounded[int](n, nil) })
	}
	for _, n := range []int{0, -1, math.MinInt} {
		value := fmt.Sprint(n)
		mustPanic(t, "NewElastic", []string{"limit", value}, func() { sluice.NewElastic[int](n, nil) })
		mustPanic(t, "NewSharded", []string{"limit", value}, func() { sluice.NewSharded[int](n, nil) })
	}
}

// TestBadOptions: the constructors panic on invalid options that the types allow.
func TestBadOptions(t *testing.T) {
	type (
		rendezvous = sluice.RendezvousOptions[int]
		bounded    = sluice.BoundedOptions[int]
		elastic    = sluice.ElasticOptions[int]
		sharded    = sluice.ShardedOptions[int]
	)
	size := func(int) int { return 1 }
	drop := func(int) {}
	for _, test := range []struct {
		options any
		words   []string
	}{
		{rendezvous{Overflow: 4}, []string{"Overflow(4)"}},
		{bounded{Overflow: 255}, []string{"Overflow(255)"}},
		{elastic{Shrink: 3}, []string{"ShrinkMode(3)"}},
		{sharded{Shrink: 3}, []string{"ShrinkMode(3)"}},
		{rendezvous{Overflow: sluice.DropOldest}, []string{"DropOldest"}},
		{rendezvous{OnDrop: drop}, []string{"OnDrop", "Block"}},
		{bounded{OnDrop: drop, Overflow: sluice.Reject}, []string{"OnDrop", "Reject"}},
		{sharded{OnDrop: drop}, []string{"OnDrop", "Block"}},
		{elastic{LimitBytes: -7, Size: size}, []string{"LimitBytes", "-7"}},
		{elastic{LimitBytes: 10}, []string{"LimitBytes", "Size", "int"}},
		{elastic{Size: size}, []string{"Size", "LimitBytes"}},
		{sharded{Lanes: -1}, []string{"Lanes", "-1"}},
		{sharded{Lanes: 1<<15 + 1}, []string{"Lanes", "32769"}},
	} {
		function, build := "", func() {}
		switch o := test.options.(type) {
		case rendezvous:
			function, build = "NewRendezvous", func() { sluice.NewRendezvous(&o) }
		case bounded:
			function, build = "NewBounded", func() { sluice.NewBounded(3, &o) }
		case elastic:
			function, build = "NewElastic", func() { sluice.NewElastic(3, &o) }
		case sharded:
			function, build = "NewSharded", func() { sluice.NewSharded(3, &o) }
		}
		t.Run(fmt.Sprint(function, " ", strings.Join(test.words, " ")), func(t *testing.T) {
			mustPanic(t, function, test.words, build)
		})
	}
	mustPanic(t, "NewBounded", []string{"DropOldest"}, func() {
		sluice.NewBounded(0, &bounded{Overflow: sluice.DropOldest})
	})
}

// TestBoundedOfZero: a Bounded of capacity 0 behaves like a Rendezvous.
func TestBoundedOfZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[int](0, nil)
		if err := c.TrySend(1); err != sluice.ErrFull {
			t.Errorf("TrySend without a receiver: %v", err)
		}
		sent := false
		go func() {
			_ = c.Send(t.Context(), 2)
			sent = true
		}()
		if synctest.Wait(); sent || c.Len() != 0 || c.Cap() != 0 {
			t.Errorf("without a receiver: Send returned: %v; Len %d, Cap %d", sent, c.Len(), c.Cap())
		}
		if v, err := c.TryRecv(); v != 2 || err != nil {
			t.Errorf("TryRecv: %d, %v", v, err)
		}
		c.Close()
	})
}

// TestOptionsAreCopied: changing the options after the construction does not change
// the channel.
func TestOptionsAreCopied(t *testing.T) {
	o := &sluice.BoundedOptions[int]{Name: "before", Overflow: sluice.Reject}
	c := sluice.NewBounded(1, o)
	*o = sluice.BoundedOptions[int]{Name: "after", Overflow: sluice.DropNewest}
	if err := c.TrySend(1); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(context.Background(), 2); err != sluice.ErrFull {
		t.Errorf("Send to a full channel made with Reject: %v", err)
	}
	if name := c.Stats().Name; name != "before" {
		t.Errorf("the channel's name became %q", name)
	}
}

func TestNilContext(t *testing.T) {
	for kind, c := range eachKind() {
		var none context.Context
		for method, call := range map[string]func(){
			"Send":      func() { _ = c.Send(none, 1) },
			"SendBatch": func() { _, _ = c.SendBatch(none, []int{1}) },
			"Recv":      func() { _, _ = c.Recv(none) },
			"RecvBatch": func() { _, _ = c.RecvBatch(none, make([]int, 1)) },
		} {
			t.Run(kind+" "+method, func(t *testing.T) {
				mustPanic(t, method, []string{"nil context"}, call)
				if c.Len() != 0 {
					t.Errorf("Len is %d after a call that panicked", c.Len())
				}
			})
		}
	}
	mustPanic(t, "Values", []string{"nil context"}, func() { sluice.NewElastic[int](1, nil).Values(nil) })
}

// TestHugeCapacity: the largest capacities neither allocate their slots in advance
// nor overflow an int.
func TestHugeCapacity(t *testing.T) {
	for _, limit := range []int{math.MaxInt, math.MaxInt/8 + 1, math.MaxInt - 1, math.MaxInt32} {
		checkOneValue(t, sluice.NewElastic[[64]byte](limit, nil), limit, [64]byte{7})
		mustReturn(t, func() {
			checkOneValue(t, sluice.NewBounded[struct{}](limit, nil), limit, struct{}{})
			c := sluice.NewBounded[[64]byte](limit, nil)
			checkOneValue(t, c, limit, [64]byte{7})
			if held := c.Stats().Bytes; held > 4096 {
				t.Errorf("capacity %d: %d bytes held for one value", limit, held)
			}
		})
	}
}

func checkOneValue[T comparable](t *testing.T, c sluice.Channel[T], capacity int, v T) {
	t.Helper()
	if c.Cap() != capacity {
		t.Errorf("made with %d: Cap is %d", capacity, c.Cap())
	}
	if err := c.TrySend(v); err != nil || c.Len() != 1 {
		t.Errorf("capacity %d: TrySend: %v, Len is %d", capacity, err, c.Len())
	}
	if got, err := c.TryRecv(); got != v || err != nil {
		t.Errorf("capacity %d: TryRecv: %v, %v", capacity, got, err)
	}
}

// mustReturn fails t if f has not returned after 20 seconds, and abandons it then.
func mustReturn(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a constructor hangs")
	}
}

// TestSizes: a limit in bytes counts what Size returns. A value above the limit fails
// with ErrTooLarge, and a negative size panics.
func TestSizes(t *testing.T) {
	ctx := context.Background()
	c := sluice.NewElastic(100, &sluice.ElasticOptions[int]{LimitBytes: 10, Size: func(v int) int { return v }})
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

// TestKnownSizes: without Size, a []byte counts as its capacity plus its header, and a
// string as its length plus its header, under every policy.
func TestKnownSizes(t *testing.T) {
	for _, policy := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
		bytes := sluice.NewElastic(9, &sluice.ElasticOptions[[]byte]{LimitBytes: 255, Overflow: policy})
		texts := sluice.NewElastic(9, &sluice.ElasticOptions[string]{LimitBytes: 255, Overflow: policy})
		for range 3 { // two fit
			_ = bytes.TrySend(make([]byte, 1, 100))
			_ = texts.TrySend(strings.Repeat("s", 100))
		}
		if bytes.Len() != 2 || texts.Len() != 2 {
			t.Errorf("%v: %d slices and %d strings within the limit", policy, bytes.Len(), texts.Len())
		}
		if got := []error{bytes.TrySend(make([]byte, 255)), texts.TrySend(strings.Repeat("s", 255))}; got[0] != sluice.ErrTooLarge || got[1] != got[0] {
			t.Errorf("%v: values above the limit: %v", policy, got)
		}
	}
}

// TestBytesOfKnownSizes: Stats.Bytes does not count the header of a string or slice,
// which its slot already contains, a second time.
func TestBytesOfKnownSizes(t *testing.T) {
	for _, policy := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
		known := sluice.NewElastic(99, &sluice.ElasticOptions[string]{LimitBytes: 255, Overflow: policy})
		given := sluice.NewElastic(99, &sluice.ElasticOptions[string]{LimitBytes: 255, Overflow: policy, Size: func(s string) int { return len(s) }})
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
	c := sluice.NewElastic(3, &sluice.ElasticOptions[int]{LimitBytes: math.MaxInt64, Size: func(v int) int { return v }})
	if err := c.TrySend(math.MaxInt); err != nil {
		t.Fatalf("TrySend of %d bytes into an equal limit: %v", math.MaxInt, err)
	}
	if err := c.TrySend(math.MaxInt); math.MaxInt == math.MaxInt64 && err != sluice.ErrFull {
		t.Errorf("a second TrySend of that size: %v, want %v", err, sluice.ErrFull)
	}
}
