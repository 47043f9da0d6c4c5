package doctor

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Sites of a service with two channels in a row, and one more behind them.
var (
	feeding   = at(profile.Send, "feed")
	taking    = profile.Site{Op: profile.Range, At: profile.Frame{Function: "example.com/q.route", File: "q.go", Line: 20}}
	sendingOn = profile.Site{Op: profile.Send, At: profile.Frame{Function: "example.com/q.route", File: "q.go", Line: 23}}
	keeping   = profile.Site{Op: profile.Range, At: profile.Frame{Function: "example.com/q.keep", File: "q.go", Line: 30}}
)

// relayed is that service: the wake-ups of the sender by the goroutine in between,
// of the receiver by it, and of it by the receiver.
func relayed(taken, passed, returned int64) []part {
	var pairs []profile.Pair
	for _, p := range []profile.Pair{{Waker: taking, Sleeper: feeding, Count: taken}, {Waker: sendingOn, Sleeper: keeping, Count: passed}, {Waker: keeping, Sleeper: sendingOn, Count: returned}} {
		if p.Count > 0 {
			pairs = append(pairs, p)
		}
	}
	return []part{
		cpu(1.2, shares{profile.ChannelWork: 0.25, profile.AfterPark: 0.25, profile.UserCode: 0.5},
			on{taking, 0.10, 0, 0.05}, on{sendingOn, 0.05, 0, 0.03}, on{keeping, 0.05, 0, 0.02}, on{feeding, 0.05, 0, 0.01}),
		goroutinesAt(rooted(feeding, 8, 6, "feed"), rooted(taking, 1, 0, "route"), rooted(keeping, 4, 2, "keep")), woke(pairs...),
	}
}

// TestHeldUp: a receive that never waits means a slow receiver, unless the
// channel after it holds its goroutine up, with waits at both of its ends.
func TestHeldUp(t *testing.T) {
	for name, test := range map[string]struct {
		parts  []part
		row    int
		heldUp bool
		enough bool // for more slots
	}{
		"in turns":                     {relayed(9000, 6000, 3000), 2, true, true},
		"the last one is slow":         {relayed(9000, 100, 8900), 2, false, false},
		"the one in between is slow":   {relayed(9000, 8900, 100), 2, false, false},
		"half of the values continue":  {relayed(9000, 3000, 1500), 2, true, true},
		"few values continue":          {relayed(9000, 3000, 1400), 0, false, false},
		"no value continues":           {relayed(9000, 0, 0), 0, false, false},
		"only receivers behind wait":   {relayed(0, 6000, 3000), 0, false, true}, // by their states
		"no wake-ups, only the states": {relayed(0, 0, 0), 0, false, true},
	} {
		f := factsOf(test.parts...)
		if row := f.rowOf(f.operationAt(taking)); len(row) != test.row || len(row) == 2 && (row[0].send != feeding || row[1].send != sendingOn) {
			t.Errorf("%s: %+v", name, row)
		}
		if got := f.heldUp(f.operationAt(taking)); got != test.heldUp {
			t.Errorf("%s: held up: %v", name, got)
		}
		p := place(taking)
		if why := lacksSlots(f, &Finding{Kind: TransferCost, At: &p}); (why == "") != test.enough {
			t.Errorf("%s: a buffer lacks %q", name, why)
		}
	}
}

// TestSemaphoreBesideResults: workers that release a semaphore and then send their
// results to a goroutine that takes turns with them are not held up.
func TestSemaphoreBesideResults(t *testing.T) {
	release := taking
	release.Op = profile.Receive
	for n, want := range map[int]bool{1: true, 8: false} {
		f := factsOf(cpu(1.2, shares{profile.ChannelWork: 0.5, profile.UserCode: 0.5}, on{release, 0.2, 0, 0.1}, on{sendingOn, 0.1, 0, 0}, on{keeping, 0.1, 0, 0}, on{feeding, 0.1, 0, 0}),
			goroutinesAt(rooted(feeding, 1, 1, "feed"), rooted(release, n, n, "route"), rooted(keeping, 1, 1, "keep")),
			woke(profile.Pair{Waker: release, Sleeper: feeding, Count: 9000}, profile.Pair{Waker: sendingOn, Sleeper: keeping, Count: 5000}, profile.Pair{Waker: keeping, Sleeper: sendingOn, Count: 4000}))
		p := place(feeding)
		if got, why := f.heldUp(f.operationAt(feeding)), lacksSlots(f, &Finding{Kind: TransferCost, At: &p}); got != want || (why == "") != want {
			t.Errorf("%d goroutines: held up: %v, %q", n, got, why)
		}
	}
}

