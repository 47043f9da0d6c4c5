package doctor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestScattered: the scheduler costs much, and no channel does.
func TestScattered(t *testing.T) {
	spread := func(channel, scheduler float64) part {
		return cpu(1.5, shares{profile.ChannelWork: channel, profile.Scheduling: scheduler, profile.UserCode: 1 - channel - scheduler},
			on{send, channel / 2, 0, channel / 4}, on{receive, channel / 2, 0, 0})
	}
	for name, test := range map[string]struct {
		part  part
		found bool
	}{
		"scattered":   {spread(0.1, 0.55), true},
		"one channel": {spread(0.4, 0.4), false},
		"no wake-ups": {spread(0.05, 0.1), false},
	} {
		d := diagnose(test.part)
		if f := d.found(Scattered); (f != nil) != test.found {
			t.Errorf("%s: %s", name, d.Answer)
		}
		if said := strings.HasPrefix(d.Answer, "Wake-ups are the problem, and no single channel."); said != test.found {
			t.Errorf("%s: %s", name, d.Answer)
		}
	}
}

// TestUnknownGain: a remedy without a figure counts for the verdict, is null in
// the JSON form, and comes after those with one.
func TestUnknownGain(t *testing.T) {
	d := diagnose(cpu(1.5, shares{profile.ChannelWork: 0.1, profile.Scheduling: 0.55, profile.UserCode: 0.35}, on{send, 0.05, 0, 0}, on{receive, 0.05, 0, 0}))
	f := d.found(Scattered)
	if f == nil || len(f.Remedies) < 2 || !f.Remedies[0].Gain.known() || f.Remedies[len(f.Remedies)-1].Gain.known() {
		t.Fatalf("%+v", f)
	}
	unknown := f.Remedies[len(f.Remedies)-1]
	text, err := json.Marshal(unknown)
	if err != nil || !strings.Contains(string(text), `"gain":null`) {
		t.Errorf("%s, %v", text, err)
	}
	if said := unknown.sentence(); !strings.Contains(said, "no figure") || strings.Contains(said, "×") {
		t.Error(said)
	}
	back := Remedy{}
	if err := json.Unmarshal(text, &back); err != nil || back.Gain.known() {
		t.Errorf("read again: %+v, %v", back, err)
	}
	f.Remedies = []Remedy{unknown}
	if v := gather(service(), Reference()).verdict([]Finding{*f}); v != Yes {
		t.Errorf("verdict %s", v)
	}
	if f.chart() != "" {
		t.Error("a chart without a gain")
	}
}
