package sluicetest

import (
	"context"
	"testing"
	"time"
)

// A watchedSide is one side of a channel in a test of how long the head of its
// wait queue has waited. A kind that does not know always reports 0 for that
// side.
type watchedSide struct {
	t      *testing.T
	field  string // in Stats
	oldest func() time.Duration
	knows  bool
}

// is fails the test unless the head of the queue has waited for want; any
// duration from least is accepted if the kind may have moved another waiter to
// the head.
func (s *watchedSide) is(when string, least, want time.Duration) {
	s.t.Helper()
	settle()
	got := s.oldest()
	switch {
	case want == 0 && got != 0, s.knows && (got < least || got > want):
		s.t.Fatalf("%s is %v when %s, want %v", s.field, got, when, want)
	case !s.knows && got != 0:
		s.t.Fatalf("%s is %v when %s, but was 0 after a wait of an hour", s.field, got, when)
	}
}

// testOldest: OldestSender and OldestReceiver report the current wait of the
// first waiter.
func (k Kind) testOldest(t *testing.T) {
	k.testOldestOf(t, "OldestReceiver", k.receivers(2), func(c Channel[uint64]) func() time.Duration {
		return func() time.Duration { return c.Stats().OldestReceiver }
	}, func(ctx context.Context, c Channel[uint64]) { startRecv(ctx, c) },
		func(c Channel[uint64]) { mustSend(t, c, 1) })
	if !k.blocks() {
		return
	}
	k.testOldestOf(t, "OldestSender", k.senders(2), func(c Channel[uint64]) func() time.Duration {
		fill(t, k, c)
		return func() time.Duration { return c.Stats().OldestSender }
	}, func(ctx context.Context, c Channel[uint64]) { startSend(ctx, c, 1) },
		func(c Channel[uint64]) {
			if _, err := c.TryRecv(); err != nil {
				t.Fatalf("TryRecv with a sender waiting: %v", err)
			}
		})
}

// testOldestOf parks up to n goroutines, one after the other, at a channel
// prepared by ready, and serves them.
func (k Kind) testOldestOf(t *testing.T, field string, n int, ready func(Channel[uint64]) func() time.Duration,
	wait func(context.Context, Channel[uint64]), serve func(Channel[uint64])) {
	const hour, minute = time.Hour, time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := k.numbers(t)
	defer c.Close()
	s := &watchedSide{t: t, field: field, oldest: ready(c)}
	s.is("no goroutine has ever waited", 0, 0)
	wait(ctx, c)
	s.is("a goroutine has just parked", 0, 0)
	time.Sleep(hour)
	s.knows = s.oldest() != 0
	s.is("one waits", hour, hour)
	if time.Sleep(minute); n > 1 {
		wait(ctx, c)
		settle()
	}
	time.Sleep(minute)
	if n > 1 {
		first := hour + 2*minute
		if k.MaxBypass == NoBound {
			first = minute
		}
		s.is("two wait", first, hour+2*minute)
		serve(c)
		settle()
		time.Sleep(minute)
		last := hour + 3*minute
		if k.MaxBypass != NoBound {
			last = 2 * minute
		}
		s.is("the second of two waits", 2*minute, last)
	}
	serve(c)
	s.is("the last waiter was served", 0, 0)
	time.Sleep(minute)
	wait(ctx, c)
	settle()
	time.Sleep(minute)
	s.is("a goroutine waits for the second time", minute, minute)
	cancel()
	s.is("the waiter has given up", 0, 0)
}
