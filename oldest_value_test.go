package sluice_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// buffered returns a channel of each engine and ring that queues values.
func buffered() map[string]sluice.Channel[int] {
	return map[string]sluice.Channel[int]{
		"Bounded, few slots":    sluice.NewBounded[int](8, nil),
		"Bounded":               sluice.NewBounded[int](100_000, nil),
		"Elastic":               sluice.NewElastic[int](sluice.Unlimited, nil),
		"Elastic single sender": sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[int]{SingleSender: true}),
		"Elastic, bytes": sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[int]{
			MaxBytes: 1 << 30, Size: func(int) int { return 8 }}),
		"Elastic, bytes, Reject": sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[int]{
			MaxBytes: 1 << 30, Size: func(int) int { return 8 }, Overflow: sluice.Reject}),
		"Sharded": sluice.NewSharded[int](sluice.Unlimited, nil),
	}
}

// TestOldestValueGrowingQueue: a queue that is inspected once per second reports the
// age of its oldest value, at least to a second, while it grows and while it is
// drained. An empty queue reports 0.
func TestOldestValueGrowingQueue(t *testing.T) {
	for name, c := range buffered() {
		synctest.Test(t, func(t *testing.T) {
			var sent []time.Time
			check := func(when string) {
				t.Helper()
				s, age := c.Stats(), time.Duration(0)
				if c.Len() > 0 {
					age = time.Since(sent[len(sent)-c.Len()])
				}
				if s.OldestAtLeast > age || s.OldestAtLeast < age-time.Second || s.OldestAtMost < age || s.OldestAtMost > age+time.Second ||
					s.OldestValue != 0 && (s.OldestValue < s.OldestAtLeast || s.OldestValue > s.OldestAtMost) {
					t.Fatalf("%s: %d values %s: the oldest is %v old, Stats reports %v (%v to %v)", name, c.Len(), when, age, s.OldestValue, s.OldestAtLeast, s.OldestAtMost)
				}
			}
			send := func() {
				if c.TrySend(len(sent)) == nil {
					sent = append(sent, time.Now())
				}
			}
			check("at the start")
			for range 30 {
				for range 4 {
					send()
					time.Sleep(250 * time.Millisecond)
				}
				if check("while it grows"); len(sent)%3 == 0 {
					_, _ = c.TryRecv()
				}
			}
			for c.Len() > 0 {
				_, _ = c.TryRecv()
				check("while it is drained")
			}
			time.Sleep(time.Hour)
			check("when it is empty")
			send()
			check("with a new value")
			time.Sleep(time.Minute)
			check("with a value that is a minute old")
		})
	}
}

// TestOldestValueBacklog: Stats reports the age of a long backlog even if it was never
// called before.
func TestOldestValueBacklog(t *testing.T) {
	for name, c := range buffered() {
		if c.Cap() < 5000 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			for i := range 300 { // a short queue, which no sender has observed
				_ = c.TrySend(i)
				_, _ = c.TryRecv()
			}
			const pace = 100 * time.Millisecond
			for i := range 5000 {
				_ = c.TrySend(i)
				time.Sleep(pace)
			}
			for received := 0; c.Len() > 0; received += 1000 {
				age := (5000 - time.Duration(received)) * pace
				s := c.Stats()
				if s.OldestAtLeast > age || s.OldestAtLeast < age-5000*pace/8 || s.OldestAtMost < age || received > 0 && s.OldestValue < age*4/5 || s.OldestValue > age*6/5 {
					t.Errorf("%s: with %d values the oldest is %v old, Stats reports %v (%v to %v)", name, c.Len(), age, s.OldestValue, s.OldestAtLeast, s.OldestAtMost)
				}
				for range 1000 {
					_, _ = c.TryRecv()
				}
			}
		})
	}
}
