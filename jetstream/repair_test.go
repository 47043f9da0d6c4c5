package jetstream

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// lossy returns a channel whose servers forgot the last ten of fifteen values in a
// power failure, but not that they had delivered them.
func lossy(t *testing.T) Options[int] {
	o := Options[int]{Name: "jobs", Dir: t.TempDir(), Log: mute()}
	c := open(t, o)
	mustSend(t, c, 0, 1, 2, 3, 4)
	leave(t, c)
	stored := filepath.Join(o.Dir, "jetstream", "$G", "streams", "jobs", "msgs")
	synced := filepath.Join(t.TempDir(), "msgs")
	if err := os.CopyFS(synced, os.DirFS(stored)); err != nil {
		t.Fatal(err)
	}
	c = open(t, o)
	mustSend(t, c, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
	for range 15 {
		if err := mustDeliver(t, c).AckSync(patient(t)); err != nil {
			t.Fatal(err)
		}
	}
	leave(t, c)
	if err := os.RemoveAll(stored); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(stored, os.DirFS(synced)); err != nil {
		t.Fatal(err)
	}
	return o
}

// After such a loss, sequence numbers are reused. A consumer that was not repaired
// would skip those values.
func TestLossAtOpen(t *testing.T) {
	t.Parallel()
	c := open(t, lossy(t))
	mustRecv(t, c, 0, 1, 2, 3, 4)
	mustSend(t, c, 20, 21)
	mustRecv(t, c, 20, 21)
	if w := c.Stats().Disk.Warning; !strings.Contains(w, "the servers lost confirmed values") {
		t.Errorf("Stats.Disk.Warning: %q", w)
	}
}

// hasDelivered is a consumer that reports a delivered sequence number.
type hasDelivered struct {
	natsjs.Consumer
	upTo uint64
}

func (h hasDelivered) Info(context.Context) (*natsjs.ConsumerInfo, error) {
	return &natsjs.ConsumerInfo{Delivered: natsjs.SequenceInfo{Stream: h.upTo}}, nil
}

// Values that were sent and delivered after the stream was checked are not lost; a
// delivered sequence number beyond the current end of the stream is one.
func TestDeliveredMeanwhile(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	mustSend(t, c, 1)
	mustDeliver(t, c)
	c.core.stream.mu.Lock()
	defer c.core.stream.mu.Unlock()
	if err := c.core.stream.repair(t.Context(), &natsjs.StreamInfo{}); err != nil || c.core.warnings.String() != "" {
		t.Errorf("%v; warning: %q", err, c.core.warnings.String())
	}
	if err := c.core.stream.repair(canceled(), &natsjs.StreamInfo{}); err == nil {
		t.Error("repair without the state of the consumer succeeded")
	}
	c.core.inbox.mu.Lock()
	c.core.stream.consumer = hasDelivered{upTo: 15}
	c.core.inbox.mu.Unlock()
	if err := c.core.stream.repair(t.Context(), &natsjs.StreamInfo{}); err != nil {
		t.Error(err)
	}
	if w := c.core.warnings.String(); !strings.Contains(w, "the consumer delivered sequence 15, but the last one stored is 1") {
		t.Errorf("warning: %q", w)
	}
}

// A deleted consumer is created again, and a receiver that waits gets the next
// value.
func TestConsumerDeleted(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	received := make(chan int)
	go func() {
		v, err := c.Recv(patient(t))
		if err != nil {
			t.Error(err)
		}
		received <- v
	}()
	until(t, "a receiver waits", func() bool { return c.Stats().ReceiversWaiting == 1 })
	if err := c.core.stream.handle.DeleteConsumer(t.Context(), consumerName); err != nil {
		t.Fatal(err)
	}
	mustSend(t, c, 7)
	if v := <-received; v != 7 {
		t.Errorf("received %d", v)
	}
}

// A value that the consumer still seems to skip after a second is skipped: the
// consumer is created again. Any evidence against it resets the suspicion.
func TestSkipped(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	look := func(first, msgs, floor, pending uint64, inHand int) {
		t.Helper()
		info := &natsjs.StreamInfo{State: natsjs.StreamState{FirstSeq: first, LastSeq: first, Msgs: msgs}}
		state := &natsjs.ConsumerInfo{AckFloor: natsjs.SequenceInfo{Stream: floor}, NumPending: pending, NumAckPending: inHand}
		if err := c.core.stream.repairLoss(t.Context(), info, state); err != nil {
			t.Error(err)
		}
	}
	suspected := &c.core.stream.suspicion
	c.core.stream.mu.Lock() // no other check runs
	defer c.core.stream.mu.Unlock()
	for what, other := range map[string]func(){
		"no value is stored":                  func() { look(3, 0, 5, 0, 0) },
		"values are pending":                  func() { look(3, 1, 5, 1, 0) },
		"values are in flight":                func() { look(3, 1, 5, 0, 1) },
		"the first value is not acknowledged": func() { look(3, 1, 2, 0, 0) },
	} {
		look(3, 1, 3, 0, 0)
		if suspected.first != 3 || suspected.since.IsZero() {
			t.Errorf("a skipped value is not suspected: %+v", *suspected)
		}
		if other(); suspected.first != 0 {
			t.Errorf("%s, and the suspicion remains", what)
		}
	}
	look(3, 1, 5, 0, 0)
	look(4, 1, 5, 0, 0)
	if suspected.first != 4 {
		t.Error("the suspicion is about another value")
	}
	look(4, 1, 5, 0, 0) // too soon
	if w := c.core.warnings.String(); w != "" {
		t.Errorf("recreated too early: %q", w)
	}
	suspected.since = suspected.since.Add(-suspicionTime)
	before := consumerOf(t, c).Created
	look(4, 1, 5, 0, 0)
	if w := c.core.warnings.String(); !strings.Contains(w, "counts everything up to sequence 5 as acknowledged, but 4 is stored") {
		t.Errorf("warning: %q", w)
	}
	if !consumerOf(t, c).Created.After(before) || suspected.first != 0 {
		t.Errorf("the consumer was not recreated, or is suspected itself: %+v", *suspected)
	}
}

func consumerOf(t *testing.T, c *Channel[int]) *natsjs.ConsumerInfo {
	t.Helper()
	consumer, err := c.core.stream.handle.Consumer(t.Context(), consumerName)
	if err != nil {
		t.Fatal(err)
	}
	return consumer.CachedInfo()
}

// With several replicas, a stream that seems to be behind its consumer was not damaged if one
// of the two answers is old, after an election or while the leaders are cut off from each
// other: the symptom must persist, and both leaders must stay the same and hear from a
// majority.
func TestStaleAnswer(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	s := &c.core.stream
	s.mu.Lock() // no other check runs
	defer s.mu.Unlock()
	heard := func(leader string, others ...time.Duration) *natsjs.ClusterInfo {
		cluster := &natsjs.ClusterInfo{Leader: leader}
		for _, active := range others {
			cluster.Replicas = append(cluster.Replicas, &natsjs.PeerInfo{Active: active})
		}
		return cluster
	}
	a, b := heard("a", time.Second, time.Hour), heard("b", time.Second, time.Second)
	look := func(stream, consumer *natsjs.ClusterInfo, first, last uint64) (recreated bool) {
		t.Helper()
		before := consumerOf(t, c).Created
		info := &natsjs.StreamInfo{
			Config: natsjs.StreamConfig{Replicas: 3}, Cluster: stream,
			State: natsjs.StreamState{FirstSeq: first, LastSeq: last, Msgs: last - first + 1},
		}
		state := &natsjs.ConsumerInfo{
			Cluster: consumer, Delivered: natsjs.SequenceInfo{Stream: 5}, AckFloor: natsjs.SequenceInfo{Stream: 5},
		}
		if err := s.repairLoss(t.Context(), info, state); err != nil {
			t.Error(err)
		}
		return consumerOf(t, c).Created.After(before)
	}
	later := func() { s.suspicion.since = s.suspicion.since.Add(-replicatedSuspicionTime) }
	for name, last := range map[string]uint64{"behind what was delivered": 4, "with an acknowledged value": 5} {
		s.suspicion = suspicion{}
		if look(a, b, 3, last) {
			t.Errorf("a stream %s: the consumer was recreated at once", name)
		}
		if later(); look(b, b, 3, last) {
			t.Errorf("a stream %s: the consumer was recreated after an election of the stream", name)
		}
		if later(); look(b, a, 3, last) {
			t.Errorf("a stream %s: the consumer was recreated after an election of the consumer", name)
		}
		for _, alone := range []*natsjs.ClusterInfo{heard("b", time.Hour, time.Hour), heard("b", 0, 0), heard(""), nil} {
			look(alone, a, 3, last)
			if later(); look(alone, a, 3, last) {
				t.Errorf("a stream %s: the consumer was recreated, and its leader hears from no majority: %+v", name, alone)
			}
		}
		if look(a, b, 6, 7) || s.suspicion != (suspicion{}) {
			t.Errorf("a stream %s: the suspicion remains without the symptom: %+v", name, s.suspicion)
		}
		look(a, b, 3, last)
		if later(); !look(a, b, 3, last) {
			t.Errorf("a stream %s: the consumer was not recreated", name)
		}
	}
}

// In a rehearsal, the servers restarted one by one, and the consumer counted values as
// acknowledged that no receiver had acknowledged: all were stored, and none was lost. The
// consumer is recreated, and the warning claims a loss only if the stream has less than the
// consumer delivered.
func TestSkippedAfterElection(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		last     uint64 // of the stream
		replicas int
		want     string
	}{
		{5335, 3, "the servers skipped stored values"},
		{5334, 3, "the servers lost confirmed values"},
		{5335, 1, "the servers lost confirmed values"},
	} {
		c := open(t, Options[int]{Log: mute()})
		s := &c.core.stream
		s.mu.Lock() // no other check runs
		before := consumerOf(t, c).Created
		leader := &natsjs.ClusterInfo{Leader: "b", Replicas: []*natsjs.PeerInfo{{Active: time.Second}, {Active: time.Second}}}
		info := &natsjs.StreamInfo{
			Config: natsjs.StreamConfig{Replicas: test.replicas}, Cluster: leader,
			State: natsjs.StreamState{FirstSeq: 419, LastSeq: test.last, Msgs: 3},
		}
		all := natsjs.SequenceInfo{Stream: 5335}
		for range 2 {
			if err := s.repairLoss(t.Context(), info, &natsjs.ConsumerInfo{Cluster: leader, Delivered: all, AckFloor: all}); err != nil {
				t.Error(err)
			}
			s.suspicion.since = s.suspicion.since.Add(-replicatedSuspicionTime)
		}
		if w := c.core.warnings.String(); !strings.HasPrefix(w, test.want) {
			t.Errorf("%+v: warning: %q", test, w)
		}
		if !consumerOf(t, c).Created.After(before) {
			t.Errorf("%+v: the consumer was not recreated", test)
		}
		s.mu.Unlock()
	}
}
