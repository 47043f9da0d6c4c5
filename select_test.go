package sluice_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// unusedContext is a context whose methods must not be called.
type unusedContext struct{ context.Context }

func (unusedContext) Done() <-chan struct{} { panic("Done was called") }
func (unusedContext) Err() error            { panic("Err was called") }

// TestSelectReady: a case that can proceed does so without consulting the context, and
// no other case does.
func TestSelectReady(t *testing.T) {
	ctx := unusedContext{}
	for kind, c := range eachKind() {
		if c.Cap() == 0 {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			other := sluice.NewRendezvous[string](nil)
			in, out := sluice.OnRecv[int](c), sluice.OnSend[int](c, 7)
			idle := sluice.OnRecv[string](other)
			for n := range 3 {
				out.Value = n
				if chosen, err := sluice.Select(ctx, idle, in, out); chosen != out || err != nil || c.Len() != 1 {
					t.Fatalf("send to an empty channel: %v, %v, Len %d", chosen, err, c.Len())
				}
				if chosen, err := sluice.Select(ctx, in, idle); chosen != in || err != nil || in.Value != n || c.Len() != 0 {
					t.Fatalf("receive of a queued %d: %v, %v, received %d, Len %d", n, chosen, err, in.Value, c.Len())
				}
			}
			c.Close()
			for range 2 {
				if chosen, err := sluice.Select(ctx, idle, out); chosen != out || err != sluice.ErrClosed {
					t.Errorf("send to a closed channel: %v, %v", chosen, err)
				}
				if chosen, err := sluice.Select(ctx, in, idle); chosen != in || err != sluice.ErrClosed || in.Value != 0 {
					t.Errorf("receive from a closed channel: %v, %v, Value %d", chosen, err, in.Value)
				}
			}
		})
	}
}

// TestSelectDrains: a Select receives the buffered values of a closed channel before
// ErrClosed.
func TestSelectDrains(t *testing.T) {
	c := sluice.NewBounded[int](20, nil)
	_ = c.TrySend(1)
	c.Close()
	in := sluice.OnRecv[int](c)
	for _, want := range []error{nil, sluice.ErrClosed} {
		if _, err := sluice.Select(unusedContext{}, in); err != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestSelectPolicies: a send that does not block under its policy can proceed.
func TestSelectPolicies(t *testing.T) {
	never := sluice.OnRecv[int](sluice.NewRendezvous[int](nil))
	sized := sluice.NewElastic(9, &sluice.ElasticOptions[int]{MaxBytes: 3, Size: func(v int) int { return v }})
	for name, test := range map[string]struct {
		c    sluice.Channel[int]
		v    int
		want error
	}{
		"Reject":        {sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Overflow: sluice.Reject}), 1, sluice.ErrFull},
		"Reject, slots": {sluice.NewBounded(99, &sluice.BoundedOptions[int]{Overflow: sluice.Reject}), 1, nil},
		"DropNewest":    {sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Overflow: sluice.DropNewest}), 1, nil},
		"too large":     {sized, 4, sluice.ErrTooLarge},
		"DropOldest":    {fill(sluice.NewBounded(20, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest})), 1, nil},
	} {
		out := sluice.OnSend[int](test.c, test.v)
		if chosen, err := sluice.Select(unusedContext{}, never, out); chosen != out || err != test.want {
			t.Errorf("%s: %v, %v, want %v", name, chosen, err, test.want)
		}
	}
}

func TestSelectDefault(t *testing.T) {
	c := sluice.NewBounded[int](1, nil)
	in := sluice.OnRecv[int](c)
	for range 3 {
		if chosen, err := sluice.Select(unusedContext{}, in, sluice.Default); chosen != sluice.Default || err != nil {
			t.Errorf("no case can proceed: %v, %v", chosen, err)
		}
		if chosen, err := sluice.Select(unusedContext{}, sluice.Default); chosen != sluice.Default || err != nil {
			t.Errorf("Default alone: %v, %v", chosen, err)
		}
		_ = c.TrySend(1)
		if chosen, err := sluice.Select(unusedContext{}, sluice.Default, in); chosen != in || err != nil {
			t.Errorf("a receive can proceed: %v, %v", chosen, err)
		}
	}
}

// TestSelectClosedValue: Value is zero after Close has ended the receive, even if the
// Select was parked.
func TestSelectClosedValue(t *testing.T) {
	for name, open := range map[string]func() sluice.Channel[int]{
		"Rendezvous": func() sluice.Channel[int] { return sluice.NewRendezvous[int](nil) },
		"Bounded 1":  func() sluice.Channel[int] { return sluice.NewBounded[int](1, nil) },
		"Bounded 99": func() sluice.Channel[int] { return sluice.NewBounded[int](99, nil) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := open()
			in := sluice.OnRecv[int](c)
			go func() { _ = c.Send(context.Background(), 7) }()
			_, _ = sluice.Select(context.Background(), in)
			var err error
			go func() { _, err = sluice.Select(context.Background(), in) }()
			synctest.Wait()
			c.Close()
			synctest.Wait()
			if err != sluice.ErrClosed || in.Value != 0 {
				t.Errorf("%s: %v, Value %d", name, err, in.Value)
			}
		})
	}
}

// TestSelectWrappedDefault: a case that cannot wait is a Default.
func TestSelectWrappedDefault(t *testing.T) {
	wrapped := struct{ sluice.Case }{sluice.Default}
	in := sluice.OnRecv(sluice.NewBounded[int](1, nil))
	if chosen, err := sluice.Select(context.Background(), in, wrapped); chosen != sluice.Case(wrapped) || err != nil {
		t.Errorf("chosen %v, %v", chosen, err)
	}
}
