package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
)

// A keyedCore is a channel of bytes over several streams: the part of a [Keyed] that does
// not depend on T. Each lane is a core of its own; they share the connection only.
// docs/design/keyed-streams.md has the protocol. Parts:
//
//	records       the control stream (keyed_record.go)
//	layout        the streams (keyed_layout.go)
//	resize        changes of the layout (keyed_resize.go)
//	send, next    keyed_send.go, keyed_recv.go
//
// Locks: adopting is taken before any lock of a lane.
type keyedCore struct {
	*session
	records recordStore
	updates *nats.Subscription
	wrap    func(*core) any // makes lane.channel

	step       atomic.Pointer[func(name string) error] // for tests: an error is the death of the process
	layout     atomic.Pointer[layout]
	adopting   sync.Mutex
	refreshing atomic.Bool
	retiring   sync.Map // IDs of generations
	leaving    sync.Map // lanes that are being shut down

	turn     atomic.Int64 // the lane that the next receive begins with
	run      atomic.Int64 // values received from it
	mu       sync.Mutex   // guards the fields below
	readable chan struct{}
	signaled bool // readable is closed
	watching bool // watchPrior runs
}

// refreshEvery is how often the record is read if nothing else causes it: it finds the
// changes of a process that died before it told the others.
const refreshEvery = 10 * time.Second

