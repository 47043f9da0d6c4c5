package doctor

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// quiet is a service that hardly uses CPU.
var quiet = cpu(0.03, shares{profile.UserCode: 1})

// rooted is goroutines that wait at a site, with a start function.
func rooted(site profile.Site, n, earlier int, root string) profile.GoroutineSite {
	s := in(site, n, n)
	s.Earlier, s.Root = earlier, "example.com/q."+root
	return s
}

// before adds an earlier snapshot.
func before(c *profile.Capture) { c.Goroutines.GrowthKnown = true }

// TestOneSender: a single waiting sender is a queue if it waited twice and all
// possible receivers are in I/O. A trace confirms or refutes it.
func TestOneSender(t *testing.T) {
	seed, fetch := rooted(send, 1, 1, "seed"), rooted(sink, 6, 6, "fetch")
	taking := at(profile.Range, "fetch")
	woken := func(by profile.Site) part { return woke(profile.Pair{Waker: by, Sleeper: send, Count: 100}) }
	for _, test := range []struct {
		name  string
		parts []part
		sure  Confidence // "" for no finding
	}{
		{"twice", []part{goroutinesAt(seed, fetch), before}, Low},
		{"once", []part{goroutinesAt(rooted(send, 1, 0, "seed"), fetch), before}, ""},
		{"one snapshot", []part{goroutinesAt(seed, fetch)}, ""},
		{"receivers elsewhere", []part{goroutinesAt(seed, fetch, rooted(at(profile.Other, "fetch2"), 2, 2, "fetch")), before}, ""},
		{"one elsewhere", []part{goroutinesAt(seed, fetch, rooted(at(profile.Other, "fetch2"), 1, 1, "fetch")), before}, Low},
		{"of a library", []part{goroutinesAt(seed, func() profile.GoroutineSite { s := fetch; s.Root = "net/rpc.input"; return s }()), before}, ""},
		{"woken by them", []part{goroutinesAt(rooted(send, 1, 0, "seed"), fetch), woken(taking)}, Medium},
		{"woken by another", []part{goroutinesAt(seed, fetch), before, woken(receive)}, ""},
		{"two", []part{goroutinesAt(rooted(send, 2, 0, "seed"), fetch)}, Medium},
		{"sleeping goroutines", []part{goroutinesAt(rooted(send, 2, 0, "seed"), rooted(at(profile.Sleep, "pace"), 6, 6, "pace"))}, Low},
		{"the main goroutine", []part{goroutinesAt(rooted(send, 2, 0, "seed"), func() profile.GoroutineSite { s := fetch; s.Root = "os/signal.loop"; return s }())}, ""},
	} {
		d := diagnose(append([]part{quiet}, test.parts...)...)
		f := d.found(Downstream)
		switch {
		case f == nil && test.sure != "", f != nil && f.Confidence != test.sure:
			t.Errorf("%s: found %+v", test.name, f)
		case f != nil && f.At.Function != send.At.Function:
			t.Errorf("%s: at %s", test.name, f.At)
		}
	}
}

// TestTokens: a goroutine that waits for a connection looks like a worker
// without a job. Only a trace shows that a release wakes it.
func TestTokens(t *testing.T) {
	take, give := at(profile.Receive, "query"), at(profile.Send, "query")
	waiting, outside := rooted(take, 28, 28, "query"), rooted(at(profile.IO, "query"), 4, 4, "query")
	trace := func(by profile.Site) part { return woke(profile.Pair{Waker: by, Sleeper: take, Count: 100}) }
	d := diagnose(quiet, goroutinesAt(waiting, outside))
	f := d.found(Downstream)
	if f == nil || f.Confidence != Low || f.Best().Name != MoreReceivers || d.Need() == nil || d.Need().Kind != profile.KindTrace {
		t.Fatalf("without a trace: %+v", f)
	}
	// A trace of releases makes it a pool.
	if f = diagnose(quiet, goroutinesAt(waiting, outside), trace(give)).found(ExhaustedPool); f == nil || f.Confidence != Medium || f.Needs != nil {
		t.Errorf("released: %+v", f)
	}
	if f = diagnose(quiet, goroutinesAt(waiting, outside), trace(send)).found(Downstream); f != nil {
		t.Errorf("a worker: %+v", f)
	}
	ranging := waiting
	ranging.Op = profile.Range
	if f = diagnose(quiet, goroutinesAt(ranging, outside)).found(Downstream); f != nil {
		t.Errorf("a worker with range: %+v", f)
	}
	other := outside
	other.Root = "example.com/q.other"
	if f = diagnose(quiet, goroutinesAt(waiting, other)).found(Downstream); f != nil {
		t.Errorf("other goroutines in I/O: %+v", f)
	}
}

