package doctor

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// glimpsed adds a glimpse of a tenth of a second, and GOMAXPROCS 2.
func glimpsed(running, runnable float64, wakeups int64, sites ...profile.TraceSite) part {
	return func(c *profile.Capture) {
		c.GOMAXPROCS = 2
		c.Glimpse = &profile.Trace{Window: time.Second / 10, Running: secs(running / 10), Runnable: secs(runnable / 10), Wakeups: wakeups, Sites: sites}
	}
}

// awake sets the goroutines that run at the start and at the end.
func awake(before, after int) part {
	return func(c *profile.Capture) {
		c.Goroutines.GrowthKnown, c.Goroutines.AwakeBefore, c.Goroutines.Awake = true, before, after
	}
}

// A service that gets fewer cores than its goroutines need is not one with too
// little to do.
func TestCPULimit(t *testing.T) {
	limited := cpu(0.3, shares{profile.UserCode: 0.97, profile.ChannelWork: 0.03}, on{send, 0.03, 0, 0})
	senders := goroutinesAt(in(send, 8, 0))
	for name, c := range map[string]struct {
		parts []part
		want  bool
	}{
		"a quota":                  {[]part{limited, senders, awake(1, 1), glimpsed(1.2, 2, 0)}, true},
		"at rest at the start":     {[]part{limited, senders, awake(0, 1), glimpsed(1.2, 2, 0)}, false},
		"at rest at the end":       {[]part{limited, senders, awake(1, 0), glimpsed(1.2, 2, 0)}, false},
		"at rest in the glimpse":   {[]part{limited, senders, awake(1, 1), glimpsed(0.1, 0, 0)}, false},
		"it gets all it asks for":  {[]part{limited, senders, awake(1, 1), glimpsed(0.5, 0, 0)}, false},
		"one computing goroutine":  {[]part{cpu(0.95, shares{profile.UserCode: 1}), senders, awake(1, 1), glimpsed(1.1, 0, 0)}, false},
		"no glimpse and no metric": {[]part{limited, senders, awake(1, 1)}, false},
	} {
		d := diagnose(c.parts...)
		f := d.found(CPULimit)
		if (f != nil) != c.want {
			t.Errorf("%s: found %+v, %s", name, f, d.Answer)
		}
		if c.want && (d.Verdict != No || strings.Contains(d.Answer, "healthy") || strings.Contains(d.Answer, "oo little") || !strings.Contains(evidence(f), "goroutines ran and")) {
			t.Errorf("%s: verdict %s: %s", name, d.Verdict, d.Answer)
		}
	}
}

// On a CPU limit, channels that take much of the CPU time are still a problem:
// the limit slows all work alike.
func TestHotOnALimit(t *testing.T) {
	hot := cpu(0.3, shares{profile.ChannelWork: 0.4, profile.ChannelLock: 0.3, profile.UserCode: 0.3}, on{send, 0.5, 0.3, 0}, on{receive, 0.2, 0, 0})
	d := diagnose(hot, goroutinesAt(in(send, 64, 2)), awake(2, 2), glimpsed(1.5, 3, 0))
	if d.Verdict != Yes || d.Findings[0].Kind != LockContention || d.found(CPULimit) == nil {
		t.Fatalf("verdict %s: %s", d.Verdict, d.Answer)
	}
	f := d.found(LockContention)
	if f == nil || f.Best() == nil || f.Best().Gain.Mid < worthIt {
		t.Errorf("%+v", f)
	}
}

// Where all waiters of a lock were just woken, a glimpse shows what they wait
// for.
func TestLocksInGlimpse(t *testing.T) {
	lock := at(profile.Lock, "put")
	base := cpu(1, shares{profile.UserCode: 1})
	for _, c := range []struct {
		parks int64
		mean  float64
		want  bool
	}{{manyWakeups, 4, true}, {manyWakeups - 1, 4, false}, {manyWakeups, 0.5, false}} {
		site := profile.TraceSite{Site: lock, Parks: c.parks, Waited: secs(c.mean / 10)}
		f := diagnose(base, goroutinesAt(), awake(1, 1), glimpsed(1, 5, 0, site)).found(SyncMutex)
		if (f != nil) != c.want || f != nil && !strings.Contains(evidence(f), "in a short trace") {
			t.Errorf("%d parks, %v waiting: %+v", c.parks, c.mean, f)
		}
	}
}

