package jetstream

import (
	"sync"
	"sync/atomic"
	"time"
)

// A readiness is the channel of Ready, which has room for one token. Several inboxes share
// one, so its lock is taken after theirs.
type readiness struct {
	used   atomic.Bool // Ready was called
	mu     sync.Mutex
	c      chan struct{}
	closed bool
}

// put puts the token into the channel, or closes it.
func (r *readiness) put(last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
	case last:
		r.closed = true
		close(r.c)
	default:
		select {
		case r.c <- struct{}{}:
		default:
		}
	}
}

// readyChan returns the channel of Ready, and has each inbox fetch a message for TryRecv.
func (l *lanes) readyChan() <-chan struct{} {
	for _, c := range l.all {
		c.inbox.mu.Lock()
		if in := &c.inbox; in.readable == nil {
			in.readable = &l.ready
			in.signal()
			in.fetcher.fetch(false)
		}
		c.inbox.mu.Unlock()
	}
	l.ready.used.Store(true)
	return l.ready.c
}

// announce puts the token back after a receiver took a message, if other messages are ready.
func (l *lanes) announce() {
	if !l.ready.used.Load() {
		return
	}
	for _, c := range l.all {
		c.inbox.mu.Lock()
		c.inbox.signal()
		c.inbox.mu.Unlock()
	}
}

// signal puts the token into the channel of Ready if a message is ready, and closes it once
// the channel is closed. The caller holds mu.
func (in *inbox) signal() {
	if last := in.life.closed.Load() || in.life.recvErr() != nil; in.readable != nil && (last || len(in.ready) > 0) {
		in.readable.put(last)
	}
}

// watchDrain checks a closed channel until it is drained, while a receiver waits for
// that: the last value may be acknowledged by another process. The caller holds mu.
func (in *inbox) watchDrain() {
	if !in.life.closed.Load() || in.watching || len(in.waiters) == 0 || in.life.recvErr() != nil {
		return
	}
	in.watching = true
	in.life.start(func() {
		for wait := firstCheck; in.keepWatching(); wait = min(2*wait, lastCheck) {
			_ = in.stream.check(in.life.ctx)
			_ = in.life.pause(in.life.recvCtx, wait)
		}
	})
}

// The pauses between two checks of a closed channel: the first one, and the longest.
const (
	firstCheck = time.Millisecond
	lastCheck  = 250 * time.Millisecond
)

// keepWatching reports whether to check again; if not, the next watchDrain starts over.
func (in *inbox) keepWatching() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.watching = in.life.recvErr() == nil && len(in.waiters) > 0
	return in.watching
}
