package jetstream

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice"
)

// maxRun is the most values that receivers take from one lane while others may have some.
const maxRun = 256

// errNothing means that a lane has no message ready.
var errNothing = errors.New("nothing is ready")

// receivable returns the lanes whose values may be received now, and the layout. Its error
// is final.
func (k *keyedCore) receivable(ctx context.Context) (*layout, []*lane, error) {
	for {
		if k.life.shutdown.Load() {
			return nil, nil, ErrShutdown
		}
		now := k.layout.Load()
		lanes, deleted := now.lanes, false
		if len(now.prior) > 0 || now.record.Closed {
			lanes = now.openLanes()
			k.retire(now)
		}
		for _, l := range now.lanes {
			deleted = deleted || l.core.life.deleted.Load()
		}
		switch {
		case deleted:
			if err := k.refresh(ctx, nil); err != nil {
				return nil, nil, err
			}
			if k.layout.Load() == now {
				return nil, nil, ErrDeleted
			}
		case len(lanes) > 0:
			return now, lanes, nil
		case now.record.Closed:
			return nil, nil, sluice.ErrClosed
		default: // all is drained, and the channel is not closed: there is another layout
			if err := k.refresh(ctx, now); err != nil {
				return nil, nil, err
			}
		}
	}
}

// openLanes returns the lanes that are not done, and whose parents are.
func (l *layout) openLanes() (open []*lane) {
	for _, p := range l.prior {
		if !p.gone.Load() && p.core.life.deleted.Load() {
			p.setGone() // only a drained one is deleted
		}
	}
	for _, lane := range l.all() {
		if !lane.done() && lane.open() {
			open = append(open, lane)
		}
	}
	return open
}

// A takeFunc takes what is ready in a lane; it returns errNothing if that is nothing.
type takeFunc func(l *lane) (int, error)

// takeAny takes what is ready in any of the lanes. It stays with one lane for maxRun
// values, then continues with the next one.
func (k *keyedCore) takeAny(lanes []*lane, take takeFunc) (int, error) {
	first := int(k.turn.Load())
	for i := range lanes {
		at := (first + i) % len(lanes)
		l := lanes[at]
		if !l.core.inbox.hasReady() {
			continue
		}
		n, err := take(l)
		if n > 0 {
			if i > 0 {
				k.turn.Store(int64(at))
				k.run.Store(0)
			}
			if k.run.Add(int64(n)) >= maxRun {
				k.turn.Store(int64(at + 1))
				k.run.Store(0)
			}
			k.signalReady(lanes)
			return n, nil
		}
		if err != errNothing && err != sluice.ErrClosed && err != ErrDeleted && err != ErrShutdown {
			return 0, err
		}
	}
	return 0, errNothing
}

// next takes messages from any lane, and waits for them.
func (k *keyedCore) next(ctx context.Context, take takeFunc) (int, error) {
	end := func() {}
	defer func() { end() }()
	waited := false
	w := newWaiter()
	for {
		now, lanes, err := k.receivable(ctx)
		if err != nil {
			return 0, err
		}
		if n, err := k.takeAny(lanes, take); err != errNothing {
			return n, err
		}
		if ctx.Err() != nil {
			if waited {
				return 0, contextError(ctx)
			}
			n, err := k.tryNext(take)
			if err == sluice.ErrEmpty {
				err = contextError(ctx)
			}
			return n, err
		}
		if !waited {
			waited, end = true, k.counters.recvWait()
		}
		k.wait(ctx, now, lanes, w)
	}
}

// wait waits until one of the lanes has a message or is done, or the layout changes.
func (k *keyedCore) wait(ctx context.Context, now *layout, lanes []*lane, w *waiter) {
	waiters := make([]waiter, len(lanes))
	for i, l := range lanes {
		waiters[i].wake = w.wake
		defer l.core.inbox.cancelWait(&waiters[i])
		if !l.core.inbox.join(&waiters[i]) {
			return
		}
	}
	select {
	case <-w.wake:
	case <-now.replaced:
	case <-k.life.ctx.Done():
	case <-ctx.Done():
	}
}

// tryNext takes messages that there are, and waits only for the servers' answers.
func (k *keyedCore) tryNext(take takeFunc) (int, error) {
	ctx, cancel := context.WithTimeout(k.life.ctx, tryTimeout)
	defer cancel()
	for asked := false; ; asked = true {
		_, lanes, err := k.receivable(ctx)
		if err != nil && ctx.Err() != nil {
			return 0, k.emptyErr() // as far as can be known without the servers
		}
		if err != nil {
			return 0, err
		}
		if n, err := k.takeAny(lanes, take); err != errNothing {
			return n, err
		}
		if asked {
			return 0, k.emptyErr()
		}
		_ = parallel(len(lanes), func(i int) error {
			lanes[i].core.inbox.ask(ctx)
			return nil
		})
	}
}

// emptyErr is ErrEmpty, or the error of a channel that has just ended.
func (k *keyedCore) emptyErr() error {
	now := k.layout.Load()
	switch {
	case k.life.shutdown.Load():
		return ErrShutdown
	case now.record.Closed && len(now.openLanes()) == 0:
		return sluice.ErrClosed
	}
	return sluice.ErrEmpty
}

// hasReady reports whether a message is ready.
func (in *inbox) hasReady() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.ready) > 0
}

// takeNow takes messages that are ready, without a request.
func (in *inbox) takeNow(buf []*message, mode recvMode) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n, err := in.takeReady(buf, mode)
	if n == 0 && err == nil {
		err = errNothing
	}
	return n, err
}

// join adds a waiter, and reports false if there is no need to wait.
func (in *inbox) join(w *waiter) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.ready) > 0 || in.life.recvErr() != nil {
		return false
	}
	in.waiters = append(in.waiters, w)
	in.fetcher.fetch(false)
	in.watchDrain()
	return true
}

// ask asks the servers for one message, which stays in the inbox.
func (in *inbox) ask(ctx context.Context) {
	in.fetcher.trying.Lock()
	defer in.fetcher.trying.Unlock()
	timeout, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	_, _ = in.askUntil(timeout.Done(), 1, func() (int, error) { return len(in.ready), in.life.recvErr() })
}
