package doctor

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestMost: no change of channels gains more than their part of the CPU time,
// unless cores idle.
func TestMost(t *testing.T) {
	for _, test := range []struct {
		l           load
		avail, want float64
	}{
		{load{own: 1.78, channels: 0.22}, 2, 2 / 1.78 * 1.05},
		{load{own: 1.78, channels: 0.22, gone: 0.5}, 2, 2 / 1.78 * 1.05},
		{load{own: 1.78, channels: 0.22, sched: 0.1}, 2, 2 / 1.68 * 1.05},
		{load{own: 0.89, channels: 0.11}, 2, 2 / 0.89 * 1.2},
		{load{own: 0.5, channels: 1.5}, 2, 2 / 0.5 * 1.2},
		{load{own: 2}, 2, 1.05},
		{load{channels: 2}, 2, mostGain * 1.2},
	} {
		got := test.l.most(test.avail, true)
		near(t, "most of the load", &got, test.want)
		if got := test.l.most(test.avail, false); got < test.want {
			t.Errorf("%+v: with idle cores unknown, at most %v, which is less than %v", test.l, got, test.want)
		}
	}
}

// TestBoundOfGains: 11% of the CPU time in channels bounds the gain of their
// remedies by 11% plus the error, and the answer says so first.
func TestBoundOfGains(t *testing.T) {
	of := func(cores, channels float64) *Diagnosis {
		return diagnose(cpu(cores, shares{profile.ChannelWork: channels / 2, profile.AfterPark: channels / 2, profile.UserCode: (1 - channels) / 2, profile.OtherRuntime: (1 - channels) / 4, profile.Collecting: (1 - channels) / 4},
			on{send, channels / 4, 0, 0.05}, on{receive, channels / 4, 0, 0.05}), goroutinesAt(in(send, 1, 1), in(receive, 1, 1)), metrics(0.001, 400_000))
	}
	f := gather(service(cpu(2, shares{profile.ChannelWork: 0.06, profile.AfterPark: 0.05, profile.UserCode: 0.89}, on{send, 0.06, 0, 0})), Reference())
	if g := f.gain(f.load(hotWork), stay{0, 0}); g.High > 1.2 || g.Mid > g.High {
		t.Errorf("11%% of the CPU time is worth %s", g)
	}
	d := of(2, 0.22)
	if !strings.HasPrefix(d.Answer, "Channels are the problem. Channels take 22% of CPU time, so no change to them can save more than that (×1.28). The cost is in passing values one by one.") {
		t.Error(d.Answer)
	}
	for _, r := range d.Findings[0].Remedies {
		if r.Gain.High > 1/0.78*1.05+0.01 {
			t.Errorf("%s: %s", r.Name, r.Gain)
		}
	}
	d = of(1.2, 0.22)
	said := regexp.MustCompile(`Channels take 22% of CPU time, and 0.80 cores idle while goroutines wait for each other, so a change to them can gain at most ×(.*?)\. `).FindStringSubmatch(d.Answer)
	if said == nil {
		t.Fatal(d.Answer)
	}
	for _, r := range d.Findings[0].Remedies {
		if most, err := strconv.ParseFloat(said[1], 64); err != nil || most < 2/1.2/0.78 || r.Gain.High > most+0.05 {
			t.Errorf("at most %s, and %s %s", said[1], r.Name, r.Gain)
		}
	}
	if d := of(2, 0.6); strings.Contains(d.Answer, "no change to them can") || strings.Contains(d.Answer, "at most") {
		t.Error(d.Answer)
	}
}
