package batch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
)

// A kind is a channel of package sluice, as far as a linger can tell.
type kind struct{ engine.Owner }

func newKind() *kind {
	k := new(kind)
	engine.Own(&k.Owner, k, k)
	return k
}

// newTokens returns the tokenLinger of a loop over a kind.
func newTokens(t *testing.T, parent context.Context) *tokenLinger {
	t.Helper()
	l, release := newLinger(parent, newKind())
	t.Cleanup(release)
	return l.(*tokenLinger)
}

func expectToken(t *testing.T, l *tokenLinger, want int, err error, when string) {
	t.Helper()
	if len(l.token) != want || l.Err() != err || l.over() != (err == context.DeadlineExceeded) {
		t.Errorf("%s: %d tokens, error %v, over %v; want %d, %v", when, len(l.token), l.Err(), l.over(), want, err)
	}
}

// Only the kinds linger under tokens. A type that embeds one may derive contexts from them.
func TestWhoseDeadline(t *testing.T) {
	type around struct{ *kind }
	k := newKind()
	for end, want := range map[any]bool{k: true, around{k}: false, &around{k}: false, nil: false} {
		l, release := newLinger(t.Context(), end)
		if _, tokens := l.(*tokenLinger); tokens != want {
			t.Errorf("%T lingers under tokens: %v, want %v", end, tokens, want)
		}
		release()
	}
}

func TestTokenOfTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTokens(t, t.Context())
		l.end() // before the first
		for range 3 {
			ctx := l.start(time.Second)
			time.Sleep(time.Second - time.Nanosecond)
			synctest.Wait()
			expectToken(t, l, 0, nil, "before its time")
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			expectToken(t, l, 1, context.DeadlineExceeded, "after its time")
			<-ctx.Done()
			expectToken(t, l, 0, context.DeadlineExceeded, "after the token was taken")
			l.end()
			l.end()
			l.start(time.Second)
			expectToken(t, l, 0, nil, "in the next batch")
			l.end()
			time.Sleep(time.Hour)
			expectToken(t, l, 0, nil, "long after a batch that was full")
		}
		l.start(time.Second)
		time.Sleep(time.Hour)
		synctest.Wait()
		l.end() // with a token in the buffer
		l.start(time.Second)
		expectToken(t, l, 0, nil, "after a batch that left its token")
	})
}

// A call of fire that is late for its batch is ignored, in the next batch or a later
// one. The call for that batch itself is not.
func TestLateFiring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTokens(t, t.Context())
		for _, late := range []int{1, 2, 5} {
			for range late {
				l.start(time.Second)
				l.timer.Stop() // as if fire had begun, and waited for the lock
				l.end()
			}
			l.start(time.Second)
			for range late {
				l.fire()
				expectToken(t, l, 0, nil, "after a late firing")
			}
			time.Sleep(time.Second)
			synctest.Wait()
			expectToken(t, l, 1, context.DeadlineExceeded, "after the firing of the batch")
			<-l.token
			l.fire()
			expectToken(t, l, 0, context.DeadlineExceeded, "after another late firing")
			l.end()
		}
	})
}

// liar is a context that is done but whose Err is nil.
type liar struct {
	context.Context
	done chan struct{}
}

func (l liar) Done() <-chan struct{} { return l.done }
func (l liar) Err() error            { return nil }

func TestTokenOfParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		lie := liar{t.Context(), make(chan struct{})}
		for _, one := range []struct {
			parent context.Context
			end    func()
		}{{ctx, cancel}, {lie, func() { close(lie.done) }}} {
			l := newTokens(t, one.parent)
			l.start(time.Second)
			one.end()
			synctest.Wait()
			expectToken(t, l, 1, context.Canceled, "when the parent is done")
			l.end()
			l.start(time.Second)
			expectToken(t, l, 0, context.Canceled, "in the next batch")
			time.Sleep(time.Second)
			synctest.Wait()
			expectToken(t, l, 1, context.DeadlineExceeded, "when both are over")
			l.end()
		}
	})
}

// Any other receiver sees the end of the parent too, even if Err of the parent is nil.
func TestPlainLingerOfParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lie := liar{t.Context(), make(chan struct{})}
		l, release := newLinger(lie, nil)
		defer release()
		ctx := l.start(time.Second)
		if ctx.Err() != nil || l.over() {
			t.Errorf("at first: %v", ctx.Err())
		}
		close(lie.done)
		<-ctx.Done()
		if ctx.Err() != context.Canceled || !l.over() {
			t.Errorf("when the parent is done: %v", ctx.Err())
		}
	})
}

// A loop that has ended leaves nothing behind: neither the timer nor the hook at the
// parent acts any more.
func TestLingerReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		got, release := newLinger(ctx, newKind())
		l := got.(*tokenLinger)
		l.start(time.Second)
		release()
		cancel()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(l.token) != 0 || l.parentEnded.Load() || l.expired.Load() {
			t.Error("a loop that has ended sees a deadline, or the end of its parent")
		}
	})
}
