package stage_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/bridge"
	"github.com/sluice-go/sluice/fan"
	"github.com/sluice-go/sluice/workers"
)

// A stage of a pipeline, and the ways in which it ends.
type stage struct {
	name    string
	endings []string
	run     func(*trial)             // receives from the input of the trial
	own     func(*trial) observation // has an input of its own
}

// stages are the rows of the document's table, in order.
var stages = []stage{
	{"workers.Run", []string{closed, canceled, failed, panicked}, runs, nil},
	{"workers.RunKeyed", []string{closed, canceled, failed, panicked}, runsKeyed, nil},
	{"workers.Map", endings, func(tr *trial) { maps(tr, false) }, nil},
	{"workers.Map` `Ordered", endings, func(tr *trial) { maps(tr, true) }, nil},
	{"batch.Receive", endings, func(tr *trial) {
		receivesBatches(tr, batch.Receive(tr.ctx, tr.input(), 4, &batch.Options[int]{Linger: time.Minute}))
	}, nil},
	{"batch.Receive`, `MaxBytes", endings, receivesSized, nil},
	{"batch.Sender", []string{closed, canceled, left}, nil, sendsBatches},
	{"fan.In", endings, fansIn, nil},
	{"fan.Out", endings, fansOut, nil},
	{"bridge.ToChan", endings, toChan, nil},
	{"bridge.FromChan", []string{closed, canceled, left}, nil, fromChan},
	{"bridge.Pipe", []string{closed, left}, nil, pipe},
	{"Values", endings, loops, nil},
}

func runs(tr *trial) {
	tr.call(func() error {
		return workers.Run(tr.ctx, tr.in, 1, func(ctx context.Context, v int) error {
			_, err := tr.work(ctx, v)
			return err
		}, &workers.RunOptions[int]{OnUnprocessed: func(v int) { tr.handBack("`OnUnprocessed`", v) }})
	})
}

func runsKeyed(tr *trial) {
	tr.call(func() error {
		return workers.RunKeyed(tr.ctx, tr.in, 1, func(v int) int { return v % 3 }, func(ctx context.Context, v int) error {
			_, err := tr.work(ctx, v)
			return err
		}, &workers.KeyedOptions[int]{OnUnprocessed: func(v int) { tr.handBack("`OnUnprocessed`", v) }})
	})
}

// maps also checks that the result of each job that was done arrives, even after the
// reader has left the loop. Without Ordered, the reader leaves while a job runs, and the
// worker has further jobs of its batch in hand.
func maps(tr *trial, ordered bool) {
	options := &workers.MapOptions[int]{MaxBatch: 16, OnUnprocessed: func(v int) { tr.handBack("`OnUnprocessed`", v) }}
	if ordered {
		options.Ordered, options.MaxAhead = true, 128
	}
	work := func(ctx context.Context, v int) (int, error) {
		if tr.ending == left && !ordered && v == turning+1 {
			time.Sleep(2 * time.Second)
		}
		return tr.work(ctx, v)
	}
	results := workers.Map(tr.ctx, tr.in, 1, work, options)
	var got []int
	tr.call(func() error {
		for v := range results.All() {
			if got = append(got, v); tr.ending == left && v == turning {
				time.Sleep(time.Second) // the worker runs a job, or waits for room
				break
			}
		}
		return results.Err()
	})
	for tr.ending == left {
		v, err := results.Recv(context.Background())
		if err != nil {
			break
		}
		got = append(got, v)
	}
	done := slices.DeleteFunc(slices.Clone(tr.reached), func(v int) bool {
		return v == turning && (tr.ending == failed || tr.ending == panicked)
	})
	if !slices.Equal(got, done) {
		tr.Errorf("Map, ordered %v, %s: results %v of the jobs %v", ordered, tr.ending, got, done)
	}
}

// arrive records values that a stage without a function has delivered. If they come from
// a function, it has recorded them, and those that it returned must all arrive.
func (tr *trial) arrive(vs []int) {
	if tr.ending != failed && tr.ending != panicked {
		tr.reach(vs...)
		return
	}
	for i := 1; i < turning; i++ {
		if len(vs) != turning-1 || vs[i-1] != i {
			tr.Errorf("%s, %s: %v were delivered, want 1 to %d", tr.name, tr.ending, vs, turning-1)
			return
		}
	}
}

// receivesSized: a batch has up to 4 values of a byte, and the loop receives more than those.
func receivesSized(tr *trial) {
	batches := batch.Receive(tr.ctx, tr.input(), 100, &batch.Options[int]{MaxBytes: 4, Linger: time.Minute, Size: func(int) int { return 1 }})
	receivesBatches(tr, batches)
	tr.handBack("`TakeRest`", batches.TakeRest()...)
}

func receivesBatches(tr *trial, batches *batch.Batches[int]) {
	var got []int
	tr.call(func() error {
		for b := range batches.All() {
			got = append(got, b...)
			if tr.ending == left && slices.Contains(b, turning) {
				break
			}
			if tr.ending == canceled && slices.Contains(b, turning) {
				time.Sleep(time.Second) // the sender pauses, and does not send while the rest is received
				tr.cancel()
			}
		}
		return batches.Err()
	})
	tr.arrive(got)
}

