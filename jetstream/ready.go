package jetstream

import "time"

// readyChan returns the channel of Ready, and has each inbox fetch a message for TryRecv.
func (l *lanes) readyChan() <-chan struct{} {
	return l.ready.Chan(func() (hasValue, closed bool) {
		for _, c := range l.all {
			c.inbox.mu.Lock()
			c.inbox.readable = &l.ready
			c.inbox.signal()
			c.inbox.fetcher.fetch(false)
			c.inbox.mu.Unlock()
		}
		return false, false // signal has posted, or closed the channel
	})
}

// announce puts the token back after a receiver took a message, if other messages are ready.
func (l *lanes) announce() {
	if !l.ready.InUse() {
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
	switch {
	case in.readable == nil:
	case in.life.closed.Load() || in.life.recvErr() != nil:
		in.readable.Close()
	case len(in.ready) > 0:
		in.readable.Post()
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
