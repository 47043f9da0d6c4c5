// Package workers calls a function for each value of a channel, in several
// goroutines. [Run] is for functions that return only an error, [Map] for functions
// with a result:
//
//	err := workers.Run(ctx, jobs, 8, work, nil)
//
//	results := workers.Map(ctx, lines, 8, parse, nil)
//	for record := range results.All() {
//		…
//	}
//	if err := results.Err(); err != nil {
//		…
//	}
//
// [RunKeyed] is Run for jobs with a key, such as the account or the file that they
// change: the jobs of one key run one at a time and in order, others in parallel.
//
// A value of the channel is called a job here, whatever it is. Jobs come from any kind of
// channel, from a slice or an iterator (package source), or from a built-in channel
// (bridge.NewReceiver). A built-in channel cannot be closed at an early end: its senders must
// watch the context.
//
// # Batches
//
// A worker receives several jobs at once if they are short. The batch size follows
// from measurements, one reading of the clock per batch: receiving jobs costs about a
// quarter of a percent of the time (MaxOverhead), and no job waits in a worker's queue for
// longer than a millisecond (MaxDelay). A worker starts with one job, at most doubles
// the batch, and returns to one as soon as a job takes too long. Idle workers steal jobs
// from the queues of others, even while the other worker is inside f: as long as one
// worker is idle, no job waits.
//
// # Early end
//
// All of them end early if the function fails or panics, or if the context ends. Then
// they close the channel they receive from: blocked senders return with
// [sluice.ErrClosed] at once, even while other jobs are still running. Values that
// are queued in the channel stay there. [sluice.LeaveOpen] prevents that, for a channel
// that other goroutines continue to receive from. A channel that belongs to other
// processes too, such as one of package jetstream, is not closed.
//
// No job is lost: each job received was given to the function once, or is reported to
// OnUnprocessed.
package workers
