// Package hubchannel is a Pub/Sub for Watermill within one process, like its package gochannel:
// in order, with a bound, and with one goroutine for each subscriber however far it is behind.
//
//	pubSub := hubchannel.New(hubchannel.Config{Capacity: 1000}, logger)
//
// # Promises
//
//   - All subscribers of a topic receive its messages in one order, which keeps the order of each
//     publisher. Each message is received once, unless it is nacked.
//   - A subscriber receives its next message once it has acked the last one. A message that it
//     nacks is the next one it receives. OutputChannelBuffer relaxes both.
//   - Publish waits only for room (Capacity), or for acks (BlockPublishUntilSubscriberAck).
//
// # Protocol
//
// A topic has a hub, and each subscriber a subscription of it, its queue. From there messages move
// into the window of the subscriber, with those that are sent and not acked, and to its channel.
//
// Invariants, whenever subscriber.mu is free:
//
//   - sent <= cap(out), where sent counts the messages that are sent and not acked. These include the
//     messages in out, so a send to out, under the lock, never blocks.
//   - The window has those, oldest first. If there are none, it has the next message: this exists,
//     with its channels for ack and nack, before it has a content.
//   - Only the ack or nack of the first message of the window replaces it.
//
// All progress is made by advance: it takes acked messages out of the window, sends a nacked one
// again, and fills the window from the queue. A publisher calls it after it has sent to the hub, and
// the goroutine of the subscriber at its start and after an ack or nack of the first message. So a
// subscriber that keeps up costs two wake-ups for a message: its own, and that goroutine's for the ack.
//
// No wake-up is lost. After these calls, a message is in the queue only if sent == cap(out), so the
// first message is sent. The goroutine of the subscriber waits for the ack or nack of the message
// that was first when it last called advance. If that is still first, its ack or nack ends the wait.
// If a publisher has replaced it since, it was acked or nacked, which ends the wait as well.
package hubchannel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
)

// Config has the fields of gochannel.Config, and a bound.
type Config struct {
	// OutputChannelBuffer is the number of messages that are sent before the ack of the one before
	// them. A Router handles one more at once. Acks count in the order of the messages: a nack takes
	// effect when all before it are acked, and its message comes after those that are sent by then.
	OutputChannelBuffer int64

	// Persistent topics keep their messages in memory: a new subscriber first receives the last
	// Capacity of them, or all.
	Persistent bool

	// BlockPublishUntilSubscriberAck makes Publish wait until each subscriber has acked all messages
	// or has ended. Publishers to a topic take turns, so a subscriber must not publish to its own.
	BlockPublishUntilSubscriberAck bool

	// PreserveContext gives subscribers the context of the published message. Otherwise it is
	// derived from the context of Subscribe, and ends with the ack or nack and with the subscriber.
	PreserveContext bool

	// Capacity is the number of messages that are queued for each subscriber. While one of them has
	// no room, Publish waits. 0 means no bound.
	Capacity int
}

// A PubSub is a message.Publisher and a message.Subscriber, for any number of goroutines.
type PubSub struct {
	config  Config
	replay  int // messages that a topic keeps for new subscribers
	logger  watermill.LoggerAdapter
	mu      sync.RWMutex
	topics  map[string]*topic // those with subscribers, and all persistent ones
	closed  bool
	running sync.WaitGroup // subscribers
}

// A topic is where a message is published.
type topic struct {
	hub         *hub.Hub[*message.Message]
	subscribers atomic.Pointer[[]*subscriber] // one that is not in it yet calls advance later
	publishing  sync.Mutex                    // held until the acks, with BlockPublishUntilSubscriberAck
}

// New returns an open PubSub. A nil logger logs nothing. A negative size in the Config panics.
func New(config Config, logger watermill.LoggerAdapter) *PubSub {
	if buffer, capacity := config.OutputChannelBuffer, config.Capacity; buffer < 0 || capacity < 0 {
		panic(fmt.Sprintf("hubchannel: New: OutputChannelBuffer and Capacity must not be negative (got %d and %d)", buffer, capacity))
	}
	config.Capacity = cmp.Or(config.Capacity, sluice.Unlimited)
	p := &PubSub{config: config, logger: logger, topics: map[string]*topic{}}
	if config.Persistent {
		p.replay = config.Capacity
	}
	if logger == nil {
		p.logger = watermill.NopLogger{}
	}
	return p
}

