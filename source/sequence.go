package source

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// Seq returns a receiver of the values of seq. The iterator starts with the first
// receive. It runs on the goroutine that receives, one goroutine at a time. A stage cannot
// interrupt it: a stage that ends early waits for the next value if the iterator runs.
//
// If seq panics or calls [runtime.Goexit], that happens to the goroutine that receives;
// later receives fail with an error that is not [sluice.ErrClosed]. seq must not receive
// from its own source. A nil seq panics.
//
// The receivers must not be locked to a thread by [runtime.LockOSThread], unless a single
// goroutine calls all methods. An iterator cannot move between locked threads, see
// [iter.Pull]: the runtime would end the program.
func Seq[T any](seq iter.Seq[T]) *Receiver[T] {
	if seq == nil {
		panic("source: Seq: nil iterator")
	}
	return newSequence(func(yield func(T, error) bool) {
		for v := range seq {
			if !yield(v, nil) {
				return
			}
		}
	})
}

// Seq2 returns a receiver of the values of seq, until seq yields an error that is not
// nil. The error stops the iterator; once the values before it are received, every
// receive returns it. The value beside it is discarded. If the error is
// [sluice.ErrClosed] or [sluice.ErrEmpty], because a channel that seq uses is closed or
// empty, the receives return a different error: a receiver would take those for the end
// of the values, or for a value that is still to come. Otherwise Seq2 is like [Seq].
func Seq2[T any](seq iter.Seq2[T, error]) *Receiver[T] {
	if seq == nil {
		panic("source: Seq2: nil iterator")
	}
	return newSequence(seq)
}

func newSequence[T any](seq iter.Seq2[T, error]) *Receiver[T] {
	return newReceiver(&sequence[T]{seq: seq, turn: make(chan struct{}, 1), closed: make(chan struct{})})
}

// An iteratorError stands for an error of an iterator that is [sluice.ErrClosed] or
// [sluice.ErrEmpty]. It has no Unwrap: a receiver must not take it for its own.
type iteratorError struct{ err error }

func (e iteratorError) Error() string { return "source: the iterator failed: " + e.err.Error() }

// errAborted is returned after a receive in which the iterator did not return.
var errAborted = errors.New("source: the iterator panicked or called runtime.Goexit")

// A sequence is an iterator, and whose turn it is.
//
// turn is a lock that can be awaited under a context: it is full while a goroutine is
// inside. next, stop and done belong to that goroutine. done != nil implies that next is
// never called again. closed is closed by Close. The iterator is then stopped by the next
// goroutine that is inside: every goroutine that leaves checks closed after it has left,
// and enters again if it must, so a Close that found another goroutine inside is seen.
type sequence[T any] struct {
	seq    iter.Seq2[T, error]
	turn   chan struct{}
	closed chan struct{}
	once   sync.Once // closes closed

	next func() (T, error, bool) // nil until the first receive
	stop func()
	done error // why there are no more values
}

// some takes one value: the next one may take any time, and the first must not wait for
// it.
func (s *sequence[T]) some(ctx context.Context, buf []T) (n int, err error) {
	v, err := s.one(ctx)
	if err != nil {
		return 0, err
	}
	buf[0] = v
	return 1, nil
}

func (s *sequence[T]) one(ctx context.Context) (none T, err error) {
	if err := s.enter(ctx); err != nil {
		return none, err
	}
	defer s.leave()
	if s.done == nil && s.isClosed() {
		s.finish(sluice.ErrClosed)
	}
	if s.done != nil {
		return none, s.done
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	s.done = errAborted // unless next returns
	if s.next == nil {
		s.next, s.stop = iter.Pull2(s.seq)
	}
	v, err, ok := s.next()
	s.done = nil
	switch {
	case !ok:
		s.done = sluice.ErrClosed
	case errors.Is(err, sluice.ErrClosed), errors.Is(err, sluice.ErrEmpty):
		s.finish(iteratorError{err})
	case err != nil:
		s.finish(err)
	}
	if s.done != nil {
		return none, s.done
	}
	return v, nil
}

// enter waits for the turn of the caller.
func (s *sequence[T]) enter(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-s.closed:
		return sluice.ErrClosed
	case <-ctx.Done():
		return engine.ContextError(ctx)
	}
}

// leave ends the turn of the caller.
func (s *sequence[T]) leave() {
	<-s.turn
	if s.isClosed() {
		s.stopNow()
	}
}

// end is Close.
func (s *sequence[T]) end() {
	s.once.Do(func() { close(s.closed) })
	s.stopNow()
}

// stopNow stops a closed iterator, if no goroutine is inside.
func (s *sequence[T]) stopNow() {
	select {
	case s.turn <- struct{}{}:
	default:
		return
	}
	defer func() { <-s.turn }()
	if s.done == nil {
		s.finish(sluice.ErrClosed)
	}
}

func (s *sequence[T]) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// finish stops the iterator, because of err. The caller is inside.
func (s *sequence[T]) finish(err error) {
	s.done = err
	if s.stop != nil {
		s.stop()
	}
}
