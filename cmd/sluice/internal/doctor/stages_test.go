package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestNoCoreIdles: more receivers need idle cores; without them a saturated
// stage is not a fault.
func TestNoCoreIdles(t *testing.T) {
	for cores, want := range map[float64]bool{1.6: true, 1.8: false} {
		d := diagnose(cpu(cores, shares{profile.UserCode: 0.97, profile.ChannelWork: 0.03}, on{send, 0.03, 0, 0}), goroutinesAt(in(send, 8, 6)),
			staged(stagePart{"(*Bus).Put", 8, 1 - 1/cores, 0.01}, stagePart{"consume", 1, 1 / cores, 0}))
		if (d.found(SlowStage) != nil) != want {
			t.Errorf("%v cores in use: %s", cores, d.Answer)
		}
	}
}

// TestWaitingForIO: a service that waits for I/O spends nothing on channels,
// and its goroutines are in the network rather than asleep, however many sleep.
func TestWaitingForIO(t *testing.T) {
	pace := rooted(at(profile.Sleep, "pace"), 9, 9, "pace")
	waiting := goroutinesAt(in(send, 8, 8), rooted(sink, 2, 2, "sink"), pace)
	f := diagnose(quiet, waiting).found(Downstream)
	if f == nil || !strings.Contains(f.Text, sink.At.Function[len("example.com/"):]) {
		t.Errorf("I/O is %+v", f)
	}
	for channels, want := range map[float64]bool{0.80: true, 0.95: false} { // of 0.45 cores of two: 0.18 and 0.21
		d := diagnose(cpu(0.45, shares{profile.ChannelWork: channels, profile.UserCode: 1 - channels}, on{send, channels, 0, 0}), waiting)
		if (d.found(Downstream) != nil) != want {
			t.Errorf("with %v of it in channels: %s", channels, d.Answer)
		}
	}
}

// TestReceiversOutside: goroutines that sleep are called receivers only with
// evidence that they receive.
func TestReceiversOutside(t *testing.T) {
	idle := cpu(0.03, shares{profile.UserCode: 0.5, profile.SystemCalls: 0.5})
	site := func(op profile.Op, function string, n int) profile.GoroutineSite {
		return profile.GoroutineSite{Site: at(op, function), In: n, Waiting: n, Root: "example.com/q." + function}
	}
	from, ticks, beats, record := site(profile.Send, "measure", 20), site(profile.Range, "check", 2), site(profile.Sleep, "beat", 4), site(profile.Sleep, "record", 1)
	main := profile.GoroutineSite{Site: profile.Site{Op: profile.Forever, At: profile.Frame{Function: "main.main"}}, In: 1, Waiting: 1, Root: "main.main"}
	taken := at(profile.Range, "record")
	wakes := woke(profile.Pair{Waker: taken, Sleeper: from.Site, Count: 580})
	receives := func(c *profile.Capture) {
		c.CPU.Sites = append(c.CPU.Sites, profile.CPUSite{Site: taken, Time: secs(0.01), Roots: []string{record.Root}})
	}
	computes := woke(profile.Pair{Waker: at(profile.Range, "encode"), Sleeper: from.Site, Count: 580})
	for name, test := range map[string]struct {
		parts []part
		want  string // in the text; "" for no finding
		not   string
	}{
		"seen in the trace":   {[]part{idle, goroutinesAt(from, ticks, beats, record, main), wakes}, "The receivers behind send at q.measure (q.go:7) sleep at q.record", "beat"},
		"known by a receive":  {[]part{idle, goroutinesAt(from, ticks, beats, record, main), receives}, "sleep at q.record", "beat"},
		"unknown":             {[]part{idle, goroutinesAt(from, ticks, beats, record, main)}, "The receiver is unknown: it may wait at q.beat (q.go:4) or at q.record (q.go:6).", "receivers behind"},
		"the only one":        {[]part{idle, goroutinesAt(from, ticks, record, main)}, "sleep at q.record", ""},
		"another one in fact": {[]part{idle, goroutinesAt(from, ticks, beats, record, main), computes}, "", ""},
	} {
		d := diagnose(test.parts...)
		f := d.found(Downstream)
		if (f != nil) != (test.want != "") {
			t.Errorf("%s: %s, %+v", name, d.Answer, f)
			continue
		}
		if f != nil && (!strings.Contains(f.Text, test.want) || test.not != "" && strings.Contains(f.Text, test.not)) {
			t.Errorf("%s: %s", name, f.Text)
		}
		if unknown := strings.Contains(test.want, "unknown"); unknown && (f.Needs == nil || f.Needs.Kind != profile.KindTrace) {
			t.Errorf("%s: no trace is asked for", name)
		}
	}
	d := diagnose(idle, goroutinesAt(from, ticks, beats, record, main), wakes)
	if text := evidence(d.found(Downstream)); !strings.Contains(text, "they wake the senders 580 times per second") {
		t.Error(text)
	}
}

