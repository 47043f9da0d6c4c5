package workers_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/fan"
	"github.com/sluice-go/sluice/source"
	"github.com/sluice-go/sluice/workers"
)

// The tests below run the recipes again, and let each step fail in each way. They run
// in bubbles, so a goroutine that is left, a hanging sender for one, fails the test.

// A fault is what goes wrong in a recipe, and where.
type fault struct{ step, way string }

// ways are the ways in which a step can fail. "leave" is for loops.
var ways = []string{"error", "panic", "Goexit", "cancel", "leave"}

// at returns the error of a step, if it is the step that fails. Depending on the way, it
// panics or exits instead, or cancels the context of the recipe.
func (f fault) at(step string, cancel func()) error {
	if f.step != step {
		return nil
	}
	switch f.way {
	case "error", "leave":
		return errPlanted
	case "panic":
		panic(errPlanted)
	case "Goexit":
		runtime.Goexit()
	case "cancel":
		cancel()
	}
	return nil
}

// outcome runs a recipe in a goroutine of its own and returns how it ended.
func outcome(recipe func() error) (value any, exited bool, err error) {
	exited = true
	var all sync.WaitGroup
	all.Go(func() {
		defer func() { value = recover() }()
		err = recipe()
		exited = false
	})
	all.Wait()
	return value, exited && value == nil, err
}

// requireOutcome fails the test if a recipe did not end as the fault says.
func (f fault) requireOutcome(t *testing.T, value any, exited bool, err error) {
	t.Helper()
	panicked, _ := value.(error)
	switch {
	case f.step == "" && (err != nil || value != nil || exited),
		f.way == "error" && err != errPlanted,
		f.way == "leave" && err != errPlanted,
		f.way == "cancel" && err != context.Canceled,
		f.way == "panic" && !errors.Is(panicked, errPlanted),
		f.way == "Goexit" && !exited,
		f.way != "panic" && value != nil,
		f.way != "Goexit" && exited:
		t.Errorf("error %v, panic %v, exited %v", err, value, exited)
	}
}

// TestGracefulShutdown: Example_gracefulShutdown counts all jobs, and its clients do
// not hang, whatever a job does.
func TestGracefulShutdown(t *testing.T) {
	for _, way := range append(ways[:4:4], "") {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fault{"job", way}
				if way == "" {
					f.step = ""
				}
				stop, signal := context.WithCancel(context.Background())
				work, abort := context.WithCancel(context.Background())
				defer abort()
				jobs := sluice.NewBounded[int](64, nil)
				context.AfterFunc(stop, func() {
					jobs.Close()
					time.AfterFunc(time.Minute, abort)
				})
				accepted := 0
				var clients sync.WaitGroup
				clients.Go(func() {
					for jobs.Send(work, accepted) == nil {
						accepted++
					}
				})
				var done atomic.Int64
				left := 0
				value, exited, err := outcome(func() error {
					return workers.Run(work, jobs, 3, func(_ context.Context, job int) error {
						switch done.Add(1) {
						case 60:
							return f.at("job", abort)
						case 100:
							signal()
						}
						return nil
					}, &workers.RunOptions[int]{OnUnprocessed: func(job int) { left++ }})
				})
				clients.Wait()
				for range jobs.Drain() {
					left++
				}
				f.requireOutcome(t, value, exited, err)
				if accepted != int(done.Load())+left {
					t.Errorf("%d jobs accepted, %d done, %d left", accepted, done.Load(), left)
				}
				signal()
			})
		})
	}
}

// TestGracefulShutdownAborted: jobs that take too long are canceled.
func TestGracefulShutdownAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, signal := context.WithCancel(context.Background())
		work, abort := context.WithCancel(context.Background())
		defer abort()
		jobs := sluice.NewBounded[int](64, nil)
		context.AfterFunc(stop, func() {
			jobs.Close()
			time.AfterFunc(time.Minute, abort)
		})
		for job := range 64 {
			_ = jobs.TrySend(job)
		}
		signal()
		var done atomic.Int64
		left := 0
		began := time.Now()
		err := workers.Run(work, jobs, 3, func(ctx context.Context, job int) error {
			<-ctx.Done()
			done.Add(1)
			return ctx.Err()
		}, &workers.RunOptions[int]{OnUnprocessed: func(int) { left++ }})
		for range jobs.Drain() {
			left++
		}
		if err != context.Canceled || int(done.Load())+left != 64 || time.Since(began) != time.Minute {
			t.Errorf("%v after %v: %d done, %d left", err, time.Since(began), done.Load(), left)
		}
	})
}

