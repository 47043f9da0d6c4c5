package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// resize changes the number of streams.
func (k *keyedCore) resize(ctx context.Context, n int) error {
	if k.life.shutdown.Load() {
		return ErrShutdown
	}
	if err := k.refresh(ctx, nil); err != nil {
		return err
	}
	now := k.layout.Load()
	switch r := &now.record; {
	case r.Closed:
		return sluice.ErrClosed
	case len(r.Prior) >= maxPrior:
		return fmt.Errorf("jetstream: Resize: the streams of the last %d changes are not drained yet", maxPrior)
	}
	k.cleanPlans(ctx, now.record.Planned)
	if now.record.Current.Streams != n {
		if err := k.change(ctx, n, now.record.Current.ID); err != nil {
			return err
		}
	}
	return k.settleAll(ctx)
}

// change plans a generation, creates its streams and makes it current, if base is current
// now. If this process dies, another one that resizes deletes the streams of the plan.
func (k *keyedCore) change(ctx context.Context, n int, base string) error {
	g := generation{ID: newID(), Streams: n, Planned: time.Now().Unix()}
	if err := k.stepped("plan"); err != nil {
		return err
	}
	if _, _, err := k.records.update(ctx, func(r *record) error { return r.plan(g) }); err != nil {
		return err
	}
	err := k.stepped("create")
	if err == nil {
		if err = k.createStreams(ctx, g); err == nil {
			err = k.stepped("commit")
		}
	}
	var last record
	var revision uint64
	if err == nil {
		last, revision, err = k.records.update(ctx, func(r *record) error { return r.commit(g.ID, base) })
	}
	if err != nil {
		if !errors.Is(err, errDied) {
			k.abandonPlan(context.WithoutCancel(ctx), g)
		}
		return err
	}
	if err := k.stepped("seal"); err != nil {
		return err
	}
	if err := k.adopt(ctx, last, revision); err != nil {
		return err
	}
	if now := k.layout.Load(); now.record.Current.ID == g.ID {
		k.spread(ctx, now.lanes)
	}
	return nil
}

// errDied is the death of the process, in tests.
var errDied = errors.New("died")

// stepped lets tests fail before a step.
func (k *keyedCore) stepped(name string) error {
	if step := k.step.Load(); step != nil {
		return (*step)(name)
	}
	return nil
}

// createStreams creates the streams of a planned generation.
func (k *keyedCore) createStreams(ctx context.Context, g generation) error {
	configs := k.config.lanes(g)
	return parallel(len(configs), func(i int) error {
		want := configs[i].stream()
		err := k.retryUnavailable(ctx, func(ctx context.Context) error {
			_, err := k.conn.js.CreateStream(ctx, want)
			return err
		})
		if err != nil {
			return spaceError(fmt.Errorf("jetstream: creating stream %q: %w", want.Name, err))
		}
		return nil
	})
}

// abandonPlan deletes the streams of a plan that can no longer become current, as far as
// it can: what is left is deleted by the next resize.
func (k *keyedCore) abandonPlan(ctx context.Context, g generation) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	r, _, err := k.records.update(ctx, func(r *record) error { return r.abandon(g.ID) })
	i := find(r.Planned, g.ID)
	if err != nil || i < 0 || !r.Planned[i].Abandoned {
		return // it may be current
	}
	if k.deleteStreams(ctx, g) == nil {
		_, _, _ = k.records.update(ctx, func(r *record) error { return r.forget(g.ID) })
	}
}

// cleanPlans abandons the plans of processes that died.
func (k *keyedCore) cleanPlans(ctx context.Context, plans []generation) {
	for _, g := range plans {
		if g.Abandoned || time.Since(time.Unix(g.Planned, 0)) > planLife {
			k.abandonPlan(ctx, g)
		}
	}
}