// TestLockstepInTrace: a trace in which one end hardly ever waits shows no
// lockstep.
func TestLockstepInTrace(t *testing.T) {
	turns := cpu(1.4, shares{profile.ChannelWork: 0.05, profile.AfterPark: 0.03, profile.UserCode: 0.92}, on{send, 0.03, 0, 0.01}, on{receive, 0.02, 0, 0.01})
	waits := goroutinesAt(in(send, 1, 1), in(receive, 1, 1))
	d := diagnose(turns, metrics(0, 60_000), waits)
	if f := d.found(Lockstep); f == nil || f.Needs == nil || f.Confidence != Low {
		t.Errorf("without a trace: %+v", f)
	}
	for _, test := range []struct {
		sends, receives int64
		want            bool
	}{{1000, 900, true}, {1000, 51, true}, {1000, 49, false}, {49, 1000, false}} {
		traced := woke(profile.Pair{Waker: receive, Sleeper: send, Count: test.sends}, profile.Pair{Waker: send, Sleeper: receive, Count: test.receives})
		f := diagnose(turns, metrics(0, 60_000), waits, traced).found(Lockstep)
		if (f != nil) != test.want || f != nil && f.Needs != nil {
			t.Errorf("%d and %d waits: %+v", test.sends, test.receives, f)
		}
	}
}

// TestUndecided: an open question comes with a command, for a service or for
// files, and disappears with a trace.
func TestUndecided(t *testing.T) {
	parts := []part{quiet, goroutinesAt(rooted(send, 1, 1, "seed"), rooted(sink, 6, 6, "fetch")), before}
	for target, want := range map[string]string{"localhost:6060": "sluice doctor -trace localhost:6060", "cpu.pprof": "curl -o trace.out 'http://HOST:PORT/debug/pprof/trace"} {
		d := diagnose(append(parts, func(c *profile.Capture) { c.Target = target })...)
		i := slices.IndexFunc(d.Unknown, func(u Unknown) bool { return strings.Contains(u.What, "decides the finding") })
		if i < 0 || !strings.HasPrefix(d.Unknown[i].Command, want) {
			t.Errorf("%s: %+v", target, d.Unknown)
		}
	}
}

// TestBlockIsNamed if goroutines wait for unknown times, unless the service is
// known not to have the profile.
func TestBlockIsNamed(t *testing.T) {
	named := func(parts ...part) bool {
		return slices.ContainsFunc(diagnose(parts...).Unknown, func(u Unknown) bool { return strings.Contains(u.Command, "-block") })
	}
	waiting := goroutinesAt(in(receive, 4, 4))
	off := func(c *profile.Capture) { c.Missing = []profile.Missing{{Kind: profile.KindBlock, Reason: "off"}} }
	ever := block(map[profile.Site]float64{receive: 5})
	for _, test := range []struct {
		name  string
		parts []part
		want  bool
	}{
		{"waiting", []part{quiet, waiting}, true},
		{"running", []part{quiet, goroutinesAt(in(receive, 4, 0))}, false},
		{"off", []part{quiet, waiting, off}, false},
		{"there", []part{quiet, waiting, ever}, false},
		{"since the process started", []part{quiet, waiting, ever, func(c *profile.Capture) { c.Block.Window = 0 }}, true},
		{"traced", []part{quiet, waiting, woke()}, false},
	} {
		if got := named(test.parts...); got != test.want {
			t.Errorf("%s: listed %v", test.name, got)
		}
	}
}

// TestWindowsOfWaits: waits include their window, which differs from the CPU
// profile's.
func TestWindowsOfWaits(t *testing.T) {
	for _, test := range []struct {
		with part
		want string
	}{
		{woke(profile.Pair{Waker: send, Sleeper: receive, Count: 10}), "waited 1 s in total in 1 s"},
		{block(map[profile.Site]float64{receive: 5}), "waited 5 s in total in 10.0 s"},
		{func(c *profile.Capture) {
			block(map[profile.Site]float64{receive: 5})(c)
			c.Block.Window = 0
		}, "waited 5 s in total since the process started"},
	} {
		d := diagnose(append(slices.Clone(pipelineService), test.with)...)
		var text, page bytes.Buffer
		if err := d.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if flat := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(flat, test.want) {
			t.Errorf("%q is not in %s", test.want, flat)
		}
		cell := strings.NewReplacer("waited ", "", " in total", "", " since the process started", " since the start").Replace(test.want)
		if err := d.WritePage(&page); err != nil || !strings.Contains(page.String(), cell) {
			t.Errorf("%q is not in the page: %v", cell, err)
		}
	}
}

