package doctor

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// making is the part of the CPU time in which a function creates channels.
func making(share float64, function string) part {
	return func(c *profile.Capture) {
		c.CPU.Users = append(c.CPU.Users, profile.UserTime{
			Function: "example.com/q." + function, Makes: secs(share * c.CPU.Total.Seconds()),
		})
	}
}

// TestChannelPerValue: rarely created channels may carry many values, and a
// channel created in a function without costly operations is another one.
func TestChannelPerValue(t *testing.T) {
	spent := func(receives float64) part {
		return cpu(1, shares{profile.ChannelWork: 0.4, profile.UserCode: 0.6}, on{send, 0.4 - receives, 0, 0}, on{receive, receives, 0, 0})
	}
	for _, test := range []struct {
		made, receives float64
		want           bool
	}{{0.011, 0.2, true}, {0.009, 0.2, false}, {0, 0.2, false}, {0.1, 0.044, true}, {0.1, 0.036, false}} {
		d := diagnose(spent(test.receives), making(test.made, "consume"))
		if (d.found(ChannelPerValue) != nil) != test.want || (d.found(TransferCost) == nil) != test.want {
			t.Errorf("%v making, %v receiving: %s", test.made, test.receives, d.Answer)
		}
	}
}

// TestManySendersAreNoPool: with several senders, small jobs are not the
// problem.
func TestManySendersAreNoPool(t *testing.T) {
	for n, want := range map[int]bool{1: true, 2: false} {
		d := diagnose(append(slices.Clone(pipelineService), goroutinesAt(in(send, n, 1), in(receive, 4, 2)))...)
		if (d.found(TinyJobs) != nil) != want {
			t.Errorf("with %d senders: %s", n, d.Answer)
		}
	}
}

// TestWakeupsConfirm: wake-ups whose price explains the CPU time increase the
// confidence; a few do not.
func TestWakeupsConfirm(t *testing.T) {
	for wakeups, want := range map[float64]Confidence{400_000: Medium, 700_000: High} { // at 152 ns, and 0.0825 cores
		d := diagnose(append(slices.Clone(pipelineService), metrics(0, wakeups))...)
		if f := d.found(TransferCost); f == nil || f.Confidence != want {
			t.Errorf("%v wake-ups per second: %+v", wakeups, f)
		}
	}
}

// TestSelectsCost: a transfer between selects polls cases, which a buffer does
// not save.
func TestSelectsCost(t *testing.T) {
	gain := func(from, to profile.Site) float64 {
		d := diagnose(cpu(1.1, shares{profile.ChannelWork: 0.35, profile.AfterPark: 0.27, profile.UserCode: 0.38}, on{from, 0.2, 0, 0.1}, on{to, 0.15, 0, 0.05}),
			goroutinesAt(in(from, 4, 1), in(to, 4, 1)))
		for _, f := range d.Findings {
			for _, r := range f.Remedies {
				if r.Name == Buffer {
					return r.Gain.Mid
				}
			}
		}
		t.Fatalf("no buffer: %s", d.Answer)
		return 0
	}
	offer, take := at(profile.Select, "offer"), at(profile.Select, "take")
	if plain, selected := gain(send, receive), gain(offer, take); selected >= plain {
		t.Errorf("a buffer gives selects ×%v, and plain operations ×%v", selected, plain)
	}
}

// TestGuessesComeLast: a finding with low confidence comes after a certain one,
// even if it costs more.
func TestGuessesComeLast(t *testing.T) {
	sure := Finding{Share: known(0.3), Confidence: Medium}
	guess := Finding{Share: known(0.5), Confidence: Low}
	if sure.weight() <= guess.weight() {
		t.Errorf("guess %v, certain finding %v", guess.weight(), sure.weight())
	}
}

// TestCalled: a direct call also saves the goroutine that is started for it.
func TestCalled(t *testing.T) {
	of := func(rest profile.Category) *Finding {
		return diagnose(cpu(1, shares{profile.ChannelWork: 0.4, profile.UserCode: 0.3, rest: 0.3}, on{send, 0.2, 0, 0}, on{receive, 0.2, 0, 0}),
			goroutinesAt(in(receive, 8, 3)), making(0.07, "consume")).found(ChannelPerValue)
	}
	starts, works := of(profile.Scheduling), of(profile.OtherRuntime)
	if text := evidence(starts); !strings.Contains(text, "7% of CPU time is spent creating channels") {
		t.Errorf("evidence: %s", text)
	}
	if s, w := starts.Best().Gain, works.Best().Gain; s.Mid <= w.Mid {
		t.Errorf("gain %s with goroutines started, %s without", s, w)
	}
}

// TestRequests: a function that asks two goroutines in turn, each time with a channel for the
// response. Both requests are named. The responses are received at little cost, so none is
// taken for a send to the goroutine that answers other requests.
func TestRequests(t *testing.T) {
	ask, askOther := at(profile.Send, "client"), at(profile.Send, "client")
	askOther.At.Line++
	answer, answerOther := at(profile.Receive, "client"), at(profile.Receive, "client")
	answer.At.Line, answerOther.At.Line = 20, 21
	take, reply, takeOther, replyOther := at(profile.Range, "sum"), at(profile.Send, "sum"), at(profile.Range, "own"), at(profile.Send, "own")
	d := diagnose(cpu(1.9, shares{profile.ChannelWork: 0.5, profile.AfterPark: 0.18, profile.UserCode: 0.2},
		on{ask, 0.12, 0, 0.05}, on{askOther, 0.11, 0, 0.05}, on{take, 0.06, 0, 0}, on{reply, 0.06, 0, 0.03},
		on{takeOther, 0.06, 0, 0}, on{replyOther, 0.06, 0, 0.03}, on{answer, 0.012, 0, 0}, on{answerOther, 0.012, 0, 0}),
		goroutinesAt(in(ask, 1, 0), in(take, 4, 3), in(takeOther, 1, 1), in(answer, 3, 1)), making(0.05, "client"))
	f := d.found(ChannelPerValue)
	if f == nil || !strings.Contains(f.Text, ask.At.String()) || !strings.Contains(f.Text, askOther.At.String()) {
		t.Errorf("found %+v", f)
	}
	for _, p := range d.Partners {
		if p.Sure != Unseen {
			t.Errorf("%+v", p)
		}
	}
}
