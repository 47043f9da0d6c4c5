package jetstream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// Lanes are the streams of a channel: one, or several by key (keyed.go). Each is a core with
// a consumer, limits, requests and deliveries of its own. They share the connection, the
// channel of Ready, and their receivers. Invariants:
//
//   - The values of a key are in one lane.
//   - The first stream decides about the number of streams, which is part of its settings:
//     a process with another number fails to open it, and creates no other.
//   - A channel is closed once one of its streams is sealed, which cannot be undone: a
//     process that learns of one seals the others.
type lanes struct {
	name string
	all  []*core

	turn    atomic.Uint32 // of the receivers
	closing atomic.Bool   // closeAll has begun
	ready   engine.Ready
}

// openLanes connects, and finds or creates the streams.
func openLanes(ctx context.Context, config config, n int) (_ *lanes, err error) {
	l := &lanes{name: config.name, all: make([]*core, n)}
	configs := config.streamConfigs(n)
	if l.all[0], err = openCore(ctx, configs[0], nil); err != nil {
		return nil, err
	}
	err = l.each(func(i int) (err error) {
		if i > 0 {
			l.all[0].conn.share() // the first stream uses it, so it is not closed
			l.all[i], err = openCore(ctx, configs[i], l.all[0].conn)
		}
		return err
	})
	if err != nil {
		l.all = slices.DeleteFunc(l.all, func(c *core) bool { return c == nil })
		return nil, errors.Join(err, l.each(func(i int) error { return l.all[i].shutdown(context.Background()) }))
	}
	var replicas []string
	for _, c := range l.all {
		replicas = append(replicas, c.stream.replicas()...)
		c.inbox.mu.Lock()
		c.inbox.onClosed = l.closeAll
		c.inbox.mu.Unlock()
		c.inbox.stateChanged() // it may be closed already
	}
	l.all[0].checkSync(ctx, replicas)
	return l, nil
}