// TestMinor: a share just below its limit is reported and decides nothing; one
// far below is not reported.
func TestMinor(t *testing.T) {
	poll := at(profile.PollReceive, "poll")
	polls := func(share float64) *Diagnosis {
		return diagnose(cpu(1.9, shares{profile.ChannelWork: share, profile.UserCode: 0.5, profile.OtherRuntime: 0.5 - share}, on{poll, share, 0, 0}))
	}
	d := polls(0.14)
	if d.Verdict != No || len(d.Findings) != 1 || !d.Findings[0].Minor || d.Findings[0].Kind != Polling || len(d.Findings[0].Remedies) > 0 {
		t.Errorf("just below: %s, %+v", d.Answer, d.Findings)
	}
	if !strings.Contains(d.Answer, "Closest to a finding: Busy polling") {
		t.Errorf("just below: %s", d.Answer)
	}
	if d = polls(0.10); len(d.Findings) > 0 {
		t.Errorf("far below: %+v", d.Findings)
	}
	// It comes last, and is dropped if another finding is about channels.
	d = diagnose(cpu(1.99, shares{profile.UserCode: 0.7, profile.SystemCalls: 0.3}))
	if len(d.Findings) != 2 || d.Findings[0].Kind != CPUBound || d.Findings[1].Kind != SystemCallBound || !d.Findings[1].Minor {
		t.Errorf("with others: %+v", d.Findings)
	}
}

// TestDroppingHasNoCliff: dropping sends are reported besides the main cost,
// and the verdict is the same on both sides of their limit.
func TestDroppingHasNoCliff(t *testing.T) {
	offer := at(profile.PollSend, "offer")
	for _, share := range []float64{0.14, 0.16} {
		d := diagnose(cpu(1.9, shares{profile.ChannelWork: share, profile.UserCode: 1 - share}, on{offer, share, 0, 0}))
		last := d.Findings[len(d.Findings)-1]
		if d.Verdict != No || d.Findings[0].Kind != CPUBound || last.Kind != Dropping || last.Minor != (share < 0.15) {
			t.Errorf("at %v: %s, %+v", share, d.Answer, d.Findings)
		}
	}
}

// TestUnknownCores: with an unknown number of cores, shares assume that all are
// in use, with less confidence, and the lower end of a gain does too.
func TestUnknownCores(t *testing.T) {
	known := diagnose(pipelineService...).found(TransferCost)
	unknown := diagnose(append(slices.Clone(pipelineService), func(c *profile.Capture) { c.GOMAXPROCS, c.CPUs = 0, 0 })...).found(TransferCost)
	if known.Confidence != High || unknown.Confidence != Medium {
		t.Errorf("known: %s, unknown: %s", known.Confidence, unknown.Confidence)
	}
	if !strings.Contains(unknown.Evidence[len(unknown.Evidence)-1].Text, "GOMAXPROCS") {
		t.Errorf("not reported: %+v", unknown.Evidence)
	}
	if u, k := unknown.Best().Gain, known.Best().Gain; u.High > k.High || u.Mid >= k.Mid || u.Low >= k.Low {
		t.Errorf("gain from unknown idle cores: %s, %s", unknown.Best().Gain, known.Best().Gain)
	}
}

// TestStagesThatSelect: stages that select on a channel and a context have a
// transfer cost; a select with nearly all the cost has many cases, judging by
// its cost per value.
func TestStagesThatSelect(t *testing.T) {
	first, second, third := at(profile.Select, "read"), at(profile.Select, "parse"), at(profile.Select, "render")
	stages := cpu(1.1, shares{profile.ChannelWork: 0.6, profile.AfterPark: 0.2, profile.UserCode: 0.2},
		on{first, 0.22, 0, 0.1}, on{second, 0.2, 0, 0.1}, on{third, 0.18, 0, 0.1})
	if d := diagnose(stages, metrics(0, 200_000), goroutinesAt(in(first, 1, 0), in(second, 1, 1), in(third, 1, 1))); d.found(LargeSelect) != nil || d.found(TransferCost) == nil {
		t.Errorf("stages: %s", d.Answer)
	}
	hub := cpu(1.1, shares{profile.ChannelWork: 0.8, profile.UserCode: 0.2}, on{choose, 0.8, 0, 0})
	for _, test := range []struct {
		wakeups float64
		want    bool
	}{{500_000, true}, {3_200_000, false}} { // 1760 and 275 ns each
		d := diagnose(hub, metrics(0, test.wakeups), goroutinesAt(in(choose, 1, 0)))
		if f := d.found(LargeSelect); (f != nil) != test.want {
			t.Errorf("%v values per second: %s", test.wakeups, d.Answer)
		}
	}
}

