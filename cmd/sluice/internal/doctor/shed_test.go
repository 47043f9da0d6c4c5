package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestGivesUp: a service that drops its values looks idle. The samples of a send
// that never wakes a receiver, while no receiver waits, name it.
func TestGivesUp(t *testing.T) {
	offer, ship := at(profile.PollSend, "offer"), at(profile.Receive, "ship")
	const root = "example.com/q.ship"
	// One sample is 10 ms of 1.2 s: 0.0084 of it.
	offers := func(samples, locked, wakes float64) part {
		const one = 0.01 / 1.2
		return func(c *profile.Capture) {
			cpu(0.12, shares{profile.ChannelWork: (samples + 1) * one, profile.UserCode: 1 - (samples+1)*one},
				on{offer, samples * one, locked * one, wakes * one}, on{ship, one, 0, 0})(c)
			c.CPU.Sites[1].Roots = []string{root}
		}
	}
	asleep := profile.GoroutineSite{Site: at(profile.Sleep, "ship"), In: 1, Waiting: 1, Root: root}
	waitedBefore := profile.GoroutineSite{Site: ship, Earlier: 1, Root: root}
	beat := in(at(profile.Select, "(*fleet).beat"), 4, 4)
	for name, test := range map[string]struct {
		parts []part
		found bool
		sure  Confidence
	}{
		"eight samples":       {[]part{offers(8, 0, 0), goroutinesAt(asleep, beat)}, true, Low},
		"ten":                 {[]part{offers(10, 0, 0), goroutinesAt(asleep)}, true, Medium},
		"three":               {[]part{offers(3, 0, 0), goroutinesAt(asleep)}, true, Low},
		"two":                 {[]part{offers(2, 0, 0), goroutinesAt(asleep)}, false, ""},
		"it wakes a receiver": {[]part{offers(8, 0, 1), goroutinesAt(asleep)}, false, ""},
		"two thirds fit":      {[]part{offers(8, 3, 0), goroutinesAt(asleep)}, true, Low},
		"a receiver waited":   {[]part{offers(8, 0, 0), goroutinesAt(asleep, waitedBefore)}, false, ""},
		"a receiver waits":    {[]part{offers(8, 0, 0), goroutinesAt(in(ship, 1, 1))}, false, ""},
		"no states":           {[]part{offers(8, 0, 0)}, false, ""},
		"wakes in a trace":    {[]part{offers(8, 0, 0), goroutinesAt(asleep), woke(profile.Pair{Waker: offer, Sleeper: ship, Count: 9})}, false, ""},
		"others in a trace":   {[]part{offers(8, 0, 0), goroutinesAt(asleep, in(receive, 1, 1)), woke(profile.Pair{Waker: send, Sleeper: receive, Count: 9})}, true, Low},
	} {
		d := diagnose(test.parts...)
		f := d.found(Dropping)
		if (f != nil) != test.found || f != nil && f.Confidence != test.sure {
			t.Errorf("%s: %s, %+v", name, d.Answer, f)
		}
		if f == nil {
			continue
		}
		if d.Verdict != No || len(f.Remedies) != 1 || f.Remedies[0].Name != MoreReceivers || f.Remedies[0].Gain.known() || d.Answer != "The receivers are the problem, not the channels. Sends give up when the channel is full, and its receivers never wait, so that it fills: non-blocking send at q.offer (q.go:5). "+lookAtDrops {
			t.Errorf("%s: %s: %s", name, d.Verdict, d.Answer)
		}
		if text := evidence(f); !strings.Contains(text, "none of them wakes a receiver") || !strings.Contains(text, "the receivers wait at the sleep at q.ship") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestGivesUpInFewCores: a service whose few cores go to such sends waits for no
// lock and needs no other channel: its receivers are the limit.
func TestGivesUpInFewCores(t *testing.T) {
	offer, ship := at(profile.PollSend, "offer"), at(profile.Range, "ship")
	const root = "example.com/q.ship"
	asleep := profile.GoroutineSite{Site: at(profile.Sleep, "ship"), In: 1, Waiting: 1, Root: root}
	for cores, want := range map[float64]Verdict{0.35: No, 1.5: Yes} {
		d := diagnose(cpu(cores, shares{profile.ChannelWork: 0.35, profile.ChannelLock: 0.3, profile.UserCode: 0.35}, on{offer, 0.4, 0.2, 0}, on{ship, 0.25, 0.1, 0}),
			func(c *profile.Capture) { c.CPU.Sites[1].Roots = []string{root} }, goroutinesAt(asleep, in(offer, 2, 0)))
		if f := d.found(Dropping); f == nil || d.Verdict != want || (d.found(LockContention) != nil) != (want == Yes) {
			t.Errorf("on %v cores: %s: %s", cores, d.Verdict, d.Answer)
		}
	}
}
