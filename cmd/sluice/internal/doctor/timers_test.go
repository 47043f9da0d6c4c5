package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// timersAt are timers created at lines of a function, as parts of CPU time in
// total and in allocation.
func timersAt(function, root string, spent, allocating float64) part {
	return func(c *profile.Capture) {
		total := c.CPU.Total.Seconds()
		c.CPU.Timers = append(c.CPU.Timers, profile.CPUTimers{
			At: profile.Frame{Function: "example.com/q." + function, File: "q.go", Line: 50 + len(c.CPU.Timers)}, Root: "example.com/q." + root,
			Time: secs(spent * total), New: secs(allocating * total),
		})
	}
}

// listener is a service with one core that spends a third of its time creating
// timers.
func listener(more ...part) []part {
	listen := at(profile.Select, "listen")
	return append([]part{
		cpu(1.3, shares{profile.ChannelWork: 0.2, profile.Allocating: 0.2, profile.Collecting: 0.1, profile.UserCode: 0.5},
			on{listen, 0.12, 0, 0}, on{send, 0.08, 0, 0}),
		goroutinesAt(in(listen, 1, 0), in(send, 1, 0)),
		staged(stagePart{"listen", 1, 0.64, 0.12}, stagePart{"(*Bus).Put", 1, 0.06, 0.08}),
	}, more...)
}

// TestTimerPerIteration: timers next to a select of the same function are
// reported, with their garbage collection and the gain that one timer gave a
// similar service.
func TestTimerPerIteration(t *testing.T) {
	d := diagnose(listener(timersAt("listen", "listen", 0.24, 0.15), timersAt("listen", "listen", 0.1, 0.05))...)
	f := &d.Findings[0]
	if d.Verdict != Yes || f.Kind != TimerPerIteration || f.At.Function != "example.com/q.listen" || f.At.Op != profile.Select || f.Confidence != High {
		t.Fatalf("verdict %s: %s", d.Verdict, d.Answer)
	}
	if !strings.Contains(f.Text, "at q.listen (q.go:50), for the select at q.listen") {
		t.Error(f.Text)
	}
	if text := evidence(f); !strings.Contains(text, "34% of CPU time creates timers there, and about 10% collects them") {
		t.Error(text)
	}
	const measured = 1.47
	if best := f.Best(); best.Name != ReuseTimer || best.Gain.Low > measured || best.Gain.High < measured || best.Gain.Mid < worthIt {
		t.Errorf("%+v", best)
	}
}

// TestTimersElsewhere: timers without a select in the same function are not
// reported, nor are few timers.
func TestTimersElsewhere(t *testing.T) {
	for name, test := range map[string]struct {
		timers part
		want   bool
	}{
		"here":               {timersAt("listen", "listen", 0.34, 0.2), true},
		"in another":         {timersAt("elsewhere", "listen", 0.34, 0.2), false},
		"at a send":          {timersAt("(*Bus).Put", "listen", 0.34, 0.2), false},
		"few":                {timersAt("listen", "listen", 0.149, 0), false},
		"enough":             {timersAt("listen", "listen", 0.151, 0), true},
		"few, and collected": {timersAt("listen", "listen", 0.10, 0.10), true}, // half of the garbage collection
		"fewer":              {timersAt("listen", "listen", 0.09, 0.09), false},
	} {
		if f := diagnose(listener(test.timers)...).found(TimerPerIteration); (f != nil) != test.want {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := diagnose(append(listener(timersAt("listen", "listen", 0.34, 0.2)), cpu(0.3, shares{profile.UserCode: 1}))...).found(TimerPerIteration); f != nil {
		t.Errorf("lightly loaded service: %+v", f)
	}
}

// TestCostliestTimers are named, whatever the lines of another function cost.
func TestCostliestTimers(t *testing.T) {
	other := at(profile.Select, "other")
	also := func(c *profile.Capture) {
		c.CPU.Sites = append(c.CPU.Sites, profile.CPUSite{Site: other, Time: secs(1)})
	}
	d := diagnose(listener(also, timersAt("other", "other", 0.17, 0), timersAt("listen", "listen", 0.1, 0), timersAt("listen", "listen", 0.1, 0))...)
	if f := d.found(TimerPerIteration); f == nil || f.At.Function != "example.com/q.listen" || !strings.Contains(f.Text, "q.go:51") {
		t.Errorf("%+v", f)
	}
}

// TestTimersAndCollector: allocation and collection of timers do not count as a
// garbage collection problem; the rest may.
func TestTimersAndCollector(t *testing.T) {
	of := func(collecting, allocating, forTimers float64) *Diagnosis {
		listen := at(profile.Select, "listen")
		return diagnose(cpu(1.3, shares{profile.ChannelWork: 0.1, profile.Allocating: allocating, profile.Collecting: collecting, profile.UserCode: 0.9 - allocating - collecting},
			on{listen, 0.1, 0, 0}), goroutinesAt(in(listen, 1, 0)), timersAt("listen", "listen", forTimers+0.1, forTimers))
	}
	if d := of(0.3, 0.3, 0.3); d.found(GarbageCollection) != nil || d.found(TimerPerIteration) == nil {
		t.Errorf("all of it for timers: %s", d.Answer)
	}
	if d := of(0.3, 0.3, 0.03); d.found(GarbageCollection) == nil || d.found(TimerPerIteration) == nil {
		t.Errorf("a tenth of it for timers: %s", d.Answer)
	}
	// 0.75 minus a third is at the limit.
	if d := of(0.375, 0.375, 0.127); d.found(GarbageCollection) != nil {
		t.Errorf("just below: %s", d.Answer)
	}
	if d := of(0.375, 0.375, 0.123); d.found(GarbageCollection) == nil {
		t.Errorf("just above: %s", d.Answer)
	}
}

// TestTimerGain: the goroutine that creates the timers fills one core, which is
// the limit; Reset costs a fifth of a timer at best and half at worst.
func TestTimerGain(t *testing.T) {
	f := factsOf(listener(timersAt("listen", "listen", 0.34, 0))...)
	g := f.timerGain(f.timersOf()[0], 0.34)
	// One core, of which 0.988 were in use and 0.442 for timers.
	roughly(t, "the upper end", g.High, 1/(0.988-0.8*0.442)*1.2)
	usable := 1.3 + wokenIdle*0.7
	floor, ceiling := usable/(1.3-0.5*0.442), 1/(0.988-0.8*0.442)
	if floor < ceiling {
		roughly(t, "the lower end", g.Low, floor*0.8*0.9)
	} else {
		roughly(t, "the lower end", g.Low, ceiling*0.8*0.9)
	}
	unknown := factsOf(append(listener(timersAt("listen", "listen", 0.34, 0)), func(c *profile.Capture) { c.Window, c.CPU.Window = 0, 0 })...)
	g = unknown.timerGain(unknown.timersOf()[0], 0.34)
	roughly(t, "the upper end where the window is not known", g.High, 1/(1-0.8*0.34)*1.2)
}
