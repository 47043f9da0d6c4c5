package engine

import (
	"context"
	"sync/atomic"
)

// Rejections counts the sends of a channel that failed with ErrFull. The zero value is ready to
// use. The count has a cache line of its own, allocated at the first rejection: rejected senders
// slow down neither receivers nor the fields around.
type Rejections struct{ line atomic.Pointer[rejectionLine] }

type rejectionLine struct {
	n atomic.Uint64
	_ [120]byte // with the adjacent line, which some processors fetch too
}

// Add counts a send under ctx, unless that is a Poll.
func (r *Rejections) Add(ctx context.Context) {
	if _, polls := ctx.(Poll); polls {
		return
	}
	l := r.line.Load()
	if l == nil {
		r.line.CompareAndSwap(nil, new(rejectionLine))
		l = r.line.Load()
	}
	l.n.Add(1)
}

// Load returns the count.
func (r *Rejections) Load() uint64 {
	if l := r.line.Load(); l != nil {
		return l.n.Load()
	}
	return 0
}
