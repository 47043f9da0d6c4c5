package workload_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
)

// jobs returns every workload in every shape that the comparisons use.
func jobs() []workload.Workload {
	all := []workload.Workload{
		workload.FillDrain(),
	}
	for _, capacity := range []int{0, 1, 128, 1024} {
		all = append(all,
			workload.OneWay(capacity, 1, 1),
			workload.OneWay(capacity, 8, 1),
			workload.OneWay(capacity, 1, 10),
			workload.OneWay(capacity, 8, 8),
			workload.PingPong(capacity),
		)
	}
	return all
}

// variants returns every contender, and each kind of this library with each option
// that changes the core.
func variants(t *testing.T) []contender.Contender {
	background := context.Background()
	ctx, cancel := context.WithCancel(background)
	t.Cleanup(cancel)
	oneToOne := &contender.Options{SingleSender: true, SingleReceiver: true}
	all := []contender.Contender{
		contender.Native(), contender.NativeSlices(workload.BatchSize), contender.NativeSelect(ctx), contender.Heap(),
		contender.Rendezvous(background, nil), contender.Bounded(background, nil), contender.Bounded(background, oneToOne),
		contender.Elastic(background, nil), contender.Sharded(background), contender.ShardedLanes(background),
		contender.Priority(background), contender.Pipe(nil),
	}
	for _, flushing := range []bool{false, true} {
		all = append(all, contender.Published{Flushing: flushing, SendBuffer: contender.PublishedBuffer, RecvBuffer: contender.PublishedBuffer}.Contender())
	}
	all = append(all, contender.NativeFan(2), contender.NativeFan(4), contender.Select(2), contender.Select(4))
	for _, shrink := range []contender.PublishedShrink{
		contender.PublishedShrinkHalf, contender.PublishedShrinkEmpty, contender.LazyShrinkHalf, contender.FreeWhenEmpty,
	} {
		all = append(all, contender.Published{Flushing: true, Shrink: shrink, SendBuffer: 16}.Contender())
	}
	for _, o := range []*contender.Options{{SingleSender: true}, {SingleReceiver: true}} {
		all = append(all, contender.Rendezvous(background, o), contender.Bounded(background, o))
	}
	for _, o := range []*contender.Options{
		{Shrink: sluice.ShrinkEmpty}, {Shrink: sluice.NoShrink}, {SingleSender: true, SingleReceiver: true},
	} {
		all = append(all, contender.Elastic(background, o), contender.Pipe(o))
	}
	for _, r := range []contender.Remedy{
		{}, {Locked: true}, {Slice: 10}, {Channels: 2}, {Channels: 8, ByClock: true, Scaled: true},
		{Channels: 3, ByClock: true, Slice: 10, Timeout: contender.TimeAfter, Locked: true},
		{Channels: 2, Slice: 10, Timeout: contender.ReusedTimer},
	} {
		all = append(all, r.Contender())
	}
	for _, c := range []contender.Contender{
		contender.Rendezvous(background, nil), contender.Bounded(background, oneToOne), contender.Elastic(ctx, nil), contender.Sharded(background),
	} {
		all = append(all, c.InBatches(workload.BatchSize))
	}
	all = append(all, contender.NativeClosing(), contender.SelectClosing())
	all = append(all, contender.Batching(background, 10), contender.Batching(ctx, 10), contender.Lingering(ctx, 10, time.Millisecond))
	all = append(all, contender.RendezvousWithoutHandOff(), contender.BoundedWithoutHandOff())
	return append(all, contender.Rendezvous(ctx, nil), contender.Bounded(ctx, nil), contender.Elastic(ctx, nil))
}

// Every contender carries every value of every workload that it can do, in
// order. Run verifies that; the tests below check Run.
func TestEveryContenderDoesTheWork(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range variants(t) {
		if seen[c.Name] {
			t.Errorf("two contenders are called %q", c.Name)
		}
		seen[c.Name] = true
		t.Run(c.Name, func(t *testing.T) {
			done := 0
			for _, w := range jobs() {
				if !w.Can(c) {
					continue
				}
				r, err := w.Run(c, 5000)
				if err != nil {
					t.Fatal(err)
				}
				if r.Items != 5000 || r.Elapsed <= 0 {
					t.Fatalf("%s: %d items in %v", w.Name, r.Items, r.Elapsed)
				}
				done++
			}
			if done == 0 {
				t.Fatal("it can do no workload")
			}
		})
	}
}

// A swing calls Send many times from one sender. It is for contenders that
// keep order across those calls: all except the ones with lanes.
func TestSwing(t *testing.T) {
	background := context.Background()
	all := []contender.Contender{contender.Native(), contender.Bounded(background, nil), contender.Elastic(background, nil), contender.Pipe(nil)}
	for _, shrink := range []contender.PublishedShrink{
		contender.PublishedShrinkHalf, contender.PublishedShrinkEmpty, contender.LazyShrinkHalf, contender.FreeWhenEmpty,
	} {
		all = append(all, contender.Published{Flushing: true, Shrink: shrink, SendBuffer: 16}.Contender())
	}
	for _, c := range all {
		r, err := workload.Swing(512, 250).Run(c, 5001)
		if err != nil || r.Items != 5250 || r.Elapsed <= 0 { // a whole number of swings
			t.Errorf("%s: %d items in %v, %v", c.Name, r.Items, r.Elapsed, err)
		}
	}
}

