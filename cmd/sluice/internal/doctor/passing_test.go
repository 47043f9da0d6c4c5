package doctor

import (
	"math"
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