// pipeline is the pipeline of Example_pipeline, whose lines are numbers already.
func pipeline(ctx context.Context, lines sluice.BatchReceiver[int], parse func(context.Context, int) (int, error), write func([]int) error) error {
	numbers := workers.Map(ctx, lines, 4, parse, &workers.MapOptions[int]{Ordered: true})
	batches := batch.Receive(ctx, numbers, 20, &batch.Options[int]{Linger: 50 * time.Millisecond})
	for numbers := range batches.All() {
		if err := write(numbers); err != nil {
			return err
		}
	}
	return batches.Err()
}

// TestPipeline: the first failure ends all stages, whichever stage it is in, and reaches
// the caller. The lines written before are a prefix.
func TestPipeline(t *testing.T) {
	const lines = 5000
	faults := []fault{{}}
	for _, step := range []string{"read", "parse", "write"} {
		for _, way := range ways {
			if way != "leave" || step == "write" {
				faults = append(faults, fault{step, way})
			}
		}
	}
	for _, from := range []string{"source", "channel"} {
		for _, f := range faults {
			if from == "channel" && f.step == "read" {
				continue // the reader is not a stage
			}
			t.Run(from+" "+f.step+" "+f.way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					const bad = 1234
					stopped := false
					read := func(yield func(int, error) bool) {
						defer func() { stopped = true }()
						for i := range lines {
							if i == bad {
								if err := f.at("read", cancel); err != nil {
									yield(0, err)
									return
								}
							}
							if !yield(i, nil) {
								return
							}
						}
					}
					var in sluice.BatchReceiver[int] = source.Seq2(read)
					var sent error
					if from == "channel" {
						c := sluice.NewBounded[int](8, nil)
						in = c
						go func() {
							defer c.Close()
							for line := range read {
								if sent = c.Send(context.Background(), line); sent != nil {
									return
								}
							}
						}()
					}
					var written []int
					value, exited, err := outcome(func() error {
						return pipeline(ctx, in, func(ctx context.Context, line int) (int, error) {
							if line != bad {
								return line, nil
							}
							err := f.at("parse", cancel)
							if f.step == "parse" && f.way == "cancel" {
								<-ctx.Done()
								err = ctx.Err()
							}
							return line, err
						}, func(numbers []int) error {
							if slices.Contains(numbers, bad) {
								if err := f.at("write", cancel); err != nil {
									return err
								}
							}
							written = append(written, numbers...)
							return nil
						})
					})
					f.requireOutcome(t, value, exited, err)
					if synctest.Wait(); !stopped {
						t.Error("the reader is still running")
					}
					if early := f.step != ""; from == "channel" && (sent == sluice.ErrClosed) != early {
						t.Errorf("Send: %v", sent)
					}
					if f.step == "" && len(written) != lines {
						t.Errorf("%d lines of %d were written", len(written), lines)
					}
					for i, n := range written {
						if n != i {
							t.Fatalf("line %d was written as number %d", n, i)
						}
					}
				})
			})
		}
	}
}

// TestMapRecipes: ExampleMap, ExampleResults_All and ExampleResults_Recv, with jobs
// and bodies that fail, and a sender that would wait forever.
func TestMapRecipes(t *testing.T) {
	loops := map[string]func(ctx context.Context, f fault, cancel func(), results *workers.Results[int]) error{
		"All": func(_ context.Context, f fault, cancel func(), results *workers.Results[int]) error {
			n := 0
			for range results.All() {
				if n++; n == 100 {
					if err := f.at("body", cancel); err != nil {
						return err
					}
				}
			}
			return results.Err()
		},
		"Recv": func(ctx context.Context, f fault, cancel func(), results *workers.Results[int]) error {
			defer results.Close()
			for n := 1; ; n++ {
				_, err := results.Recv(ctx)
				if errors.Is(err, sluice.ErrClosed) {
					return nil
				}
				if err != nil {
					return err
				}
				if n == 100 {
					if err := f.at("body", cancel); err != nil {
						return err
					}
				}
			}
		},
	}
	for name, loop := range loops {
		for order, o := range mappings {
			for _, step := range []string{"job", "body"} {
				for _, way := range ways {
					if way == "leave" && step == "job" {
						continue
					}
					t.Run(name+" "+order+" "+step+" "+way, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							f := fault{step, way}
							ctx, cancel := context.WithCancel(t.Context())
							defer cancel()
							jobs := sluice.NewBounded[int](8, nil)
							var sent error
							go func() {
								for job := 0; sent == nil; job++ {
									sent = jobs.Send(context.Background(), job)
								}
							}()
							results := workers.Map(ctx, jobs, 3, func(ctx context.Context, job int) (int, error) {
								if job == 150 {
									return job, f.at("job", cancel)
								}
								return job, nil
							}, &o)
							value, exited, err := outcome(func() error { return loop(ctx, f, cancel, results) })
							f.requireOutcome(t, value, exited, err)
							if synctest.Wait(); sent != sluice.ErrClosed {
								t.Errorf("Send: %v", sent)
							}
						})
					})
				}
			}
		}
	}
}

