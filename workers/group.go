package workers

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/workpool"
)

// A group is a pool with its goroutines.
type group[T any] struct {
	pool      *workpool.Pool[T]
	ctx, work context.Context // of the caller and of f
	cancel    context.CancelCauseFunc
	options   RunOptions[T]
	workers   sync.WaitGroup
	unwatch   func() bool   // stops watching ctx
	watched   chan struct{} // closed when the end of ctx has stopped the pool
}

// newGroup returns a group without goroutines, or nil if ctx is done.
func newGroup[T any](ctx context.Context, config workpool.Config[T], o *RunOptions[T]) *group[T] {
	if ctx.Err() != nil {
		return nil
	}
	g := &group[T]{ctx: ctx, watched: make(chan struct{})}
	if o != nil {
		g.options = *o
	}
	config.Resizable = g.options.Limit != nil
	g.pool = workpool.New(config)
	g.work, g.cancel = context.WithCancelCause(engine.Parent{Context: ctx})
	g.pool.Context, g.pool.Cancel, g.pool.Cause = g.work, g.cancel, g.cause
	return g
}

// cause returns the error of f. If ctx is done it returns the error of ctx, since f may
// have failed because of it.
func (g *group[T]) cause(err error) error {
	if err != nil && g.ctx.Err() != nil {
		return g.ctx.Err()
	}
	return err
}

// start starts the goroutines. The last one to end frees the resources of the group,
// waits for the goroutines of the source, and calls ended.
func (g *group[T]) start(ended func()) {
	g.unwatch = context.AfterFunc(engine.Parent{Context: g.ctx}, func() {
		defer close(g.watched)
		g.pool.Stop(engine.ContextError(g.ctx))
	})
	if g.options.Limit != nil {
		g.options.Limit.attach(g.pool)
	}
	var running atomic.Int64
	running.Store(int64(g.pool.Workers))
	for i := range g.pool.Workers {
		g.workers.Go(func() {
			defer func() { // f may have called Goexit
				if running.Add(-1) == 0 {
					defer ended()
					g.release()
					g.pool.WaitForSource()
				}
			}()
			if g.options.LockOSThread {
				runtime.LockOSThread() // until the thread ends
			}
			g.pool.Work(i)
		})
	}
}

// release frees the resources of the group. All workers have ended.
func (g *group[T]) release() {
	if !g.unwatch() {
		<-g.watched
	}
	g.cancel(nil)
	if g.options.Limit != nil {
		g.options.Limit.detach(g.pool)
	}
}

// stop ends the group early.
func (g *group[T]) stop() { g.pool.Stop(nil) }

// wait waits for the workers.
func (g *group[T]) wait() { g.workers.Wait() }

// unprocessed reports the jobs that were not given to f.
func (g *group[T]) unprocessed() {
	if f := g.options.OnUnprocessed; f != nil {
		g.pool.Unprocessed(f)
	}
}

// outcome returns how the group ended.
func (g *group[T]) outcome() workpool.Outcome { return g.pool.Outcome() }
