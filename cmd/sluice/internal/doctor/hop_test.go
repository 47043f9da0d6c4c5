package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestHop: a goroutine that only passes values on can go. One that works, waits
// for a timer or a connection, or is one of many, stays.
func TestHop(t *testing.T) {
	take, pass := at(profile.Select, "(*gate).intake"), at(profile.Send, "(*gate).intake")
	pass.At.Line += 2
	const root = "example.com/q.(*gate).intake"
	gate := func(work float64, goroutines int) []part {
		return []part{
			cpu(1.4, shares{profile.ChannelWork: 0.4, profile.ChannelLock: 0.06, profile.AfterPark: 0.14, profile.UserCode: 0.4},
				on{send, 0.12, 0.02, 0.04}, on{take, 0.12, 0.02, 0.01}, on{pass, 0.12, 0.01, 0.04}, on{receive, 0.1, 0.01, 0.01}),
			metrics(0.01, 900_000),
			func(c *profile.Capture) {
				for i := range c.CPU.Sites {
					if s := &c.CPU.Sites[i]; s.At.Function == root {
						s.Roots = []string{root}
					}
				}
			},
			goroutinesAt(in(send, 3, 1), in(receive, 1, 0)),
			staged(stagePart{"(*gate).intake", goroutines, work, 0.24}),
		}
	}
	asleep := func(c *profile.Capture) {
		for i := range c.Goroutines.Sites {
			if s := &c.Goroutines.Sites[i]; s.Root == root {
				s.Op = profile.Sleep
			}
		}
	}
	timed := func(c *profile.Capture) {
		c.CPU.Timers = []profile.CPUTimers{{At: take.At, Root: root, Time: secs(0.1)}}
	}
	elsewhere := woke(profile.Pair{Waker: send, Sleeper: receive, Count: 9000})
	for name, test := range map[string]struct {
		parts        []part
		found, gives bool
	}{
		"passes on":                {gate(0.02, 1), true, true},
		"works":                    {gate(0.10, 1), false, false},
		"one of many":              {gate(0.02, 3), false, false},
		"sleeps":                   {append(gate(0.02, 1), asleep), true, false},
		"waits for a timer":        {append(gate(0.02, 1), timed), true, false},
		"feeds another in a trace": {append(gate(0.02, 1), elsewhere), false, false},
		"seen in a trace":          {append(gate(0.02, 1), woke(profile.Pair{Waker: send, Sleeper: take, Count: 9000}, profile.Pair{Waker: pass, Sleeper: receive, Count: 9000})), true, true},
	} {
		d := diagnose(test.parts...)
		f := d.found(Hop)
		if (f != nil) != test.found {
			t.Errorf("%s: %s", name, d.Answer)
			continue
		}
		if f == nil {
			continue
		}
		var hop *Remedy
		for i := range f.Remedies {
			if f.Remedies[i].Name == RemoveHop {
				hop = &f.Remedies[i]
			}
		}
		if (hop != nil) != test.gives || hop != nil && (hop.Gain.Low > 1.22 || hop.Gain.High < 1.22) {
			t.Errorf("%s: %+v, ruled out %+v", name, f.Remedies, f.RuledOut)
		}
		if d.Verdict != Yes || !strings.Contains(d.Answer, "A hop that can go: q.(*gate).intake does little else than receive (line 14) and send on (line 16).") {
			t.Errorf("%s: %s", name, d.Answer)
		}
		if seen := strings.Contains(name, "seen"); seen != (f.Confidence == High) {
			t.Errorf("%s: confidence %s", name, f.Confidence)
		}
	}
}

// TestHopBeside: a goroutine that only feeds the function that started it can go,
// if that function does little else.
func TestHopBeside(t *testing.T) {
	scan, take := at(profile.Send, "read.func1"), at(profile.Select, "read")
	of := func(work float64, goroutines int, parts ...part) *Diagnosis {
		return diagnose(append([]part{
			cpu(1.9, shares{profile.ChannelWork: 0.2, profile.ChannelLock: 0.04, profile.AfterPark: 0.06, profile.UserCode: 0.4, profile.SystemCalls: 0.3},
				on{take, 0.12, 0.02, 0.02}, on{scan, 0.08, 0.01, 0.03}, on{receive, 0.03, 0.01, 0}),
			metrics(0.01, 300_000),
			func(c *profile.Capture) {
				for i := range c.CPU.Sites[:2] {
					c.CPU.Sites[i].Roots = []string{c.CPU.Sites[i].At.Function}
				}
			},
			goroutinesAt(in(scan, 8, 1), in(take, goroutines, goroutines), in(receive, 1, 0)),
			staged(stagePart{"read.func1", 8, 0.3, 0.08}, stagePart{"read", goroutines, work, 0.12}),
		}, parts...)...)
	}
	d := of(0.04, 8)
	f := d.found(Hop)
	if f == nil || d.Findings[0].Kind != Hop || f.Best().Name != RemoveHop || f.Best().Gain.Low > 1.19 || f.Best().Gain.High < 1.19 ||
		!strings.Contains(f.Text, "send at q.read.func1 (q.go:10) sends each value to select at q.read (q.go:4), which started it") {
		t.Fatalf("%s %+v", d.Answer, f)
	}
	other := at(profile.Select, "other")
	for name, d := range map[string]*Diagnosis{
		"it works":            of(0.08, 8),
		"one for several":     of(0.04, 9),
		"another in a trace":  of(0.04, 8, woke(profile.Pair{Waker: scan, Sleeper: other, Count: 9000})),
		"a pool beside a sum": of(0.04, 1, staged(stagePart{"read", 20, 0, 0})),
	} {
		if f := d.found(Hop); f != nil {
			t.Errorf("%s: %s", name, f.Text)
		}
	}
}
