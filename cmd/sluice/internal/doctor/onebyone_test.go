package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestOneByOne: handlers ask a goroutine and wait for its answer, and goroutines
// are started for one value each: neither slices nor slots help. Values that
// nobody answers can be collected.
func TestOneByOne(t *testing.T) {
	serve, ask, answer := at(profile.Select, "serve"), at(profile.Select, "handle"), at(profile.Select, "handle")
	reply, write := at(profile.PollSend, "serve"), at(profile.Send, "write")
	answer.At.Line, reply.At.Line = answer.At.Line+5, reply.At.Line+3
	const server, handler, writer = "example.com/q.serve", "example.com/q.handler", "example.com/q.write"
	with := func(channels float64, answers int64, writers int) []part {
		return []part{
			cpu(1, shares{profile.ChannelWork: channels, profile.SystemCalls: 0.2, profile.UserCode: 0.8 - channels}, on{serve, channels * 0.6, 0, channels * 0.2}, on{ask, channels * 0.2, 0, 0},
				on{answer, channels * 0.1, 0, 0}, on{reply, channels * 0.05, 0, 0}, on{write, channels * 0.05, 0, 0}),
			goroutinesAt(rooted(serve, 8, 8, "serve"), rooted(ask, 16, 8, "handler"), rooted(answer, 16, 8, "handler")),
			func(c *profile.Capture) {
				for i, root := range []string{server, handler, handler, server, writer} {
					c.CPU.Sites[i].Roots = []string{root}
				}
				c.Trace = &profile.Trace{
					Window: secs(0.5), Wakeups: 60_000, Running: secs(0.5),
					Pairs:  []profile.Pair{{Waker: write, Sleeper: serve, Count: 40_000}, {Waker: ask, Sleeper: serve, Count: 10_000}, {Waker: reply, Sleeper: answer, Count: answers}},
					Sites:  []profile.TraceSite{{Site: serve, Parks: 50_000, Waited: secs(3)}, {Site: answer, Parks: 10_000, Waited: secs(2)}},
					Stages: []profile.Stage{{Root: writer, Count: writers}, {Root: server, Count: 8}, {Root: handler, Count: 16}},
				}
			},
		}
	}
	for name, test := range map[string]struct {
		parts []part
		want  bool
	}{
		"questions and frames":       {with(0.25, 10_000, 40_000), true},
		"nobody answers":             {with(0.25, 100, 40_000), false},
		"the writers live for long":  {with(0.25, 10_000, 8), false},
		"channels are half the cost": {with(0.5, 10_000, 40_000), true},
	} {
		d := diagnose(test.parts...)
		f := d.found(TransferCost)
		batches := f != nil && f.Best() != nil && (f.Best().Name == Batch || f.Best().Name == Buffer)
		if batches == test.want {
			t.Errorf("%s: %s: %s\n%+v", name, d.Verdict, d.Answer, f)
		}
		if small := strings.HasPrefix(name, "questions"); small && d.Verdict == Yes {
			t.Errorf("%s: %s: %s", name, d.Verdict, d.Answer)
		}
	}
}

// TestStolenCoresExclude: a service that uses all the cores that others leave it is
// excluded from waiting for channels.
func TestStolenCoresExclude(t *testing.T) {
	parts := []part{
		cpu(0.85, shares{profile.UserCode: 0.55, profile.SystemCalls: 0.20, profile.Collecting: 0.24, profile.ChannelWork: 0.01}, on{choose, 0.01, 0, 0}),
		goroutinesAt(in(choose, 9, 5)), metrics(0, 1000),
	}
	if d := diagnose(append(parts, psIdle(0.05))...); d.Verdict != No {
		t.Errorf("all cores that it gets are in use: %s: %s", d.Verdict, d.Answer)
	}
	if d := diagnose(append(parts, psIdle(0.55))...); d.Verdict != Undetermined {
		t.Errorf("cores are idle: %s: %s", d.Verdict, d.Answer)
	}
}
