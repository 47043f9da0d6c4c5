package sluice_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// TestSelectQueuePosition: in a queue that is served in order of arrival, a Select has
// one entry per case, at the position of its arrival.
func TestSelectQueuePosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c, idle := sluice.NewRendezvous[int](nil), sluice.NewElastic[int](1, nil)
		var order []string
		wait := func(name string, f func() error) {
			go func() {
				err := f()
				order = append(order, fmt.Sprint(name, err))
			}()
			synctest.Wait()
		}
		recv := func() error { _, err := c.Recv(ctx); return err }
		selecting := func(cases ...sluice.Case) func() error {
			return func() error { _, err := sluice.Select(ctx, cases...); return err }
		}
		wait("a", recv)
		wait("b", selecting(sluice.OnRecv[int](idle), sluice.OnRecv[int](c)))
		wait("c", recv)
		wait("d", selecting(sluice.OnRecv[int](c), sluice.OnRecv[int](c)))
		wait("e", recv)
		if n := c.Stats().ReceiversWaiting; n != 6 {
			t.Errorf("%d receivers wait, want 6", n)
		}
		for range 5 {
			_ = c.Send(ctx, 1)
			synctest.Wait()
		}
		if got := strings.Join(order, " "); got != "a<nil> b<nil> c<nil> d<nil> e<nil>" {
			t.Errorf("served: %s", got)
		}
		if s := c.Stats(); s.ReceiversWaiting != 0 {
			t.Errorf("at the end: %+v", s)
		}
	})
}

// TestSelectTwiceInOneQueue: if a Select has two sends on one channel and both become
// possible at once, it performs one, and the other has no effect on later calls.
func TestSelectTwiceInOneQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := sluice.NewElastic(9, &sluice.ElasticOptions[int]{MaxBytes: 5, Size: func(v int) int { return v }})
		a, b := sluice.OnSend(c, 1), sluice.OnSend(c, 2)
		for range 3 {
			_ = c.TrySend(5)
			var chosen sluice.Case
			go func() { chosen, _ = sluice.Select(ctx, a, b) }()
			synctest.Wait()
			if v, err := c.TryRecv(); v != 5 || err != nil {
				t.Errorf("%d, %v", v, err)
			}
			if synctest.Wait(); chosen != a || c.Len() != 1 {
				t.Errorf("chose %v, %d queued, want the first", chosen, c.Len())
			}
			if v, err := c.TryRecv(); v != 1 || err != nil {
				t.Errorf("%d, %v", v, err)
			}
			go func() { chosen, _ = sluice.Select(ctx, sluice.OnRecv(c), a, b) }()
			synctest.Wait()
			_, _ = c.TryRecv()
		}
	})
}

// TestSelectOwnLargerSend: the large value of a Select does not block the same
// Select's smaller value.
func TestSelectOwnLargerSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewElastic(99, &sluice.ElasticOptions[int]{MaxBytes: 5, Size: func(v int) int { return v }})
		for range 5 {
			_ = c.TrySend(1)
		}
		large, small := sluice.OnSend(c, 3), sluice.OnSend(c, 1)
		var chosen sluice.Case
		var err error
		ctx, cancel := context.WithCancel(context.Background())
		go func() { chosen, err = sluice.Select(ctx, large, small) }()
		synctest.Wait()
		_, _ = c.TryRecv() // room for 1 byte
		synctest.Wait()
		if chosen == nil {
			t.Errorf("there is room for the small value, but the Select is parked")
		}
		cancel()
		synctest.Wait()
		if chosen != sluice.Case(small) || err != nil {
			t.Errorf("chosen %v, %v", chosen, err)
		}
	})
}
