package source

import (
	"context"
	"iter"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/stage"
)

// A Receiver delivers the values of a slice or an iterator. It is a
// [sluice.BatchReceiver], and can be a case of a [sluice.Select]. Make one with [Slice],
// [Seq] or [Seq2].
//
// Its methods may be called by several goroutines at once. Each value is delivered once,
// and values are taken in order. While one goroutine runs the iterator, the others wait
// for their turn.
type Receiver[T any] struct {
	iterator
	values values[T]
	ready  chan struct{} // closed
}

// newReceiver returns a receiver with a Ready channel of its own: the Selects that wait for
// one Ready channel share state, which different sources must not.
func newReceiver[T any](v values[T]) *Receiver[T] {
	_, iterates := v.(*sequence[T])
	r := &Receiver[T]{iterator: stage.Iterates(iterates), values: v, ready: make(chan struct{})}
	close(r.ready)
	return r
}

// Package workers refuses an iterator if its workers are locked to threads.
type iterator = stage.Iterator

var _ sluice.BatchReceiver[int] = (*Receiver[int])(nil)

// values are the values that are left.
type values[T any] interface {
	// one takes a value.
	one(ctx context.Context) (T, error)
	// some takes 1 to len(buf) values. buf is not empty.
	some(ctx context.Context, buf []T) (n int, err error)
	// end stops an iterator.
	end()
}

// Recv returns the next value. If there are no more values it fails with
// [sluice.ErrClosed].
//
// Unlike a channel, a source may never run out. Therefore Recv fails with the context's
// error whenever ctx is done and values may be left. After that error no value was
// consumed. The context ends a wait for another goroutine that runs the iterator, but not
// the iterator itself: an iterator that may block should check the same context.
//
// It does not allocate, but an iterator may. A nil ctx panics.
func (r *Receiver[T]) Recv(ctx context.Context) (T, error) {
	if ctx == nil {
		panic("source: Recv: nil context")
	}
	return r.made().one(ctx)
}

// RecvBatch takes values into buf, in order, and returns how many; n > 0 implies
// err == nil, and errors are as for Recv. From a slice it takes up to len(buf) values at
// once. From an iterator it takes one, because the next value may take any time. An
// empty buf returns 0, nil.
func (r *Receiver[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	if ctx == nil {
		panic("source: RecvBatch: nil context")
	}
	values := r.made()
	if len(buf) == 0 {
		return 0, nil
	}
	return values.some(ctx, buf)
}

// TryRecv is Recv without a context. It takes as long as the iterator does, and never
// fails with [sluice.ErrEmpty].
func (r *Receiver[T]) TryRecv() (T, error) {
	return r.made().one(context.Background())
}

// TryRecvBatch is RecvBatch without a context. It takes as long as the iterator does.
func (r *Receiver[T]) TryRecvBatch(buf []T) (n int, err error) {
	values := r.made()
	if len(buf) == 0 {
		return 0, nil
	}
	return values.some(context.Background(), buf)
}

// Drain returns an iterator over the values that are left. An error of a [Seq2] ends it;
// Recv then returns that error.
func (r *Receiver[T]) Drain() iter.Seq[T] {
	r.made()
	return func(yield func(T) bool) {
		for {
			v, err := r.TryRecv()
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Ready returns a closed channel: a source is ready at any time, because TryRecv runs the
// iterator.
func (r *Receiver[T]) Ready() <-chan struct{} {
	r.made()
	return r.ready
}

// Close stops an iterator, which runs its deferred calls. If another goroutine runs the
// iterator at that moment, that goroutine stops it after the value that it waits for, and
// Close does not wait for that. From now on Recv fails with [sluice.ErrClosed]. The
// elements of a slice can still be received, as the queued values of a channel can.
//
// Close is idempotent and safe from any goroutine. Call it for an iterator that is not
// received from to its end, or the resources that the iterator holds are never released.
// Stages such as workers.Run call it if they end early.
func (r *Receiver[T]) Close() { r.made().end() }

func (r *Receiver[T]) made() values[T] {
	if r.values == nil {
		panic("source: Receiver: a zero value: make a Receiver with Slice, Seq or Seq2")
	}
	return r.values
}
