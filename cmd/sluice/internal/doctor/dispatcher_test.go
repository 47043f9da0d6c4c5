package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestDispatcher: a goroutine takes tasks of clients that wait for each, and hands
// them to workers, which report to it when they are idle. It is a hop, the clients
// have nothing to collect, and whoever receives an answer is not behind the hop.
func TestDispatcher(t *testing.T) {
	take, give, idle := at(profile.Select, "(*Pool).dispatch"), at(profile.Send, "(*Pool).dispatch"), at(profile.Send, "worker")
	submit, result, task := at(profile.Send, "(*Pool).Submit"), at(profile.Receive, "(*Pool).Submit"), at(profile.Range, "worker")
	give.At.Line, idle.At.Line, result.At.Line = give.At.Line+9, idle.At.Line+5, result.At.Line+4
	const dispatcher, worker, client = "example.com/q.(*Pool).dispatch", "example.com/q.worker", "example.com/q.client"
	with := func(work, answer float64) *Diagnosis {
		return diagnose(
			cpu(1.5, shares{profile.ChannelWork: 0.6, profile.AfterPark: 0.15, profile.UserCode: 0.25}, on{take, 0.18, 0.02, 0.02}, on{give, 0.12, 0.02, 0.04},
				on{idle, 0.10, 0.02, 0.03}, on{submit, 0.11, 0.02, 0.02}, on{task, 0.03, 0.01, 0}, on{result, answer, 0.01, 0}),
			goroutinesAt(rooted(take, 1, 0, "(*Pool).dispatch"), rooted(submit, 32, 8, "client"), rooted(result, 32, 16, "client"), rooted(task, 16, 1, "worker")),
			func(c *profile.Capture) {
				for i, root := range []string{dispatcher, dispatcher, worker, client, worker, client} {
					c.CPU.Sites[i].Roots = []string{root}
				}
				c.CPU.Stages = []profile.CPUStage{{Root: dispatcher, Work: secs(work), Channel: secs(4.5)}, {Root: worker, Work: secs(2), Channel: secs(2)}, {Root: client, Work: secs(2), Channel: secs(2)}}
			})
	}
	for _, answer := range []float64{0.02, 0.06} {
		d := with(0.5, answer)
		f := d.found(Hop)
		if f == nil || f.Best() == nil || f.Best().Name != RemoveHop || f.Best().Gain.Low > 1.95 || f.Best().Gain.High < 1.95 || d.found(OwnedState) != nil || d.Verdict != Yes {
			t.Errorf("answers take %v: %s: %+v", answer, d.Answer, d.Findings)
		}
		for i := range d.Findings {
			for _, r := range d.Findings[i].Remedies {
				if r.Name == Batch || r.Name == Buffer {
					t.Errorf("clients wait for each result: %+v", r)
				}
			}
		}
	}
	if d := with(3, 0.02); d.found(Hop) != nil {
		t.Errorf("a dispatcher that works: %s", d.Answer)
	}
}

// TestPoolOfLightService: where few cores are in use, a pool comes before shares
// of their time.
func TestPoolOfLightService(t *testing.T) {
	acquire := at(profile.Select, "(*Pool).Acquire")
	acquire.Caller = profile.Frame{Function: "example.com/q.handle"}
	parts := []part{
		cpu(0.15, shares{profile.SystemCalls: 0.5, profile.ChannelWork: 0.2, profile.UserCode: 0.3}, on{acquire, 0.2, 0.01, 0.05}),
		goroutinesAt(rooted(acquire, 44, 44, "handle"), rooted(sink, 8, 8, "handle")),
		func(c *profile.Capture) { c.CPU.Sites[0].Roots = []string{"example.com/q.handle"} },
	}
	if d := diagnose(parts...); len(d.Findings) == 0 || d.Findings[0].Kind != ExhaustedPool || d.found(TransferCost) != nil {
		t.Errorf("%s: %+v", d.Answer, d.Findings)
	}
}