func loops(tr *trial) {
	var got []int
	values := sluice.NewValues(tr.ctx, sluice.Receiver[int](tr.input()))
	tr.call(func() error {
		for v := range values.All() {
			got = append(got, v)
			if tr.ending == left && v == turning {
				break
			}
			if tr.ending == canceled && v == turning {
				time.Sleep(time.Second) // the sender pauses
				tr.cancel()
			}
		}
		return values.Err()
	})
	tr.arrive(got)
}

// read receives from out, and ends it at the turning point: by the context, or by
// closing out. The stage is waiting for room then, so it is out that it finds closed
// first, whatever is closed next.
func (tr *trial) read(out *sluice.Bounded[int]) (got []int) {
	for v := range out.Values(context.Background()).All() {
		got = append(got, v)
		if v != turning || tr.ending != canceled && tr.ending != left {
			continue
		}
		time.Sleep(time.Second) // out is full, and the stage waits for room in it
		if tr.ending == canceled {
			tr.cancel()
		} else {
			out.Close()
		}
		break
	}
	return got
}

// fansIn has a second input, which is empty: it is closed, too.
func fansIn(tr *trial) {
	out, other := sluice.NewBounded[int](4, nil), sluice.NewBounded[int](1, nil)
	if tr.ending == closed {
		other.Close()
	}
	var got []int
	var reader sync.WaitGroup
	reader.Go(func() { got = tr.read(out) })
	tr.call(func() error {
		unsent, err := fan.In(tr.ctx, out, sluice.Receiver[int](tr.input()), other)
		tr.handBack("`unsent`", unsent...)
		return err
	})
	out.Close()
	reader.Wait()
	tr.arrive(append(got, slices.Collect(out.Drain())...))
	if !other.Stats().Closed {
		tr.Errorf("fan.In, %s: the other input is open", tr.ending)
	}
}

// fansOut has two outputs: one that is read, and one with room for everything. When the
// reader leaves, the other one is closed after it, and so counts.
func fansOut(tr *trial) {
	out, wide := sluice.NewBounded[int](4, nil), sluice.NewElastic[int](1000, nil)
	var got []int
	var reader sync.WaitGroup
	reader.Go(func() {
		got = tr.read(out)
		if tr.ending == left {
			wide.Close()
		}
	})
	var last sluice.Sender[int] = out
	if tr.ending == left {
		last = wide
	}
	tr.call(func() error {
		err := fan.Out(tr.ctx, sluice.Receiver[int](tr.input()), out, wide)
		var undelivered *fan.UndeliveredError[int]
		if !errors.As(err, &undelivered) {
			return err
		}
		if slices.Contains(undelivered.Missed, last) {
			tr.handBack("`UndeliveredError`", undelivered.Value)
		}
		return undelivered.Err
	})
	out.Close()
	reader.Wait()
	got = append(got, slices.Collect(out.Drain())...)
	both := slices.Collect(wide.Drain())
	if len(both) < len(got) || !slices.Equal(both[:len(got)], got) {
		tr.Errorf("fan.Out, %s: one output got %v, the other %v", tr.ending, got, both)
	}
	if tr.ending == left {
		got = both
	}
	tr.arrive(got)
}

// toChan has a reader that cancels the context when it leaves, as it must.
func toChan(tr *trial) {
	values, rest := bridge.ToChan(tr.ctx, sluice.Receiver[int](tr.input()))
	var got []int
	for v := range values {
		if got = append(got, v); v == turning && (tr.ending == canceled || tr.ending == left) {
			synctest.Wait() // the next value is in flight
			tr.cancel()
			break
		}
	}
	tr.call(func() error {
		undelivered, err := rest()
		tr.handBack("`rest`", undelivered...)
		return err
	})
	tr.arrive(got)
}

// sendsBatches: the input is what the owner of a Sender gives to it. It ends when the
// owner calls Close.
func sendsBatches(tr *trial) observation {
	tr.ctx, tr.cancel = context.WithCancel(context.Background())
	defer tr.cancel()
	out := sluice.NewBounded[int](turning, nil)
	b := batch.NewSender(out, 3, nil)
	sent, senders := 0, "end"
	for sent < 20 {
		if sent == turning && tr.ending == canceled {
			tr.cancel()
		}
		if sent == turning && tr.ending == left {
			out.Close()
		}
		if sent == 8 && tr.ending == closed {
			break
		}
		if err := b.Send(tr.ctx, sent); err != nil {
			tr.ended(err, nil)
			senders = tr.outcome
			break
		}
		sent++
	}
	tr.ended(b.Close(tr.ctx), nil)
	unsent, arrived := b.TakeUnsent(), slices.Collect(out.Drain())
	for i, v := range append(arrived, unsent...) {
		if v != i || len(arrived)+len(unsent) != sent {
			tr.Fatalf("batch.Sender, %s: %d values accepted, %v sent, %v unsent", tr.ending, sent, arrived, unsent)
		}
	}
	if len(unsent) > 0 {
		return observation{"`TakeUnsent`", "-", senders, tr.outcome}
	}
	return observation{"arrive", "-", senders, tr.outcome}
}
