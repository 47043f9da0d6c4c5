package sluice_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// unusedContext is a context whose methods must not be called.
type unusedContext struct{ context.Context }

func (unusedContext) Done() <-chan struct{} { panic("Done was called") }
func (unusedContext) Err() error            { panic("Err was called") }

// TestSelectReady: a case that can proceed does so without a look at the context, and
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
	sized := sluice.NewElastic(9, &sluice.ElasticOptions[int]{LimitBytes: 3, Size: func(v int) int { return v }})
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

// TestSelectContext: a context ends the wait. The Select then leaves all wait queues,
// and its cases can be used again.
func TestSelectContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, b := sluice.NewRendezvous[int](nil), sluice.NewBounded[int](20, nil)
		cases := []sluice.Case{sluice.OnRecv[int](r), sluice.OnSend[int](r, 1), sluice.OnRecv[int](b)}
		for range 3 {
			for _, cases := range [][]sluice.Case{cases, cases[:2], cases[2:], nil} {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				began := time.Now()
				if chosen, err := sluice.Select(ctx, cases...); chosen != nil || err != context.DeadlineExceeded || time.Since(began) != time.Minute {
					t.Errorf("%d cases: %v, %v after %v", len(cases), chosen, err, time.Since(began))
				}
				cancel()
				if chosen, err := sluice.Select(ctx, cases...); chosen != nil || err != context.DeadlineExceeded {
					t.Errorf("%d cases, ctx done before: %v, %v", len(cases), chosen, err)
				}
			}
			if _, err := r.TryRecv(); err != sluice.ErrEmpty {
				t.Errorf("TryRecv after a canceled Select: %v", err)
			}
			if err := r.TrySend(1); err != sluice.ErrFull {
				t.Errorf("TrySend after a canceled Select: %v", err)
			}
		}
		if s := r.Stats(); s.SendersWaiting+s.ReceiversWaiting != 0 || s.SendWaits != 6 || s.RecvWaits != 6 ||
			s.SendWaitTime != 6*time.Minute || s.RecvWaitTime != 6*time.Minute {
			t.Errorf("after 6 waits of a minute on each side: %+v", s)
		}
		if s := b.Stats(); s.ReceiversWaiting != 0 || s.RecvWaits != 6 || s.RecvWaitTime != 6*time.Minute {
			t.Errorf("after 6 waits of a minute: %+v", s)
		}
	})
}

// arrivingContext calls arrive just before it is done: in the n-th call of Err.
type arrivingContext struct {
	context.Context
	calls, n int
	arrive   func()
}

func (c *arrivingContext) Err() error {
	if c.calls++; c.calls < c.n {
		return nil
	}
	c.arrive()
	return context.Canceled
}

// TestSelectLastPoll: a Select does not miss a value that was sent before the context
// was done.
func TestSelectLastPoll(t *testing.T) {
	for _, c := range []sluice.Channel[int]{sluice.NewBounded[int](1, nil), sluice.NewBounded[int](20, nil)} {
		in := sluice.OnRecv[int](c)
		ctx := &arrivingContext{Context: context.Background(), n: 1, arrive: func() { _ = c.TrySend(5) }}
		if chosen, err := sluice.Select(ctx, in); chosen != in || err != nil || in.Value != 5 {
			t.Errorf("%v, %v", chosen, err)
		}
	}
}

func TestSelectBadInput(t *testing.T) {
	ctx := context.Background()
	c := sluice.NewBounded[int](1, nil)
	var none *sluice.Bounded[int]
	mustPanic(t, "Select", []string{"nil context"}, func() { _, _ = sluice.Select(nil, sluice.OnRecv[int](c)) })
	mustPanic(t, "Select", []string{"case 1 is nil"}, func() { _, _ = sluice.Select(ctx, sluice.OnSend[int](c, 1), nil) })
	mustPanic(t, "OnSend", []string{"nil"}, func() { sluice.OnSend[int](nil, 1) })
	mustPanic(t, "OnRecv", []string{"*sluice.Bounded[int]"}, func() { sluice.OnRecv[int](none) })
	var zero sluice.RecvCase[int]
	mustPanic(t, "Select", []string{"OnRecv"}, func() { _, _ = sluice.Select(ctx, &zero) })
	mustPanic(t, "Select", []string{"OnSend"}, func() { _, _ = sluice.Select(ctx, new(sluice.SendCase[int])) })
	if c.Len() != 0 {
		t.Errorf("%d values were sent by calls that panicked", c.Len())
	}
}

// TestSelectCaseInUse: a Select that would wait panics if one of its cases is in use by
// another call, which it does not disturb.
func TestSelectCaseInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		r, b := sluice.NewRendezvous[int](nil), sluice.NewBounded[int](20, nil)
		in, other := sluice.OnRecv[int](r), sluice.OnRecv[int](b)
		mustPanic(t, "Select", []string{"case 1", "in use"}, func() { _, _ = sluice.Select(ctx, in, in) })
		var chosen sluice.Case
		go func() { chosen, _ = sluice.Select(ctx, in) }()
		synctest.Wait()
		mustPanic(t, "Select", []string{"case 1", "in use"}, func() { _, _ = sluice.Select(ctx, other, in) })
		go func() { _ = b.Send(ctx, 2) }()
		if c, err := sluice.Select(ctx, other); c != other || err != nil || other.Value != 2 {
			t.Errorf("a case of the call that panicked: %v, %v", c, err)
		}
		if err := r.Send(ctx, 1); err != nil {
			t.Error(err)
		}
		if synctest.Wait(); chosen != in || in.Value != 1 {
			t.Errorf("chosen %v, received %d", chosen, in.Value)
		}
	})
}

