package sluice_test

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
)

// TestSelectDefaultIsOneMoment: Select does not choose Default while one of its cases can
// proceed at any moment, even if that is a different case from one moment to the next.
//
// A token moves to and fro between two channels, and is in the next one before it leaves
// the last one. The case of a channel with the token can proceed. A Select that takes the
// token returns it to the same channel before the next call.
func TestSelectDefaultIsOneMoment(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(selectKinds)) {
		open := func() sluice.Channel[int] { return selectKinds[kind](func(int) {}) }
		t.Run(kind, func(t *testing.T) { neverDefault(t, open(), open()) })
	}
	t.Run("Sharded", func(t *testing.T) { neverDefault(t, newLanes(2), newLanes(2)) })
	t.Run("mixed", func(t *testing.T) { neverDefault(t, sluice.NewRendezvous[int](nil), sluice.NewBounded[int](64, nil)) })
}

func newLanes(lanes int) sluice.Channel[int] {
	return sluice.NewSharded(2, &sluice.ShardedOptions[int]{Lanes: lanes})
}

func neverDefault(t *testing.T, a, b sluice.Channel[int]) {
	t.Run("receive", func(t *testing.T) {
		tokenWalk(t, offerOf(a), offerOf(b), sluice.OnRecv(a), sluice.OnRecv(b))
	})
	blocks := func(c sluice.Channel[int]) bool {
		return c.Cap() > 0 && fill(c).Send(canceledContext(), 0) == context.Canceled
	}
	if blocks(a) && blocks(b) {
		t.Run("send", func(t *testing.T) {
			tokenWalk(t, room{a}, room{b}, sluice.OnSend(a, 0), sluice.OnSend(b, 0))
		})
	}
}

// A place is a channel where a case can proceed while the token is there. Take waits for
// the token.
type place interface {
	put()
	take()
}

// room is a full channel whose token is a free slot.
type room struct{ c sluice.Channel[int] }

func (r room) put()  { _, _ = r.c.Recv(context.Background()) }
func (r room) take() { _ = r.c.Send(context.Background(), 0) }

// queued is a channel whose token is a value.
type queued struct{ c sluice.Channel[int] }

func (q queued) put()  { _ = q.c.Send(context.Background(), 0) }
func (q queued) take() { _, _ = q.c.Recv(context.Background()) }

// offered is a channel without a buffer whose token is a waiting sender.
type offered struct {
	c      sluice.Channel[int]
	offers chan offer
}

type offer struct {
	cancel context.CancelFunc
	err    chan error
}

func offerOf(c sluice.Channel[int]) place {
	if c.Cap() == 0 {
		return offered{c, make(chan offer, defaultTries()+2)}
	}
	return queued{c}
}

func (o offered) put() {
	ctx, cancel := context.WithCancel(context.Background())
	n := offer{cancel, make(chan error, 1)}
	before := o.c.Stats().Sent
	go func() { n.err <- o.c.Send(ctx, 0) }()
	for s := o.c.Stats(); s.SendersWaiting == 0 && s.Sent == before; s = o.c.Stats() {
		runtime.Gosched()
	}
	o.offers <- n
}

// take cancels the waiting send. If a Select has received its value, the next offer is the
// token.
func (o offered) take() {
	for n := range o.offers {
		n.cancel()
		if <-n.err != nil {
			return
		}
	}
}

// TestSelectDefaultOppositeOrders: Selects with Default that name the same channels in opposite orders
// do not lock each other out, whatever the kinds.
func TestSelectDefaultOppositeOrders(t *testing.T) {
	var channels []sluice.Channel[int]
	for _, kind := range slices.Sorted(maps.Keys(selectKinds)) {
		channels = append(channels, selectKinds[kind](func(int) {}), selectKinds[kind](func(int) {}))
	}
	var all sync.WaitGroup
	for backward := range 2 {
		all.Go(func() {
			var cases []sluice.Case
			for _, c := range channels {
				cases = append(cases, sluice.OnRecv(c))
			}
			if backward == 1 {
				slices.Reverse(cases)
			}
			for i := range defaultTries() {
				few := cases[i%len(cases):]
				few = append(slices.Clone(few[:min(len(few), 5)]), sluice.Default)
				if chosen, err := sluice.Select(context.Background(), few...); chosen != sluice.Default || err != nil {
					t.Errorf("a case without a value: %v, %v", chosen, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// defaultTries returns the number of calls of Select. One that ignores the marks of its looks chooses
// Default in more than 4% of them, with each kind.
func defaultTries() int {
	if suite.Long() {
		return 40_000
	}
	return suite.Rounds(4_000, 10_000)
}

// yieldingCase is a case that cannot proceed, and that yields the processor whenever it is
// tried or looked at: so the token moves while a Select polls.
func yieldingCase() sluice.Case {
	c := sluice.NewElastic(1, &sluice.ElasticOptions[int]{MaxBytes: 1, Size: func(int) int {
		runtime.Gosched()
		return 1
	}})
	return sluice.OnSend(fill(c), 0)
}

// tokenWalk moves the token while a Select with Default polls both cases.
func tokenWalk(t *testing.T, a, b place, first, second sluice.Case) {
	tries := defaultTries()
	yieldingCases := [2]sluice.Case{yieldingCase(), yieldingCase()}
	stop := make(chan struct{})
	var mover sync.WaitGroup
	a.put()
	mover.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			b.put()
			a.take()
			runtime.Gosched()
			a.put()
			b.take()
			runtime.Gosched()
		}
	})
	wrong := 0
	for range tries {
		chosen, err := sluice.Select(context.Background(), yieldingCases[0], first, yieldingCases[1], second, sluice.Default)
		if err != nil {
			t.Fatal(err)
		}
		switch chosen {
		case first:
			a.put()
		case second:
			b.put()
		default:
			wrong++
		}
	}
	close(stop)
	mover.Wait()
	a.take()
	if wrong > 0 {
		t.Errorf("chose Default %d times of %d while a case could proceed", wrong, tries)
	}
}
