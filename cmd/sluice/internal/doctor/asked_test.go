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
