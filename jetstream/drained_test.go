package jetstream

import (
	"context"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// With several replicas, a sealed and empty stream may fill again, and the answering
// server may no longer be the leader: which answers, at which times, mean that the
// channel is drained.
func TestIsDrained(t *testing.T) {
	t.Parallel()
	long, ago := attemptTimeout+time.Second, time.Now().Add(-time.Hour)
	ms := time.Millisecond
	type answer struct {
		after   time.Duration // of the request, since the first one
		took    time.Duration // from the request to the answer
		leader  string
		since   time.Time
		msgs    uint64
		heard   []time.Duration // time since the leader heard from each peer
		failed  bool            // the check failed
		drained bool
	}
	two := []time.Duration{ms, ms}
	for _, test := range []struct {
		name    string
		answers []answer
	}{
		{"twice, an attempt apart", []answer{
			{leader: "a", heard: two}, {after: attemptTimeout / 2, leader: "a", heard: two}, {after: long, leader: "a", heard: two, drained: true}}},
		{"the stream fills again", []answer{
			{leader: "a", heard: two}, {after: long, leader: "a", msgs: 1, heard: two}, {after: 2 * long, leader: "a", heard: two, drained: true}}},
		{"the first answer took long", []answer{{took: attemptTimeout, leader: "a", heard: two}, {after: long, leader: "a", heard: two}, {after: 2 * long, leader: "a", heard: two, drained: true}}},
		{"the last answer took long", []answer{{leader: "a", heard: two}, {after: attemptTimeout / 2, took: attemptTimeout, leader: "a", heard: two}}},
		{"another leader", []answer{{leader: "a", heard: two}, {after: long, leader: "b", heard: two}}},
		{"elected again", []answer{{leader: "a", since: ago, heard: two}, {after: long, leader: "a", since: ago.Add(ms), heard: two}}},
		{"the same leader", []answer{{leader: "a", since: ago, heard: two}, {after: long, leader: "a", since: ago, heard: two, drained: true}}},
		{"no leader", []answer{{heard: two}, {after: long, heard: two}, {after: 2 * long, heard: two}}},
		{"no leader in between", []answer{{leader: "a", heard: two}, {after: ms, heard: two}, {after: long, leader: "a", heard: two}}},
		{"a dead peer", []answer{{leader: "a", heard: two}, {after: long, leader: "a", heard: []time.Duration{time.Hour, ms}, drained: true}}},
		{"a peer that never appeared", []answer{{leader: "a", heard: two}, {after: long, leader: "a", heard: []time.Duration{0, ms}, drained: true}}},
		{"a leader that is cut off while the stream moves", []answer{{leader: "a", heard: two}, {after: long, leader: "a", heard: []time.Duration{ms, ms, time.Hour, 0, 0}}}},
		{"a leader that is cut off", []answer{{leader: "a", heard: two}, {after: long, leader: "a", heard: []time.Duration{time.Hour, recentContact}}}},
		{"a leader without contact", []answer{{leader: "a"}, {after: long, leader: "a", heard: []time.Duration{0, 0}}}},
		{"a check that failed", []answer{{leader: "a", heard: two}, {failed: true}, {after: long, leader: "a", heard: two}}},
	} {
		c := alone(config{replicas: 1}) // since then, replicas were added
		for i, a := range test.answers {
			if a.failed {
				c.stream.sealedBy = sealedBy{} // as check does
				continue
			}
			info := &natsjs.StreamInfo{
				Config:  natsjs.StreamConfig{Replicas: 3},
				Cluster: &natsjs.ClusterInfo{Leader: a.leader}, State: natsjs.StreamState{Msgs: a.msgs},
			}
			if !a.since.IsZero() {
				info.Cluster.LeaderSince = &a.since
			}
			for _, d := range a.heard {
				info.Cluster.Replicas = append(info.Cluster.Replicas, &natsjs.PeerInfo{Active: d})
			}
			at := time.Now().Add(a.after)
			if drained := c.stream.isDrained(info, at, at.Add(a.took)); drained != a.drained {
				t.Errorf("%s: answer %d: drained: %v, want %v", test.name, i, drained, a.drained)
			}
		}
	}
	one := alone(config{replicas: 3}) // since then, replicas were removed
	for msgs := range uint64(2) {
		info := &natsjs.StreamInfo{Config: natsjs.StreamConfig{Replicas: 1}, State: natsjs.StreamState{Msgs: msgs}}
		if drained := one.stream.isDrained(info, time.Now(), time.Now()); drained != (msgs == 0) {
			t.Errorf("one replica with %d values: drained: %v", msgs, drained)
		}
	}
}

// A check that fails, and one that finds the stream not sealed, restart the wait.
func TestSealedByReset(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	ctx, cancel := withCancel(t)
	cancel()
	for name, ctx := range map[string]context.Context{"no answer": ctx, "not sealed": patient(t)} {
		c.core.stream.sealedBy = sealedBy{candidate: candidate{name: "a"}}
		if err := c.core.stream.check(ctx); (err != nil) != (ctx.Err() != nil) || c.core.stream.sealedBy.name != "" {
			t.Errorf("%s: check: %v, and sealedBy is %q", name, err, c.core.stream.sealedBy.name)
		}
	}
}
