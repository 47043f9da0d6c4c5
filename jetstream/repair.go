package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// repair deals with servers that lost values in a power loss, as they do when they do
// not sync every write: the stream begins again with numbers that it had before, and
// its consumer, which remembers more than the stream, passes over the values that get
// them. Two things show it:
//
//   - the consumer has delivered more than the stream ever had;
//   - values are stored, but the consumer has none to deliver, waits for none, and has
//     done with the first of them. The removal of a value that was acknowledged takes
//     a moment, so it must be so still when it is looked at again.
//
// A new consumer begins with the first value that is stored. Nothing but what was to
// come again anyway comes twice.
func (c *core) repair(ctx context.Context, info *natsjs.StreamInfo) error {
	c.inbox.mu.Lock()
	consumer := c.inbox.consumer
	c.inbox.mu.Unlock()
	state, err := consumer.Info(ctx)
	switch {
	case errors.Is(err, natsjs.ErrConsumerNotFound):
		return c.restore(ctx, "it was deleted")
	case err != nil:
		return err
	case state.Delivered.Stream > info.State.LastSeq:
		// Unless the stream has grown in between.
		if info, err = c.stream.Info(ctx); err != nil {
			return err
		}
		if state.Delivered.Stream > info.State.LastSeq {
			return c.restoreLost(ctx, fmt.Sprintf("it had delivered up to %d, and the last stored is %d",
				state.Delivered.Stream, info.State.LastSeq))
		}
	}
	return c.repairPassedOver(ctx, info, state)
}

// suspicion is the first value of a stream that seems to be passed over, and since
// when it does. It belongs to whoever holds core.asking.
type suspicion struct {
	first uint64
	since time.Time
}

// convincing is how long a value seems to be passed over until it counts as that.
const convincing = time.Second

func (c *core) repairPassedOver(ctx context.Context, info *natsjs.StreamInfo, state *natsjs.ConsumerInfo) error {
	first := info.State.FirstSeq
	if info.State.Msgs == 0 || state.NumPending > 0 || state.NumAckPending > 0 || state.AckFloor.Stream < first {
		c.suspected = suspicion{}
		return nil
	}
	if c.suspected.first != first {
		c.suspected = suspicion{first, time.Now()}
		c.task(func() {
			if wait(c.leaving, convincing) {
				_ = c.look(c.leaving)
			}
		})
		return nil
	}
	if time.Since(c.suspected.since) < convincing {
		return nil
	}
	return c.restoreLost(ctx, fmt.Sprintf("it had done with everything up to %d, but %d is stored", state.AckFloor.Stream, first))
}

// wait waits for d, and tells whether ctx was not done first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *core) restoreLost(ctx context.Context, why string) error {
	c.warn(warnLost, "the servers have lost values that they had confirmed, as a power loss does where not every write is synced: "+why)
	if err := c.stream.DeleteConsumer(ctx, consumerName); err != nil && !errors.Is(err, natsjs.ErrConsumerNotFound) {
		return err
	}
	return c.restore(ctx, why)
}

// restore makes the consumer anew.
func (c *core) restore(ctx context.Context, why string) error {
	c.log.Warn("jetstream: the consumer is made anew", "because", why)
	c.suspected = suspicion{}
	return c.findConsumer(ctx)
}