// A gain on a CPU limit is wider, because it is from few samples.
func TestGainOnALimit(t *testing.T) {
	hot := func(cores float64) part {
		return cpu(cores, shares{profile.ChannelWork: 0.8, profile.UserCode: 0.2}, on{send, 0.4, 0, 0.1}, on{receive, 0.4, 0, 0.1})
	}
	limited := []part{hot(0.3), goroutinesAt(in(send, 1, 0), in(receive, 1, 0)), awake(1, 1)}
	f := factsOf(append(limited, glimpsed(1, 1, 0))...)
	if samples := f.cpu * 0.2 / f.capture.CPU.Period.Seconds(); !f.squeezed || samples < 1 {
		t.Fatalf("squeezed %v, %v samples", f.squeezed, samples)
	} else {
		roughly(t, "error", f.ownError(), 1/math.Sqrt(samples))
	}
	if f := factsOf(hot(1)); f.ownError() != 0 {
		t.Errorf("without a limit: %v", f.ownError())
	}
}

// Without metrics, a glimpse gives the rate of wake-ups, if it has enough.
func TestGlimpsedWakeups(t *testing.T) {
	base := cpu(1, shares{profile.UserCode: 1})
	for wakeups, want := range map[int64]float64{manyWakeups: 10 * manyWakeups, manyWakeups - 1: 0} {
		if got := value(diagnose(base, glimpsed(1, 0, wakeups)).Shares.Wakeups); got != want {
			t.Errorf("%d wake-ups: %v per second, want %v", wakeups, got, want)
		}
	}
	if got := value(diagnose(base, metrics(0, 5000), glimpsed(1, 0, 1000)).Shares.Wakeups); got != 5000 {
		t.Errorf("with metrics: %v per second", got)
	}
}

// Parks in a glimpse separate parks on channels from others.
func TestGlimpsedParks(t *testing.T) {
	base := cpu(1, shares{profile.ChannelWork: 0.3, profile.AfterPark: 0.2, profile.UserCode: 0.5}, on{send, 0.3, 0, 0.1})
	sites := func(channels, others int64) part {
		return glimpsed(1, 0, 0, profile.TraceSite{Site: send, Parks: channels}, profile.TraceSite{Site: sink, Parks: others})
	}
	f := factsOf(base, sites(75, 25))
	if !strings.Contains(f.parkBasis, "short trace") {
		t.Fatalf("separated %s", f.parkBasis)
	}
	roughly(t, "after parks on channels", f.parked, f.capture.CPU.By[profile.AfterPark].Seconds()*0.75)
	if f := factsOf(base, sites(74, 25)); strings.Contains(f.parkBasis, "trace") {
		t.Errorf("99 parks: separated %s", f.parkBasis)
	}
}

