package locked

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/selection"
)

// check asserts the invariants of the package comment. If quiet, every goroutine is
// parked or gone.
//
// Values are not zero, so that a value that was left behind is recognized.
func check[T comparable](e *Engine[T], quiet bool) error {
	e.lock.Lock()
	defer e.lock.Unlock()
	if err := e.receivers.check(quiet); err != nil {
		return fmt.Errorf("receivers: %w", err)
	}
	var senders []*waiter[T]
	waiting := int32(0)
	for i := range e.queues() {
		l := e.sendersAt(int64(i))
		if err := l.check(quiet); err != nil {
			return fmt.Errorf("senders: %w", err)
		}
		waiting += int32(l.Len())
		senders = append(senders, l.claimable()...)
		if w := l.First(); w != nil && w.Select == nil && e.room(w.Value.key) {
			return fmt.Errorf("%d senders wait, and the first one fits", l.Len())
		}
		if e.isShut(int64(i)) && len(l.claimable()) > 0 {
			return fmt.Errorf("%d senders wait after Close", l.Len())
		}
	}
	if e.offers != waiting || e.takers != int32(e.receivers.Len()) {
		return fmt.Errorf("%d senders and %d receivers, counted as %d and %d", waiting, e.receivers.Len(), e.offers, e.takers)
	}
	if !e.served.Empty() {
		return errors.New("a goroutine was served and is not woken")
	}
	var zero T
	for w := e.receivers.First(); w != nil; w = w.Next() {
		if w.Value.value != zero {
			return fmt.Errorf("a receiver waits with the value %v", w.Value.value)
		}
	}
	receivers := e.receivers.claimable()
	switch {
	case e.n > e.limit:
		return fmt.Errorf("%d values queued, above the limit of %d", e.n, e.limit)
	case e.closed() && e.n == 0 && len(receivers) > 0:
		return fmt.Errorf("%d receivers wait after Close", e.receivers.Len())
	case len(receivers) > 0 && e.n > 0 && (e.direct || quiet && e.store.able()) || e.direct && unpaired(senders, receivers):
		return fmt.Errorf("%d receivers wait with %d values queued and %d senders waiting", e.receivers.Len(), e.n, waiting)
	}
	if e.config.Overflow == engine.Block {
		if lost := int(e.sent) - int(e.taken) - int(e.dropped) - e.n; lost != 0 {
			return fmt.Errorf("sent %d, taken %d, dropped %d, queued %d", e.sent, e.taken, e.dropped, e.n)
		}
	}
	return checkSizes(e)
}

// check asserts that no queued waiter was served.
func (l *queue[T]) check(quiet bool) error {
	n := 0
	for w := l.First(); w != nil; w = w.Next() {
		switch n++; {
		case !w.Queued():
			return fmt.Errorf("waiter %d is in the queue, but not marked as queued", n)
		case w.Value.outcome != left:
			return fmt.Errorf("waiter %d is in the queue with outcome %d", n, w.Value.outcome)
		case w.Select != nil && quiet && !w.Select.Claimable():
			return fmt.Errorf("waiter %d belongs to a Select that sleeps and cannot be claimed", n)
		case w.Select != nil: // it has the token of another entry, or is awake
		case tokens(w) != 0:
			return fmt.Errorf("waiter %d is in the queue with a token", n)
		case quiet && !w.Value.parked:
			return fmt.Errorf("waiter %d sleeps, but is not marked as parked", n)
		}
	}
	if n != l.Len() {
		return fmt.Errorf("%d waiters, counted as %d", n, l.Len())
	}
	return nil
}

