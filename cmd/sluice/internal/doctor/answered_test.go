package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestAnswersElsewhere checks that a goroutine that runs the functions which it
// receives, and so answers in another function, is asked: a mutex would do. Without
// the wake-ups of the answer, nothing shows that.
func TestAnswersElsewhere(t *testing.T) {
	ask, wait := at(profile.Send, "(*loop).Update"), at(profile.Receive, "(*loop).Update")
	wait.At.Line = ask.At.Line + 5
	run, done := at(profile.Range, "(*loop).run"), at(profile.Close, "(*loop).Update.func1")
	for name, answers := range map[string]int64{"answered": 100_000, "not answered": 0} {
		pairs := []profile.Pair{{Waker: ask, Sleeper: run, Count: 100_000}}
		if answers > 0 {
			pairs = append(pairs, profile.Pair{Waker: done, Sleeper: wait, Count: answers})
		}
		d := diagnose(cpu(1.9, shares{profile.ChannelWork: 0.5, profile.ChannelLock: 0.1, profile.AfterPark: 0.1, profile.UserCode: 0.3},
			on{ask, 0.2, 0.05, 0.1}, on{run, 0.15, 0.05, 0}, on{wait, 0.15, 0, 0}, on{done, 0.1, 0, 0.05}),
			goroutinesAt(rooted(ask, 8, 4, "handle"), rooted(run, 1, 0, "(*loop).run"), rooted(wait, 8, 4, "handle")),
			woke(pairs...), func(c *profile.Capture) {
				for i, root := range []string{"handle", "(*loop).run", "handle", "(*loop).run"} {
					c.CPU.Sites[i].Roots = []string{"example.com/q." + root}
				}
			})
		f := d.found(RequestResponse)
		if asked := f != nil && f.Best() != nil && f.Best().Name == Mutex; asked != (answers > 0) {
			t.Errorf("%s: %s\n%+v", name, d.Answer, f)
		}
	}
}