// deleteStreams deletes the streams of a generation that has no values.
func (k *keyedCore) deleteStreams(ctx context.Context, g generation) error {
	configs := k.config.lanes(g)
	return parallel(len(configs), func(i int) error {
		for _, name := range []string{configs[i].name, configs[i].name + attemptsSuffix} {
			if err := k.conn.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, natsjs.ErrStreamNotFound) {
				return err
			}
		}
		return nil
	})
}

// settleAll waits until the prior lanes are settled, and records it.
func (k *keyedCore) settleAll(ctx context.Context) error {
	now := k.layout.Load()
	var ids []string
	for _, g := range now.record.Prior {
		if !g.Settled {
			ids = append(ids, g.ID)
		}
	}
	if ids == nil {
		return nil
	}
	for _, l := range now.prior {
		if err := k.awaitSettled(ctx, l); err != nil {
			return err
		}
	}
	if err := k.stepped("settled"); err != nil {
		return err
	}
	_, _, err := k.records.update(ctx, func(r *record) error { return r.settle(ids) })
	return err
}

// awaitSettled waits until a lane is settled.
func (k *keyedCore) awaitSettled(ctx context.Context, l *lane) error {
	select {
	case <-l.settled:
		return nil
	default:
	}
	select {
	case <-l.settled:
		return nil
	case <-k.life.ctx.Done():
		return ErrShutdown
	case <-ctx.Done():
		return contextError(ctx)
	}
}

// retire deletes the streams of prior generations that are drained, in the background.
func (k *keyedCore) retire(now *layout) {
	for _, g := range now.record.Prior {
		for _, l := range now.prior {
			if l.generation == g.ID && !l.done() {
				return
			}
		}
		if _, under := k.retiring.LoadOrStore(g.ID, true); under {
			continue
		}
		k.life.start(func() {
			err := k.stepped("retire")
			if err == nil {
				if err = k.deleteStreams(k.life.ctx, g); err == nil {
					err = k.stepped("forget")
				}
				if err == nil {
					_, _, err = k.records.update(k.life.ctx, func(r *record) error { return r.forget(g.ID) })
				}
			}
			if err == nil {
				err = k.refresh(k.life.ctx, nil)
			}
			if err != nil && !k.life.shutdown.Load() {
				k.log.Warn("jetstream: deleting streams that are drained", "error", err)
				k.retiring.Delete(g.ID)
			}
		})
	}
}

// closeLater closes the channel, and retries in the background if that fails.
func (k *keyedCore) closeLater() {
	if k.life.shutdown.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(k.life.ctx, closeTimeout)
	defer cancel()
	err := k.close(ctx)
	if err == nil || errors.Is(err, ErrDeleted) || errors.Is(err, ErrRemoved) || k.life.shutdown.Load() {
		return
	}
	k.warn(warnClose, "Close is not confirmed by the servers yet: other processes may still send")
	k.log.Error("jetstream: Close is not confirmed by the servers, retrying", "error", err)
	k.life.start(func() {
		for wait := firstPause; !k.life.shutdown.Load(); wait = min(2*wait, lastPause) {
			if err := k.close(k.life.ctx); err == nil || errors.Is(err, ErrDeleted) || errors.Is(err, ErrRemoved) {
				k.warn(warnClose, "")
				return
			}
			_ = k.life.pause(k.life.ctx, wait)
		}
	})
}

// close closes the channel for all processes.
func (k *keyedCore) close(ctx context.Context) error {
	if k.life.shutdown.Load() {
		return ErrShutdown
	}
	k.life.closed.Store(true)
	last, revision, err := k.records.update(ctx, func(r *record) error {
		if r.Closed {
			return errNoChange
		}
		r.Closed = true
		return nil
	})
	if err == nil {
		err = k.adopt(ctx, last, revision)
	}
	if err != nil {
		return err
	}
	lanes := k.layout.Load().all()
	return parallel(len(lanes), func(i int) error {
		if lanes[i].gone.Load() {
			return nil
		}
		if err := lanes[i].core.stream.seal(ctx); err != nil && !lanes[i].gone.Load() {
			return err
		}
		return nil
	})
}