// checkSizes asserts that the store has e.n values, and that the sizes add up.
func checkSizes[T comparable](e *Engine[T]) error {
	n := 0
	switch s := e.store.(type) {
	case *fifo[T]:
		n = s.values.Len()
	case *levels[T]:
		for i := range s.of {
			n += s.of[i].values.Len()
			if (s.of[i].values.Len() > 0) != (s.present>>i&1 != 0) {
				return fmt.Errorf("level %d has %d values, present %b", i, s.of[i].values.Len(), s.present)
			}
		}
	case *schedule[T]:
		n = len(s.heap)
	case *backlog[T]:
		n = s.fresh.Len() + s.stale.Len()
	case *dated[T]:
		if n = s.values.Len(); s.times.Len() != n {
			return fmt.Errorf("%d times of %d values", s.times.Len(), n)
		}
	case *sized[T]:
		n = s.values.Len()
		if s.sizes.Len() != n {
			return fmt.Errorf("%d sizes of %d values", s.sizes.Len(), n)
		}
		sum := int64(0)
		for range n { // once around
			v, size := s.values.Pop(), s.sizes.Pop()
			s.values.Push(v)
			s.sizes.Push(size)
			if sum += int64(size); size != e.config.Size(v) {
				return fmt.Errorf("the size of %v is recorded as %d", v, size)
			}
		}
		if sum != s.bytes || sum > s.config.MaxBytes {
			return fmt.Errorf("sizes add up to %d, counted as %d, limit %d", sum, s.bytes, s.config.MaxBytes)
		}
	}
	if n != e.n {
		return fmt.Errorf("%d values queued, counted as %d", n, e.n)
	}
	return nil
}

// tokens returns the number of tokens of w.Parker.
func tokens[T any](w *waiter[T]) int {
	return reflect.ValueOf(w.Parker).Field(0).Len()
}

