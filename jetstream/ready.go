package jetstream

import "time"

// readySignal returns the channel of Ready, and has a value fetched for whoever
// reads from it.
func (c *core) readySignal() <-chan struct{} {
	in := &c.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.signal == nil {
		in.signal = make(chan struct{}, 1)
		c.announce()
		c.ask(false)
	}
	return in.signal
}

// announce puts a token into the channel of Ready if there is a value here, and
// closes it once the channel is closed. The lock is held.
func (c *core) announce() {
	in := &c.inbox
	switch {
	case in.signal == nil || in.signaled:
	case c.closed.Load() || c.ended() != nil:
		in.signaled = true
		close(in.signal)
	case len(in.ready) > 0:
		select {
		case in.signal <- struct{}{}:
		default:
		}
	}
}

// watchDrain has what is closed watched until it is drained, as long as somebody
// waits for that: whoever acknowledges the last value may be in another process. The
// lock is held.
func (c *core) watchDrain() {
	in := &c.inbox
	if !c.closed.Load() || in.watching || len(in.line) == 0 || c.ended() != nil {
		return
	}
	in.watching = true
	c.tasks.Go(func() {
		for wait := firstLook; c.awaited(); wait = min(2*wait, lastLook) {
			_ = c.look(c.leaving)
			_ = c.pause(c.coming, wait)
		}
	})
}

// How long until a closed channel is looked at again.
const (
	firstLook = time.Millisecond
	lastLook  = 250 * time.Millisecond
)

// awaited tells whether to go on watching; if not, the next one may begin.
func (c *core) awaited() bool {
	in := &c.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	in.watching = c.ended() == nil && len(in.line) > 0
	return in.watching
}
