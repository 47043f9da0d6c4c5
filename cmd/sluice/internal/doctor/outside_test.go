package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// synced opens a capture of a service for positions of vehicles: one dispatcher sends
// each to an archive, which syncs its file after 8 of them, and to two consumers in
// memory. One sync for up to 64 values gained ×4.3, and is the batched one, for which more
// slots gained ×1.3.
func synced(t *testing.T, name string) *profile.Capture { return fixture(t, "syncs", name) }

// TestSyncHoldsBack: the goroutine in a sync is the limit, not the channel in front of
// it nor the CPU time, with the machine for itself and beside other processes.
func TestSyncHoldsBack(t *testing.T) {
	for name, measured := range map[string]float64{"alone": 4.3, "beside": 4.3, "batched": 1.3} {
		d := Diagnose(synced(t, name), Reference())
		if d.Verdict != No || len(d.Findings) == 0 || d.Findings[0].Kind != Downstream {
			t.Fatalf("%s: %s, %+v", name, d.Verdict, d.Findings)
		}
		found := &d.Findings[0]
		if found.At == nil || found.At.Function != "main.dispatch" || !strings.Contains(found.Text, "is in a sync of a file for") || !strings.Contains(found.Text, "main.keep (main.go:70)") {
			t.Errorf("%s: %s", name, found.Text)
		}
		best := found.Best()
		if best.Name != Batch || best.Gain.Low > measured+0.1 || best.Gain.High < measured || !strings.Contains(best.How, "sync once ") {
			t.Errorf("%s: %+v", name, best)
		}
		if strings.Contains(found.Channel, "[]T") {
			t.Errorf("%s: %s", name, found.Channel)
		}
		for _, kind := range []Kind{CPULimit, TransferCost, Lockstep} {
			if other := d.found(kind); other != nil {
				t.Errorf("%s: also %s", name, other.Text)
			}
		}
	}
}

// TestOutsideByTrace: a stage in I/O is the limit if it is there most of the time, and
// senders wait for it most of the time, while cores are idle.
func TestOutsideByTrace(t *testing.T) {
	send, receive := at(profile.Send, "put"), at(profile.Receive, "store")
	wait := at(profile.IO, "store")
	base := func() (tr *profile.Trace, cores float64) {
		return &profile.Trace{Window: watched, Wakeups: 5000,
			Pairs:  []profile.Pair{{Waker: receive, Sleeper: send, Count: 2000}},
			Sites:  []profile.TraceSite{{Site: send, Parks: 2000, Waited: watched * 8 / 10}, {Site: wait, Parks: 2000, Waited: watched * 9 / 10}},
			Stages: []profile.Stage{{Root: "example.com/q.store", Count: 1, Waiting: watched * 9 / 10}},
		}, 0.9
	}
	for name, test := range map[string]struct {
		change func(tr *profile.Trace, cores *float64)
		want   bool
	}{
		"held back":        {func(*profile.Trace, *float64) {}, true},
		"mostly elsewhere": {func(tr *profile.Trace, _ *float64) { tr.Sites[1].Waited = watched * 4 / 10 }, false},
		"two of them":      {func(tr *profile.Trace, _ *float64) { tr.Stages[0].Count = 2 }, false},
		"two lines wait": {func(tr *profile.Trace, _ *float64) {
			rare := at(profile.Send, "rarely")
			tr.Pairs = append(tr.Pairs, profile.Pair{Waker: receive, Sleeper: rare, Count: 10})
			tr.Sites = append(tr.Sites, profile.TraceSite{Site: rare, Parks: 10, Waited: watched / 20})
		}, true},
		"mostly others receive": {func(tr *profile.Trace, _ *float64) {
			tr.Pairs = append(tr.Pairs, profile.Pair{Waker: at(profile.Receive, "other"), Sleeper: send, Count: 3000})
		}, false},
		"two stages wait there": {func(tr *profile.Trace, _ *float64) { tr.Sites[1].Waited = watched * 3 / 2 }, false},
		"nobody waits":          {func(tr *profile.Trace, _ *float64) { tr.Sites[0].Waited = watched / 10 }, false},
		"waits for values": {func(tr *profile.Trace, _ *float64) {
			tr.Sites[1].Waited, tr.Stages[0].Waiting = watched*6/10, watched*9/10
		}, false},
		"another receives": {func(tr *profile.Trace, _ *float64) { tr.Pairs[0].Waker = at(profile.Receive, "other") }, false},
		"no idle core":     {func(_ *profile.Trace, cores *float64) { *cores = 1.9 }, false},
	} {
		tr, cores := base()
		test.change(tr, &cores)
		d := diagnose(cpu(cores, shares{profile.UserCode: 0.6, profile.ChannelWork: 0.15, profile.SystemCalls: 0.25}, on{send, 0.10, 0, 0}, on{receive, 0.05, 0, 0}),
			goroutinesAt(in(send, 1, 1)), func(c *profile.Capture) { c.Trace = tr })
		found := d.found(Downstream)
		if (found != nil) != test.want {
			t.Errorf("%s: %+v", name, found)
			continue
		}
		if found != nil && (found.At.Function != "example.com/q.put" || found.Best().Name != MoreReceivers || strings.Contains(found.Text, "sync")) {
			t.Errorf("%s: %s, %+v", name, found.Text, found.Best())
		}
	}
}

// TestSyncsAreSystemCalls: where syncs of files are most of the system calls, the finding
// names them, and does not advise larger writes.
func TestSyncsAreSystemCalls(t *testing.T) {
	for part, want := range map[float64]bool{0.4: true, 0.1: false} {
		d := diagnose(cpu(0.9, shares{profile.UserCode: 0.4, profile.SystemCalls: 0.5, profile.ChannelWork: 0.1}, on{send, 0.05, 0, 0}, on{receive, 0.05, 0, 0}),
			goroutinesAt(in(send, 1, 0)), func(c *profile.Capture) {
				c.CPU.Stages = []profile.CPUStage{{Root: "example.com/q.store", Work: c.CPU.Total / 2, Syncs: time.Duration(part * float64(c.CPU.Total))}}
			})
		found := d.found(SystemCallBound)
		if found == nil {
			t.Fatalf("%v: %s", part, d.Answer)
		}
		if named := strings.Contains(found.Text, "syncs of files in q.store "); named != want || strings.Contains(found.Next, "share a sync") != want {
			t.Errorf("%v: %s, next: %s", part, found.Text, found.Next)
		}
	}
}
