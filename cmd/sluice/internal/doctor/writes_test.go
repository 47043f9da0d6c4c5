package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestWriteSeveral: goroutines that make a system call for each value, while
// more values wait, can make one for several. Where each value wakes its
// receiver there is nothing to collect.
func TestWriteSeveral(t *testing.T) {
	pump, hub := at(profile.Select, "(*Conn).pump"), at(profile.Send, "(*Hub).run")
	base := []part{
		cpu(1.05, shares{profile.SystemCalls: 0.77, profile.ChannelWork: 0.14, profile.UserCode: 0.09}, on{pump, 0.08, 0.02, 0}, on{hub, 0.06, 0.02, 0.01}),
		goroutinesAt(in(pump, 32, 10), in(hub, 1, 0)),
		func(c *profile.Capture) {
			const root = "example.com/q.(*Conn).pump"
			c.CPU.Sites[0].Roots, c.CPU.Sites[1].Roots = []string{root}, []string{"example.com/q.(*Hub).run"}
			c.CPU.Stages = []profile.CPUStage{{Root: root, Work: secs(8.5), System: secs(8), Channel: secs(1)}}
			c.CPU.Users = append(c.CPU.Users, profile.UserTime{Function: "net.(*netFD).Write", All: secs(7.5)})
		},
	}
	for wakeups, want := range map[float64]bool{40_000: true, 120_000: false} {
		f := diagnose(append(base, metrics(0, wakeups))...).found(SystemCallBound)
		if f == nil || (f.Best() != nil) != want || want && (f.Best().Name != Batch || f.Best().Gain.Low > 3.79 || f.Best().Gain.High < 3.79) {
			t.Errorf("%.0f wake-ups per second: %+v", wakeups, f)
		}
	}
	elsewhere := func(c *profile.Capture) { c.CPU.Stages[0].System = secs(1) }
	if f := diagnose(append(base, metrics(0, 20_000), elsewhere)...).found(SystemCallBound); f == nil || f.Best() != nil {
		t.Errorf("other goroutines make the calls: %+v", f)
	}
	datagrams := func(c *profile.Capture) { c.CPU.Users[len(c.CPU.Users)-1].Function = "net.(*netFD).writeMsg" }
	if f := diagnose(append(base, metrics(0, 20_000), datagrams)...).found(SystemCallBound); f == nil || f.Best() != nil {
		t.Errorf("datagrams: %+v", f)
	}
}

// TestWriteAfterLinger: where each value wakes its writer, and many arrive at it
// in a moment, a delay collects them; the remedy says so. Few of them need more
// delay than they may get.
func TestWriteAfterLinger(t *testing.T) {
	loop, put := at(profile.Select, "(*Session).sendLoop"), at(profile.Select, "(*Session).sendMsg")
	const root = "example.com/q.(*Session).sendLoop"
	with := func(parks int64) *Finding {
		return diagnose(
			cpu(0.9, shares{profile.SystemCalls: 0.56, profile.ChannelWork: 0.2, profile.UserCode: 0.24}, on{loop, 0.08, 0.02, 0}, on{put, 0.12, 0.02, 0.05}),
			goroutinesAt(rooted(loop, 2, 1, "(*Session).sendLoop"), rooted(put, 64, 0, "stream")),
			func(c *profile.Capture) {
				c.CPU.Sites[0].Roots, c.CPU.Sites[1].Roots = []string{root}, []string{"example.com/q.stream"}
				c.CPU.Stages = []profile.CPUStage{{Root: root, Work: secs(5), System: secs(4.9)}}
				c.CPU.Users = append(c.CPU.Users, profile.UserTime{Function: "net.(*netFD).Write", All: secs(4.8)})
				c.Trace = &profile.Trace{Window: secs(0.5), Running: secs(0.5), Wakeups: parks * 2, Sites: []profile.TraceSite{{Site: loop, Parks: parks, Waited: secs(0.5)}}}
			}).found(SystemCallBound)
	}
	f := with(47_000)
	if f == nil || f.Best() == nil || f.Best().Name != Batch || !strings.Contains(f.Best().How, "late by that time") || f.Best().Gain.Low > 1.63 || f.Best().Gain.High < 1.63 {
		t.Errorf("a multiplexer: %+v", f)
	}
	if f := with(19_000); f == nil || f.Best() != nil {
		t.Errorf("few values at each writer: %+v", f)
	}
}

