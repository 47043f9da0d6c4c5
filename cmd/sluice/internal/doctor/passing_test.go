package doctor

import (
	"math"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestInPassing: goroutines that compute on all cores, and pass values to one
// that they hardly wait for, gain nothing from slices.
func TestInPassing(t *testing.T) {
	with := func(cores, channels, own, parks, locked float64, more ...part) []part {
		return append([]part{
			cpu(cores, shares{profile.ChannelWork: channels * (1 - locked), profile.ChannelLock: channels * locked, profile.UserCode: own - 0.05, profile.Collecting: 0.05, profile.OtherRuntime: 1 - own - channels},
				on{send, channels * 0.4, channels * 0.4 * locked, 0}, on{receive, channels * 0.6, channels * 0.6 * locked, channels * parks}),
			goroutinesAt(in(send, 8, 0), in(receive, 1, 0)),
		}, more...)
	}
	for name, test := range map[string]struct {
		parts []part
		want  bool // CPU bound, and no fault of channels
	}{
		"an exporter":                     {with(1.9, 0.25, 0.7, 0.1, 0.2), true},
		"with contended locks":            {with(1.9, 0.30, 0.65, 0.1, 0.5), true},
		"goroutines wait for each other":  {with(1.9, 0.25, 0.7, 0.5, 0.2), false},
		"channels cost more":              {with(1.9, 0.45, 0.5, 0.1, 0.2), false},
		"the own work is elsewhere":       {with(1.9, 0.25, 0.4, 0.1, 0.2), false},
		"cores are idle":                  {with(1.0, 0.25, 0.7, 0.1, 0.2), false},
		"the cores are those of others":   {with(1.0, 0.25, 0.7, 0.1, 0.2, metrics(0, 1000), psIdle(0.05)), true},
		"half of the time no P has work ": {with(1.0, 0.25, 0.7, 0.1, 0.2, metrics(0, 1000), psIdle(0.5)), false},
	} {
		d := diagnose(test.parts...)
		if found := d.found(CPUBound) != nil && d.Verdict == No; found != test.want {
			t.Errorf("%s: %s: %s", name, d.Verdict, d.Answer)
		}
		for _, f := range d.Findings {
			if best := f.Best(); test.want && best != nil {
				t.Errorf("%s: %s, %+v", name, f.Kind, best)
			}
		}
	}
}

// psIdle adds the part of the time of two Ps in which they had nothing to run.
func psIdle(part float64) part {
	return func(c *profile.Capture) {
		c.Metrics.Before.Values["/cpu/classes/total:cpu-seconds"], c.Metrics.Before.Values["/cpu/classes/idle:cpu-seconds"] = 100, 50
		all := 2 * watched.Seconds()
		c.Metrics.After.Values["/cpu/classes/total:cpu-seconds"], c.Metrics.After.Values["/cpu/classes/idle:cpu-seconds"] = 100+all, 50+part*all
	}
}

// TestStolenCores: cores that other processes have lower the least gain of a
// remedy, which fills idle cores only.
func TestStolenCores(t *testing.T) {
	with := func(more ...part) *Range {
		parts := []part{
			cpu(1, shares{profile.ChannelWork: 0.28, profile.UserCode: 0.47, profile.SystemCalls: 0.25}, on{send, 0.12, 0.02, 0.05}, on{receive, 0.16, 0.02, 0.09}),
			goroutinesAt(in(send, 2, 1), in(receive, 1, 1)), metrics(0, 200_000),
		}
		if f := diagnose(append(parts, more...)...).found(TransferCost); f != nil && f.Best() != nil {
			return &f.Best().Gain
		}
		t.Fatal("no remedy")
		return nil
	}
	unknown, idle, stolen := with(), with(psIdle(0.5)), with(psIdle(0.05))
	if *unknown != *idle {
		t.Errorf("idle cores: %+v, unknown: %+v", idle, unknown)
	}
	if !(stolen.Low < idle.Low) || math.Abs(stolen.High-idle.High) > 1e-9 {
		t.Errorf("stolen cores: %+v, idle: %+v", stolen, idle)
	}
}

// TestBursts: where goroutines queue for cores that idle on average, the load comes in
// bursts and is the limit, also beside channels that take a notable part of the CPU time.
func TestBursts(t *testing.T) {
	for _, test := range []struct {
		runnable, channels float64
		want               Kind
	}{{1, 0.10, TransferCost}, {20, 0.10, Bursts}, {20, 0.25, TransferCost}} {
		d := diagnose(
			cpu(1.4, shares{profile.ChannelWork: test.channels, profile.AfterPark: 0.10, profile.UserCode: 0.50, profile.OtherRuntime: 0.40 - test.channels}, on{send, 0.4 * test.channels, 0, 0.02}, on{receive, 0.6 * test.channels, 0, 0.08}),
			goroutinesAt(in(send, 8, 4), in(receive, 1, 1)),
			func(c *profile.Capture) {
				c.Glimpse = &profile.Trace{Window: secs(1), Running: secs(1.4), Runnable: secs(test.runnable), Wakeups: 500_000}
			})
		if first := d.Findings[0]; first.Kind != test.want {
			t.Errorf("%+v: %s", test, d.Answer)
		}
		if found := d.found(TransferCost); found != nil && test.runnable > 1 && found.Best().Gain.High > 1.7 {
			t.Errorf("%+v: a buffer fills cores that idle between bursts: %s", test, found.Best().Gain)
		}
	}
}

// TestHopBesideBusyCores: a service that computes on all cores learns of a goroutine that
// only passes values on.
func TestHopBesideBusyCores(t *testing.T) {
	const root = "example.com/q.(*gate).intake"
	take := profile.Site{Op: profile.Receive, At: profile.Frame{Function: root, File: "q.go", Line: 14}}
	pass := profile.Site{Op: profile.Send, At: profile.Frame{Function: root, File: "q.go", Line: 16}}
	for work, want := range map[float64]bool{0.1: true, 0.3: false} {
		d := diagnose(
			cpu(1.9, shares{profile.ChannelWork: 0.25, profile.UserCode: 0.70, profile.OtherRuntime: 0.05},
				on{send, 0.08, 0.01, 0}, on{take, 0.06, 0.01, 0.01}, on{pass, 0.06, 0.01, 0}, on{receive, 0.05, 0, 0.01}),
			func(c *profile.Capture) {
				for i := range c.CPU.Sites {
					if s := &c.CPU.Sites[i]; s.At.Function == root {
						s.Roots = []string{root}
					}
				}
			},
			goroutinesAt(in(send, 8, 1), in(take, 1, 0), in(receive, 4, 1)),
			staged(stagePart{"(*gate).intake", 1, work, 0.24}))
		if d.Verdict != No || strings.Contains(d.Findings[0].Next, "remove a hop: q.(*gate).intake does little else than receive (line 14) and send on (line 16)") != want {
			t.Errorf("work %v: %s: %s %s", work, d.Verdict, d.Answer, d.Findings[0].Next)
		}
	}
}
