package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestSmallestFirst checks that a buffer comes before slices where goroutines wait
// for each other at most values, and gains most of what slices would.
func TestSmallestFirst(t *testing.T) {
	for name, test := range map[string]struct {
		after float64
		want  RemedyName
	}{
		"both ends wait":    {0.27, Buffer},
		"they rarely wait":  {0.03, Batch},
		"they sometimes do": {0.05, Batch},
	} {
		d := diagnose(cpu(1.1, shares{profile.ChannelWork: 0.3, profile.ChannelLock: 0.05, profile.AfterPark: test.after, profile.UserCode: 0.65 - test.after},
			on{send, 0.2, 0.03, 0.02}, on{receive, 0.15, 0.02, 0.02}), goroutinesAt(in(send, 1, 1), in(receive, 1, 0)), metrics(0.001, 3_000_000))
		f := d.found(TransferCost)
		if f == nil || f.Best() == nil || f.Best().Name != test.want {
			t.Errorf("%s: %s\n%+v", name, d.Answer, f)
		}
	}
}

// TestPollingFindsNothing checks that a free list, whose non-blocking receives mostly
// find something and so take the channel's lock, is no polling loop.
func TestPollingFindsNothing(t *testing.T) {
	get := at(profile.PollReceive, "(*pool).Get")
	for name, lock := range map[string]float64{"empty": 0.01, "a free list": 0.5} {
		d := diagnose(cpu(1.8, shares{profile.ChannelWork: 0.7 - lock, profile.ChannelLock: lock, profile.UserCode: 0.3}, on{get, 0.7, lock, 0}), goroutinesAt(in(get, 4, 0)))
		if polls := d.found(Polling) != nil; polls != (name == "empty") {
			t.Errorf("%s: %s", name, d.Answer)
		}
	}
}

// TestSelectOfFewCases checks that a select that costs about as much as the sends at
// its other ends has few cases.
func TestSelectOfFewCases(t *testing.T) {
	for name, test := range map[string]struct{ selecting, sending float64 }{"many cases": {0.6, 0.05}, "two": {0.38, 0.27}} {
		d := diagnose(cpu(1.9, shares{profile.ChannelWork: test.selecting + test.sending, profile.UserCode: 0.35}, on{choose, test.selecting, 0.1, 0.02}, on{send, test.sending, 0.02, 0}),
			goroutinesAt(in(choose, 1, 0), in(send, 12, 3)), metrics(0.001, 20_000))
		if large := d.found(LargeSelect) != nil; large != (name == "many cases") {
			t.Errorf("%s: %s", name, d.Answer)
		}
	}
}