// TestCheckFails: the check reports each violation.
func TestCheckFails(t *testing.T) {
	type e = *Engine[int]
	sizes := func(s e) *sized[int] { return s.store.(*sized[int]) }
	for want, violate := range map[string]func(senders, receivers e){
		"with outcome 1":                 func(_, r e) { r.receivers.First().Value.outcome = done },
		"3 is in the queue with a token": func(s, _ e) { s.senders.First().Next().Next().Parker.Unpark() },
		"not marked as parked":           func(s, _ e) { s.senders.First().Value.parked = false },
		"waits with the value 7":         func(_, r e) { r.receivers.First().Value.value = 7 },
		"above the limit of 1":           func(s, _ e) { s.limit = 1 },
		"3 senders wait after Close":     func(s, _ e) { s.shut = all },
		"3 receivers wait after Close":   func(_, r e) { r.shut = all },
		"with 1 values queued":           func(_, r e) { r.push(1, 1) },
		"and 1 senders waiting":          func(s, r e) { r.limit = 0; r.senders.push(s.senders.pop(), false) },
		"the first one fits":             func(s, _ e) { s.senders.First().Value.key = 0 },
		"counted as 2 and 0":             func(s, _ e) { s.offers-- },
		"is not woken":                   func(s, _ e) { s.served.Add(s.senders.First()) },
		"sent 3, taken 0":                func(s, _ e) { s.sent++ },
		"2 sizes of 3 values":            func(s, _ e) { sizes(s).values.Push(1) },
		"2 values queued, counted as 1":  func(s, _ e) { s.n--; s.sent-- },
		"recorded as 1":                  func(s, _ e) { sizes(s).sizes.Push(sizes(s).sizes.Pop() - 1) },
		"counted as 5, limit 4":          func(s, _ e) { sizes(s).bytes++ },
		"counted as 4, limit 3":          func(s, _ e) { sizes(s).config.MaxBytes-- },
		"cannot be claimed":              func(s, _ e) { s.senders.First().Select = new(selection.State) },
	} {
		senders, receivers := halted()
		for _, e := range []e{senders, receivers} {
			if err := check(e, true); err != nil {
				t.Fatalf("before the violation: %v", err)
			}
		}
		violate(senders, receivers)
		if err := cmp.Or(check(senders, true), check(receivers, true)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// halted returns an engine with two queued values and three waiting senders, and
// one with three waiting receivers, without goroutines.
func halted() (senders, receivers *Engine[int]) {
	config := engine.Config[int]{Limit: 5, Elastic: true, MaxBytes: 4, Size: func(v int) int { return v }}
	senders, receivers = New(config), New(config)
	_ = senders.TrySend(2)
	_ = senders.TrySend(2)
	for range 3 {
		w := senders.waiter()
		w.Value.value, w.Value.key, w.Value.parked = 2, 2, true
		senders.senders.push(w, false)
		w = receivers.waiter()
		w.Value.parked = true
		receivers.receivers.push(w, false)
	}
	return senders, receivers
}

// A variant is an engine with a store.
type variant struct {
	engine.Config[int]
	open func(engine.Config[int]) *Engine[int] // nil: New
}

func (v variant) new() *Engine[int] {
	if v.open == nil {
		return New(v.Config)
	}
	return v.open(v.Config)
}

// variants returns all variants of an engine.
func variants() map[string]variant {
	size := func(v int) int { return v % 5 }
	urgent := func(c engine.Config[int]) *Engine[int] {
		return NewPriority(c, Urgency[int]{Levels: 3, MaxPassed: 2, LevelOf: func(v int) int { return v % 3 }})
	}
	timed := func(c engine.Config[int]) *Engine[int] {
		return NewTimed(c, func(v int) time.Time { return time.Now().Add(time.Duration(v%4) * time.Millisecond) }).Engine
	}
	aged := func(c engine.Config[int]) *Engine[int] {
		hook := c.OnDrop
		if hook == nil {
			hook = func(int) {}
		}
		c.OnDrop = nil
		return NewAged(c, Ages[int]{MaxAge: 3 * time.Millisecond, StaleAfter: time.Millisecond, OnExpire: hook})
	}
	config := func(c engine.Config[int]) variant { return variant{Config: c} }
	return map[string]variant{
		"rendezvous":            config(engine.Config[int]{}),
		"one slot":              config(engine.Config[int]{Limit: 1}),
		"three slots":           config(engine.Config[int]{Limit: 3}),
		"sized":                 config(engine.Config[int]{Limit: 6, Elastic: true, MaxBytes: 9, Size: size}),
		"sized, oldest dropped": config(engine.Config[int]{Limit: 6, Elastic: true, MaxBytes: 9, Size: size, Overflow: engine.DropOldest}),
		"oldest dropped":        config(engine.Config[int]{Limit: 2, Overflow: engine.DropOldest}),
		"newest dropped":        config(engine.Config[int]{Overflow: engine.DropNewest}),
		"full rejects":          config(engine.Config[int]{Limit: 1, Overflow: engine.Reject}),
		"levels":                {engine.Config[int]{Limit: 2}, urgent},
		"levels, least dropped": {engine.Config[int]{Limit: 2, Overflow: engine.DropLeastUrgent}, urgent},
		"schedule":              {engine.Config[int]{Limit: 3}, timed},
		"backlog":               {engine.Config[int]{Limit: 3}, aged},
	}
}

// A call is a Send or a Recv in a goroutine of its own.
type call struct {
	v      int
	err    error
	done   bool // read it after synctest.Wait
	cancel context.CancelFunc
	of     *selectCall // if not nil, this is the receive of a Select
}

func startSend(e *Engine[int], v int) *call {
	return start(func(ctx context.Context, c *call) { c.v, c.err = v, e.Send(ctx, v) })
}

func startRecv(e *Engine[int]) *call {
	return start(func(ctx context.Context, c *call) { c.v, c.err = e.Recv(ctx) })
}

func start(f func(context.Context, *call)) *call {
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{cancel: cancel}
	go func() {
		f(ctx, c)
		c.done = true
	}()
	return c
}

// interrupt cancels a call that may wait.
func (c *call) interrupt() {
	if c.cancel != nil {
		c.cancel()
	}
}

// TestInvariants checks the invariants after each random step, sometimes while
// goroutines are running, sometimes when all are parked. In the end each value that
// was sent has been received or dropped once.
func TestInvariants(t *testing.T) {
	for name, variant := range variants() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				synctest.Test(t, func(t *testing.T) { randomSteps(t, variant, seed) })
			}
		})
	}
}

