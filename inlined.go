package sluice

import (
	"context"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

var _ = inlined

// inlined is never called. The engines are generic, so they are compiled in the package
// that instantiates a channel. That package finds the bodies of the functions below, to inline
// them, only if it imports sync/atomic itself or imports a package that has inlined them
// (exportBody in cmd/compile/internal/noder, Go 1.26). Without this function each step of a
// Send would be a call in most programs: see TestInlined.
func inlined(ctx context.Context, l *atomic.Uint64, s *atomic.Uint32, i *atomic.Int32, b *atomic.Bool, lock *spin.Lock, q *waitq.Queue, w *waitq.Wait, p park.Parker) bool {
	lock.Lock()
	defer lock.Unlock()
	l.Or(1)
	s.Store(s.Swap(s.Add(1)))
	b.Store(i.Add(1) == 0)
	_, _ = q.HandOffSeat()
	signal, _ := q.VacantSeat()
	p.Wait()
	return l.CompareAndSwap(l.Load(), l.Swap(l.Add(1))) || s.CompareAndSwap(s.Load(), 1) ||
		i.CompareAndSwap(i.Load(), 1) || b.Load() || b.CompareAndSwap(true, false) ||
		q.TakeVacantSeat(signal) || q.Arrived() || q.LeaveSeat() || q.HandOffs() == 0 || p.Valid() || p.Park(ctx.Done()) ||
		engine.MayWait(ctx) || q.Waiting() || q.Idle() ||
		w.Joined() || w.Canceled() || w.Woken() || w.Progressed() || w.Leave()
}
