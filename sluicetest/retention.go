package sluicetest

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/sluice-go/sluice"
)

// testRetention: a channel keeps its queued values alive, and no others.
func testRetention(t *testing.T, k Kind) {
	for _, use := range []struct {
		name    string
		applies bool
		run     func(k Kind, c Channel[*Parcel], r *retained)
	}{
		{"received", true, usePassed},
		{"received one by one from a backlog", k.Capacity > 1, useBacklog},
		{"received in batches", k.Capacity > 1, useBatches},
		{"handed to a waiting receiver", true, useHandedOff},
		{"taken from a waiting sender", k.blocks(), useTaken},
		{"refused by a full channel", k.Overflow == sluice.Block || k.Overflow == sluice.Reject, useRefused},
		{"canceled while waiting", k.blocks(), useCanceled},
		{"refused by a closed channel", true, useClosed},
		{"dropped", k.drops(), useDropped},
		{"left by a loop", k.Capacity > 1, useLoop},
	} {
		if !use.applies || k.Capacity > fillable && use.name == "refused by a full channel" ||
			k.Capacity > fillable && k.drops() {
			continue
		}
		t.Run(use.name, func(t *testing.T) {
			c := k.Pointers()
			var r retained
			// Use a goroutine whose stack is gone afterwards.
			var done sync.WaitGroup
			done.Go(func() { use.run(k, c, &r) })
			done.Wait()
			if n := r.alive(); n > k.Keeps {
				t.Errorf("%d of %d values are kept alive", n, len(r.parcels))
			}
			runtime.KeepAlive(c)
		})
	}
	t.Run("abandoned", func(t *testing.T) {
		var r retained
		var done sync.WaitGroup
		done.Go(func() {
			c := k.Pointers()
			for range min(k.Capacity, 5) {
				_ = c.TrySend(r.parcel())
			}
			_ = c.Ready()
			ctx, cancel := context.WithCancel(context.Background())
			var waiter sync.WaitGroup
			waiter.Go(func() {
				for err := error(nil); err == nil; {
					_, err = c.Recv(ctx)
				}
			})
			yield()
			cancel()
			waiter.Wait()
			for range min(k.Capacity, 5) {
				_ = c.TrySend(r.parcel())
			}
		})
		done.Wait()
		if n := r.alive(); n > 0 {
			t.Errorf("an abandoned channel keeps %d of %d values alive", n, len(r.parcels))
		}
	})
}

// retained tracks which values are alive.
type retained struct{ parcels []weak.Pointer[Parcel] }

// parcel returns a new tracked parcel.
func (r *retained) parcel() *Parcel {
	p := &Parcel{ID: uint64(len(r.parcels))}
	r.parcels = append(r.parcels, weak.Make(p))
	return p
}

// alive collects garbage and counts the surviving parcels. A second collection
// may be needed to clear weak pointers; more would only hide a leak.
func (r *retained) alive() (n int) {
	for range 4 {
		runtime.GC()
		n = 0
		for _, p := range r.parcels {
			if p.Value() != nil {
				n++
			}
		}
		if n == 0 {
			return 0
		}
	}
	return n
}

// many returns a number of values that uses every slot of a channel.
func (k Kind) many() int { return min(k.Capacity, 3000) }

func usePassed(k Kind, c Channel[*Parcel], r *retained) {
	var sender sync.WaitGroup
	parcels := make([]*Parcel, 20)
	for i := range parcels {
		parcels[i] = r.parcel()
	}
	sender.Go(func() {
		for _, p := range parcels {
			_ = insist(func() error { return c.Send(context.Background(), p) })
		}
		c.Close()
	})
	for {
		if _, err := c.Recv(context.Background()); err != nil {
			break
		}
	}
	sender.Wait()
}

func useBacklog(k Kind, c Channel[*Parcel], r *retained) {
	for range 2 {
		for range k.many() {
			_ = c.TrySend(r.parcel())
		}
		for range k.many() {
			_, _ = c.TryRecv()
		}
	}
}

func useBatches(k Kind, c Channel[*Parcel], r *retained) {
	batch := make([]*Parcel, k.many())
	for i := range batch {
		batch[i] = r.parcel()
	}
	_, _ = c.SendBatch(context.Background(), batch)
	buf := make([]*Parcel, 7)
	for c.Len() > 0 {
		_, _ = c.RecvBatch(context.Background(), buf)
	}
}

func useHandedOff(k Kind, c Channel[*Parcel], r *retained) {
	for range 5 {
		var receiver sync.WaitGroup
		receiver.Go(func() { _, _ = c.Recv(context.Background()) })
		for c.Stats().ReceiversWaiting == 0 {
			runtime.Gosched()
		}
		_ = c.TrySend(r.parcel())
		receiver.Wait()
	}
}

func useTaken(k Kind, c Channel[*Parcel], r *retained) {
	for range k.Capacity {
		_ = c.TrySend(r.parcel())
	}
	for range 5 {
		p := r.parcel()
		var sender sync.WaitGroup
		sender.Go(func() { _ = c.Send(context.Background(), p) })
		for c.Stats().SendersWaiting == 0 {
			runtime.Gosched()
		}
		_, _ = c.Recv(context.Background())
		sender.Wait()
	}
	for range k.Capacity {
		_, _ = c.TryRecv()
	}
}

func useRefused(k Kind, c Channel[*Parcel], r *retained) {
	for c.Len() < k.Capacity {
		_ = c.TrySend(nil)
	}
	for range 5 {
		_ = c.TrySend(r.parcel())
		_, _ = c.SendBatch(done(), []*Parcel{r.parcel(), r.parcel()})
	}
}

func useCanceled(k Kind, c Channel[*Parcel], r *retained) {
	for c.Len() < k.Capacity {
		_ = c.TrySend(nil)
	}
	for i := range 6 {
		ctx, cancel := context.WithCancel(context.Background())
		p := r.parcel()
		var sender sync.WaitGroup
		sender.Go(func() {
			if i%2 == 0 {
				_ = c.Send(ctx, p)
			} else {
				_, _ = c.SendBatch(ctx, []*Parcel{p})
			}
		})
		for c.Stats().SendersWaiting == 0 {
			runtime.Gosched()
		}
		cancel()
		sender.Wait()
	}
}

func useClosed(k Kind, c Channel[*Parcel], r *retained) {
	for range min(k.Capacity, 5) {
		_ = c.TrySend(r.parcel())
	}
	c.Close()
	_ = c.Send(context.Background(), r.parcel())
	_ = c.TrySend(r.parcel())
	_, _ = c.SendBatch(context.Background(), []*Parcel{r.parcel()})
	for err := error(nil); err == nil; {
		_, err = c.TryRecv()
	}
}

func useDropped(k Kind, c Channel[*Parcel], r *retained) {
	for range k.Capacity + 10 {
		_ = c.TrySend(r.parcel())
	}
	for c.Len() > 0 {
		_, _ = c.TryRecv()
	}
}

func useLoop(k Kind, c Channel[*Parcel], r *retained) {
	for range k.many() {
		_ = c.TrySend(r.parcel())
	}
	for range allOf(context.Background(), c) {
		if c.Len() == 0 {
			break
		}
	}
}

// done returns a context that is done.
func done() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
