package lab

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// pretendNotBusy returns made-up costs: without a channel 6 µs, through a built-in
// channel 8 µs, through sluice.Bounded the given cost.
func pretendNotBusy(s Scale, ours float64) Measured {
	return pretend(notBusyStudy, s, func(id ContenderID, _ *Point) float64 {
		switch id {
		case alone:
			return 6000
		case withSlots(bounded, pacedSlots):
			return ours
		}
		return 8000
	})
}

func TestNotBusyAnswer(t *testing.T) {
	for _, tt := range []struct {
		bounded float64
		advice  string
	}{
		{8200, "by what it promises"},
		{4000, "by what it promises"},
		{16_000, "Use a built-in channel"},
	} {
		c := notBusyConclusion(pretendNotBusy(Scale{CPUs: 2}, tt.bounded))
		if !strings.Contains(c.Advice, tt.advice) {
			t.Errorf("bounded %v: advice %q, want %q", tt.bounded, c.Advice, tt.advice)
		}
		if want := "At 10,000 values per second, one value takes CPU time of 6.0 µs without a channel, 8.0 µs through a channel of 128 slots and "; !strings.HasPrefix(c.Answer, want) {
			t.Errorf("answer %q, want %q", c.Answer, want)
		}
		if c.Conditions != "CPU time at 10,000 values per second, 8 senders, 1 receiver, GOMAXPROCS 2" || len(c.Bars) != 6 {
			t.Errorf("%d bars, %s", len(c.Bars), c.Conditions)
		}
		for _, bar := range c.Bars {
			if bar.Baseline != (bar.Label == "chan, 128 slots") {
				t.Errorf("%s: baseline %v", bar.Label, bar.Baseline)
			}
		}
	}
	single := notBusyConclusion(pretendNotBusy(Scale{CPUs: 2, Count: 1}, 8200))
	if !strings.Contains(single.Answer, "(too few repetitions)") {
		t.Errorf("the answer from one repetition: %q", single.Answer)
	}
}

func TestNotBusyFindings(t *testing.T) {
	findings := notBusyFindings(pretendNotBusy(Scale{CPUs: 2}, 10_000))
	contains(t, findings, "sluice.Bounded instead of a built-in channel takes 1.25 (1.25 to 1.25) times as much CPU time with 1k values per second at GOMAXPROCS 1,")
	contains(t, findings, "sluice.Bounded instead of a built-in channel delays 99% of the values 1.25 (1.25 to 1.25) times as long with 1k")
	contains(t, findings, "sluice.Rendezvous instead of an unbuffered built-in channel delays half of the values as long, within noise, with 1k")
	if want := 3 * 4; len(findings) != want {
		t.Errorf("%d findings, want %d", len(findings), want)
	}
}

// All entries of a repetition have the same arrivals, and each repetition has others.
func TestRepetitionsHaveTheSameArrivals(t *testing.T) {
	var seeds [2][]uint64
	var entries []measure.Entry
	for i := range seeds {
		entries = append(entries, pacedEntry("spy", paced.Load{Rate: 1e6, Senders: 1, Receivers: 1, Values: 10}, func(l paced.Load) (*paced.Result, error) {
			seeds[i] = append(seeds[i], l.Seed)
			return l.Without()
		}))
	}
	for range 3 {
		for _, e := range entries {
			if _, err := e.Pass(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(seeds[0], seeds[1]) || len(slices.Compact(slices.Clone(seeds[0]))) != 3 {
		t.Errorf("seeds %v", seeds)
	}
}
