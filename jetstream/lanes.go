package jetstream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice"
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
	ready   readiness
}

func newLanes(name string, all ...*core) *lanes {
	return &lanes{name: name, all: all, ready: readiness{c: make(chan struct{}, 1)}}
}

// openLanes connects, and finds or creates the streams.
func openLanes(ctx context.Context, config config, n int) (_ *lanes, err error) {
	l := newLanes(config.name, make([]*core, n)...)
	configs := config.streamConfigs(n)
	if l.all[0], err = openCore(ctx, configs[0], nil); err != nil {
		return nil, err
	}
	err = parallel(n-1, func(i int) (err error) {
		l.all[0].conn.share() // its user is the first stream, so it is not closed
		l.all[i+1], err = openCore(ctx, configs[i+1], l.all[0].conn)
		return err
	})
	if err != nil {
		l.all = slices.DeleteFunc(l.all, func(c *core) bool { return c == nil })
		return nil, errors.Join(err, l.shutdown(context.Background()))
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

// parallel calls f for each i below n, in a few goroutines, and returns all errors.
func parallel(n int, f func(i int) error) error {
	const goroutines = 16
	errs := make([]error, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, goroutines) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = f(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// each calls f for each lane, in parallel.
func (l *lanes) each(f func(c *core) error) error {
	if len(l.all) == 1 {
		return f(l.all[0])
	}
	return parallel(len(l.all), func(i int) error { return f(l.all[i]) })
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

// close implements [Channel.Close].
func (l *lanes) close() {
	l.closing.Store(true) // here
	_ = l.each(func(c *core) error { c.stream.close(); return nil })
}

// seal implements [Channel.CloseContext].
func (l *lanes) seal(ctx context.Context) error {
	return l.each(func(c *core) error { return c.stream.seal(ctx) })
}

// shutdown implements [Channel.Shutdown].
func (l *lanes) shutdown(ctx context.Context) error {
	return l.each(func(c *core) error { return c.shutdown(ctx) })
}

// take takes messages of one lane as inbox.take does.
func (l *lanes) take(ctx context.Context, buf []*message, mode recvMode) (from *core, n int, err error) {
	if len(l.all) == 1 {
		n, err = l.all[0].inbox.take(ctx, buf, mode)
		return l.all[0], n, err
	}
	end := func() {}
	defer func() { end() }()
	waited := false
	w := newWaiter()
	for {
		if from, n, err = l.takeReady(buf, mode); n > 0 || err != nil {
			return from, n, err
		}
		if ctx.Err() != nil {
			if waited {
				return nil, 0, contextError(ctx)
			}
			if from, n, err = l.tryTake(buf, mode); err == sluice.ErrEmpty {
				err = contextError(ctx)
			}
			return from, n, err
		}
		if !waited {
			waited, end = true, l.all[0].counters.recvWait()
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
			l.announce()
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

// wait waits until one of the lanes has a message or has ended.
func (l *lanes) wait(ctx context.Context, w *waiter) {
	drained := 0
	for _, c := range l.all {
		if c.life.drained.Load() {
			drained++
			continue
		}
		own := &waiter{wake: w.wake}
		defer c.inbox.cancelWait(own)
		if !c.inbox.join(own) {
			return
		}
	}
	if drained == len(l.all) {
		return
	}
	select {
	case <-w.wake:
	case <-ctx.Done():
	}
}

// tryTake takes messages of one lane as inbox.tryTake does.
func (l *lanes) tryTake(buf []*message, mode recvMode) (from *core, n int, err error) {
	if len(l.all) == 1 {
		n, err = l.all[0].inbox.tryTake(buf, mode)
		return l.all[0], n, err
	}
	if from, n, err = l.takeReady(buf, mode); n == 0 && err == nil {
		_ = l.each(func(c *core) error {
			_, err := c.inbox.ask(1, func() (int, error) { return len(c.inbox.ready), c.life.recvErr() })
			return err
		})
		if from, n, err = l.takeReady(buf, mode); n == 0 && err == nil {
			err = sluice.ErrEmpty
		}
	}
	return from, n, err
}

// capacity returns the sum of the capacities.
func (l *lanes) capacity() int {
	if each := l.all[0].config.capacity; each <= sluice.Unlimited/len(l.all) {
		return each * len(l.all)
	}
	return sluice.Unlimited
}

// stats returns the counters of each lane.
func (l *lanes) stats() []sluice.Stats {
	rows := make([]sluice.Stats, len(l.all))
	_ = parallel(len(l.all), func(i int) error {
		rows[i] = l.all[i].stream.stats()
		return nil
	})
	return rows
}

// total returns the counters of all lanes.
func (l *lanes) total() sluice.Stats {
	rows := l.stats()
	all := sluice.Stats{Name: l.name, Cap: l.capacity(), Lanes: len(rows)}
	var warnings []string
	for _, row := range rows {
		all.Len += min(row.Len, sluice.Unlimited-all.Len)
		all.Sent, all.Received, all.Dropped = all.Sent+row.Sent, all.Received+row.Received, all.Dropped+row.Dropped
		all.SendWaits, all.RecvWaits = all.SendWaits+row.SendWaits, all.RecvWaits+row.RecvWaits
		all.SendWaitTime, all.RecvWaitTime = all.SendWaitTime+row.SendWaitTime, all.RecvWaitTime+row.RecvWaitTime
		all.SendersWaiting, all.ReceiversWaiting = all.SendersWaiting+row.SendersWaiting, all.ReceiversWaiting+row.ReceiversWaiting
		all.OldestValue, all.HighWater = max(all.OldestValue, row.OldestValue), max(all.HighWater, row.HighWater)
		all.BytesOnDisk += row.BytesOnDisk
		all.Closed = all.Closed || row.Closed
		if row.Warning != "" {
			warnings = append(warnings, row.Warning)
		}
	}
	slices.Sort(warnings)
	all.Warning = strings.Join(slices.Compact(warnings), "; ")
	return all
}
