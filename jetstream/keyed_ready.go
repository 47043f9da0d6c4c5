package jetstream

// readyChan returns the channel of Ready, and has each lane fetch a message.
func (k *keyedCore) readyChan() <-chan struct{} {
	k.adopting.Lock() // no lane is opened meanwhile
	defer k.adopting.Unlock()
	k.mu.Lock()
	first := k.readable == nil
	if first {
		k.readable = make(chan struct{}, 1)
	}
	readable := k.readable
	k.mu.Unlock()
	if first {
		for _, l := range k.layout.Load().all() {
			if !l.gone.Load() {
				l.core.inbox.mu.Lock()
				k.prefetchForReady(l)
				l.core.inbox.mu.Unlock()
			}
		}
		k.signal()
		k.watchPrior()
	}
	return readable
}

// watchPrior checks the prior lanes until they are drained, if Ready was called: its caller
// does not wait in a Recv, which would check them. The caller holds adopting.
func (k *keyedCore) watchPrior() {
	k.mu.Lock()
	wanted := k.readable != nil && !k.watching
	now := k.layout.Load()
	k.watching = k.watching || wanted && len(now.prior) > 0
	k.mu.Unlock()
	if !wanted || len(now.prior) == 0 {
		return
	}
	k.life.start(func() {
		for left := true; left && sleep(k.life.ctx, lastCheck); {
			now := k.layout.Load()
			for _, l := range now.prior {
				if !l.done() {
					_ = l.core.stream.check(k.life.ctx)
				}
			}
			_ = now.openLanes() // it marks those that are gone
			k.retire(now)
			k.signal()
			k.mu.Lock()
			left = len(k.layout.Load().prior) > 0
			k.watching = left
			k.mu.Unlock()
		}
	})
}

// signalReady signals if one of the lanes has a message ready.
func (k *keyedCore) signalReady(lanes []*lane) {
	k.mu.Lock()
	wanted := k.readable != nil
	k.mu.Unlock()
	if !wanted {
		return
	}
	for _, l := range lanes {
		if l.core.inbox.hasReady() {
			k.signal()
			return
		}
	}
}

// prefetchForReady has a lane keep one message if Ready was called. The inbox believes
// that its own Ready was. The caller holds its mu.
func (k *keyedCore) prefetchForReady(l *lane) {
	k.mu.Lock()
	wanted := k.readable != nil
	k.mu.Unlock()
	if in := &l.core.inbox; wanted && in.readable == nil {
		in.readable, in.signaled = make(chan struct{}), true
		in.fetcher.fetch(false)
	}
}

// signal puts a token into the channel of Ready, and closes it once the channel is closed.
// A token may be spurious. The caller may hold the mu of an inbox.
func (k *keyedCore) signal() {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.layout.Load()
	switch {
	case k.readable == nil || k.signaled || now == nil:
	case now.record.Closed || k.life.closed.Load() || k.life.shutdown.Load():
		k.signaled = true
		close(k.readable)
	default:
		select {
		case k.readable <- struct{}{}:
		default:
		}
	}
}
