package doctor

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// routers are captures of one service: eight feeds send ticks into an unbuffered
// channel, and one router sends each on into one of four more, with a goroutine
// behind each, beside other processes whose load changed from one capture to the
// next. Slots in all five channels gained ×2.2, slots in the first alone nothing, and
// the router's work in the feeds ×1.3.
var routers = []string{"hop", "transfer", "routes", "traced"}

func routed(t *testing.T, name string) *profile.Capture { return fixture(t, "ticks", name) }

// TestRouterIsNoLock: a goroutine that receives from one channel and sends to others
// waits in its sends only, because others queue to send to it. It is no lock.
func TestRouterIsNoLock(t *testing.T) {
	for _, name := range routers {
		if f := Diagnose(routed(t, name), Reference()).found(UsedAsLock); f != nil {
			t.Errorf("%s: %s", name, f.Text)
		}
	}
	// The same without a range loop, and with everything that a lock has but its
	// users: several goroutines that nothing else faces.
	take, pass := at(profile.Receive, "route"), at(profile.Send, "route")
	pass.At.Line += 3
	feed, keep := at(profile.Send, "feed"), at(profile.Receive, "keep")
	spent := cpu(1.6, shares{profile.ChannelWork: 0.6, profile.UserCode: 0.4}, on{take, 0.25, 0, 0.1}, on{pass, 0.25, 0, 0.1}, on{feed, 0.05, 0, 0}, on{keep, 0.05, 0, 0})
	alone := cpu(1.6, shares{profile.ChannelWork: 0.6, profile.UserCode: 0.4}, on{take, 0.30, 0, 0.1}, on{pass, 0.30, 0, 0.1})
	others := woke(profile.Pair{Waker: take, Sleeper: feed, Count: 9000}, profile.Pair{Waker: pass, Sleeper: keep, Count: 6000})
	own := woke(profile.Pair{Waker: take, Sleeper: pass, Count: 9000})
	for name, test := range map[string]struct {
		parts []part
		lock  bool
	}{
		"one goroutine":              {[]part{alone, goroutinesAt(rooted(pass, 1, 1, "route"))}, false},
		"others at the other ends":   {[]part{spent, goroutinesAt(rooted(pass, 8, 6, "route"), in(feed, 8, 6), in(keep, 4, 1))}, false},
		"wakes others":               {[]part{alone, goroutinesAt(rooted(pass, 8, 6, "route")), others}, false},
		"its goroutines wake others": {[]part{alone, goroutinesAt(rooted(pass, 8, 6, "route")), own}, true},
		"nothing else faces it":      {[]part{alone, goroutinesAt(rooted(pass, 8, 6, "route"))}, true},
	} {
		if f := diagnose(test.parts...).found(UsedAsLock); (f != nil) != test.lock {
			t.Errorf("%s: found %+v", name, f)
		}
	}
}

// TestBufferForRouter: where a value switches goroutines at both of its channels,
// slots in both are the first remedy, whichever channel costs most, with a trace and
// without.
func TestBufferForRouter(t *testing.T) {
	const measured = 2.2
	const both = "send at main.(*book).feed (main.go:55) and send at main.(*book).route (main.go:64)"
	for _, name := range routers {
		d := Diagnose(routed(t, name), Reference())
		found := &d.Findings[0]
		best := found.Best()
		if d.Verdict != Yes || best == nil || best.Name != Buffer || !strings.Contains(best.How, both) {
			t.Errorf("%s: %s %+v", name, d.Answer, found.Remedies)
			continue
		}
		if best.Gain.Low > measured || best.Gain.High < measured {
			t.Errorf("%s: %s, measured ×%v", name, best.Gain, measured)
		}
		if slices.ContainsFunc(found.RuledOut, func(n RuledOut) bool { return n.Name == Buffer }) {
			t.Errorf("%s: a buffer is ruled out, too: %+v", name, found.RuledOut)
		}
		i := slices.IndexFunc(found.Remedies, func(r Remedy) bool { return r.Name == Batch })
		if i < 0 || !strings.Contains(found.Remedies[i].How, "main.(*book).feed (main.go:55) and main.(*book).route (main.go:64)") || !strings.Contains(found.Remedies[i].How, "the linger of the sender is the longest a value waits") {
			t.Errorf("%s: batches without their lines and their delay: %+v", name, found.Remedies)
		}
	}
}