// TestWritesOfABroker: the calls of goroutines that write to streams are worth a
// remedy below the share of a service bound by system calls, which comes first.
func TestWritesOfABroker(t *testing.T) {
	loop, publish := at(profile.Select, "(*Client).loop"), at(profile.PollSend, "(*Server).publish")
	const root = "example.com/q.(*Client).loop"
	with := func(system float64) *Diagnosis {
		return diagnose(
			cpu(1.4, shares{profile.SystemCalls: system, profile.Collecting: 0.45, profile.ChannelWork: 0.02, profile.UserCode: 0.53 - system}, on{loop, 0.01, 0.01, 0}, on{publish, 0.01, 0, 0.002}),
			goroutinesAt(rooted(loop, 8, 3, "(*Client).loop")),
			func(c *profile.Capture) {
				c.CPU.Sites[0].Roots, c.CPU.Sites[1].Roots = []string{root}, []string{"example.com/q.read"}
				c.CPU.Stages = []profile.CPUStage{{Root: root, Work: secs(7), System: secs(14 * system)}}
				c.CPU.Users = append(c.CPU.Users, profile.UserTime{Function: "net.(*netFD).writeBuffers", All: secs(14 * system)})
				c.Glimpse = &profile.Trace{Window: secs(0.02), Running: secs(0.03), Wakeups: 11, Sites: []profile.TraceSite{{Site: loop, Parks: 5}}}
			})
	}
	if d := with(0.22); d.Verdict != No || d.Findings[0].Kind != SystemCallBound || d.Findings[0].Best() == nil || d.Findings[0].Best().Name != Batch {
		t.Errorf("%s: %+v", d.Answer, d.Findings)
	}
	if d := with(0.12); d.found(SystemCallBound) != nil {
		t.Errorf("few calls: %s", d.Answer)
	}
}

// TestOutweighed: where writes cost more than channels, passing values is no
// second fault.
func TestOutweighed(t *testing.T) {
	loop, put := at(profile.Select, "(*Session).sendLoop"), at(profile.Send, "(*Session).send")
	const root = "example.com/q.(*Session).sendLoop"
	with := func(system float64) *Diagnosis {
		return diagnose(
			cpu(1.1, shares{profile.SystemCalls: system, profile.ChannelWork: 0.25, profile.UserCode: 0.75 - system}, on{loop, 0.15, 0.02, 0}, on{put, 0.10, 0.02, 0.05}),
			goroutinesAt(rooted(loop, 2, 1, "(*Session).sendLoop"), rooted(put, 64, 0, "stream")),
			func(c *profile.Capture) {
				c.CPU.Sites[0].Roots, c.CPU.Sites[1].Roots = []string{root}, []string{"example.com/q.stream"}
				c.CPU.Stages = []profile.CPUStage{{Root: root, Work: secs(11 * system), System: secs(11 * system)}}
				c.CPU.Users = append(c.CPU.Users, profile.UserTime{Function: "net.(*netFD).Write", All: secs(11 * system)})
				c.Trace = &profile.Trace{Window: secs(0.5), Running: secs(0.5), Wakeups: 5000, Sites: []profile.TraceSite{{Site: loop, Parks: 1000, Waited: secs(0.5)}}}
			})
	}
	if d := with(0.5); d.Verdict != No || d.found(TransferCost) != nil {
		t.Errorf("writes outweigh channels: %s: %s", d.Verdict, d.Answer)
	}
	if d := with(0.2); d.found(TransferCost) == nil {
		t.Errorf("channels outweigh writes: %s: %s", d.Verdict, d.Answer)
	}
}

