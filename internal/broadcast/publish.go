package broadcast

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// Send publishes v, and waits while a subscription with policy Block has no room.
func (h *Hub[T]) Send(ctx context.Context, v T) error {
	one := [1]T{v}
	_, err := h.publish(ctx, one[:])
	return err
}

// TrySend publishes v if there is room.
func (h *Hub[T]) TrySend(v T) error {
	one := [1]T{v}
	_, err := h.publish(engine.NoWait{}, one[:])
	return err
}

// SendBatch publishes the values of vs, and returns how many it has published.
func (h *Hub[T]) SendBatch(ctx context.Context, vs []T) (int, error) { return h.publish(ctx, vs) }

// publish publishes the values of vs in order. Under engine.NoWait it never waits.
func (h *Hub[T]) publish(ctx context.Context, vs []T) (n int, err error) {
	h.senders.Tally().Probe()
	var p publishing[T]
	for {
		if set := h.filters.Load(); set != p.answers.set {
			h.leave(&p)
			p.report()
			p.answers.ask(set, vs[n])
		}
		m, lost, failed := h.tryPublish(vs[n:], &p.answers)
		if lost != nil {
			p.lost = append(p.lost, lost...)
			p.report()
		}
		if n += m; failed == nil && n < len(vs) {
			continue
		}
		if failed != engine.ErrFull {
			err = failed
			break
		}
		if m > 0 && p.wait.Joined() {
			p.wait.Progress()
		}
		if !engine.MayWait(ctx) || p.wait.Canceled() {
			err = engine.ErrFull
			break
		}
		h.step(ctx, &p)
	}
	if p.wait.Joined() {
		h.leave(&p)
	}
	p.report()
	switch {
	case err != engine.ErrFull:
	case engine.MayWait(ctx):
		err = engine.ContextError(ctx)
	default:
		h.rejected.Add(ctx)
	}
	return n, err
}

// leave takes the publisher out of the wait queue, if it is there. It is not inlined: most publishers
// do not wait.
func (h *Hub[T]) leave(p *publishing[T]) {
	if p.wait.Leave() && h.hasRoom() {
		h.senders.Wake()
	}
}

// A publishing is the progress of one call.
type publishing[T any] struct {
	answers answers[T]
	wait    waitq.Wait
	attempt spin.Attempt
	lost    []loss[T]
}

// report calls the hooks, unless the publisher is in the wait queue.
func (p *publishing[T]) report() {
	if len(p.lost) == 0 || p.wait.Joined() {
		return
	}
	lost := p.lost
	p.lost = nil
	report(lost)
}

// step is called when there is no room.
func (h *Hub[T]) step(ctx context.Context, p *publishing[T]) {
	switch {
	case p.wait.Joined():
		if b := h.blocker.Load(); b != nil && p.wait.Queued() {
			b.waits.Add(1)
		}
		p.wait.Step()
	case ctx.Err() != nil:
		p.wait.Cancel()
	case h.spinFor(&p.attempt):
		p.attempt.Spun()
	case !p.attempt.Yielded() && h.yields.Allow():
		tail := h.tail.Load()
		p.attempt.Yield()
		h.yields.Record(h.hasRoom() || h.tail.Load() != tail)
	default:
		p.wait.Join(&h.senders, ctx.Done())
	}
}

// spinFor spins if that has paid lately, and reports whether there is room then.
func (h *Hub[T]) spinFor(a *spin.Attempt) bool {
	if !h.spins.Allows() || !a.MaySpin() {
		return false
	}
	_ = spin.Delay(spin.RunDelay)
	b, tail := h.blocker.Load(), h.tail.Load()
	room := uint64(spin.GoodRun) // the blocker has left
	if b != nil {
		room = max(b.bound(), tail) - tail
	}
	h.spins.Record(room >= spin.GoodRun)
	return room > 0
}

// maxRun bounds the number of values that are published in one critical section, and with
// subscriptions that have queues of their own, the number of copies.
const maxRun = 1 << 10

