package doctor

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestEdgesOfLeaks: the thresholds are a fifth more goroutines than before, more
// than by chance if they come and go, and a hundred long waits.
func TestEdgesOfLeaks(t *testing.T) {
	grown := func(from, to int) bool {
		site := in(receive, to, to)
		site.Earlier = from
		return diagnose(goroutinesAt(site), before, func(c *profile.Capture) { c.Goroutines.Earlier, c.Goroutines.Total = from, to }).found(Leak) != nil
	}
	for _, test := range []struct{ from, least int }{{1000, 1200}, {100, 129}, {33, 50}, {10, 20}, {0, 10}} {
		if grown(test.from, test.least-1) || !grown(test.from, test.least) {
			t.Errorf("from %d to %d %v, to %d %v", test.from, test.least-1, grown(test.from, test.least-1), test.least, grown(test.from, test.least))
		}
	}
	long := func(n int, waits time.Duration) bool {
		site := in(receive, n, n)
		site.Longest = waits
		return diagnose(goroutinesAt(site)).found(Leak) != nil
	}
	if long(99, longWait) || !long(100, longWait) || long(100, longWait-time.Minute) {
		t.Errorf("99 %v, 100 %v, a minute less %v", long(99, longWait), long(100, longWait), long(100, longWait-time.Minute))
	}
}

// TestEdgesOfSelects: five cases are many, and a select must cost three times
// as much as its other ends.
func TestEdgesOfSelects(t *testing.T) {
	of := func(senders int, weight float64) bool {
		return diagnose(cpu(1.3, shares{profile.ChannelWork: 0.9, profile.UserCode: 0.1}, on{choose, 0.9 * weight, 0, 0}, on{send, 0.9 * (1 - weight), 0, 0}),
			goroutinesAt(in(choose, 1, 0), in(send, senders, 0))).found(LargeSelect) != nil
	}
	if of(4, 0.9) || !of(5, 0.9) || of(5, 0.74) || !of(5, 0.76) {
		t.Errorf("4 cases %v, 5 %v; with 0.74 of the cost %v, 0.76 %v", of(4, 0.9), of(5, 0.9), of(5, 0.74), of(5, 0.76))
	}
}

// TestEdgeOfStages: with four goroutines in I/O one may be elsewhere; with
// three that one could be a receiver.
func TestEdgeOfStages(t *testing.T) {
	of := func(outside int) bool {
		return diagnose(quiet, goroutinesAt(rooted(send, 1, 1, "seed"), rooted(sink, outside, outside, "fetch"), rooted(at(profile.Other, "fetch2"), 1, 1, "fetch")), before).found(Downstream) != nil
	}
	if of(3) || !of(4) {
		t.Errorf("one besides 3 %v, besides 4 %v", of(3), of(4))
	}
}
