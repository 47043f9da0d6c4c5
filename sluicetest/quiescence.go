package sluicetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// testQuiescence takes random steps, most with one operation, some with several
// at once. After each step it waits until every goroutine is parked or done.
// Then no parked operation may be able to proceed, and the model must agree
// with all results.
func testQuiescence(t *testing.T, k Kind) {
	for range k.rounds(150) {
		seed := rand.Uint64()
		synctest.Test(t, func(t *testing.T) { newWalk(t, k, seed).run(t, 80) })
		if t.Failed() {
			return
		}
	}
}

// A walk is a sequence of random steps. The same seed takes the same steps, but
// races within a step may end differently.
type walk struct {
	*model
	seed  uint64
	rng   *rand.Rand
	next  uint64 // next value to send
	count int
	log   []string
}

func newWalk(t *testing.T, k Kind, seed uint64) *walk {
	w := &walk{model: &model{k: k}, seed: seed, rng: rand.New(rand.NewPCG(seed, 0))}
	// Each racing send calls OnUndelivered in its own goroutine.
	var drops sync.Mutex
	w.c = k.dropping(t, func(v uint64) {
		drops.Lock()
		w.dropped = append(w.dropped, v)
		drops.Unlock()
	})
	return w
}

func (w *walk) run(t *testing.T, steps int) {
	// One walk in three closes the channel on the way, the others at the end.
	closeAt := steps
	if w.rng.IntN(3) == 0 {
		closeAt = w.rng.IntN(steps)
	}
	// A walk favors one side for a while, so that the channel becomes full, or
	// empty, and stays so.
	for w.count < steps {
		lean := w.rng.IntN(3)
		for range 1 + w.rng.IntN(20) {
			if err := w.step(lean, w.count == closeAt); err != nil {
				t.Errorf("seed %d, step %d: %v\nthe steps before:\n%s", w.seed, w.count, err,
					strings.Join(w.log[max(0, len(w.log)-12):], "\n"))
				w.abandon()
				return
			}
			w.count++
		}
	}
	if err := w.finish(); err != nil {
		t.Errorf("seed %d, at the end: %v", w.seed, err)
	}
	w.abandon()
}

// abandon releases every goroutine that is still parked.
func (w *walk) abandon() {
	for _, o := range w.parked {
		o.cancel()
	}
	w.c.Close()
}

// step starts one operation, or several at once, and checks the results.
func (w *walk) step(lean int, closing bool) error {
	senders, receivers := w.waiting()
	s := &step{alone: true, wasClosed: w.closed, queued: w.c.Len(), senders: senders, receivers: receivers}
	s.outstanding = append(s.outstanding, w.parked...)
	actions := 1
	if w.rng.IntN(4) == 0 {
		actions = 2 + w.rng.IntN(5)
		s.alone = false
	}
	for range actions {
		if o := w.operation(s, lean); o != nil {
			o.step = w.count
			s.started = append(s.started, o)
			s.outstanding = append(s.outstanding, o)
		}
	}
	var ending []*operation
	if len(w.parked) > 0 && (w.rng.IntN(8) == 0 || len(w.parked) > 8) {
		// Cancels some waits while the operations chosen above run.
		for _, o := range w.parked {
			if w.rng.IntN(3) > 0 && !o.canceled {
				o.canceled = true
				ending = append(ending, o)
			}
		}
		s.alone = s.alone && len(s.started) == 0
	}
	if closing {
		w.closed = true
		s.alone = false
	}
	w.log = append(w.log, fmt.Sprintf("%d: %d of %d queued, parked %v; started %v, ended %v, closing %v",
		w.count, s.queued, w.k.Capacity, w.parked, s.started, ending, closing))
	w.launch(s.started, ending, closing)
	settle()
	return w.check(s)
}

// launch starts all operations at once, in random order.
func (w *walk) launch(started, ending []*operation, closing bool) {
	var actions []func()
	for _, o := range started {
		actions = append(actions, func() { w.start(o) })
	}
	for _, o := range ending {
		actions = append(actions, func() { go o.cancel() })
	}
	if closing {
		actions = append(actions, func() { go w.c.Close() })
	}
	w.rng.Shuffle(len(actions), func(i, j int) { actions[i], actions[j] = actions[j], actions[i] })
	for _, action := range actions {
		action()
	}
}

// operation chooses the next operation, or returns nil if k does not allow it.
func (w *walk) operation(s *step, lean int) *operation {
	batch, senders, receivers := false, 0, 0
	for _, o := range s.outstanding {
		batch = batch || o.kind == opSendBatch
		if o.sends() {
			senders++
		} else {
			receivers++
		}
	}
	o := &operation{kind: opKind(w.rng.IntN(3))}
	if lean == 0 && w.rng.IntN(4) > 0 || lean == 2 && w.rng.IntN(2) > 0 {
		o.kind += opRecv
	}
	if o.sends() && w.k.OneSender && senders > 0 || !o.sends() && w.k.OneReceiver && receivers > 0 {
		return nil
	}
	if o.kind == opSendBatch && batch {
		o.kind = opSend
	}
	n := 1
	switch o.kind {
	case opSendBatch:
		n = 1 + w.rng.IntN(min(w.k.Capacity, 8)+5)
	case opRecvBatch:
		o.size = 1 + w.rng.IntN(min(w.k.Capacity, 8)+4)
	}
	if o.sends() {
		o.values = counted(n, w.next)
		w.next += uint64(n)
	}
	if w.rng.IntN(8) == 0 {
		o.canceled = true
	}
	return o
}

// start starts o in its own goroutine.
func (w *walk) start(o *operation) {
	var ctx context.Context
	ctx, o.cancel = context.WithCancel(context.Background())
	if o.canceled {
		o.cancel()
	}
	ctx = chaos{ctx}
	switch o.kind {
	case opSend:
		o.call = startSend(ctx, w.c, o.values[0])
	case opTrySend:
		o.call = start(func(p *call) {
			if p.err = w.c.TrySend(o.values[0]); p.err == nil {
				p.n = 1
			}
		})
	case opSendBatch:
		o.call = startSendBatch(ctx, w.c, o.values)
	case opRecv:
		o.call = startRecv(ctx, w.c)
	case opTryRecv:
		o.call = start(func(p *call) {
			v, err := w.c.TryRecv()
			if p.err = err; err == nil {
				p.n, p.values = 1, []uint64{v}
			}
		})
	case opRecvBatch:
		o.call = startRecvBatch(ctx, w.c, o.size)
	}
}

// finish closes the channel and receives the rest, which must match the model.
func (w *walk) finish() error {
	s := &step{wasClosed: w.closed, queued: w.c.Len(), outstanding: w.parked}
	w.closed = true
	w.c.Close()
	settle()
	if err := w.check(s); err != nil {
		return err
	}
	for {
		p := start(func(p *call) {
			v, err := w.c.Recv(context.Background())
			if p.err = err; err == nil {
				p.n, p.values = 1, []uint64{v}
			}
		})
		settle()
		if !p.done {
			return fmt.Errorf("Recv of a closed channel waits")
		}
		if p.err == sluice.ErrClosed && w.c.Len() == 0 {
			break
		}
		if p.err != nil {
			return fmt.Errorf("Recv of a closed channel: %w", p.err)
		}
		w.taken++
		if err := w.release([]*operation{{call: p, kind: opRecv}}); err != nil {
			return err
		}
	}
	if len(w.queue) > 0 {
		return fmt.Errorf("%v were sent and never received", w.queue)
	}
	return nil
}