var errClosed = fmt.Errorf("Pub/Sub closed: %w", sluice.ErrClosed) // with the text of gochannel

// Publish sends copies of the messages, in order, to the subscribers of the topic. After Close, and
// if Close ends a wait for room, it fails with an error that wraps [sluice.ErrClosed]. If the context
// of a message ends that wait, it fails with its error. The messages before that are published.
func (p *PubSub) Publish(topic string, messages ...*message.Message) error {
	for _, m := range messages {
		if err := p.publish(topic, m); err != nil {
			return err
		}
	}
	return nil
}

func (p *PubSub) publish(name string, m *message.Message) error {
	t, err := p.existing(name)
	if err != nil {
		return err
	}
	if t == nil {
		p.logger.Info("No subscribers to send message", watermill.LogFields{"message_uuid": m.UUID, "topic": name})
		return nil
	}
	if p.config.BlockPublishUntilSubscriberAck {
		t.publishing.Lock()
		defer t.publishing.Unlock()
	}
	if err = t.hub.Send(m.Context(), m.CopyWithContext()); errors.Is(err, sluice.ErrClosed) {
		err = errClosed
	}
	if err != nil {
		return err
	}
	subscribers := *t.subscribers.Load()
	for _, s := range subscribers {
		s.advance()
	}
	if p.config.BlockPublishUntilSubscriberAck {
		for _, s := range subscribers {
			s.waitForAcks()
		}
	}
	return nil
}

// existing returns the topic, or nil if a message to it has nowhere to go.
func (p *PubSub) existing(name string) (*topic, error) {
	p.mu.RLock()
	t, closed := p.topics[name], p.closed
	p.mu.RUnlock()
	if t == nil && !closed && p.config.Persistent {
		p.mu.Lock()
		t, closed = p.topic(name), p.closed
		p.mu.Unlock()
	}
	if closed {
		return nil, errClosed
	}
	return t, nil
}

// topic returns the topic, which it makes if necessary. The lock is held.
func (p *PubSub) topic(name string) *topic {
	t := p.topics[name]
	if t == nil {
		t = &topic{hub: hub.New[*message.Message](p.config.Capacity, &hub.Options{Replay: p.replay})}
		t.subscribers.Store(new([]*subscriber))
		p.topics[name] = t
	}
	return t
}

// Subscribe returns a channel with the messages that are published to the topic from now on, after
// those that it has kept. When ctx is done, and by Close, it is closed; messages in it stay. Subscribe
// fails only after Close.
func (p *PubSub) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	t := p.topic(topic)
	queue, err := t.hub.Subscribe(&hub.SubscriptionOptions[*message.Message]{Replay: p.replay})
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message, p.config.OutputChannelBuffer+1)
	s := &subscriber{pubSub: p, queue: queue, out: out, window: []*delivery{newDelivery()}}
	s.idle.L = &s.mu
	s.ctx, s.cancel = context.WithCancel(ctx)
	t.subscribers.Store(new(slices.Concat(*t.subscribers.Load(), []*subscriber{s})))
	p.running.Go(func() {
		s.run()
		p.remove(topic, s)
	})
	return out, nil
}

func (p *PubSub) remove(name string, s *subscriber) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[name]
	list := slices.DeleteFunc(slices.Clone(*t.subscribers.Load()), func(o *subscriber) bool { return o == s })
	t.subscribers.Store(&list)
	if len(list) == 0 && !p.config.Persistent {
		delete(p.topics, name)
	}
}

// Close ends all waits and subscribers, and returns nil when their channels are closed. It is idempotent.
func (p *PubSub) Close() error {
	p.mu.Lock()
	p.closed = true
	for _, t := range p.topics {
		t.hub.Close()
		for _, s := range *t.subscribers.Load() {
			s.cancel()
		}
	}
	p.mu.Unlock()
	p.running.Wait()
	return nil
}
