package workers

import (
	"context"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/stage"
	"github.com/sluice-go/sluice/internal/workpool"
)

// Map receives jobs from r, computes f of each in n goroutines, as [Run] does, and
// returns the results. They can be ranged over:
//
//	results := workers.Map(ctx, jobs, 8, parse, nil)
//	for record := range results.All() {
//		…
//	}
//	if err := results.Err(); err != nil {
//		…
//	}
//
// or received, by any number of goroutines: [Results] is a [sluice.BatchReceiver], so
// the next stage of a pipeline can receive from it.
//
// Map itself starts nothing: the first use of the results does.
//
// The results end when r is closed and drained and all of them were received, or early
// for the reasons for which Run ends early. At an early end the results of the jobs
// that were done are still received, with Ordered those before the first one that is
// missing; after that, receiving fails with the error, or panics or exits as f did.
// With Ordered, the first error is the one of the first job that fails, in the order of
// the jobs: those before it run to completion, and their context is not canceled until
// then. Jobs after it that have not started are not started. A panic of f ends all jobs
// at once, also those before it, whose results may be missing.
//
// Results have no particular order, unless Ordered is set. A result can be received
// as soon as f has returned, whatever its worker does next. If results are not
// received, the workers stop: without Ordered when 128 results of one worker wait,
// with Ordered when MaxAhead results wait.
//
// Map does not allocate for each job. It panics if ctx, r or f is nil, if n is below
// 1, and if options are invalid.
func Map[T, U any](ctx context.Context, r sluice.BatchReceiver[T], n int, f func(context.Context, T) (U, error), o *MapOptions[T]) *Results[U] {
	requireArguments("Map", ctx, r, n, f != nil)
	source := declare(r, f)
	if o == nil {
		o = new(MapOptions[T])
	}
	options := o.run()
	config := configure("Map", r, n, options)
	config.Source = r
	window := o.window(n)
	width := 0
	if o.Ordered {
		// One batch must not fill the window: the other workers would have no jobs.
		config.MaxBatch, width = min(config.MaxBatch, max(1, window/(2*n))), window
	}
	launch := func() (runner, *workpool.Outlet[U]) { return begin(newGroup(ctx, config, options), f, width) }
	results := &Results[U]{ctx: ctx, source: source, stop: func() { stage.Stop(r) }, await: func() { stage.Wait(r) }, launch: launch}
	results.early = stage.StopsEarly(results.stopEarly)
	return results
}

// declare declares that workers call f for the values of r, and returns the channel that
// they come from: r, or the source of the first Map of a chain.
func declare[T any](r sluice.BatchReceiver[T], f any) (source any) {
	source = stage.Unwrap(r)
	if results, ok := source.(*Results[T]); ok {
		engine.SitesOf(results.source).Continues(f)
		return results.source
	}
	engine.SitesOf(source).Receives(f)
	return source
}

// begin starts a group, and returns it with its results: in the order of their jobs, and as many
// as width, unless that is 0. It returns nil if there is no group.
func begin[T, U any](g *group[T], f func(context.Context, T) (U, error), width int) (runner, *workpool.Outlet[U]) {
	if g == nil {
		return nil, nil
	}
	p := g.pool
	outlet := workpool.NewOutlet[U](p.Workers, width)
	workpool.Feed(p, outlet)
	end := p.EndSource
	p.EndSource = func() { outlet.Release(); end() }
	p.DoNumbered = func(worker int, seq uint64, job T) error {
		u, err := f(g.work, job)
		switch {
		case err == nil:
			outlet.Put(worker, seq, u)
		case width == 0:
			return err
		default:
			p.StopAfter(seq)
			outlet.Fail(seq, g.cause(err)) // it counts when its turn comes
			p.ReleaseSource()
		}
		return nil
	}
	g.start(outlet.End)
	return g, outlet
}
