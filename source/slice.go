package source

import (
	"context"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// Slice returns a receiver of the elements of vs, in order. It does not copy vs: the
// caller must not change the elements until they were received.
func Slice[T any](vs []T) *Receiver[T] { return newReceiver(&slice[T]{vs: vs}) }

// A slice is left from vs[taken:]. The goroutine that moves taken owns the elements that
// it passes.
type slice[T any] struct {
	vs    []T
	taken atomic.Int64
}

func (s *slice[T]) one(ctx context.Context) (v T, err error) {
	run, err := s.run(ctx, 1)
	if err != nil {
		return v, err
	}
	return run[0], nil
}

func (s *slice[T]) some(ctx context.Context, buf []T) (n int, err error) {
	run, err := s.run(ctx, len(buf))
	return copy(buf, run), err
}

// run takes up to n elements.
func (s *slice[T]) run(ctx context.Context, n int) ([]T, error) {
	for {
		lo := s.taken.Load()
		if lo == int64(len(s.vs)) {
			return nil, sluice.ErrClosed
		}
		if engine.MayWait(ctx) { // a poll is not canceled
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		hi := lo + min(int64(n), int64(len(s.vs))-lo)
		if s.taken.CompareAndSwap(lo, hi) {
			return s.vs[lo:hi], nil
		}
	}
}

func (s *slice[T]) end() {}
