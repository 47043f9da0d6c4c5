package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// starved returns two readings of runtime/metrics between which on average n
// goroutines waited for a core, for the given time each.
func starved(n float64, each time.Duration) part {
	return func(c *profile.Capture) {
		metrics(0, 0)(c)
		counts := []uint64{800, 0}
		for _, r := range []*profile.Reading{c.Metrics.Before, c.Metrics.After} {
			r.Histograms["/sched/latencies:seconds"] = profile.Histogram{Counts: counts, Bounds: []float64{0, each.Seconds(), 1}}
			counts = []uint64{800, uint64(n * watched.Seconds() / each.Seconds() / 8)}
		}
	}
}

// TestStarvation: a lightly loaded service that may be starved of CPU gets
// findings from its CPU shares, but no verdict.
func TestStarvation(t *testing.T) {
	const how = "behavior with enough CPU"
	spent := shares{profile.ChannelWork: 0.2, profile.ChannelLock: 0.8}
	little := shares{profile.ChannelWork: 0.1, profile.UserCode: 0.9} // more is a finding at any load: TestLight
	for name, test := range map[string]struct {
		cores   float64
		waits   part
		verdict Verdict
		said    bool
	}{
		"little load":           {0.35, metrics(0, 0), Idle, false},
		"starved":               {0.35, starved(0.11, time.Millisecond), Undetermined, true},
		"hardly":                {0.35, starved(0.09, time.Millisecond), Idle, false},
		"short waits":           {0.35, starved(0.9, 100*time.Microsecond), Idle, false},
		"almost no CPU":         {0.07, starved(0.9, 5*time.Millisecond), Undetermined, true},
		"too little for shares": {0.01, starved(0.9, 5*time.Millisecond), Undetermined, true},
		"enough CPU":            {0.55, starved(5, time.Millisecond), Yes, false},
		"one reading":           {0.35, onlyAfter(starved(0.9, time.Millisecond)), Idle, false},
		"almost no load":        {0.07, metrics(0, 0), Idle, false},
		"no histogram bounds":   {0.35, unbounded(starved(0.9, time.Millisecond)), Idle, false},
	} {
		costs := cpu(test.cores, spent, on{send, 0.9, 0.8, 0}, on{receive, 0.1, 0, 0})
		if test.verdict == Idle {
			costs = cpu(test.cores, little, on{send, 0.1, 0, 0})
		}
		d := diagnose(costs, test.waits)
		said := ""
		for _, u := range d.Unknown {
			if strings.HasPrefix(u.What, how) {
				said = u.What
			}
		}
		if d.Verdict != test.verdict || (d.Shares.Starved != nil) != test.said || (said != "") != test.said || test.said && !strings.Contains(said, "a CPU limit or other processes hold it back, or its work comes in bursts") {
			t.Errorf("%s: verdict %s, %q; want %s\n%s", name, d.Verdict, said, test.verdict, d.Answer)
		}
	}
	// A service that fits no rule is neither healthy nor idle.
	d := diagnose(cpu(0.35, shares{profile.OtherRuntime: 1}), starved(0.9, time.Millisecond))
	const why = "CPU use is too low to tell. The service used 0.35 cores, while on average 0.90 of its goroutines waited a millisecond or longer for one"
	if d.Verdict != Undetermined || !strings.HasPrefix(d.Answer, why) {
		t.Errorf("verdict %s: %s", d.Verdict, d.Answer)
	}
	// Findings from states and waits do not depend on CPU use.
	outside := goroutinesAt(in(send, 4, 4), in(sink, 1, 1))
	for _, waits := range []part{metrics(0, 0), starved(0.9, time.Millisecond)} {
		if d := diagnose(cpu(0.03, shares{profile.UserCode: 1}), waits, outside); d.Verdict != No {
			t.Errorf("waiting for I/O: verdict %s: %s", d.Verdict, d.Answer)
		}
	}
	// Without a window, CPU use is unknown.
	d = diagnose(cpu(2, spent), starved(0.9, time.Millisecond), func(c *profile.Capture) { c.CPU.Window = 0 })
	if d.Shares.Starved != nil || strings.Contains(d.Answer, "used 0 cores") {
		t.Errorf("unknown window: %s", d.Answer)
	}
	// A remedy cannot use cores that other processes have.
	d = diagnose(cpu(0.35, spent, on{send, 0.9, 0.8, 0}, on{receive, 0.1, 0, 0}), starved(0.9, time.Millisecond))
	if !strings.HasSuffix(d.Answer, " Findings from its CPU shares are below.") {
		t.Errorf("verdict %s", d.Answer)
	}
	if f := d.Findings[0]; !strings.Contains(evidence(&f), "goroutines wait for cores although the service uses few: shares and gains assume that all cores were in use") || f.Confidence == High {
		t.Errorf("%+v", f)
	}
}

func onlyAfter(p part) part {
	return func(c *profile.Capture) {
		p(c)
		c.Metrics.Before = nil
	}
}

func unbounded(p part) part {
	return func(c *profile.Capture) {
		p(c)
		c.Metrics.After.Histograms["/sched/latencies:seconds"] = profile.Histogram{Counts: []uint64{800, 1 << 30}}
	}
}
