package fan_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/fan"
)

// TestOut: each output receives each value, in order, whatever its kind, and a slow
// output does not keep a value from the others.
func TestOut(t *testing.T) {
	const n = 500
	ctx := context.Background()
	source := sluice.NewElastic[int](n, nil)
	for i := range n {
		_ = source.TrySend(i)
	}
	source.Close()
	var subscribers []sluice.Sender[int]
	var all sync.WaitGroup
	for kind, c := range anyKind() {
		subscribers = append(subscribers, c)
		all.Go(func() {
			for want := range n {
				if v, err := c.Recv(ctx); v != want || err != nil {
					t.Errorf("%s: %d, %v, want %d", kind, v, err, want)
					return
				}
			}
			if v, err := c.TryRecv(); err != sluice.ErrEmpty {
				t.Errorf("%s: %d, %v after the end", kind, v, err)
			}
		})
	}
	if err := fan.Out(ctx, source, subscribers...); err != nil {
		t.Error(err)
	}
	all.Wait()
}

// TestOutPolicies: the overflow policy of each output applies.
func TestOutPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		source := sluice.NewElastic[int](9, nil)
		slow := sluice.NewRendezvous[int](nil)
		freshest := sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest})
		first := sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})
		small := sluice.NewElastic(9, &sluice.ElasticOptions[int]{MaxBytes: 2, Size: func(v int) int { return v * v }})
		leaving := sluice.NewBounded[int](1, nil)
		var failed error = errors.New("Out is running")
		go func() { failed = fan.Out(ctx, source, slow, freshest, first, leaving, small) }()
		for i := 1; i <= 3; i++ {
			_ = source.TrySend(i)
		}
		synctest.Wait() // waits for slow with 1: the others have it
		if v, err := freshest.TryRecv(); v != 1 || err != nil {
			t.Errorf("the freshest: %d, %v", v, err)
		}
		for want := 1; want <= 3; want++ {
			if v, _ := slow.Recv(ctx); v != want {
				t.Errorf("the slow one: %d, want %d", v, want)
			}
			if synctest.Wait(); want == 2 { // the others have 3, leaving is full
				leaving.Close()
			}
		}
		source.Close()
		if synctest.Wait(); failed != nil {
			t.Errorf("in the end: %v", failed)
		}
		for name, want := range map[string]struct {
			c  *sluice.Bounded[int]
			vs []int
		}{"freshest": {freshest, []int{3}}, "first": {first, []int{1}}, "leaving": {leaving, []int{1}}} {
			if got := drained(want.c); !slices.Equal(got, want.vs) {
				t.Errorf("%s: %v, want %v", name, got, want.vs)
			}
		}
		if v, err := small.TryRecv(); v != 1 || err != nil || small.Len() != 0 {
			t.Errorf("small: %d, %v, then %d", v, err, small.Len())
		}
	})
}

// TestOutEndsEarly: missed are the outputs that the last value did not reach.
func TestOutEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		source := sluice.NewElastic[int](9, nil)
		a, b, c := sluice.NewBounded[int](1, nil), sluice.NewBounded[int](20, nil), sluice.NewRendezvous[int](nil)
		var v int
		var missed []sluice.Sender[int]
		var err error
		run := func() { v, missed, err = ended(fan.Out(ctx, sluice.LeaveOpen(source), a, b, c)) }
		go run()
		_ = source.TrySend(5)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if v != 5 || err != context.Canceled || !slices.Equal(missed, []sluice.Sender[int]{c}) || a.Len() != 1 || b.Len() != 1 {
			t.Errorf("canceled: %d, %v, %v", v, missed, err)
		}
		if err := fan.Out(ctx, sluice.LeaveOpen(source), a, b, c); err != context.Canceled {
			t.Errorf("without a value: %v", err)
		}
		ctx = context.Background()
		b.Close() // before there is a value that it could take
		go run()
		_ = source.TrySend(6)
		synctest.Wait()
		a.Close()
		synctest.Wait()
		c.Close()
		synctest.Wait()
		if v != 6 || err != sluice.ErrClosed || !slices.Equal(missed, []sluice.Sender[int]{a, b, c}) {
			t.Errorf("all are closed: %d, %v, %v", v, missed, err)
		}
	})
}

// ended returns what an error of Out says about the last value, and why Out has ended.
func ended(err error) (v int, missed []sluice.Sender[int], why error) {
	var undelivered *fan.UndeliveredError[int]
	if !errors.As(err, &undelivered) {
		return 0, nil, err
	}
	return undelivered.Value, undelivered.Missed, undelivered.Err
}

// The message of an UndeliveredError, and what errors.Is finds.
func TestUndeliveredError(t *testing.T) {
	source, a, b := sluice.NewBounded[int](1, nil), sluice.NewBounded[int](1, nil), sluice.NewBounded[int](1, nil)
	_ = source.TrySend(7)
	a.Close()
	b.Close()
	err := fan.Out(t.Context(), source, a, b)
	const want = "fan: Out: the last value did not reach 2 of the outputs: sluice: channel closed"
	if !errors.Is(err, sluice.ErrClosed) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
