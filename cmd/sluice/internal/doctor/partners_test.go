package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestPartners: seen in the trace, likely with one candidate, otherwise unknown.
func TestPartners(t *testing.T) {
	other := at(profile.Send, "other")
	elsewhere := profile.Site{Op: profile.Range, At: profile.Frame{Function: "example.com/r.drain", File: "r.go", Line: 3}}
	foreign := profile.Site{Op: profile.Range, At: profile.Frame{Function: "github.com/a/b.drain", File: "b.go", Line: 3}}
	done := profile.Site{Op: profile.Receive, At: profile.Frame{Function: "example.com/q.main", File: "q.go", Line: 90}}
	ticks := at(profile.Range, "beat")
	two := cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.5, 0, 0}, on{receive, 0.5, 0, 0})
	unknown := func(from profile.Site) Partners { return Partners{Sender: place(from), Sure: Unseen} }
	for _, test := range []struct {
		name  string
		parts []part
		want  []Partners
	}{
		{"seen", []part{two, woke(profile.Pair{Waker: send, Sleeper: receive, Count: 100}, profile.Pair{Waker: receive, Sleeper: send, Count: 20})},
			[]Partners{{Sender: place(send), Receiver: place(receive), Sure: Seen, PerSec: known(120)}}},
		{"only one candidate", []part{two}, []Partners{{Sender: place(send), Receiver: place(receive), Sure: Likely}}},
		{"two senders", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.4, 0, 0}, on{other, 0.3, 0, 0}, on{receive, 0.3, 0, 0})},
			[]Partners{{Sender: place(send), Receiver: place(receive), Sure: Likely}, {Sender: place(other), Receiver: place(receive), Sure: Likely}}},
		{"by package", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.4, 0, 0}, on{elsewhere, 0.4, 0, 0}, on{receive, 0.2, 0, 0})},
			[]Partners{{Sender: place(send), Receiver: place(receive), Sure: Likely}}},
		{"in another repository", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.4, 0, 0}, on{foreign, 0.4, 0, 0})}, []Partners{unknown(send)}},
		{"stages do not send to themselves", []part{cpu(1, shares{profile.ChannelWork: 1}, on{at(profile.Send, "parse"), 0.3, 0, 0}, on{send, 0.2, 0, 0},
			on{at(profile.Range, "parse"), 0.3, 0, 0}, on{at(profile.Range, "store"), 0.2, 0, 0})},
			[]Partners{{Sender: place(at(profile.Send, "parse")), Receiver: place(at(profile.Range, "store")), Sure: Likely}, unknown(send)}},
		{"several candidates", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.3, 0, 0}, on{other, 0.2, 0, 0}, on{receive, 0.3, 0, 0}, on{at(profile.Range, "store"), 0.2, 0, 0})},
			[]Partners{unknown(send), unknown(other)}},
		{"a select is a candidate beside a receive of no cost", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.5, 0, 0}, on{choose, 0.5, 0, 0}), goroutinesAt(in(done, 1, 1), in(send, 9, 3))},
			[]Partners{{Sender: place(send), Receiver: place(choose), Sure: Likely}}},
		{"a select beside a receive", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.4, 0, 0}, on{choose, 0.3, 0, 0}, on{receive, 0.3, 0, 0})}, []Partners{unknown(send)}},
		{"receivers that wait while senders do", []part{cpu(0.01, shares{profile.UserCode: 1}), goroutinesAt(in(send, 20, 20), in(ticks, 4, 4), in(done, 1, 1))}, []Partners{unknown(send)}},
		{"one of several receivers waits", []part{cpu(0.01, shares{profile.UserCode: 1}), goroutinesAt(in(send, 20, 20), in(ticks, 4, 4), in(receive, 3, 1))},
			[]Partners{{Sender: place(send), Receiver: place(receive), Sure: Likely}}},
		{"a lock", ledgerService(at(profile.Send, "(*ledger).book"), 0.4), []Partners{{Sender: place(at(profile.Send, "(*ledger).book")),
			Receiver: Place{Op: profile.Receive, Function: "example.com/q.(*ledger).book", File: "q.go", Line: 17}, Sure: Likely}}},
		{"a select that nothing else faces", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.5, 0, 0}, on{choose, 0.5, 0, 0})},
			[]Partners{{Sender: place(send), Receiver: place(choose), Sure: Likely}}},
		{"too small", []part{cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.99, 0, 0}, on{receive, 0.01, 0, 0})}, []Partners{unknown(send)}},
		{"none", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := diagnose(test.parts...).Partners
			if len(got) != len(test.want) {
				t.Fatalf("got %+v", got)
			}
			for i, p := range got {
				want := test.want[i]
				if p.Sender != want.Sender || p.Receiver != want.Receiver || p.Sure != want.Sure || (p.Why != "") != (p.Sure == Unseen) {
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

// TestUnknownReceiver: a person reads why the receiver is unknown, and what would
// show it.
func TestUnknownReceiver(t *testing.T) {
	store := at(profile.Range, "store")
	d := diagnose(cpu(1, shares{profile.ChannelWork: 1}, on{send, 0.4, 0, 0}, on{receive, 0.3, 0, 0}, on{store, 0.3, 0, 0}))
	const want = "send at q.(*Bus).Put (q.go:10) → receiver unknown: range at q.consume (q.go:7) or range at q.store (q.go:5); -trace would show it"
	if len(d.Partners) != 1 || d.Partners[0].sentence() != want {
		t.Errorf("%+v", d.Partners)
	}
}

// TestUsers: the place of an operation in a wrapper names its caller too.
func TestUsers(t *testing.T) {
	from := func(function, caller string) profile.Site {
		s := profile.Site{Op: profile.Send, At: profile.Frame{Function: function, File: "q.go", Line: 3}}
		if caller != "" {
			s.Caller = profile.Frame{Function: caller, File: "m.go", Line: 8}
		}
		return s
	}
	works := func(c *profile.Capture) {
		c.CPU.Users = append(c.CPU.Users, profile.UserTime{Function: "example.com/q.(*queue).put", All: c.CPU.Total})
	}
	for _, test := range []struct {
		site profile.Site
		more part
		want string // "" if the function is no wrapper
	}{
		{from("example.com/q.(*queue).put", "example.com/q.(*depot).sort"), metrics(0, 0), "send at q.(*depot).sort (m.go:8), through q.(*queue).put (q.go:3)"},
		{from("example.com/q.(*queue).put", "example.com/q.(*depot).sort"), works, ""},
		{from("example.com/q.(*queue).put", "example.com/q.(*queue).fill"), metrics(0, 0), ""},
		{from("example.com/q.(*queue).put", ""), metrics(0, 0), ""},
		{from("example.com/q.deliver", "example.com/q.(*depot).sort"), metrics(0, 0), "send at q.(*depot).sort (m.go:8), through q.deliver (q.go:3)"},
		{from("example.com/q.deliver", "example.com/q.sort"), metrics(0, 0), ""},
		{from("example.com/q.sort.func1", "example.com/q.sort"), metrics(0, 0), ""},
		{from("example.com/p.Deliver", "example.com/q.sort"), metrics(0, 0), "send at q.sort (m.go:8), through p.Deliver (q.go:3)"},
		{from("example.com/q.(*shop).search", "net/http.HandlerFunc.ServeHTTP"), metrics(0, 0), ""},
	} {
		d := diagnose(cpu(1, shares{profile.ChannelWork: 0.4, profile.UserCode: 0.6}, on{test.site, 0.4, 0, 0}), test.more)
		o := d.Operations[0]
		if (o.User != "") != (test.want != "") || test.want != "" && o.String() != test.want {
			t.Errorf("%s by %s: %s", test.site.At, test.site.Caller, o)
		}
	}
}
