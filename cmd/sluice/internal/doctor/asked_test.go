package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestAskedInSelects: callers that send a request and wait for its response in
// selects with a context. A pipeline has other operations with a cost.
func TestAskedInSelects(t *testing.T) {
	ask, answer := at(profile.Select, "find"), at(profile.Select, "find")
	handle, reply := at(profile.Select, "serve"), at(profile.Send, "serve")
	answer.At.Line, reply.At.Line = answer.At.Line+5, reply.At.Line+2
	spent := func(rest float64) part {
		return cpu(1.1, shares{profile.ChannelWork: 0.5, profile.AfterPark: 0.3, profile.UserCode: 0.2},
			on{ask, 0.15 - rest/4, 0.01, 0.05}, on{answer, 0.12 - rest/4, 0.01, 0}, on{handle, 0.12 - rest/4, 0.01, 0.05}, on{reply, 0.11 - rest/4, 0.01, 0.05},
			on{receive, rest, 0.01, 0})
	}
	callers := func(handlers int) part {
		return goroutinesAt(rooted(ask, 6, 0, "session"), rooted(answer, 4, 0, "session"), rooted(handle, handlers, 0, "serve"))
	}
	for name, test := range map[string]struct {
		parts []part
		found bool
	}{
		"one owner":     {[]part{spent(0.01), callers(1), metrics(0, 500_000)}, true},
		"four handlers": {[]part{spent(0.01), callers(4), metrics(0, 500_000)}, false},
		"a pipeline":    {[]part{spent(0.2), callers(1), metrics(0, 500_000)}, false},
	} {
		d := diagnose(test.parts...)
		f := d.found(RequestResponse)
		if (f != nil) != test.found {
			t.Errorf("%s: %s", name, d.Answer)
		}
		if f != nil && (f.Best() == nil || f.Best().Name != Mutex || f.Best().Gain.High > 20) {
			t.Errorf("%s: %+v", name, f.Remedies)
		}
	}
}

// TestPumpBetweenWork: a forwarding goroutine whose ends do some work. A stage
// that sends outside its select is none.
func TestPumpBetweenWork(t *testing.T) {
	own := at(profile.Send, "(*hub).loop")
	own.At.Line += 4
	for name, test := range map[string]struct {
		sends float64 // in the function of the select
		found bool
	}{"mailbox": {0, true}, "stage": {0.04, false}} {
		sites := []on{{choose, 0.17, 0.04, 0.05}, {send, 0.05, 0.01, 0.02}, {receive, 0.05, 0.01, 0}}
		if test.sends > 0 {
			sites = append(sites, on{own, test.sends, 0, 0})
		}
		d := diagnose(cpu(1.5, shares{profile.ChannelWork: 0.24, profile.ChannelLock: 0.06, profile.AfterPark: 0.12, profile.UserCode: 0.58}, sites...),
			goroutinesAt(in(choose, 1, 0), in(send, 6, 1), in(receive, 1, 0)), metrics(0, 900_000))
		if f := d.found(Pump); (f != nil) != test.found {
			t.Errorf("%s: %s", name, d.Answer)
		} else if f != nil && (f.Best() == nil || f.Best().Name != Elastic || f.Best().Gain.High > 6) {
			t.Errorf("%s: %+v", name, f.Remedies)
		}
	}
}

// TestCasesOfSelects: sources that select are at the other ends of a large
// select, too.
func TestCasesOfSelects(t *testing.T) {
	d := diagnose(cpu(1.3, shares{profile.ChannelWork: 0.75, profile.UserCode: 0.25}, on{choose, 0.7, 0.1, 0.02}, on{at(profile.Select, "stream"), 0.05, 0, 0}),
		goroutinesAt(rooted(choose, 1, 0, "run"), rooted(at(profile.Select, "stream"), 56, 9, "stream"), rooted(receive, 2, 0, "drain")), metrics(0, 147_000))
	f := d.found(LargeSelect)
	if f == nil || f.Best() == nil || f.Best().Name != MergeChannels || f.Best().Gain.High < 5 {
		t.Errorf("%s: %+v", d.Answer, f)
	}
}
