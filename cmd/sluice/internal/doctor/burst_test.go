package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestBurstIsNoLeak checks that goroutines which are ready to run are a burst of
// requests, however many more there are; leaked ones wait.
func TestBurstIsNoLeak(t *testing.T) {
	for name, waiting := range map[string]int{"a burst": 2, "a leak": 126} {
		site := rooted(at(profile.Select, "(*conn).write"), 126, 20, "handle")
		site.In, site.Waiting, site.Runnable = 126, waiting, 126-waiting
		d := diagnose(goroutinesAt(site), before, func(c *profile.Capture) { c.Goroutines.Earlier, c.Goroutines.Total = 20, 126 })
		if leaks := d.found(Leak) != nil; leaks != (name == "a leak") {
			t.Errorf("%s: %s", name, d.Answer)
		}
	}
}

// TestSlowStageAnswersAtOnce checks that the goroutines which ask a slow stage need
// not be seen waiting, nor sending: it may have made all of them ready to run, and a
// send into a queue with room takes hardly any CPU time. Their wake-ups show it.
func TestSlowStageAnswersAtOnce(t *testing.T) {
	ask, wait := at(profile.Send, "(*ranker).handle"), at(profile.Receive, "(*ranker).handle")
	wait.At.Line = ask.At.Line + 1
	loop, reply := at(profile.Range, "(*ranker).loop"), at(profile.Send, "(*ranker).loop")
	for name, asked := range map[string]bool{"asked": true, "nothing is": false} {
		pairs := []profile.Pair{{Waker: reply, Sleeper: wait, Count: 900}}
		if asked {
			pairs = append(pairs, profile.Pair{Waker: ask, Sleeper: loop, Count: 90})
		}
		d := diagnose(cpu(0.97, shares{profile.ChannelWork: 0.04, profile.UserCode: 0.96}, on{wait, 0.02, 0, 0}, on{reply, 0.02, 0, 0.01}),
			goroutinesAt(rooted(wait, 16, 1, "(*ranker).handle"), rooted(reply, 1, 0, "(*ranker).loop")),
			staged(stagePart{"(*ranker).loop", 1, 0.96, 0.02}, stagePart{"(*ranker).handle", 16, 0, 0.02}),
			func(c *profile.Capture) {
				c.Glimpse = &profile.Trace{Window: secs(0.02), Wakeups: 1000, Running: secs(0.02), Pairs: pairs}
			})
		f := d.found(SlowStage)
		if more := f != nil && f.Best() != nil && f.Best().Name == MoreReceivers; more != asked {
			t.Errorf("%s: %s\n%+v", name, d.Answer, f)
		}
	}
}

// TestQuestionsWithoutTrace checks that a server whose frames are written by a
// goroutine each is no transfer cost in a short trace either, even if the send of
// those goroutines is the costliest operation.
func TestQuestionsWithoutTrace(t *testing.T) {
	serve, write := at(profile.Select, "serve"), at(profile.Send, "write")
	for name, writers := range map[string]int{"a goroutine per frame": 900, "one for all": 1} {
		d := diagnose(cpu(0.9, shares{profile.ChannelWork: 0.2, profile.SystemCalls: 0.3, profile.UserCode: 0.5}, on{write, 0.12, 0, 0.06}, on{serve, 0.08, 0, 0}),
			goroutinesAt(rooted(serve, 8, 8, "serve")),
			func(c *profile.Capture) {
				c.CPU.Sites[0].Roots, c.CPU.Sites[1].Roots = []string{write.At.Function}, []string{serve.At.Function}
				c.Glimpse = &profile.Trace{Window: secs(0.02), Wakeups: 1000, Running: secs(0.018), Pairs: []profile.Pair{{Waker: write, Sleeper: serve, Count: 900}},
					Stages: []profile.Stage{{Root: write.At.Function, Count: writers}, {Root: serve.At.Function, Count: 8}}}
			})
		if yes := d.Verdict == Yes; yes != (writers == 1) {
			t.Errorf("%s: %s: %s", name, d.Verdict, d.Answer)
		}
	}
}