func randomSteps(t *testing.T, config variant, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	times := make([]int, 201) // that each value was received or dropped
	if config.Overflow != engine.Block && config.Overflow != engine.Reject || config.open != nil {
		config.OnDrop = func(v int) { times[v]++ }
	}
	e := config.new()
	var sends, recvs []*call
	for step := 1; step < len(times); step++ {
		switch rng.IntN(10) {
		case 8:
			both := startSelect(e, step)
			sends, recvs = append(sends, &both.call), append(recvs, &call{v: step, cancel: both.cancel, of: both})
		case 9:
			both := startSelect(e, 0)
			recvs = append(recvs, &call{cancel: both.cancel, of: both})
		case 0, 1:
			sends = append(sends, startSend(e, step))
		case 2, 3:
			recvs = append(recvs, startRecv(e))
		case 4:
			sends = append(sends, &call{v: step, err: e.TrySend(step), done: true})
		case 5:
			v, err := e.TryRecv()
			recvs = append(recvs, &call{v: v, err: err, done: true})
		default:
			for _, calls := range [][]*call{sends, recvs} {
				if len(calls) > 0 {
					calls[rng.IntN(len(calls))].interrupt()
				}
			}
		}
		if rng.IntN(4) == 0 {
			time.Sleep(time.Millisecond)
		}
		quiet := config.OnDrop != nil || rng.IntN(3) == 0 // OnDrop counts without a lock
		if quiet {
			synctest.Wait()
		}
		if err := check(e, quiet); err != nil {
			t.Fatalf("seed %d, step %d: %v", seed, step, err)
		}
	}
	e.Close()
	time.Sleep(time.Second)
	synctest.Wait()
	if err := check(e, true); err != nil {
		t.Fatalf("seed %d, closed: %v", seed, err)
	}
	for v, err := e.TryRecv(); err == nil; v, err = e.TryRecv() {
		times[v]++
	}
	for _, r := range recvs {
		if r.of != nil {
			r.v, r.err, r.done = r.of.received, r.of.recvErr, r.of.done
		}
		if !r.done || r.err != nil && r.v != 0 {
			t.Fatalf("seed %d: a receive after Close: done %v, %d, %v", seed, r.done, r.v, r.err)
		}
		if r.err == nil {
			times[r.v]++
		}
	}
	for _, s := range sends {
		want := 0
		if s.err == nil {
			want = 1
		}
		if !s.done || times[s.v] != want {
			t.Fatalf("seed %d: the send of %d: done %v, %v; delivered %d times", seed, s.v, s.done, s.err, times[s.v])
		}
	}
}

// TestInvariantsUnderLoad checks the invariants while goroutines of both sides are
// running and are canceled.
func TestInvariantsUnderLoad(t *testing.T) {
	for name, variant := range variants() {
		t.Run(name, func(t *testing.T) {
			e := variant.new()
			var senders, receivers sync.WaitGroup
			var cancels [2]atomic.Pointer[context.CancelFunc]
			waiting := func(side int) context.Context {
				ctx, cancel := context.WithCancel(context.Background())
				cancels[side].Store(&cancel)
				return ctx
			}
			for range 3 {
				senders.Go(func() {
					for v := range 300 {
						if v%4 == 0 {
							_ = e.TrySend(v + 1)
						} else {
							_ = e.Send(waiting(0), v+1)
						}
					}
				})
				receivers.Go(func() {
					for err := error(nil); err != engine.ErrClosed; {
						if _, err = e.TryRecv(); err != nil {
							_, err = e.Recv(waiting(1))
						}
					}
				})
			}
			var ended atomic.Bool
			receivers.Go(func() {
				for n := 0; !ended.Load(); n++ {
					runtime.Gosched() // with one P, let the others run
					if err := check(e, false); err != nil {
						t.Error(err)
					}
					if cancel := cancels[n%2].Load(); cancel != nil && n%3 == 0 {
						(*cancel)()
					}
				}
			})
			senders.Wait()
			e.Close()
			ended.Store(true)
			receivers.Wait()
			if err := check(e, true); err != nil {
				t.Error(err)
			}
		})
	}
}