// openKeyed connects, and finds or creates the channel.
func openKeyed(ctx context.Context, config config, streams int, wrap func(*core) any) (k *keyedCore, err error) {
	conn, err := newConnection(&config)
	if err != nil {
		return nil, err
	}
	k = &keyedCore{session: newSession(config, conn), wrap: wrap}
	control := config
	control.name += keyedSuffix
	k.records.session = newSession(control, conn)
	defer func() {
		if err != nil {
			_ = k.shutdown(context.Background()) // err is the cause
			k = nil
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := k.retryUnavailable(ctx, k.records.open); err != nil {
		return k, spaceError(conn.explain(err))
	}
	if k.updates, err = conn.nc.Subscribe(k.records.subject, func(*nats.Msg) { k.refreshLater() }); err != nil {
		return k, fmt.Errorf("jetstream: OpenKeyed: %w", err)
	}
	if err := k.openLayout(ctx, streams); err != nil {
		return k, err
	}
	k.checkSync(ctx)
	k.life.start(func() {
		for sleep(k.life.ctx, jitter(refreshEvery)) {
			k.refreshLater()
		}
	})
	return k, nil
}

// openLayout opens the streams of the record, and makes the first record.
func (k *keyedCore) openLayout(ctx context.Context, streams int) error {
	var last record
	err := k.retryUnavailable(ctx, func(ctx context.Context) (err error) {
		last, _, err = k.records.read(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if last.Current.ID != "" {
		return k.refresh(ctx, nil)
	}
	switch err := k.change(ctx, streams, ""); {
	case errors.Is(err, errOvertaken): // by another process that opens the channel
		return k.refresh(ctx, nil)
	default:
		return err
	}
}

// newID returns the random part of the names of a generation's streams.
func newID() string { return rand.Text()[:12] }

// refresh opens the streams of the last record. If the caller saw a lane of the layout
// old that accepts no more values, it repeats that until the layout is another one, or
// ctx is done; if not, only while the record seems to be stale.
func (k *keyedCore) refresh(ctx context.Context, old *layout) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		last, revision, err := k.records.read(ctx)
		if err == nil {
			err = k.adopt(ctx, last, revision)
		}
		if err == nil && (old == nil || k.layout.Load() != old || last.Closed) {
			return nil
		}
		switch {
		case k.life.shutdown.Load():
			return ErrShutdown
		case errors.Is(err, ErrDeleted), err != nil && old == nil && !errors.Is(err, errStale):
			return err
		}
		if ctx.Err() != nil || k.life.pause(ctx, wait) != nil {
			if err != nil {
				return fmt.Errorf("jetstream: opening the streams of %q: %w: %w", k.config.name, contextError(ctx), err)
			}
			return contextError(ctx)
		}
	}
}

// refreshLater reads the record in the background.
func (k *keyedCore) refreshLater() {
	if k.refreshing.Swap(true) {
		return
	}
	k.life.start(func() {
		k.refreshing.Store(false)
		ctx, cancel := context.WithTimeout(k.life.ctx, refreshEvery)
		defer cancel()
		_ = k.refresh(ctx, nil)
	})
}

// errStale means that a record has a stream that does not exist: it is not the last one.
var errStale = errors.New("jetstream: a stream of the channel does not exist")

// adopt makes a record the layout of this process, unless it has a newer one.
func (k *keyedCore) adopt(ctx context.Context, r record, revision uint64) error {
	k.adopting.Lock()
	defer k.adopting.Unlock()
	old := k.layout.Load()
	if old != nil && old.revision >= revision {
		return nil
	}
	if r.Current.ID == "" {
		return errStale
	}
	if k.life.shutdown.Load() {
		return ErrShutdown
	}
	next := &layout{record: r, revision: revision, replaced: make(chan struct{})}
	known := map[string][]*lane{}
	if old != nil {
		for _, l := range old.all() {
			known[l.generation] = append(known[l.generation], l)
		}
	}
	var opened []*lane
	for _, g := range append(r.Prior[:len(r.Prior):len(r.Prior)], r.Current) {
		lanes := known[g.ID]
		if delete(known, g.ID); lanes == nil {
			var err error
			if lanes, err = k.openLanes(ctx, g, g.ID == r.Current.ID, next.prior); err != nil {
				k.closeLanes(opened)
				return err
			}
			opened = append(opened, lanes...)
		}
		if g.ID == r.Current.ID {
			next.lanes = lanes
		} else {
			next.prior = append(next.prior, lanes...)
		}
		if g.Settled {
			for _, l := range lanes {
				l.setSettled()
			}
		}
	}
	k.layout.Store(next)
	k.leave(known)
	k.sealOld(old, next)
	if old != nil {
		close(old.replaced)
	}
	k.signal()
	k.watchPrior()
	return nil
}

// leave shuts down the lanes that the record no longer has.
func (k *keyedCore) leave(lanes map[string][]*lane) {
	for _, lanes := range lanes {
		for _, l := range lanes {
			l.setGone()
			k.keep(l)
			k.leaving.Store(l, true)
		}
		k.life.start(func() {
			k.closeLanes(lanes)
			for _, l := range lanes {
				k.leaving.Delete(l)
			}
		})
	}
}

// sealOld starts to seal the lanes that accept no more values, as the process that wrote
// the record may have died before.
func (k *keyedCore) sealOld(old, next *layout) {
	lanes := next.prior
	if next.record.Closed {
		lanes = next.all()
	}
	for _, l := range lanes {
		sealed := old != nil && (old.record.Closed || find(old.record.Prior, l.generation) >= 0)
		if !sealed && !l.gone.Load() {
			k.life.start(func() { k.settle(l) })
		}
	}
}

// settle seals a lane and waits until it is settled.
func (k *keyedCore) settle(l *lane) {
	_ = k.stepped("settle")
	for !l.gone.Load() && !k.life.shutdown.Load() {
		err := l.core.stream.seal(k.life.ctx)
		if errors.Is(err, ErrDeleted) { // it was drained
			break
		}
		if l.core.life.settled.Load() {
			break
		}
		_ = k.life.pause(k.life.ctx, lastPause)
	}
	if !k.life.shutdown.Load() {
		l.setSettled()
	}
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

// openLanes opens the streams of a generation. A stream of a prior one that does not exist
// was drained and deleted.
func (k *keyedCore) openLanes(ctx context.Context, g generation, current bool, earlier []*lane) ([]*lane, error) {
	configs, lanes := k.config.lanes(g), make([]*lane, g.Streams)
	err := parallel(len(lanes), func(i int) error {
		l := &lane{generation: g.ID, index: i, of: g.Streams, settled: make(chan struct{})}
		lanes[i] = l
		for _, e := range earlier {
			if l.overlaps(e) {
				l.parents = append(l.parents, e)
			}
		}
		if !k.conn.share() {
			return ErrShutdown
		}
		var err error
		l.core, err = openCore(ctx, configs[i], k.conn)
		switch deleted := errors.Is(err, natsjs.ErrStreamNotFound) || errors.Is(err, ErrDeleted); {
		case deleted && !current:
			l.setGone()
			return nil
		case deleted:
			return errStale
		case err != nil:
			return err
		}
		l.channel = k.wrap(l.core)
		l.core.inbox.mu.Lock()
		defer l.core.inbox.mu.Unlock()
		l.core.inbox.changed = func() { k.laneChanged(l) }
		k.prefetchForReady(l)
		return nil
	})
	if err != nil {
		k.closeLanes(lanes)
		return nil, err
	}
	return lanes, nil
}

// laneChanged is called after a message arrived at a lane, or its state changed.
func (k *keyedCore) laneChanged(l *lane) {
	if l.core.life.closed.Load() || l.core.life.deleted.Load() {
		if now := k.layout.Load(); now != nil && !now.record.Closed && l.generation == now.record.Current.ID {
			k.refreshLater()
		}
	}
	k.signal()
}

// closeLanes shuts down lanes.
func (k *keyedCore) closeLanes(lanes []*lane) {
	_ = parallel(len(lanes), func(i int) error {
		if l := lanes[i]; l != nil && l.core != nil {
			return l.core.shutdown(context.Background())
		}
		return nil
	})
}

// shutdown implements [Keyed.Shutdown].
func (k *keyedCore) shutdown(ctx context.Context) error {
	if !k.life.beginShutdown() {
		return nil
	}
	k.life.cancel()
	k.records.life.beginShutdown()
	k.records.life.cancel()
	if k.updates != nil {
		_ = k.updates.Unsubscribe() // the connection may be closed already
	}
	k.life.tasks.Wait()
	k.adopting.Lock()
	defer k.adopting.Unlock()
	k.leaving.Range(func(l, _ any) bool {
		k.closeLanes([]*lane{l.(*lane)})
		return true
	})
	var err error
	if now := k.layout.Load(); now != nil {
		lanes := now.all()
		err = parallel(len(lanes), func(i int) error {
			if lanes[i].core == nil {
				return nil
			}
			return lanes[i].core.shutdown(ctx)
		})
	}
	k.signal()
	return errors.Join(err, k.conn.close())
}

// checkSync warns unless every server that stores a value syncs every write.
func (k *keyedCore) checkSync(ctx context.Context) {
	names := map[string]bool{}
	for _, l := range k.layout.Load().lanes {
		for _, name := range l.core.stream.replicas() {
			names[name] = true
		}
	}
	var replicas []string
	for name := range names {
		replicas = append(replicas, name)
	}
	k.checkSyncOf(ctx, replicas)
}