// TestRow: from either end, in the order of the values; not through a goroutine
// that sends first and receives an answer, and not through other goroutines.
func TestRow(t *testing.T) {
	f := factsOf(relayed(9000, 6000, 3000)...)
	for _, at := range []profile.Site{feeding, taking, sendingOn, keeping} {
		if row := f.rowOf(f.operationAt(at)); len(row) != 2 || row[0].receive != taking || row[1].send != sendingOn {
			t.Errorf("from %s: %+v", at, row)
		}
	}
	if f.heldUp(f.operationAt(keeping)) || f.rowOf(nil) != nil || f.rowOf(f.operationAt(choose)) != nil {
		t.Error("nothing is behind the last channel, or at an operation without wake-ups")
	}
	asks, hears := feeding, keeping
	hears.At.Function, hears.At.Line = feeding.At.Function, feeding.At.Line+2
	answers := woke(profile.Pair{Waker: taking, Sleeper: asks, Count: 9000}, profile.Pair{Waker: sendingOn, Sleeper: hears, Count: 9000})
	f = factsOf(append(relayed(0, 0, 0), answers)...)
	if row := f.rowOf(f.operationAt(asks)); len(row) != 2 || row[1].send != sendingOn {
		t.Errorf("a request and its response: %+v", row)
	}
	if f.passesOn(hears, asks) || !f.passesOn(taking, sendingOn) {
		t.Error("the goroutine that asks sends first")
	}
}

// TestWhereToBatch: the advice names the sends, if they are known.
func TestWhereToBatch(t *testing.T) {
	finding := func(site profile.Site) *Finding {
		p := place(site)
		return &Finding{At: &p}
	}
	f := factsOf(relayed(9000, 100, 40)...)
	for _, test := range []struct {
		at   profile.Site
		want string
	}{
		{feeding, "slices of values in q.feed (q.go:4): what"},
		{taking, "slices of values in q.feed (q.go:4): what"},
		{keeping, "slices of values in q.route (q.go:23): what"},
		{choose, "slices of values: what"},
	} {
		if got := f.batchHow(finding(test.at)); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s", test.at, got)
		}
	}
	if got := f.bufferHow(finding(feeding)); got != "give the channel a buffer of about 128 slots, if it has fewer" {
		t.Errorf("one channel: %s", got)
	}
}

// TestUnusedCores: a gain above the channels' share of CPU time comes from cores that
// idle, or that other processes have.
func TestUnusedCores(t *testing.T) {
	load := func(cores float64) part { return cpu(cores, shares{profile.UserCode: 1}) }
	lent := func(running float64) part {
		return func(c *profile.Capture) {
			c.Trace = &profile.Trace{Window: secs(1), Running: secs(running), Wakeups: 100_000}
		}
	}
	for name, test := range map[string]struct {
		parts []part
		want  []string
	}{
		"idle":          {[]part{load(0.9)}, []string{"1.10 cores idle while goroutines wait for each other"}},
		"lent":          {[]part{load(0.9), lent(1.9)}, []string{"other processes have 1.05 cores now"}},
		"both":          {[]part{load(0.9), lent(1.5)}, []string{"0.30 cores idle while goroutines wait for each other", "other processes have 0.80 cores now"}},
		"all in use":    {[]part{load(1.9)}, nil},
		"cores unknown": {[]part{load(0.9), func(c *profile.Capture) { c.GOMAXPROCS, c.CPUs = 0, 0 }}, nil},
	} {
		f := factsOf(test.parts...)
		if got := f.unused(f.cores); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