// TestOverWire: a client of one connection whose server has the other core has
// nothing to gain from a channel less; a service that uses its cores has.
func TestOverWire(t *testing.T) {
	take, put := at(profile.Range, "(*client).run"), at(profile.Send, "(*client).decode")
	with := func(cores, calls float64) *Diagnosis {
		return diagnose(
			cpu(cores, shares{profile.SystemCalls: calls, profile.ChannelWork: 0.25, profile.UserCode: 0.75 - calls}, on{take, 0.15, 0.02, 0.02}, on{put, 0.1, 0.02, 0.04}),
			goroutinesAt(rooted(take, 1, 1, "(*client).run"), rooted(put, 1, 0, "(*client).decode")),
			func(c *profile.Capture) {
				c.CPU.Users = append(c.CPU.Users, profile.UserTime{Function: "net.(*netFD).Write", All: secs(5 * cores * calls)}, profile.UserTime{Function: "net.(*netFD).Read", All: secs(5 * cores * calls)})
			})
	}
	for _, test := range []struct {
		cores, calls float64
		verdict      Verdict
	}{{0.7, 0.25, No}, {0.7, 0.08, Yes}, {1.6, 0.25, Yes}} {
		d := with(test.cores, test.calls)
		if found := d.found(SystemCallBound); d.Verdict != test.verdict || (found != nil) != (test.verdict == No) || (d.found(TransferCost) != nil) != (test.verdict == Yes) {
			t.Errorf("%.1f cores, %.2f in calls: %s: %s", test.cores, test.calls, d.Verdict, d.Answer)
		}
	}
}

// TestFullWriter: a goroutine that takes a core and writes each value to a file,
// while all its senders are in the send, never waits for values.
func TestFullWriter(t *testing.T) {
	take, put := at(profile.Range, "(*log).write"), at(profile.Send, "(*log).add")
	const root = "example.com/q.(*log).write"
	with := func(work, channel float64, inSend int) *Diagnosis {
		return diagnose(
			cpu(1.8, shares{profile.SystemCalls: 0.3, profile.ChannelWork: 0.38, profile.UserCode: 0.32}, on{take, 0.2, 0.02, 0.1}, on{put, 0.18, 0.02, 0}),
			goroutinesAt(rooted(take, 0, 0, "(*log).write"), rooted(at(profile.Other, "(*log).flush"), 1, 0, "(*log).write"), rooted(put, inSend, 0, "work"), rooted(at(profile.Other, "work"), 8-inSend, 0, "work")),
			metrics(0, 600_000),
			func(c *profile.Capture) {
				c.CPU.Sites[0].Roots, c.CPU.Sites[1].Roots = []string{root}, []string{"example.com/q.work"}
				c.CPU.Stages = []profile.CPUStage{{Root: root, Work: secs(work), System: secs(5.4), Channel: secs(channel)}}
				c.CPU.Users = append(c.CPU.Users, profile.UserTime{Function: "os.(*File).Write", All: secs(5.4)})
			})
	}
	if d := with(6.8, 2.7, 8); d.Verdict != No || d.Findings[0].Best() == nil || d.Findings[0].Best().Name != Batch || d.Findings[0].Best().Gain.Low > 2.16 || d.Findings[0].Best().Gain.High < 2.16 {
		t.Errorf("%s: %s: %+v", d.Verdict, d.Answer, d.Findings)
	}
	for name, d := range map[string]*Diagnosis{"two of eight send": with(6.8, 2.7, 2), "half a core": with(5.5, 2.0, 8), "channels cost it as much": with(6.8, 5.2, 8)} {
		if d.Verdict != Yes {
			t.Errorf("%s: %s: %s", name, d.Verdict, d.Answer)
		}
	}
}
