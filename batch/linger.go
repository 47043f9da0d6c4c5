package batch

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/stage"
)

// How a receive ends, linger after the first value of a batch was received.
//
// A context with a deadline costs five allocations, so for the kinds of package sluice
// there is one context per loop. Its Done channel is never closed. It is a buffer of one
// token: the timer puts a token in for each batch that it cuts short, and the parent puts
// one in when it is done. That is enough for a receiver that
//
//   - checks Err before it waits: Err reports the end of the linger until the next batch
//     starts, so a token that an earlier call took is not missed; and
//   - receives from Done at most once per call, and never after the call.
//
// The engines of package sluice do both, and a test checks it. Any other receiver may
// derive contexts, whose goroutines would take the token. It gets a context of the standard
// library for each batch. So does a type that embeds a kind, as it may override a method.

// A linger provides the context under which a batch waits for its second value and later
// ones.
type linger interface {
	// start begins the time of a batch, after the end of the previous one.
	start(time.Duration) context.Context
	// over reports whether the time is over. It may report that the parent is done.
	over() bool
	// expire ends the time of the present batch, or of an earlier one. Any goroutine may call it.
	expire()
	// end stops the timer. It is idempotent.
	end()
}

// newLinger returns the cheapest linger for a loop that receives from r.
// The loop calls release when it ends.
func newLinger(parent context.Context, r any) (l linger, release func()) {
	if !ours(r) {
		l = &plainLinger{parent: engine.Parent{Context: parent}}
		return l, l.end
	}
	t := &tokenLinger{Context: parent, token: make(chan struct{}, 1)}
	unhook := context.AfterFunc(engine.Parent{Context: parent}, t.parentDone)
	return t, func() { unhook(); t.end() }
}

// ours reports whether channel is a kind of package sluice, or a kind that
// sluice.LeaveOpen wraps, but not a type that embeds one.
func ours(channel any) bool { return engine.IsKind(stage.Unwrap(channel)) }

// A plainLinger makes a context for each batch.
type plainLinger struct {
	parent context.Context
	ctx    context.Context
	cancel atomic.Pointer[context.CancelFunc] // of ctx
}

func (l *plainLinger) start(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(l.parent, d)
	l.ctx = ctx
	l.cancel.Store(&cancel)
	return ctx
}

func (l *plainLinger) over() bool { return l.ctx.Err() != nil }

func (l *plainLinger) expire() { l.end() }

func (l *plainLinger) end() {
	if cancel := l.cancel.Load(); cancel != nil {
		(*cancel)()
	}
}

// A tokenLinger is the context that all batches of a loop share.
//
// The goroutine that receives calls start and end in turn. The timer fires in a goroutine of its
// own, which may be late, and get the lock in a later batch. It ends that one only if its time is
// over too. The timer itself then fires in vain.
//
// Under the lock, from start on: a token is in the buffer, or was taken, if and only if expired is
// set or the parent is done. expired is set before the token is put in, so a goroutine that takes
// the token, or calls Err, sees it.
type tokenLinger struct {
	context.Context // the parent
	token           chan struct{}
	expired         atomic.Bool // the time of the batch is over
	parentEnded     atomic.Bool

	lock     spin.Lock
	timer    *time.Timer
	deadline time.Time // of the last batch
}

func (l *tokenLinger) start(d time.Duration) context.Context {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.deadline = time.Now().Add(d)
	l.expired.Store(false)
	select { // a token that is left must not end this batch
	case <-l.token:
	default:
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(d, l.fire)
	} else {
		l.timer.Reset(d)
	}
	return l
}

func (l *tokenLinger) end() {
	if l.timer != nil {
		l.timer.Stop()
	}
}

// fire is run by the timer.
func (l *tokenLinger) fire() {
	l.lock.Lock()
	defer l.lock.Unlock()
	if !time.Now().Before(l.deadline) {
		l.expireLocked()
	}
}

func (l *tokenLinger) expire() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.expireLocked()
}

func (l *tokenLinger) expireLocked() {
	if !l.expired.Load() {
		l.expired.Store(true)
		l.put()
	}
}

// parentDone runs once. start may take its token, but from now on Err is not nil.
func (l *tokenLinger) parentDone() {
	l.parentEnded.Store(true)
	l.put()
}

func (l *tokenLinger) put() {
	select {
	case l.token <- struct{}{}:
	default: // a token is there already, and ends the same wait
	}
}

func (l *tokenLinger) over() bool { return l.expired.Load() }

// Done implements context.Context for receivers such as described above.
func (l *tokenLinger) Done() <-chan struct{} { return l.token }

// Err implements context.Context.
func (l *tokenLinger) Err() error {
	switch {
	case l.expired.Load():
		return context.DeadlineExceeded
	case l.parentEnded.Load():
		return engine.ContextError(l.Context)
	}
	return l.Context.Err()
}