// faulty is a native chan whose receiver's tally is manipulated.
type faulty struct {
	contender.Channel
	tamper func(*contender.Tally)
}

func (f faulty) Recv(most uint64) contender.Tally {
	t := f.Channel.Recv(most)
	f.tamper(&t)
	return t
}

func TestWrongTalliesAreErrors(t *testing.T) {
	for _, fault := range []struct {
		name   string
		tamper func(*contender.Tally)
		want   string
	}{
		{"loss", func(t *contender.Tally) { t.Count-- }, "received 99 values of 100"},
		{"duplicate", func(t *contender.Tally) { t.Count++ }, "received 101 values of 100"},
		{"exchange", func(t *contender.Tally) { t.Sum++ }, "the sum 4951, want 4950"},
		{"disorder", func(t *contender.Tally) { t.Unordered = 2 }, "2 of 100 values out of order"},
	} {
		t.Run(fault.name, func(t *testing.T) {
			c := contender.Contender{Name: "tampered", Make: func(capacity int) contender.Channel {
				return faulty{contender.Native().Make(capacity), fault.tamper}
			}}
			for _, w := range []workload.Workload{workload.OneWay(128, 1, 1), workload.FillDrain()} {
				r, err := w.Run(c, 100)
				if err == nil {
					t.Fatalf("%s: no error, but a result: %v", w.Name, r)
				}
				for _, part := range []string{"tampered", w.Name, fault.want} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q does not contain %q", err, part)
					}
				}
				if r != (workload.Result{}) {
					t.Errorf("%s: a result beside the error: %v", w.Name, r)
				}
			}
		})
	}
}

// With many senders the order of values is not determined, so it is not
// checked.
func TestDisorderOfManySendersIsNoError(t *testing.T) {
	c := contender.Contender{Name: "tampered", Make: func(capacity int) contender.Channel {
		return faulty{contender.Native().Make(capacity), func(t *contender.Tally) { t.Unordered = 2 }}
	}}
	if _, err := workload.OneWay(128, 8, 1).Run(c, 100); err != nil {
		t.Error(err)
	}
}

// offByOne is a channel that delivers different values than were sent.
type offByOne struct{ contender.Channel }

func (o offByOne) Recv(most uint64) (t contender.Tally) {
	if got := o.Channel.Recv(most); got.Count > 0 {
		t.Add(got.Last() + 1)
	}
	return t
}

func TestWrongAnswersAreErrors(t *testing.T) {
	c := contender.Contender{Name: "tampered", Make: func(capacity int) contender.Channel {
		return offByOne{contender.Native().Make(capacity)}
	}}
	for _, w := range []workload.Workload{workload.PingPong(0), workload.Swing(10, 5)} {
		if _, err := w.Run(c, 1000); err == nil || !strings.Contains(err.Error(), "the sum") {
			t.Errorf("%s: %v", w.Name, err)
		}
	}
}

// oneMore is a channel that delivers a value after the last.
type oneMore struct {
	contender.Channel
	done *bool
}

func (o oneMore) Recv(most uint64) contender.Tally {
	t := o.Channel.Recv(most)
	if t.Count == 0 && !*o.done {
		*o.done = true
		t.Add(1 << 20)
	}
	return t
}

func TestOneMoreIsAnError(t *testing.T) {
	c := contender.Contender{Name: "tampered", Make: func(capacity int) contender.Channel {
		return oneMore{contender.Native().Make(capacity), new(bool)}
	}}
	for _, w := range []workload.Workload{workload.PingPong(1), workload.Swing(10, 5)} {
		if r, err := w.Run(c, 1000); err == nil {
			t.Errorf("%s: no error: %+v", w.Name, r)
		}
	}
}

func TestImpossibleJobsAreErrors(t *testing.T) {
	background := context.Background()
	single := &contender.Options{SingleSender: true, SingleReceiver: true}
	for _, impossible := range []struct {
		w workload.Workload
		c contender.Contender
		n uint64
	}{
		{workload.OneWay(0, 1, 1), contender.Bounded(background, nil), 10},
		{workload.OneWay(1, 1, 1), contender.Rendezvous(background, nil), 10},
		{workload.FillDrain(), contender.Rendezvous(background, nil), 10},
		{workload.OneWay(128, 2, 1), contender.Bounded(background, single), 10},
		{workload.OneWay(128, 1, 2), contender.Bounded(background, single), 10},
		{workload.OneWay(1, 1, 2), contender.NativeFan(2), 10},
		{workload.OneWay(1, 4, 3), contender.Remedy{Channels: 4}.Contender(), 10},
		{workload.PingPong(128), contender.Bounded(background, nil).InBatches(10), 10},
		{workload.PingPong(128), contender.Remedy{Slice: 10}.Contender(), 10},
		{workload.OneWay(128, 1, 1), contender.Native(), 0},
	} {
		if r, err := impossible.w.Run(impossible.c, impossible.n); err == nil {
			t.Errorf("%s of %d by %s: %v", impossible.w.Name, impossible.n, impossible.c.Name, r)
		}
	}
}
