package workers

import (
	"context"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/stage"
)

// Run receives jobs from r and calls f for each, in n goroutines, until r is closed
// and drained. Then it returns nil. It returns when all its goroutines have ended.
//
// Run ends early, and receives nothing more, when
//
//   - f returns an error: Run returns the first error;
//   - ctx is done: Run returns its error, even if f fails because of it;
//   - r fails with an error other than [sluice.ErrClosed]: Run returns it;
//   - f panics: Run panics in the caller's goroutine, with a [*PanicError];
//   - f calls [runtime.Goexit], as t.FailNow does: so does Run in the caller's
//     goroutine.
//
// If several of these happen, a panic takes precedence over Goexit, and Goexit over
// errors. At an early end Run closes r, unless r is wrapped by [sluice.LeaveOpen], and
// waits for the calls of f that are running. The context of f is done as soon as the
// early end is decided, with the error as its cause, and in any case when Run returns.
//
// Jobs start in about the order in which r returns them. f may send to r, may call
// Run, and may wait for other jobs as long as one of the n workers is free to run
// them.
//
// r must not promise a SingleReceiver unless n is 1. If r is not of this module, its
// RecvBatch must, under a context that is done, return what is there without waiting,
// or [context.Canceled] or ErrClosed if there is nothing; each wait must end when its
// context does.
//
// Run does not allocate for each job. It panics if ctx, r or f is nil, or if n is
// below 1.
func Run[T any](ctx context.Context, r sluice.BatchReceiver[T], n int, f func(context.Context, T) error, o *RunOptions[T]) error {
	requireArguments("Run", ctx, r, n, f != nil)
	config := configure("Run", r, n, o)
	config.Source = r
	g := newGroup(ctx, config, o)
	if g == nil {
		stage.End(r)
		return ctx.Err()
	}
	_ = declare(r, f)
	g.pool.Do = f
	g.start(func() {})
	g.wait()
	g.unprocessed()
	return raise(g.outcome())
}