// TestRequestIsNoPump: sends and receives of one goroutine are not the two ends
// of a forwarding goroutine.
func TestRequestIsNoPump(t *testing.T) {
	ask, answer := at(profile.Send, "ask"), at(profile.Receive, "ask")
	between := func(to profile.Site) *Diagnosis {
		return diagnose(cpu(1.1, shares{profile.ChannelWork: 0.6, profile.AfterPark: 0.2, profile.UserCode: 0.2},
			on{choose, 0.3, 0, 0.1}, on{ask, 0.2, 0, 0.1}, on{to, 0.1, 0, 0.1}), goroutinesAt(in(choose, 1, 1), in(ask, 1, 0)))
	}
	if d := between(answer); d.found(Pump) != nil {
		t.Errorf("found %s", d.Answer)
	}
	if d := between(receive); d.found(Pump) == nil {
		t.Errorf("between two others: %s", d.Answer)
	}
}

// TestDoneOrValues: if plain operations wait for locks too, the contended
// channel is the one with the values.
func TestDoneOrValues(t *testing.T) {
	offer := at(profile.Select, "offer")
	of := func(lock float64) *Diagnosis {
		return diagnose(cpu(1.8, shares{profile.ChannelWork: 0.5 - lock, profile.ChannelLock: 0.4 + lock, profile.UserCode: 0.1},
			on{offer, 0.6, 0.4, 0}, on{receive, 0.3, lock, 0}), metrics(0.2, 100_000), goroutinesAt(in(offer, 48, 2), in(receive, 1, 0)))
	}
	if d := of(0.02); d.found(SharedDone) == nil {
		t.Errorf("only selects wait: %s", d.Answer)
	}
	if d := of(0.2); d.found(LockContention) == nil || d.found(SharedDone) != nil {
		t.Errorf("all wait: %s", d.Answer)
	}
}

// TestRoom: if goroutines rarely park, the channel has enough slots.
func TestRoom(t *testing.T) {
	for _, test := range []struct {
		parked float64
		want   bool
	}{{0.085, false}, {0.087, true}} {
		d := diagnose(cpu(1.9, shares{profile.ChannelWork: 0.5, profile.AfterPark: test.parked, profile.UserCode: 0.5 - test.parked},
			on{send, 0.25, 0, 0.001}, on{receive, 0.25, 0, 0.001}), goroutinesAt(in(send, 1, 0), in(receive, 1, 0)))
		f := d.found(TransferCost)
		has := slices.ContainsFunc(f.Remedies, func(r Remedy) bool { return r.Name == Buffer })
		ruled := slices.ContainsFunc(f.RuledOut, func(n RuledOut) bool { return n.Name == Buffer })
		if has != test.want || ruled == test.want {
			t.Errorf("%v after parks: %+v, ruled out %+v", test.parked, f.Remedies, f.RuledOut)
		}
	}
}

// TestStarved: a service that computes and has runnable goroutines but does not
// get the cores is not idle. Goroutines in a hand-off are runnable for moments.
func TestStarved(t *testing.T) {
	able := func(n int) part {
		return func(c *profile.Capture) {
			goroutinesAt()(c)
			c.Goroutines.States = map[string]int{"runnable": n, "running": 1}
		}
	}
	computing := shares{profile.UserCode: 0.61, profile.Scheduling: 0.39}
	for name, test := range map[string]struct {
		parts []part
		want  bool
	}{
		"half a core of two": {[]part{cpu(0.4, computing), able(4)}, true},
		"more, not all":      {[]part{cpu(1.3, computing), able(4)}, true},
		"one too few":        {[]part{cpu(0.4, computing), able(3)}, false},
		"nearly all cores":   {[]part{cpu(1.5, computing), able(4)}, false},
		"in hand-offs":       {[]part{cpu(0.4, shares{profile.UserCode: 0.59}), able(4)}, false},
		"below the floor":    {[]part{cpu(0.09, computing), able(4)}, false},
		"goroutines unknown": {[]part{cpu(0.4, computing)}, false},
		"cores unknown":      {[]part{cpu(0.4, computing), able(4), func(c *profile.Capture) { c.GOMAXPROCS, c.CPUs = 0, 0 }}, false},
	} {
		d := diagnose(test.parts...)
		if got := strings.Contains(d.Answer, "were runnable but not running"); got != test.want || test.want && strings.Contains(d.Answer, "Too little load") {
			t.Errorf("%s: %s", name, d.Answer)
		}
	}
}