// TestSelectSizePanics: if Size panics, the Select leaves the wait queue.
func TestSelectSizePanics(t *testing.T) {
	calls, failing := 0, 0
	c := sluice.NewElastic(2, &sluice.ElasticOptions[int]{LimitBytes: 2, Size: func(int) int {
		if calls++; calls == failing {
			return -1
		}
		return 1
	}})
	fill(c)
	out := sluice.OnSend[int](c, 1)
	for n := 1; n <= 2; n++ { // during a poll
		failing = calls + n
		mustPanic(t, "TrySend", []string{"Size", "-1"}, func() { _, _ = sluice.Select(context.Background(), out) })
	}
	failing = calls + 3 // before the wait
	mustPanic(t, "Select", []string{"Size", "-1"}, func() { _, _ = sluice.Select(context.Background(), out) })
	if s := c.Stats(); s.SendersWaiting != 0 || s.Len != 2 {
		t.Errorf("after panics: %+v", s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := sluice.Select(ctx, out); err != context.Canceled {
		t.Errorf("after panics: %v", err)
	}
}

// TestSelectIsFair: each case that can proceed is chosen equally often, whatever its
// position among the others.
func TestSelectIsFair(t *testing.T) {
	const n = 40_000
	for _, ready := range []string{"1111", "1", "11", "0101", "1100", "10000001", "011010", "111111111111", "100000000011"} {
		times := make([]int, len(ready))
		cases := make([]sluice.Case, len(ready))
		for i := range ready {
			c := sluice.NewBounded[int](1+19*(i%2), nil) // both engines
			if ready[i] == '1' {
				c.Close()
			}
			cases[i] = sluice.OnRecv[int](c)
		}
		for range n {
			chosen, _ := sluice.Select(unusedContext{}, cases...)
			for i, c := range cases {
				if c == chosen {
					times[i]++
				}
			}
		}
		// Six standard deviations are less than a tenth here.
		want := n / strings.Count(ready, "1")
		for i := range ready {
			if got := times[i]; ready[i] == '1' && (got < want-want/10 || got > want+want/10) || ready[i] == '0' && got != 0 {
				t.Errorf("%s: chosen %v times", ready, times)
				break
			}
		}
	}
}

// TestSelectsPair: two Selects on opposite sides of unbuffered channels, in one
// direction or both, pair in every round, each with the other.
func TestSelectsPair(t *testing.T) {
	for name, rendezvous := range map[string]func() *sluice.Rendezvous[int]{
		"hand-off":    func() *sluice.Rendezvous[int] { return sluice.NewRendezvous[int](nil) },
		"no hand-off": func() *sluice.Rendezvous[int] { return sluice.NewRendezvousWithoutHandOff[int](nil) },
	} {
		for _, both := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", both directions ", both), func(t *testing.T) {
				const n = 2000
				ctx := context.Background()
				a, b := rendezvous(), rendezvous()
				var ends [2][]int // v if the Select sent v, -v if it received v
				var all sync.WaitGroup
				for end := range ends {
					all.Go(func() {
						to, from := a, b
						if end == 1 {
							to, from = b, a
						}
						cases := []sluice.Case{sluice.OnSend(to, 0), sluice.OnRecv(from)}
						if both {
							cases = append(cases, sluice.OnRecv(to), sluice.OnSend(from, 0))
						}
						for i := range n {
							for _, c := range cases {
								if out, ok := c.(*sluice.SendCase[int]); ok {
									out.Value = 1 + 2*i + end
								}
							}
							chosen, err := sluice.Select(ctx, cases...)
							switch c := chosen.(type) {
							case *sluice.SendCase[int]:
								ends[end] = append(ends[end], c.Value)
							case *sluice.RecvCase[int]:
								ends[end] = append(ends[end], -c.Value)
							}
							if err != nil {
								t.Error(err)
							}
						}
					})
				}
				all.Wait()
				for i := range n {
					if ends[0][i] != -ends[1][i] {
						t.Fatalf("round %d: %d and %d", i, ends[0][i], ends[1][i])
					}
				}
			})
		}
	}
}

// TestSelectDoesNotPairWithItself: a Select waits while the only partner of its send
// would be its own receive.
func TestSelectDoesNotPairWithItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := sluice.NewRendezvous[int](nil)
		in, out := sluice.OnRecv[int](c), sluice.OnSend[int](c, 3)
		if chosen, err := sluice.Select(ctx, in, out, sluice.Default); chosen != sluice.Default || err != nil {
			t.Errorf("%v, %v", chosen, err)
		}
		var chosen sluice.Case
		go func() { chosen, _ = sluice.Select(ctx, in, out) }()
		if synctest.Wait(); chosen != nil {
			t.Fatalf("chose %v", chosen)
		}
		if v, err := c.Recv(ctx); v != 3 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
		if synctest.Wait(); chosen != out {
			t.Errorf("chose %v", chosen)
		}
		go func() { chosen, _ = sluice.Select(ctx, in, out) }()
		synctest.Wait()
		if err := c.Send(ctx, 4); err != nil {
			t.Error(err)
		}
		if synctest.Wait(); chosen != in || in.Value != 4 {
			t.Errorf("chose %v, received %d", chosen, in.Value)
		}
	})
}