// TestLockstepOfTwoChannels: a send and a receive that never wake each other are
// not one channel.
func TestLockstepOfTwoChannels(t *testing.T) {
	turns := cpu(1.4, shares{profile.ChannelWork: 0.05, profile.AfterPark: 0.03, profile.UserCode: 0.92}, on{send, 0.03, 0, 0.01}, on{receive, 0.02, 0, 0.01})
	ends := goroutinesAt(in(send, 1, 1), in(receive, 1, 1))
	other := at(profile.Range, "other")
	for want, pair := range map[bool]profile.Pair{true: {Waker: send, Sleeper: receive, Count: 60_000}, false: {Waker: send, Sleeper: other, Count: 60_000}} {
		d := diagnose(turns, ends, metrics(0, 60_000), woke(pair, profile.Pair{Waker: pair.Sleeper, Sleeper: send, Count: 60_000}), waited(receive, 60_000, ms))
		if got := d.found(Lockstep) != nil; got != want {
			t.Errorf("found %v, want %v: %s", got, want, d.Answer)
		}
	}
}

// TestSerialReceiver: one goroutine does most of the work, others wait for it,
// and the number of cores is unknown or other processes use them.
func TestSerialReceiver(t *testing.T) {
	noCores := func(c *profile.Capture) { c.GOMAXPROCS, c.CPUs = 0, 0 }
	spent := func(cores float64) part {
		return cpu(cores, shares{profile.UserCode: 0.97, profile.ChannelWork: 0.03}, on{send, 0.02, 0, 0}, on{receive, 0.01, 0, 0})
	}
	feeders := func(work float64) part {
		return staged(stagePart{"(*Bus).Put", 8, work, 0.01}, stagePart{"consume", 1, 0.98 - work, 0.01})
	}
	call, result, reply := at(profile.Send, "call"), at(profile.Receive, "call"), at(profile.Send, "consume")
	result.At.Line++
	asks := func(cores float64) part {
		return cpu(cores, shares{profile.UserCode: 0.97, profile.ChannelWork: 0.03}, on{call, 0.02, 0, 0}, on{receive, 0.01, 0, 0})
	}
	fed := goroutinesAt(in(send, 8, 6))
	asked := []profile.GoroutineSite{rooted(result, 15, 15, "call"), rooted(reply, 1, 0, "consume")}
	for name, test := range map[string]struct {
		parts []part
		at    profile.Site // zero for no finding
	}{
		"cores unknown":         {[]part{spent(1), fed, feeders(0.02), noCores}, send},
		"beside others":         {[]part{spent(0.7), fed, feeders(0.02)}, send},
		"two work":              {[]part{spent(1), fed, feeders(0.5), noCores}, profile.Site{}},
		"nobody waits":          {[]part{spent(0.7), goroutinesAt(in(send, 1, 0)), feeders(0.02)}, profile.Site{}},
		"asked for a result":    {[]part{asks(1), goroutinesAt(asked...), staged(stagePart{"consume", 1, 0.97, 0.01})}, result},
		"asked, nothing is won": {[]part{asks(1.9), goroutinesAt(asked...), staged(stagePart{"consume", 1, 0.97, 0.01})}, profile.Site{}},
	} {
		d := diagnose(test.parts...)
		f := d.found(SlowStage)
		switch {
		case (f != nil) != (test.at.Op != ""):
			t.Errorf("%s: %s", name, d.Answer)
		case f != nil && (f.At.Function != test.at.At.Function || f.At.Op != test.at.Op || f.Best() == nil || f.Best().Name != MoreReceivers):
			t.Errorf("%s: %+v", name, f)
		}
	}
}