// TestFirstScreen: the first screen has each remedy of the finding that it names, the
// kind of channel, and what to do about the other findings; what -v adds, and why a
// gain exceeds the channels' share of the CPU time.
func TestFirstScreen(t *testing.T) {
	captures := map[string]*profile.Capture{}
	for _, name := range routers {
		captures[name] = routed(t, name)
	}
	for _, name := range []string{"traced-lockstep", "enough", "few-samples", "traced-long-queue"} {
		captures[name] = starvedBy(t, name)
	}
	for name, capture := range captures {
		d := Diagnose(capture, Reference())
		var b strings.Builder
		if err := d.WriteSummary(&b); err != nil {
			t.Fatal(err)
		}
		screen := b.String()
		flat := strings.Join(strings.Fields(screen), " ")
		main, hidden := d.main(), 0
		for _, r := range main.Remedies {
			if !strings.Contains(flat, string(r.Name)+", throughput "+r.Gain.String()) {
				t.Errorf("%s: no %s %s", name, r.Name, r.Gain)
			}
			if !strings.Contains(flat, r.How) {
				hidden++
			}
		}
		if want := map[int]string{0: "With -v: all evidence", 1: "With -v: 1 more remedy in full, ", 2: "With -v: 2 more remedies in full, "}[hidden]; !strings.Contains(flat, want) {
			t.Errorf("%s: %d remedies are short, and the last line is not %q", name, hidden, want)
		}
		if main.Channel != "" && !strings.Contains(flat, "which channel: "+main.Channel) {
			t.Errorf("%s: no kind of channel", name)
		}
		for _, other := range d.Findings {
			if other.Next != "" && !strings.Contains(flat, strings.TrimSuffix(other.Next, ".")) {
				t.Errorf("%s: the next step of %q is missing", name, other.Kind)
			}
		}
		if d.Verdict == Yes && (!strings.Contains(flat, " cores idle while goroutines wait for each other, ") || !strings.Contains(flat, "so a change to them can gain at most ×")) {
			t.Errorf("%s: two gains, unexplained", name)
		}
		if lines := strings.Count(screen, "\n"); lines > 36 {
			t.Errorf("%s: %d lines", name, lines)
		}
		for line := range strings.Lines(screen) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > textWidth {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		if t.Failed() {
			t.Fatal(screen)
		}
	}
}

// TestTraceKeepsVerdict: a service that other processes keep from running gets the
// same answer with a trace as without one. Here its Ps ran 1.76 goroutines, with 20
// ready to run behind them, and had 0.83 cores.
func TestTraceKeepsVerdict(t *testing.T) {
	d := Diagnose(starvedBy(t, "traced-long-queue"), Reference())
	limit := d.found(CPULimit)
	if d.Verdict != No || limit == nil || d.found(Lockstep) != nil || d.Shares.Starved == nil || !strings.HasPrefix(d.Answer, "Channels are not the problem. The service gets 0.83 cores and needs more") {
		t.Fatalf("%s: %s", d.Verdict, d.Answer)
	}
	if want := "it computes all the time once the service uses 1.9 cores; more than that takes more goroutines for its work"; !strings.Contains(limit.Next, want) {
		t.Errorf("next: %s", limit.Next)
	}
}

// TestQueueOutsideTrace: a trace slows a service, and a queue in it may be due to
// that; one at another moment is not.
func TestQueueOutsideTrace(t *testing.T) {
	for _, c := range []struct {
		cores    float64
		runnable int
		want     bool
	}{{0.85, 4, true}, {0.85, 3, false}, {0.95, 4, false}, {0.67, 3, true}} {
		parts := []part{cpu(c.cores, shares{profile.UserCode: 1}), goroutinesAt(in(send, 8, 0)), awake(1, 1), traced(1.5, 9, 0),
			func(capture *profile.Capture) { capture.Goroutines.States["runnable"] = c.runnable }}
		if f := diagnose(parts...).found(CPULimit); (f != nil) != c.want {
			t.Errorf("%v cores, %d runnable: found %+v", c.cores, c.runnable, f)
		}
	}
}

// TestNoLockstepBehindQueue: cores do not idle in lockstep while goroutines queue
// for all of them. While many queue, they idle between bursts.
func TestNoLockstepBehindQueue(t *testing.T) {
	turns := cpu(1.2, shares{profile.ChannelWork: 0.05, profile.AfterPark: 0.03, profile.UserCode: 0.92}, on{send, 0.03, 0, 0.01}, on{receive, 0.02, 0, 0.01})
	for _, c := range []struct {
		running, runnable float64
		want              Kind
	}{{1.2, 9, Lockstep}, {1.2, 9.9, Lockstep}, {1.2, 10.1, Bursts}, {1.69, 9, Lockstep}, {1.71, 3.9, Lockstep}, {1.71, 4.1, ""}} {
		queue := func(capture *profile.Capture) {
			woke(profile.Pair{Waker: send, Sleeper: receive, Count: 50_000}, profile.Pair{Waker: receive, Sleeper: send, Count: 50_000})(capture)
			capture.Trace.Running, capture.Trace.Runnable, capture.Trace.Wakeups = secs(c.running), secs(c.runnable), 100_000
		}
		d := diagnose(turns, goroutinesAt(in(send, 1, 1), in(receive, 1, 1)), queue)
		for _, kind := range []Kind{Lockstep, Bursts} {
			if f := d.found(kind); (f != nil) != (kind == c.want) {
				t.Errorf("%v running, %v ready to run: %s: %+v", c.running, c.runnable, kind, f)
			}
		}
		if c.want == Bursts && (d.Verdict != No || !strings.HasPrefix(d.Answer, "Channels are not the problem. The work comes in bursts, so the load may be the limit. In a burst goroutines queue for the cores, 10.1 on average; ")) {
			t.Errorf("%s: %s", d.Verdict, d.Answer)
		}
	}
}