// Goroutines in sync.Mutex.Lock at both ends of the window are contention,
// whether or not there are metrics and a mutex profile.
func TestLocksInTexts(t *testing.T) {
	lock := at(profile.Lock, "put")
	base := cpu(1.5, shares{profile.UserCode: 0.85, profile.Locking: 0.15})
	waiting := func(now, earlier int) part {
		return func(c *profile.Capture) {
			s := in(lock, now, now)
			s.Earlier = earlier
			goroutinesAt(s)(c)
			c.Goroutines.GrowthKnown = true
			c.Goroutines.States = map[string]int{"sync.Mutex.Lock": now}
		}
	}
	d := diagnose(base, waiting(30, 28), glimpsed(1.5, 0, 0))
	f := d.found(SyncMutex)
	if f == nil || f.At == nil || f.At.Function != lock.At.Function || d.Verdict != No || !strings.Contains(d.Answer, "wait to lock it at") {
		t.Fatalf("%+v, %s", f, d.Answer)
	}
	for name, none := range map[string]part{"a single one": waiting(1, 1), "not at the start": waiting(30, 0), "not at the end": waiting(0, 30)} {
		if f := diagnose(base, none, glimpsed(1.5, 0, 0)).found(SyncMutex); f != nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// Without GOMAXPROCS, a stage with waiting senders is slow if one more core
// would help, and two ends that wait in turns are in lockstep: a service has
// probably more cores than it uses.
func TestUnknownRoom(t *testing.T) {
	unknown := func(c *profile.Capture) { c.GOMAXPROCS, c.CPUs = 0, 0 }
	encoder := staged(stagePart{"(*Bus).Put", 8, 0.02, 0.01}, stagePart{"consume", 1, 0.97, 0})
	computing := cpu(1.05, shares{profile.UserCode: 0.99, profile.ChannelWork: 0.01}, on{send, 0.01, 0, 0})
	d := diagnose(computing, goroutinesAt(in(send, 8, 8)), encoder, unknown)
	f := d.found(SlowStage)
	if f == nil || d.Verdict != No || d.Findings[0].Kind != SlowStage || f.Best().Name != MoreReceivers || f.Best().Gain.Mid < 1.3 {
		t.Fatalf("%+v, %s", f, d.Answer)
	}
	if !strings.Contains(evidence(f), "probably 2 or more") {
		t.Errorf("%+v", f.Evidence)
	}
	alone := staged(stagePart{"(*Bus).Put", 1, 0.02, 0.01}, stagePart{"consume", 1, 0.97, 0})
	if f := diagnose(computing, goroutinesAt(in(send, 1, 1)), alone, unknown).found(SlowStage); f != nil {
		t.Errorf("one sender: %+v", f)
	}
	if f := diagnose(cpu(1.9, shares{profile.UserCode: 0.99, profile.ChannelWork: 0.01}, on{send, 0.01, 0, 0}), goroutinesAt(in(send, 8, 8)), encoder, unknown).found(SlowStage); f != nil {
		t.Errorf("as many cores in use as are certain: %+v", f)
	}
	turns := cpu(1.4, shares{profile.ChannelWork: 0.05, profile.AfterPark: 0.03, profile.UserCode: 0.92}, on{send, 0.03, 0, 0.01}, on{receive, 0.02, 0, 0.01})
	if f := diagnose(turns, goroutinesAt(in(send, 1, 1), in(receive, 1, 1)), unknown).found(Lockstep); f == nil || f.Confidence != Low {
		t.Errorf("lockstep: %+v", f)
	}
}

// A service whose cores are unknown is not called healthy.
func TestNotHealthy(t *testing.T) {
	for procs, healthy := range map[int]bool{2: true, 0: false} {
		d := diagnose(cpu(1.9, shares{profile.UserCode: 1}), func(c *profile.Capture) { c.GOMAXPROCS, c.CPUs = procs, 0 })
		if f := d.found(CPUBound); f == nil || strings.Contains(d.Answer, "healthy") != healthy {
			t.Errorf("GOMAXPROCS %d: %s", procs, d.Answer)
		}
	}
}

// "Not the problem" without any finding is said only if what was seen excludes
// it: cores are in use, or no goroutine waits to send.
func TestExcluded(t *testing.T) {
	calm := func(cores float64) part {
		return cpu(cores, shares{profile.UserCode: 0.55, profile.SystemCalls: 0.2, profile.OtherRuntime: 0.2, profile.ChannelWork: 0.05}, on{send, 0.05, 0, 0})
	}
	for name, c := range map[string]struct {
		parts []part
		want  Verdict
		says  string
	}{
		"no sender waits":         {[]part{calm(1.2), goroutinesAt(in(receive, 3, 3))}, No, "nothing else stands out"},
		"a sender waits":          {[]part{calm(1.2), goroutinesAt(in(send, 1, 1))}, Undetermined, "Nothing found in what this service shows: channels take 5% of CPU time on 1.20 of 2 cores, and 1 goroutine is in a send or a select."},
		"what would show more":    {[]part{calm(1.2), goroutinesAt(in(send, 2, 2))}, Undetermined, "More would show in a trace (-trace), with who waits for whom, or in a page with runtime/metrics"},
		"beside metrics":          {[]part{calm(1.2), goroutinesAt(in(send, 2, 2)), metrics(0, 100)}, Undetermined, "More would show in a trace (-trace), with who waits for whom."},
		"the cores are in use":    {[]part{calm(1.7), goroutinesAt(in(send, 2, 2))}, No, "nothing else stands out"},
		"the cores are not known": {[]part{calm(1.7), goroutinesAt(in(send, 2, 2)), func(c *profile.Capture) { c.GOMAXPROCS, c.CPUs = 0, 0 }}, Undetermined, "Nothing found in what this service shows"},
	} {
		if d := diagnose(c.parts...); d.Verdict != c.want || !strings.Contains(d.Answer, c.says) {
			t.Errorf("%s: %s, %s, want %s and %q", name, d.Verdict, d.Answer, c.want, c.says)
		}
	}
	// Too little load, with goroutines in a send.
	if d := diagnose(calm(0.3), goroutinesAt(in(send, 2, 2))); d.Verdict != Idle || !strings.Contains(d.Answer, "2 goroutines are in a send") {
		t.Errorf("%s: %s", d.Verdict, d.Answer)
	}
}

// No command is the one that was just run, or asks for what the service refused.
func TestCommandsShowMore(t *testing.T) {
	d := diagnose(cpu(1, shares{profile.UserCode: 1}), func(c *profile.Capture) {
		c.GOMAXPROCS, c.CPUs = 0, 0
		c.Missing = []profile.Missing{{Kind: profile.KindGlimpse, Reason: "status 404"}}
	})
	for _, u := range d.Unknown {
		if strings.Contains(u.Command, "-trace") || u.Command == "sluice doctor localhost:6060" {
			t.Errorf("%+v", u)
		}
	}
	if f := factsOf(func(c *profile.Capture) { c.Window = 45 * time.Second }); f.longer(30) != "-seconds 90 " || f.longer(200) != "-seconds 200 " {
		t.Errorf("after 45 s: %s", f.longer(30))
	}
}
