package sim

import (
	"context"
	"testing"

	"github.com/sluice-go/sluice"
)

// few is how many values an operation moves: fewer than after which a hint is checked.
const few = 16

// An operation is one of a real channel, and the same one in the model.
type operation struct {
	real  func()
	model func(c *Core)
}

// A pair is two operations on one channel.
type pair struct {
	name     string
	channel  any
	lines    []*Line // of the model
	one, two operation
}

// TestChangedLines: two operations of the model change as many lines each, and as many
// of the same lines, as two operations of the real channel.
func TestChangedLines(t *testing.T) {
	var pairs []pair
	for _, of := range []func(*testing.T) []pair{nativePairs, chainPairs, handoffPairs, shardPairs, handlePairs} {
		pairs = append(pairs, of(t)...)
	}
	for _, test := range pairs {
		t.Run(test.name, func(t *testing.T) {
			var real, model [2]map[uintptr]bool
			for i, o := range []operation{test.one, test.two} {
				if ch, ok := test.channel.(chan uint64); ok {
					real[i] = differ(func() memory { return hchan(ch) }, o.real)
				} else {
					real[i] = changed(test.channel, o.real)
				}
				model[i] = modelChanged(t, test.lines, o.model)
				if len(real[i]) != len(model[i]) || len(real[i]) == 0 {
					t.Errorf("operation %d changes %d lines, in the model %d: write them in the model's program", i+1, len(real[i]), len(model[i]))
				}
			}
			if r, m := both(real[0], real[1]), both(model[0], model[1]); r != m {
				t.Errorf("both change %d lines, in the model %d: write them in the model's program", r, m)
			}
		})
	}
}

