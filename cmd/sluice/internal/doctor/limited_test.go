package doctor

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// fixture opens a capture of a service in testdata.
func fixture(t *testing.T, service, name string) *profile.Capture {
	t.Helper()
	capture, err := profile.Open(filepath.Join("testdata", service, name))
	if err != nil {
		t.Fatal(err)
	}
	return capture
}

// starvedBy opens a capture of an audit service on a machine whose two cores 25 to
// 50 other processes used: 32 senders, an unbuffered channel, and one goroutine that
// marshals and hashes each record.
func starvedBy(t *testing.T, name string) *profile.Capture { return fixture(t, "starved", name) }

// TestStarvedCaptures: a service that other processes keep from running is not
// idle, and no gain counts on the cores that they have.
func TestStarvedCaptures(t *testing.T) {
	const next = "The next limit is main.(*audit).run, 1 goroutine with "
	for name, want := range map[string]struct {
		verdict Verdict
		answer  string
		next    string
		kinds   []Kind
	}{
		"few-samples": {Undetermined, "Too little CPU time to tell whether channels are a problem: 16 samples in the CPU profile, below the minimum of 30. The service gets 0.03 cores and needs more",
			"then observe it again", []Kind{CPULimit}},
		"below-the-floor":     {No, "Channels are not the problem. The service gets 0.07 cores and needs more", next + "46% of the CPU time (json.Marshal 29% and sha256.Sum256 7%)", []Kind{CPULimit, SystemCallBound}},
		"enough":              {No, "Channels are not the problem. The service gets 0.30 cores and needs more", "Who waits for whom: sluice doctor -trace http://localhost:6060/debug/pprof/", []Kind{CPULimit, SystemCallBound}},
		"traced-lockstep":     {No, "Channels are not the problem. The service gets 0.64 cores and needs more", "wait for it in send at main.(*audit).serve (main.go:42)", []Kind{CPULimit, Backpressure, SystemCallBound}},
		"traced-backpressure": {No, "Channels are not the problem. The service gets 0.37 cores and needs more", "wait for it in send at main.(*audit).serve (main.go:42)", []Kind{CPULimit, Backpressure, SystemCallBound}},
	} {
		d := Diagnose(starvedBy(t, name), Reference())
		var kinds []Kind
		for i := range d.Findings {
			if found := &d.Findings[i]; !found.Minor {
				kinds = append(kinds, found.Kind)
			}
		}
		limit := d.found(CPULimit)
		if d.Verdict != want.verdict || !strings.HasPrefix(d.Answer, want.answer) || !slices.Equal(kinds, want.kinds) || limit == nil || !strings.Contains(limit.Next, want.next) {
			t.Errorf("%s: %s: %s\nfindings %q, next: %+v", name, d.Verdict, d.Answer, kinds, limit)
			continue
		}
		if s := d.Shares.Starved; s == nil || *s < 9 {
			t.Errorf("%s: starved goroutines %v", name, s)
		}
		var screen, text strings.Builder
		if err := d.WriteSummary(&screen); err != nil {
			t.Fatal(err)
		}
		if err := d.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if flat := strings.Join(strings.Fields(screen.String()), " "); !strings.Contains(flat, "next: "+limit.Next) || strings.Count(screen.String(), "\n") > screenLines {
			t.Errorf("%s: the first screen:\n%s", name, screen.String())
		}
		for _, wrong := range []string{"idle cores", "cores idle", "repeat under load", "waits mostly"} {
			if strings.Contains(text.String(), wrong) {
				t.Errorf("%s says %q:\n%s", name, wrong, text.String())
			}
		}
		if wait := d.found(Backpressure); wait != nil && !strings.Contains(wait.Next, "first the CPU limit; then let more goroutines receive, if values can be processed at the same time, or move its work (json.Marshal 2") {
			t.Errorf("%s: %+v", name, wait)
		}
	}
}

// traced adds a trace of a tenth of a second in which so many goroutines run and
// are ready to.
func traced(running, runnable float64, wakeups int64) part {
	return func(c *profile.Capture) {
		c.Trace = &profile.Trace{Window: time.Second / 10, Running: secs(running / 10), Runnable: secs(runnable / 10), Wakeups: wakeups}
	}
}

