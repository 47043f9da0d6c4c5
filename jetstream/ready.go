package jetstream

import "time"

// readyChan returns the channel of Ready, and fetches a message for TryRecv.
func (in *inbox) readyChan() <-chan struct{} {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.readable == nil {
		in.readable = make(chan struct{}, 1)
		in.signal()
		in.fetcher.fetch(false)
	}
	return in.readable
}

// signal puts a token into the channel of Ready if a message is ready, and closes it once
// the channel is closed. The caller holds mu.
func (in *inbox) signal() {
	switch {
	case in.readable == nil || in.signaled:
	case in.life.closed.Load() || in.life.recvErr() != nil:
		in.signaled = true
		close(in.readable)
	case len(in.ready) > 0:
		select {
		case in.readable <- struct{}{}:
		default:
		}
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
