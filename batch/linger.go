package batch

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/stage"
)

// How a receive is ended linger after the first value of a batch.
//
// A deadline made anew for each batch costs five allocations. So there is one
// for a whole loop, whose Done channel is not closed but gets a token: it has one
// slot, filled by the timer for each batch that it cuts short, and once by the
// parent when that is done. What a channel does with a context decides whether
// that is enough:
//
//   - It asks Err before it waits, and Err says that the time is over until the
//     next batch starts: so a token that was taken, by a wait that was served in
//     the same moment, is not missed.
//   - It receives from Done at most once a call, and never after the call.
//
// The engines of this package do both. Of a Receiver from elsewhere nobody knows:
// it may derive contexts, whose goroutine takes a token that is not meant for it.
// It is given a context of the standard library for each batch. So is a type
// that embeds one of ours, and may have put something before its methods.

// A linger gives each batch the context to wait under for its second value and
// those after it.
type linger interface {
	// start begins the time of a batch. It must have ended for the one before.
	start(time.Duration) context.Context
	// over reports whether the time is over, or the parent is done.
	over() bool
	// end stops the timer. It may be called again.
	end()
}

// newLinger returns the cheapest linger that end, a channel of T, can wait under.
// release must be called in the end.
func newLinger[T any](parent context.Context, end any) (l linger, release func()) {
	if !ours[T](end) {
		l = &plainLinger{parent: engine.Parent{Context: parent}}
		return l, l.end
	}
	t := &tokenLinger{Context: parent, token: make(chan struct{}, 1)}
	unhook := context.AfterFunc(engine.Parent{Context: parent}, t.parentDone)
	return t, func() { unhook(); t.end() }
}

// ours reports whether end is a channel of this package and nothing around one.
func ours[T any](end any) bool {
	switch stage.Unwrap(end).(type) {
	case *sluice.Rendezvous[T], *sluice.Bounded[T], *sluice.Elastic[T], *sluice.Sharded[T], *sluice.Lane[T]:
		return true
	}
	return false
}

// A plainLinger makes a context for each batch.
type plainLinger struct {
	parent context.Context
	ctx    context.Context
	cancel context.CancelFunc // not nil between start and end
}

func (l *plainLinger) start(d time.Duration) context.Context {
	l.ctx, l.cancel = context.WithTimeout(l.parent, d)
	return l.ctx
}

func (l *plainLinger) over() bool { return l.ctx.Err() != nil }

func (l *plainLinger) end() {
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}

// A tokenLinger is the reusable context.
//
// start begins the time of a batch and end ends it, in turn; both are called by
// the goroutine that receives. A firing of the timer is a goroutine, and may come
// when its batch has ended: Stop has said so, by returning false, before the
// firing was seen. Such firings are counted in late, and as many are ignored. Two
// that run at the same time may do so in either order, but then the times of both
// are over: none comes early.
//
// Under the lock, between start and end: the token is down, or was taken, exactly
// if expired is set or the parent is done. expired is set before the token is put
// down, so whoever takes it, or asks Err, sees it.
type tokenLinger struct {
	context.Context // the parent: values are its own
	token           chan struct{}
	expired         atomic.Bool // the time of the batch is over
	cancelled       atomic.Bool // the parent is done

	lock    spin.Lock
	timer   *time.Timer
	running bool // between start and end
	late    int  // firings under way whose batch has ended
}

func (l *tokenLinger) start(d time.Duration) context.Context {
	l.lock.Lock()
	l.running = true
	l.expired.Store(false)
	if l.timer == nil {
		l.timer = time.AfterFunc(d, l.fire)
	} else {
		l.timer.Reset(d)
	}
	l.lock.Unlock()
	return l
}

func (l *tokenLinger) end() {
	l.lock.Lock()
	defer l.lock.Unlock()
	if !l.running {
		return
	}
	l.running = false
	if !l.timer.Stop() && !l.expired.Load() {
		l.late++
	}
	select { // the next batch must not find it
	case <-l.token:
	default:
	}
}

// fire is run by the timer.
func (l *tokenLinger) fire() {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.late > 0 {
		l.late--
		return
	}
	l.expired.Store(true)
	l.put()
}

// parentDone is run once. Its token may be taken by end: from now on Err tells.
func (l *tokenLinger) parentDone() {
	l.cancelled.Store(true)
	l.put()
}

func (l *tokenLinger) put() {
	select {
	case l.token <- struct{}{}:
	default: // one is there, and ends the same wait
	}
}

func (l *tokenLinger) over() bool { return l.expired.Load() }

// Done implements context.Context, within the limits given above.
func (l *tokenLinger) Done() <-chan struct{} { return l.token }

// Err implements context.Context.
func (l *tokenLinger) Err() error {
	switch {
	case l.expired.Load():
		return context.DeadlineExceeded
	case l.cancelled.Load():
		return engine.ContextError(l.Context)
	}
	return l.Context.Err()
}

// requireLinger panics, in the name of function, if d is negative.
func requireLinger(function string, d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("batch: %s: linger is %v (want 0 or more)", function, d))
	}
}

// requirePositive panics, in the name of function, if value is below 1.
func requirePositive(function, what string, value int) {
	if value < 1 {
		panic(fmt.Sprintf("batch: %s: %s is %d (want 1 or more)", function, what, value))
	}
}