// TestFanRecipes: ExampleIn and ExampleOut, whose receiver leaves or whose context
// ends: senders do not hang.
func TestFanRecipes(t *testing.T) {
	for _, way := range []string{"cancel", "leave"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			disk, network := sluice.NewBounded[int](1, nil), sluice.NewBounded[int](1, nil)
			log, copied := sluice.NewBounded[int](1, nil), sluice.NewBounded[int](1, nil)
			var freed atomic.Int64
			for _, c := range []*sluice.Bounded[int]{disk, network} {
				go func() {
					for c.Send(context.Background(), 1) == nil {
					}
					freed.Add(1)
				}()
			}
			go func() {
				defer log.Close()
				_, _ = fan.In(ctx, log, disk, network)
			}()
			go func() {
				defer copied.Close()
				_ = fan.Out(ctx, log, copied)
			}()
			lines := copied.Values(ctx)
			n := 0
			for range lines.All() {
				if n++; n == 100 {
					if way == "cancel" {
						cancel()
						continue
					}
					copied.Close()
					break
				}
			}
			if synctest.Wait(); freed.Load() != 2 {
				t.Errorf("%s: %d of 2 senders are freed", way, freed.Load())
			}
		})
	}
}

// TestRunKeyedRecipe: ExampleRunKeyed with a job that fails: the sender stops.
func TestRunKeyedRecipe(t *testing.T) {
	for _, way := range []string{"error", "cancel", "panic", "Goexit"} {
		synctest.Test(t, func(t *testing.T) {
			f := fault{"job", way}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			events := sluice.NewBounded[int](128, nil)
			var sent error
			go func() {
				for n := 0; sent == nil; n++ {
					sent = events.Send(context.Background(), n)
				}
			}()
			value, exited, err := outcome(func() error {
				return workers.RunKeyed(ctx, events, 4, func(n int) int { return n % 3 }, func(_ context.Context, n int) error {
					if n == 1001 {
						return f.at("job", cancel)
					}
					return nil
				}, nil)
			})
			f.requireOutcome(t, value, exited, err)
			if synctest.Wait(); sent != sluice.ErrClosed {
				t.Errorf("%s: Send: %v", way, sent)
			}
		})
	}
}

// TestRequestResponseRecipe: Example_requestResponse with a job that fails: each request that
// was accepted gets one response, and later callers get ErrClosed.
func TestRequestResponseRecipe(t *testing.T) {
	for way, end := range ends {
		synctest.Test(t, func(t *testing.T) { // a second response has no room: its sender would be left
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			requests := sluice.NewBounded[int](64, nil)
			responses := make([]chan error, 1000)
			for n := range responses {
				responses[n] = make(chan error, 1)
			}
			unanswered := func(n int) { responses[n] <- sluice.ErrClosed }
			go func() {
				defer func() {
					_ = recover()
					for n := range requests.Drain() {
						unanswered(n)
					}
				}()
				_ = workers.Run(ctx, requests, 2, func(_ context.Context, n int) error {
					answer := errPlanted
					defer func() { responses[n] <- answer }()
					if n == 500 {
						return end(cancel)
					}
					answer = nil
					return nil
				}, &workers.RunOptions[int]{OnUnprocessed: unanswered})
			}()
			accepted := 0
			for accepted < len(responses) && requests.Send(t.Context(), accepted) == nil {
				accepted++
			}
			synctest.Wait() // until Run has ended
			for n := range accepted {
				if len(responses[n]) != 1 {
					t.Errorf("%s: request %d of %d has no response", way, n, accepted)
				}
			}
			if err := requests.Send(t.Context(), 0); err != sluice.ErrClosed {
				t.Errorf("%s: a later caller gets %v", way, err)
			}
		})
	}
}