// tryPublish publishes as many values as there is room for, up to maxRun. It fails with ErrFull
// if there is no room for the next one. If there are filters it publishes one value, with their
// answers, or none if a is not of the present set. It returns what is lost, for the hooks.
func (h *Hub[T]) tryPublish(vs []T, a *answers[T]) (n int, lost []loss[T], err error) {
	var woken [fanout]*Subscription[T]
	h.acquire()
	if h.closed.Load() {
		h.lock.Unlock()
		return 0, nil, engine.ErrClosed
	}
	if len(h.roles[lax]) > 0 {
		h.tighten()
	}
	tail, keep := h.tail.Load(), h.keep()
	began := tail
	full := false
	most := min(len(vs), max(1, maxRun/(1+len(h.roles[queued]))))
	if set := h.filters.Load(); set != a.set {
		most = 0
	} else if set != nil {
		most = 1
	}
	for n < most {
		if full = tail >= h.gate && h.blocked(tail); full {
			break
		}
		h.append(tail, vs[n], keep, a)
		n++
		tail++
	}
	k := 0
	if tail != began {
		a.set = nil // they were about that value
		for _, s := range h.roles[polled] {
			if !s.owns { // the others have got a token in offer: an eviction changes the numbers of filters
				s.ready.Post()
			}
		}
		k = h.pop(&woken)
	}
	lost = h.takeLost()
	h.lock.Unlock()
	for _, s := range woken[:k] {
		s.receivers.Wake()
	}
	if full {
		return n, lost, engine.ErrFull
	}
	return n, lost, nil
}

// observeMask: one value in 1024 is observed with its time.
const observeMask = 1<<10 - 1

// hasRoom reports whether a value could be published, or the Hub is closed.
func (h *Hub[T]) hasRoom() bool {
	h.acquire()
	defer h.lock.Unlock()
	tail := h.tail.Load()
	return h.closed.Load() || tail < h.gate || !h.blocked(tail)
}

// append publishes v with index tail. The lock is held.
//
// Nothing of it is seen before the store of tail. A subscription with a queue of its own is
// received from with the lock of the Hub while publishing is set, which ends after evictions. Any
// other one that has to be evicted has no room from that store on, so it is received from with the
// lock of the Hub, too.
func (h *Hub[T]) append(tail uint64, v T, keep uint64, a *answers[T]) {
	h.log.put(tail, v, keep)
	own := len(h.roles[queued]) > 0
	if own {
		h.publishing.Store(true)
		for _, s := range h.roles[queued] {
			s.offer(v, tail, a.wants(s))
		}
	}
	tail++
	h.tail.Store(tail)
	if tail > h.gate {
		h.evictFull(tail)
	}
	if own {
		h.publishing.Store(false)
	}
	if tail&observeMask == 0 {
		h.observe(tail)
	}
}

// evictFull evicts the subscriptions that had no room for the last value. The lock is held.
func (h *Hub[T]) evictFull(tail uint64) {
	for i := 0; i < len(h.roles[gated]); {
		s := h.roles[gated][i]
		if next := s.word.Load() >> 1; next+s.capacity >= tail || !h.evict(s, next, 0) {
			i++
		} // or another one is at i now
	}
}

// blocked reports whether a subscription with policy Block has no room, and notes it as the
// blocker. Otherwise it computes the gate, which is tail or below if one with policy Evict has
// none. The lock is held.
func (h *Hub[T]) blocked(tail uint64) bool {
	if b := h.blocker.Load(); b != nil && b.bound() <= tail {
		h.arm(b, tail)
		return true // without a look at all the others
	}
	gate := noGate
	for _, s := range h.roles[gated] {
		bound := s.bound()
		if bound <= tail && s.overflow == engine.Block {
			if bound = h.suspect(s, tail); bound <= tail {
				h.arm(s, tail)
				return true
			}
		}
		gate = min(gate, bound)
	}
	// The blocker stays, although it has room: the goroutine that made the room may be about
	// to look whether a publisher waits for it.
	h.gate = gate
	return false
}

// suspect makes s the blocker, which had no room, and returns its bound after that. If it has
// room by now, a publisher may wait although there is room for it: the receiver that made room
// in the blocker before finds that it is another one, and that of s may have looked before s
// was. The lock is held.
func (h *Hub[T]) suspect(s *Subscription[T], tail uint64) (bound uint64) {
	h.blocker.Store(s)
	if bound = s.bound(); bound > tail && h.senders.Waiting() {
		h.senders.Wake()
	}
	return bound
}

// roomMade wakes a publisher if it waits for s, from which a value was received.
func (h *Hub[T]) roomMade(s *Subscription[T]) {
	if h.blocker.Load() == s {
		h.senders.Wake()
	}
}