// TestCPULimitInTrace: a trace that was taken in addition slows the service, so it
// has to show more than a short one.
func TestCPULimitInTrace(t *testing.T) {
	limited := func(cores float64) part { return cpu(cores, shares{profile.UserCode: 1}) }
	for name, c := range map[string]struct {
		parts []part
		want  bool
	}{
		"other processes":       {[]part{limited(0.6), awake(1, 1), traced(1.5, 9, 0)}, true},
		"slowed by the trace":   {[]part{limited(0.7), awake(1, 1), traced(1.5, 9, 0)}, false},
		"nothing ready to run":  {[]part{limited(0.6), awake(1, 1), traced(1.5, 3.9, 0)}, false},
		"enough ready to run":   {[]part{limited(0.6), awake(1, 1), traced(1.5, 4, 0)}, true},
		"at rest at the start":  {[]part{limited(0.6), awake(0, 1), traced(1.5, 9, 99)}, false},
		"a short trace decides": {[]part{limited(0.6), awake(1, 1), traced(1.5, 9, 0), glimpsed(0.6, 9, 0)}, false},
	} {
		d := diagnose(append([]part{goroutinesAt(in(send, 8, 0))}, c.parts...)...)
		if f := d.found(CPULimit); (f != nil) != c.want || f != nil && evidence(f) == "" {
			t.Errorf("%s: found %+v, %s", name, f, d.Answer)
		}
	}
}

// TestStageAfterLimit: the stage whose goroutines each take most of the CPU time is
// the next limit, if it is one on any machine.
func TestStageAfterLimit(t *testing.T) {
	limit := func(n int, share float64) string {
		return diagnose(cpu(0.3, shares{profile.UserCode: 1}), goroutinesAt(in(send, 8, 0)), awake(1, 1), glimpsed(1.2, 9, 0),
			staged(stagePart{"work", n, share, 0}, stagePart{"feed", 100, 1 - share, 0})).found(CPULimit).Next
	}
	for _, c := range []struct {
		n     int
		share float64
		want  string
	}{
		{1, 0.5, "The next limit is q.work, 1 goroutine with 50% of the CPU time: it computes all the time once the service uses 2.0 cores; more than that takes more goroutines for its work. Who waits"},
		{2, 0.26, "The next limit is q.work, 2 goroutines with 26% of the CPU time: they compute all the time once the service uses 7.7 cores, more than GOMAXPROCS (2) allows. Who waits"},
		{8, 0.4, "The next limit is q.work, 8 goroutines with 40% of the CPU time. Who waits for whom: sluice doctor -trace localhost:6060"},
		{1, 0.24, "The next limit is q.feed, 100 goroutines with 76% of the CPU time. Who waits"},
	} {
		if got := limit(c.n, c.share); !strings.Contains(got, c.want) {
			t.Errorf("%d goroutines with %v: %s", c.n, c.share, got)
		}
	}
}

// TestOneFigureOfChannels: an answer that counts scheduler time says so, because the
// lines below it do not; and cores of other processes are not idle.
func TestOneFigureOfChannels(t *testing.T) {
	hot := []part{
		cpu(0.9, shares{profile.ChannelWork: 0.08, profile.AfterPark: 0.02, profile.Scheduling: 0.05, profile.UserCode: 0.85}, on{send, 0.04, 0, 0.02}, on{receive, 0.04, 0, 0.02}),
		goroutinesAt(in(send, 1, 1), in(receive, 1, 1)), woke(profile.Pair{Waker: send, Sleeper: receive, Count: 50_000}, profile.Pair{Waker: receive, Sleeper: send, Count: 50_000}),
	}
	f := factsOf(hot...)
	own, all := f.channelCPU(), f.bound(&Finding{Kind: Lockstep})
	if own < 0.09 || own > 0.11 || !strings.HasPrefix(all, "Channels take 10% of CPU time, or ") || !strings.Contains(all, " with scheduler time that may be theirs, and 1.10 cores idle while") {
		t.Errorf("channels %v: %s", own, all)
	}
	lent := func(c *profile.Capture) {
		c.Trace.Window, c.Trace.Running, c.Trace.Wakeups = time.Second, 1900*time.Millisecond, 100_000
	}
	if text := factsOf(append(hot, lent)...).bound(&Finding{Kind: Lockstep}); strings.Contains(text, "idle") {
		t.Errorf("beside other processes: %s", text)
	}
}