// sends is few sends of a real channel, and recvs as many receives.
func sends(t *testing.T, send func() error) func() {
	return func() {
		t.Helper()
		for range few {
			if err := send(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func recvs(t *testing.T, c sluice.Receiver[uint64]) func() {
	return sends(t, func() error { _, err := c.Recv(context.Background()); return err })
}

// fill brings a channel to its steady state: many values are queued, in segments that
// have their full size.
func fill(t *testing.T, send, recv func()) {
	t.Helper()
	for range 200 {
		send()
	}
	for range 30 {
		recv()
	}
}

// sendFew and recvFew are the model's operations on a segqueue.
func sendFew(q *segqueue) func(c *Core) {
	return func(c *Core) {
		for range few {
			q.trySend(c)
		}
	}
}

func recvFew(q *segqueue) func(c *Core) {
	return func(c *Core) {
		for range few {
			q.tryRecv(c, 1)
		}
	}
}

func nativePairs(*testing.T) []pair {
	ch := make(chan uint64, 1024)
	model := newNative(&spinbitLock{}, 1024, 1)
	lines := []*Line{&model.counters, &model.lock.(*spinbitLock).line}
	send := operation{func() { ch <- 1 }, model.Send}
	recv := operation{func() { <-ch }, model.Recv}
	return []pair{
		{"built-in, two senders", ch, lines, send, send},
		{"built-in, sender and receiver", ch, lines, send, recv},
	}
}

func chainPairs(t *testing.T) []pair {
	ch := sluice.NewElastic[uint64](sluice.Unlimited, nil)
	model := newSegqueue(1<<20, 1)
	lines := []*Line{&model.send.word, &model.recv.word, &model.senders.line, &model.receivers.line}
	send := operation{sends(t, func() error { return ch.Send(context.Background(), 1) }), sendFew(model)}
	recv := operation{recvs(t, ch), recvFew(model)}
	fill(t, send.real, recv.real)
	fill(t, func() { perform(t, send.model) }, func() { perform(t, recv.model) })
	return []pair{
		{"chain, two senders", ch, lines, send, send},
		{"chain, two receivers", ch, lines, recv, recv},
		{"chain, sender and receiver", ch, lines, send, recv},
	}
}

func handoffPairs(t *testing.T) []pair {
	ch := sluice.NewBounded[uint64](4, nil)
	model := newHandoff(4, 1)
	lines := []*Line{&model.lock.line, &model.queues, &model.counts}
	send := operation{func() { _ = ch.TrySend(1) }, model.Send}
	recv := operation{func() { _, _ = ch.TryRecv() }, model.Recv}
	for range 2 { // the high-water mark is reached
		send.real()
		recv.real()
	}
	return []pair{{"hand-off, sender and receiver", ch, lines, send, recv}}
}

// lines returns the lines of a sharded channel, without slots.
func (s *sharded) lines() []*Line {
	all := []*Line{&s.set, &s.hints, &s.receivers.line, &s.senders.line}
	for _, lane := range s.lanes {
		all = append(all, &lane.send.word, &lane.recv.word, &lane.senders.line)
	}
	return all
}

func shardPairs(t *testing.T) []pair {
	ctx := context.Background()
	ch := sluice.NewSharded[uint64](sluice.Unlimited, &sluice.ShardedOptions[uint64]{Lanes: 2})
	model := newSharded(2, 1<<20, 1)
	byKey := func(key uint64, lane int) operation {
		return operation{sends(t, func() error { return ch.SendKey(ctx, key, 1) }), sendFew(model.lanes[lane])}
	}
	one := byKey(0, 0)
	two := byKey(1, 1)
	for key := uint64(1); both(changed(ch, one.real), changed(ch, two.real)) > 0; key++ {
		two = byKey(key, 1)
	}
	for _, o := range []operation{one, two} {
		fill(t, o.real, func() {})
	}
	return []pair{
		{"sharded, senders in one lane", ch, model.lines(), one, one},
		{"sharded, senders in two lanes", ch, model.lines(), one, two},
	}
}

func handlePairs(t *testing.T) []pair {
	ch := sluice.NewSharded[uint64](sluice.Unlimited, &sluice.ShardedOptions[uint64]{Lanes: 1})
	model := newSharded(2, 1<<20, 1)
	var operations []operation
	for _, q := range model.lanes {
		q.singleSender = true
		lane := ch.Lane()
		o := operation{sends(t, func() error { return lane.Send(context.Background(), 1) }), sendFew(q)}
		fill(t, o.real, func() {})
		operations = append(operations, o)
	}
	return []pair{{"sharded, senders with a lane each", ch, model.lines(), operations[0], operations[1]}}
}

// TestHandoffModes: who yields before a park, as mode.go of package handoff decides.
func TestHandoffModes(t *testing.T) {
	for _, mode := range []struct {
		name                           string
		capacity, n, crowd, parallel   int
		indebted, want                 bool
		crowdAfterwards, parallelAfter int
	}{
		{"alone", 4, 1, 0, 0, false, true, 0, 0},
		{"alone, yields do not pay", 4, 1, 0, 0, true, false, 0, 0},
		{"a pair in parallel", 4, 1, 0, 9, false, false, 0, 8},
		{"the second of a queue", 4, 2, 0, 0, false, false, crowdMemory, 0},
		{"a crowd with few slots", 1, 2, 0, 0, false, true, crowdMemory, 0},
		{"a crowd in parallel", 4, 2, 0, 9, true, true, crowdMemory, 8},
		{"a crowd is forgotten", 4, 1, 1, 0, false, false, 0, 0},
	} {
		h := newHandoff(mode.capacity, 0)
		h.crowd, h.parallel = mode.crowd, mode.parallel
		var learned yields
		for mode.indebted && learned.debt < maxDebt {
			learned.record(false)
		}
		if got := h.mayYield(mode.n, &learned); got != mode.want || h.crowd != mode.crowdAfterwards || h.parallel != mode.parallelAfter {
			t.Errorf("%s: yields %v, crowd %d, parallel %d", mode.name, got, h.crowd, h.parallel)
		}
	}
}

// TestYieldsLearn: without credit about one wait in 64 yields.
func TestYieldsLearn(t *testing.T) {
	var y yields
	allowed := func() (n int) {
		for range 6400 {
			if y.allow() {
				n++
			}
		}
		return n
	}
	if n := allowed(); n != 6400 {
		t.Errorf("at first %d of 6400 waits yield", n)
	}
	for range 3 {
		y.record(false)
	}
	if n := allowed(); n != 100 {
		t.Errorf("after three failures %d of 6400 waits yield, want 100", n)
	}
	if y.record(true); y.debt != maxDebt-1 || allowed() != 6400 {
		t.Errorf("after a success the debt is %d", y.debt)
	}
}