// each calls f for each stream, in a few goroutines, and returns all errors.
func (l *lanes) each(f func(i int) error) error {
	const goroutines = 16
	if len(l.all) == 1 {
		return f(0)
	}
	errs := make([]error, len(l.all))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(len(errs), goroutines) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(errs); i = int(next.Add(1)) - 1 {
				errs[i] = f(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// closeAll starts to seal all streams, as one of them is sealed. It does not block.
func (l *lanes) closeAll() {
	if l.closing.Swap(true) {
		return
	}
	for _, c := range l.all {
		c.life.start(c.stream.close)
	}
}

// take waits for a message, then takes up to len(buf) of one stream that are ready.
// Messages whose attempts are recorded are taken one at a time. The caller owns the
// messages, and must acknowledge or return each.
func (l *lanes) take(ctx context.Context, buf []*message, mode recvMode) (from *core, n int, err error) {
	end := func() {}
	defer func() { end() }()
	var w *waiter
	asked := len(buf) == 1 || len(l.all) > 1
	for {
		if from, n, err = l.takeReady(buf, mode); n > 0 || err != nil {
			return from, n, err
		}
		if ctx.Err() != nil {
			if w != nil { // a request was under way, so it would have come
				return nil, 0, engine.ContextError(ctx)
			}
			if from, n, err = l.tryTake(buf, mode); err == sluice.ErrEmpty {
				err = engine.ContextError(ctx)
			}
			return from, n, err
		}
		if !asked {
			from = l.all[0]
			if asked, n, err = from.inbox.askAtOnce(ctx, buf, mode); n > 0 || err != nil && err != sluice.ErrEmpty {
				return from, n, err
			}
			if asked { // a message may have arrived since
				continue
			}
		}
		if w == nil {
			counters := &l.all[0].counters
			w, end = newWaiter(), counters.wait(&counters.recvWaits)
		}
		l.wait(ctx, w)
	}
}

// takeReady takes messages that are ready in one of the lanes, which take turns. Its error
// is final: ErrClosed once all are drained.
func (l *lanes) takeReady(buf []*message, mode recvMode) (from *core, n int, err error) {
	first, drained := int(l.turn.Add(1)%uint32(len(l.all))), 0
	for i := range l.all {
		c := l.all[(first+i)%len(l.all)]
		c.inbox.mu.Lock()
		n, err := c.inbox.takeReady(buf, mode)
		c.inbox.mu.Unlock()
		switch {
		case n > 0:
			if len(l.all) > 1 {
				l.announce()
			}
			return c, n, nil
		case err == sluice.ErrClosed:
			drained++
		case err != nil:
			return nil, 0, err
		}
	}
	if drained == len(l.all) {
		return nil, 0, sluice.ErrClosed
	}
	return nil, 0, nil
}

// wait waits until one of the streams has a message or has ended.
func (l *lanes) wait(ctx context.Context, w *waiter) {
	own, joined, drained, woken := make([]waiter, len(l.all)), 0, 0, false
	defer func() {
		if woken && joined == 1 {
			return // it is no longer in the queue
		}
		for i, c := range l.all[:joined+drained] {
			c.inbox.cancelWait(&own[i])
		}
	}()
	for i, c := range l.all {
		if own[i].wake = w.wake; c.life.drained.Load() {
			drained++
		} else if c.inbox.join(&own[i]) {
			joined++
		} else {
			return
		}
	}
	if joined == 0 {
		return
	}
	select {
	case <-w.wake:
		woken = true
	case <-ctx.Done():
	}
}

// tryTake is take without waiting for a message, only for the servers' answers. It returns
// ErrEmpty only if there was a moment at which neither the servers nor the inbox of a
// stream had a message: if another receiver took one meanwhile, or one is on its way, it
// asks again.
func (l *lanes) tryTake(buf []*message, mode recvMode) (from *core, n int, err error) {
	if len(l.all) == 1 {
		in := &l.all[0].inbox
		ctx, cancel := context.WithTimeout(context.Background(), tryTimeout) // includes the wait for the lock
		defer cancel()
		n, err = in.ask(ctx.Done(), len(buf), func() (int, error) { return in.takeReady(buf, mode) })
		return l.all[0], n, err
	}
	if from, n, err = l.takeReady(buf, mode); n > 0 || err != nil {
		return from, n, err
	}
	// The first answer with a message is enough: with Ordered, a stream whose value is in
	// flight does not answer.
	ctx, cancel := context.WithTimeout(context.Background(), tryTimeout)
	defer cancel()
	asked, w := make(chan struct{}, len(l.all)), newWaiter()
	for _, c := range l.all {
		own := &waiter{wake: w.wake}
		c.inbox.listen(own)
		defer c.inbox.cancelWait(own)
		c.life.start(func() {
			_, _ = c.inbox.ask(ctx.Done(), 1, func() (int, error) { return len(c.inbox.ready), c.life.recvErr() })
			asked <- struct{}{}
		})
	}
	for left := len(l.all); left > 0; {
		select {
		case <-asked:
			left--
		case <-w.wake:
		case <-ctx.Done():
			left = 0
		case <-l.all[0].life.ctx.Done():
			left = 0
		}
		if from, n, err = l.takeReady(buf, mode); n > 0 || err != nil {
			return from, n, err
		}
	}
	return nil, 0, sluice.ErrEmpty
}

// capacity returns the sum of the capacities.
func (l *lanes) capacity() int {
	if each := l.all[0].config.capacity; each <= sluice.Unlimited/len(l.all) {
		return each * len(l.all)
	}
	return sluice.Unlimited
}

// stats returns the counters of each stream.
func (l *lanes) stats() []sluice.Stats {
	rows := make([]sluice.Stats, len(l.all))
	_ = l.each(func(i int) error {
		rows[i] = l.all[i].stream.stats()
		return nil
	})
	return rows
}

// total returns the counters of all streams.
func (l *lanes) total() sluice.Stats {
	rows := l.stats()
	if len(rows) == 1 && rows[0].Name == l.name {
		return rows[0]
	}
	all := sluice.Stats{Name: l.name, Cap: l.capacity()}
	all.Lanes.Count = len(rows)
	var warnings []string
	for _, row := range rows {
		all.Len += min(row.Len, sluice.Unlimited-all.Len)
		all.Sent, all.Received, all.Dropped = all.Sent+row.Sent, all.Received+row.Received, all.Dropped+row.Dropped
		all.Rejected += row.Rejected
		all.SendWaits, all.RecvWaits = all.SendWaits+row.SendWaits, all.RecvWaits+row.RecvWaits
		all.SendWaitTime, all.RecvWaitTime = all.SendWaitTime+row.SendWaitTime, all.RecvWaitTime+row.RecvWaitTime
		all.SendersWaiting, all.ReceiversWaiting = all.SendersWaiting+row.SendersWaiting, all.ReceiversWaiting+row.ReceiversWaiting
		all.OldestValue, all.HighWater = max(all.OldestValue, row.OldestValue), max(all.HighWater, row.HighWater)
		all.Disk.Bytes, all.Closed = all.Disk.Bytes+row.Disk.Bytes, all.Closed || row.Closed
		if row.Disk.Warning != "" {
			warnings = append(warnings, row.Disk.Warning)
		}
	}
	slices.Sort(warnings)
	all.Disk.Warning = strings.Join(slices.Compact(warnings), "; ")
	return all
}
