package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestPartners: seen in the trace, likely with one candidate, otherwise a
// guess.
func TestPartners(t *testing.T) {
	other := at(profile.Send, "other")
	elsewhere := profile.Site{Op: profile.Range, At: profile.Frame{Function: "example.com/r.drain", File: "r.go", Line: 3}}
	two := cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.5, 0, 0}, on{receive, 0.5, 0, 0})
	for _, test := range []struct {
		name  string
		parts []part
		want  []Partners
	}{
		{"seen", []part{two, woke(profile.Pair{Waker: send, Sleeper: receive, Count: 100}, profile.Pair{Waker: receive, Sleeper: send, Count: 20})},
			[]Partners{{Sender: place(send), Receiver: place(receive), Sure: Seen, PerSec: known(120)}}},
		{"only one candidate", []part{two}, []Partners{{Sender: place(send), Receiver: place(receive), Sure: Likely}}},
		{"two senders", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.4, 0, 0}, on{other, 0.3, 0, 0}, on{receive, 0.3, 0, 0})},
			[]Partners{{Sender: place(send), Receiver: place(receive), Sure: Guess}, {Sender: place(other), Receiver: place(receive), Sure: Guess}}},
		{"by package", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.4, 0, 0}, on{elsewhere, 0.4, 0, 0}, on{receive, 0.2, 0, 0})},
			[]Partners{{Sender: place(send), Receiver: place(receive), Sure: Guess}}},
		{"stages do not send to themselves", []part{cpu(1, shares{profile.ChannelWork: 1}, on{at(profile.Send, "parse"), 0.3, 0, 0}, on{send, 0.2, 0, 0},
			on{at(profile.Range, "parse"), 0.3, 0, 0}, on{at(profile.Range, "store"), 0.2, 0, 0})},
			[]Partners{{Sender: place(at(profile.Send, "parse")), Receiver: place(at(profile.Range, "store")), Sure: Guess},
				{Sender: place(send), Receiver: place(at(profile.Range, "parse")), Sure: Guess}}},
		{"each to the next", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.3, 0, 0}, on{other, 0.2, 0, 0}, on{receive, 0.3, 0, 0}, on{at(profile.Range, "store"), 0.2, 0, 0})},
			[]Partners{{Sender: place(send), Receiver: place(receive), Sure: Guess}, {Sender: place(other), Receiver: place(at(profile.Range, "store")), Sure: Guess}}},
		{"a select that nothing else faces", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.5, 0, 0}, on{choose, 0.5, 0, 0})},
			[]Partners{{Sender: place(send), Receiver: place(choose), Sure: Likely}}},
		{"too small", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.99, 0, 0}, on{receive, 0.01, 0, 0})}, nil},
		{"none", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := diagnose(test.parts...).Partners
			if len(got) != len(test.want) {
				t.Fatalf("got %+v", got)
			}
			for i, p := range got {
				want := test.want[i]
				if p.Sender != want.Sender || p.Receiver != want.Receiver || p.Sure != want.Sure {
					t.Errorf("got %+v, want %+v", p, want)
				}
				if (p.PerSec == nil) != (want.PerSec == nil) || value(p.PerSec) != value(want.PerSec) {
					t.Errorf("%v per second, want %v", value(p.PerSec), value(want.PerSec))
				}
			}
		})
	}
}

// TestItems: wake-ups are a lower bound of values.
func TestItems(t *testing.T) {
	d := diagnose(woke(profile.Pair{Waker: send, Sleeper: receive, Count: 700}, profile.Pair{Waker: unlock, Sleeper: send, Count: 50}))
	if len(d.Operations) != 2 {
		t.Fatalf("operations: %+v", d.Operations)
	}
	for _, o := range d.Operations {
		near(t, string(o.Op), o.Items, 700)
	}
	for _, o := range diagnose(hotService...).Operations {
		if o.Items != nil {
			t.Errorf("%s: %v values per second without a trace", o.Place, *o.Items)
		}
	}
}

// TestCloseIsNoValue: a goroutine that a close wakes received no value.
func TestCloseIsNoValue(t *testing.T) {
	d := diagnose(woke(profile.Pair{Waker: at(profile.Close, "stop"), Sleeper: receive, Count: 1000},
		profile.Pair{Waker: send, Sleeper: receive, Count: 10}))
	for i := range d.Operations {
		switch o := &d.Operations[i]; o.Op {
		case profile.Close:
			if o.Items != nil {
				t.Errorf("a close of %v values", *o.Items)
			}
		default:
			near(t, o.String(), o.Items, 10)
		}
	}
}

// TestManyPartners: every sender may meet every receiver, so there may be more
// pairs than operations.
func TestManyPartners(t *testing.T) {
	var pairs []profile.Pair
	for _, from := range []string{"a", "bb", "ccc", "dddd"} {
		for _, to := range []string{"v", "ww", "xxx"} {
			pairs = append(pairs, profile.Pair{Waker: at(profile.Send, from), Sleeper: at(profile.Receive, to), Count: 10})
		}
	}
	d := diagnose(woke(pairs...))
	var b strings.Builder
	if err := d.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if len(d.Partners) != 12 || len(d.Operations) != 7 || strings.Count(b.String(), " → ") != shownOperations ||
		!strings.Contains(b.String(), "and 4 more") {
		t.Errorf("%d pairs of %d operations:\n%s", len(d.Partners), len(d.Operations), b.String())
	}
}
