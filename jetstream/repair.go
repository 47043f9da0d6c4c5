package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// repair handles servers that lost values in a power failure, which happens if they do
// not sync every write: the stream reuses sequence numbers, and its consumer, which
// remembers more than the stream, skips the values that get them. Two symptoms:
//
//   - the consumer has delivered a sequence number that the stream does not have;
//   - values are stored, but the consumer has none to deliver, none in flight, and counts
//     the first of them as acknowledged. Removing an acknowledged value takes a moment, so
//     the symptom must persist. With several replicas it does not prove a loss: after
//     restarts of the servers, a consumer counted values as acknowledged that no receiver
//     had acknowledged (nats-server 2.15.2). It would never deliver them, so it is
//     recreated, too, but the warning does not claim a loss.
//
// A new consumer starts with the first stored value. It delivers twice only what would
// have been redelivered anyway: if the symptom is real. In a cluster, stream and consumer have
// leaders of their own. While one is cut off from the other, or has just been elected, its
// answer may be older, which looks the same, and a new consumer would deliver values again
// whose acknowledgment was confirmed. So there the symptom must persist for longer than an
// election takes, with the same two leaders, which hear from a majority. The caller holds mu.
func (s *stream) repair(ctx context.Context, info *natsjs.StreamInfo) error {
	state, err := s.consumer.Info(ctx)
	switch {
	case errors.Is(err, natsjs.ErrConsumerNotFound):
		return s.recreate(ctx, "it was deleted")
	case err != nil:
		return err
	case state.Delivered.Stream > info.State.LastSeq:
		// The stream may have grown in between.
		if info, err = s.handle.Info(ctx); err != nil {
			return err
		}
	}
	return s.repairLoss(ctx, info, state)
}

// repairLoss recreates the consumer if it is ahead of the stream, and the symptom has
// persisted. The caller holds mu.
func (s *stream) repairLoss(ctx context.Context, info *natsjs.StreamInfo, state *natsjs.ConsumerInfo) error {
	seen, cause := symptomOf(info, state)
	if cause == "" {
		s.suspicion = suspicion{}
		return nil
	}
	if !seen.same(s.suspicion) {
		seen.since = time.Now()
		s.suspicion = seen
	}
	if wait := seen.persists(info.Config.Replicas); wait > 0 && (time.Since(s.suspicion.since) < wait || !majority(info, state)) {
		s.checkAfter(wait)
		return nil
	}
	topic, meaning := seen.meaning(info.Config.Replicas)
	s.warn(topic, meaning+": "+cause)
	if err := s.handle.DeleteConsumer(ctx, consumerName); err != nil && !errors.Is(err, natsjs.ErrConsumerNotFound) {
		return err
	}
	return s.recreate(ctx, cause)
}

// A suspicion is a symptom, and since when it was seen. It is guarded by stream.mu.
type suspicion struct {
	ahead            bool      // of the stream, by what it delivered
	first            uint64    // or the first value of the stream, which it seems to skip
	stream, consumer candidate // who reported it
	since            time.Time
}

// A candidate is a leader and its election; zero without replicas.
type candidate struct {
	name    string
	elected time.Time // zero if the servers do not report it
}

func candidateOf(c *natsjs.ClusterInfo) (l candidate) {
	if c != nil {
		l.name = c.Leader
		if c.LeaderSince != nil {
			l.elected = *c.LeaderSince
		}
	}
	return l
}

func (c candidate) same(o candidate) bool { return c.name == o.name && c.elected.Equal(o.elected) }

func (s suspicion) same(o suspicion) bool {
	return s.ahead == o.ahead && s.first == o.first && s.stream.same(o.stream) && s.consumer.same(o.consumer)
}

// symptomOf returns the symptom that the servers' answers have, and a sentence about it, or
// "" if there is none.
func symptomOf(info *natsjs.StreamInfo, state *natsjs.ConsumerInfo) (seen suspicion, cause string) {
	seen.stream, seen.consumer = candidateOf(info.Cluster), candidateOf(state.Cluster)
	first := info.State.FirstSeq
	switch {
	case state.Delivered.Stream > info.State.LastSeq:
		seen.ahead = true
		return seen, fmt.Sprintf("the consumer delivered sequence %d, but the last one stored is %d", state.Delivered.Stream, info.State.LastSeq)
	case info.State.Msgs == 0 || state.NumPending > 0 || state.NumAckPending > 0 || state.AckFloor.Stream < first:
		return seen, ""
	}
	seen.first = first
	return seen, fmt.Sprintf("the consumer counts everything up to sequence %d as acknowledged, but %d is stored", state.AckFloor.Stream, first)
}

// meaning returns what it means that the symptom persists, and the topic of the warning: a loss
// stays in Stats when values are skipped later.
func (s suspicion) meaning(replicas int) (topic, text string) {
	if s.ahead || replicas <= 1 {
		return warnLost, "the servers lost confirmed values, as in a power failure without sync_interval: always"
	}
	return warnSkipped, "the servers skipped stored values, which will be delivered now; after a power failure without sync_interval: always, others may be lost"
}

const (
	// suspicionTime is how long a value must seem to be skipped before the consumer is
	// recreated.
	suspicionTime = time.Second
	// replicatedSuspicionTime is the same for both symptoms with several replicas: longer
	// than the four seconds after which they elect another leader.
	replicatedSuspicionTime = 6 * time.Second
)

// persists returns how long the symptom must persist.
func (s suspicion) persists(replicas int) time.Duration {
	switch {
	case replicas > 1:
		return replicatedSuspicionTime
	case s.ahead:
		return 0
	}
	return suspicionTime
}

// majority reports whether both leaders exist, and have heard from a majority recently.
// Without replicas there is nothing to hear from.
func majority(info *natsjs.StreamInfo, state *natsjs.ConsumerInfo) bool {
	if info.Config.Replicas <= 1 {
		return true
	}
	for _, c := range []*natsjs.ClusterInfo{info.Cluster, state.Cluster} {
		if c == nil || c.Leader == "" || !hasQuorum(&natsjs.StreamInfo{Config: info.Config, Cluster: c}) {
			return false
		}
	}
	return true
}

// checkAfter checks the stream again after d, unless that is about to happen anyway.
func (s *stream) checkAfter(d time.Duration) {
	if s.checkDue {
		return
	}
	s.checkDue = true
	time.AfterFunc(d, func() { // after Shutdown, checkLater does nothing
		s.mu.Lock()
		s.checkDue = false
		s.mu.Unlock()
		s.checkLater()
	})
}

// recreate creates the consumer again.
func (s *stream) recreate(ctx context.Context, cause string) error {
	s.log.Warn("jetstream: recreating the consumer", "cause", cause)
	s.suspicion = suspicion{}
	return s.findConsumer(ctx)
}
