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
//     the symptom must persist until a second check.
//
// A new consumer starts with the first stored value. It delivers twice only what would
// have been redelivered anyway. The caller holds mu.
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
		if state.Delivered.Stream > info.State.LastSeq {
			return s.recreateAfterLoss(ctx, fmt.Sprintf("the consumer delivered sequence %d, but the last one stored is %d",
				state.Delivered.Stream, info.State.LastSeq))
		}
	}
	return s.repairSkipped(ctx, info, state)
}

// A suspicion is the first value of a stream, if the consumer seems to skip it, and when
// that was first seen. It is guarded by stream.mu.
type suspicion struct {
	first uint64
	since time.Time
}

// suspicionTime is how long a value must seem to be skipped before the consumer is
// recreated.
const suspicionTime = time.Second

func (s *stream) repairSkipped(ctx context.Context, info *natsjs.StreamInfo, state *natsjs.ConsumerInfo) error {
	first := info.State.FirstSeq
	if info.State.Msgs == 0 || state.NumPending > 0 || state.NumAckPending > 0 || state.AckFloor.Stream < first {
		s.suspicion = suspicion{}
		return nil
	}
	if s.suspicion.first != first {
		s.suspicion = suspicion{first, time.Now()}
		s.life.start(func() {
			if sleep(s.life.ctx, suspicionTime) {
				_ = s.check(s.life.ctx)
			}
		})
		return nil
	}
	if time.Since(s.suspicion.since) < suspicionTime {
		return nil
	}
	return s.recreateAfterLoss(ctx, fmt.Sprintf("the consumer counts everything up to sequence %d as acknowledged, but %d is stored",
		state.AckFloor.Stream, first))
}

// sleep waits for d, and reports false if ctx is done first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *stream) recreateAfterLoss(ctx context.Context, cause string) error {
	s.warn(warnLost, "the servers lost confirmed values, as in a power failure without sync_interval: always: "+cause)
	if err := s.handle.DeleteConsumer(ctx, consumerName); err != nil && !errors.Is(err, natsjs.ErrConsumerNotFound) {
		return err
	}
	return s.recreate(ctx, cause)
}

// recreate creates the consumer again.
func (s *stream) recreate(ctx context.Context, cause string) error {
	s.log.Warn("jetstream: recreating the consumer", "cause", cause)
	s.suspicion = suspicion{}
	return s.findConsumer(ctx)
}
