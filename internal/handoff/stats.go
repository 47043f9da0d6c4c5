package handoff

import (
	"time"
	"unsafe"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// postReady stores the token of Ready. It is called after each value that is queued
// or offered, and after each receive that leaves one: there may be a token without
// a value.
func (e *Engine[T]) postReady() {
	if e.ready == nil || e.closed {
		return
	}
	select {
	case e.ready <- struct{}{}:
	default: // there is one already
	}
}

// Ready implements engine.Engine.
func (e *Engine[T]) Ready() <-chan struct{} {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.ready == nil {
		e.ready = make(chan struct{}, 1)
		if e.closed {
			close(e.ready)
		} else if e.buf.Len() > 0 || e.senders.first != nil {
			e.postReady()
		}
	}
	return e.ready
}

// Len implements engine.Engine.
func (e *Engine[T]) Len() int {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.buf.Len()
}

// Cap implements engine.Engine.
func (e *Engine[T]) Cap() int { return e.config.Limit }

// Stats implements engine.Engine.
func (e *Engine[T]) Stats() engine.Stats {
	now := park.Now()
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.stats(now)
}

// Snapshot implements engine.Engine.
func (e *Engine[T]) Snapshot(n int) engine.Snapshot {
	in := engine.NewSnapshot(n)
	rings := make([]engine.Ring, 1)
	now := park.Now()
	e.lock.Lock()
	defer e.lock.Unlock()
	in.Stats = e.stats(now)
	in.Senders = e.senders.ages(in.Senders, now)
	in.Receivers = e.receivers.ages(in.Receivers, now)
	in.Ready = e.ready != nil
	if slots := e.buf.Size(); slots > 0 {
		receive, send := e.buf.Slots()
		rings[0] = engine.Ring{Slots: slots, Len: e.buf.Len(), Send: send, Receive: receive}
		in.Rings = rings
	}
	return in
}

// stats returns the statistics at the time now. The lock is held.
func (e *Engine[T]) stats(now time.Duration) engine.Stats {
	e.probeNext()
	e.notice()
	var zero T
	slot, size := int64(unsafe.Sizeof(zero)), int64(unsafe.Sizeof(0))
	values, sizes := e.bytes, int64(0)
	if e.config.SizeIsKnown { // it includes the slots
		values -= int64(e.buf.Len()) * slot
	}
	if e.sizes != nil {
		sizes = int64(e.sizes.Size()) * size
	}
	return engine.Stats{
		Name:             e.config.Name,
		Len:              e.buf.Len(),
		Cap:              e.config.Limit,
		Sent:             e.sent,
		Received:         e.taken,
		Dropped:          e.dropped,
		SendWaits:        e.senders.parks + e.senders.waits.Waits(),
		RecvWaits:        e.receivers.parks + e.receivers.waits.Waits(),
		SendWaitTime:     e.senders.waits.Spent(),
		RecvWaitTime:     e.receivers.waits.Spent(),
		SendersWaiting:   int(e.senders.n),
		ReceiversWaiting: int(e.receivers.n),
		OldestSender:     e.senders.oldest(now),
		OldestReceiver:   e.receivers.oldest(now),
		OldestValue:      e.oldestValue(now),
		HighWater:        e.high,
		Bytes:            engine.Bytes(values, int64(e.buf.Size())*slot, sizes),
		Closed:           e.closed,
	}
}
