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
//   - A slow subscriber holds up no other, except through a bound that it has reached.
//   - Close ends all waits and all subscribers, and returns when their channels are closed. So does
//     the end of the context of a Subscribe for that one.
//
// # How it works
//
// A topic has a hub, which keeps each message once, and each subscriber a subscription of it: its
// queue. From there a message goes into the window of the subscriber, which has the messages that
// are sent and not acked, and into its output channel.
//
// Invariants, whenever subscriber.mu is free:
//
//   - sent <= cap(out), where sent is the size of the window. The window includes the messages in
//     out, so a send to out, under the lock, never blocks.
//   - first is the oldest message of the window. If the window is empty, first is the message that
//     will be sent next: it exists, with its channels for ack and nack, before it has a content.
//   - Only an ack or a nack of first replaces first.
//
// All progress is made by advance: it takes acked messages out of the window, sends a nacked one
// again, and fills the window from the queue. Each goroutine that gives it something to do calls it
// afterward: a publisher, after it has sent to the hub, and the goroutine of the subscriber, after
// first was acked or nacked.
//
// No wake-up is lost. After that call, a message stays in the queue only if the window is full, so
// first is sent. The goroutine of the subscriber waits for the ack or nack of the message that was
// first when it last called advance. If that is still first, its ack or nack ends the wait. If a
// publisher has replaced it since, it was acked or nacked, which ends the wait as well.
//
// So a publisher itself sends to a subscriber that keeps up. The goroutine of the subscriber is not
// woken for a message, only for its ack: it waits for the ack before the message is published.
package hubchannel

import (
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
	// OutputChannelBuffer is the number of messages that a subscriber may receive before it acks
	// the first of them. With 0, the default, it receives one at a time. Acks count in the order of
	// the messages, so a nack takes effect when all messages before it are acked, and messages that
	// were sent before that come before its message. A Router handles up to
	// OutputChannelBuffer+1 messages of a subscriber at once.
	OutputChannelBuffer int64

	// Persistent topics keep their messages in memory: a new subscriber first receives the last
	// Capacity of them, or all.
	Persistent bool

	// BlockPublishUntilSubscriberAck makes Publish return only when each subscriber has acked the
	// message, and what was published before, or has ended. Publishers to the topic take turns. So a
	// subscriber that publishes to its own topic before its ack waits for itself.
	BlockPublishUntilSubscriberAck bool

	// PreserveContext gives subscribers the context of the published message. Otherwise the context
	// of a message is derived from the context of Subscribe, and is canceled when the message is
	// acked or nacked and when the subscriber ends.
	PreserveContext bool

	// Capacity is the number of messages that are queued for each subscriber. While a subscriber
	// of its topic has no room, Publish waits. 0 means no bound: Publish does not wait.
	Capacity int
}

// A PubSub is a message.Publisher and a message.Subscriber. Its methods may be called from any
// goroutine.
type PubSub struct {
	config Config
	replay int // messages that a topic keeps for new subscribers
	logger watermill.LoggerAdapter

	mu     sync.RWMutex
	topics map[string]*topic // those with subscribers, and all persistent ones
	closed bool

	running sync.WaitGroup // subscribers
}

// A topic is where a message is published.
type topic struct {
	hub *hub.Hub[*message.Message]
	// subscribers have a subscription each, or had one. A subscriber that is not in the list yet
	// calls advance later.
	subscribers atomic.Pointer[[]*subscriber]
	publishing  sync.Mutex // held until the acks, with BlockPublishUntilSubscriberAck
}

// New returns an open PubSub. A nil logger logs nothing. A negative size in the Config panics.
func New(config Config, logger watermill.LoggerAdapter) *PubSub {
	if config.OutputChannelBuffer < 0 || config.Capacity < 0 {
		panic(fmt.Sprintf("hubchannel: New: OutputChannelBuffer and Capacity must not be negative (got %d and %d)",
			config.OutputChannelBuffer, config.Capacity))
	}
	if config.Capacity == 0 {
		config.Capacity = sluice.Unlimited
	}
	if logger == nil {
		logger = watermill.NopLogger{}
	}
	p := &PubSub{config: config, logger: logger, topics: map[string]*topic{}}
	if config.Persistent {
		p.replay = config.Capacity
	}
	return p
}

// errClosed has the text of gochannel.
var errClosed = fmt.Errorf("Pub/Sub closed: %w", sluice.ErrClosed)

// Publish sends copies of the messages, in order, to the present subscribers of the topic. It waits
// as the Config says, for each message. It fails after Close, and if Close
// ends its wait for room, with an error that wraps [sluice.ErrClosed]; and if the context of a
// message ends that wait, with the error of the context. The messages before that one are published.
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
	wait := p.config.BlockPublishUntilSubscriberAck
	if wait {
		t.publishing.Lock()
		defer t.publishing.Unlock()
	}
	if err := t.hub.Send(m.Context(), m.CopyWithContext()); errors.Is(err, sluice.ErrClosed) {
		return errClosed
	} else if err != nil {
		return err
	}
	subscribers := *t.subscribers.Load()
	for _, s := range subscribers {
		s.advance()
	}
	for _, s := range subscribers {
		if wait {
			<-s.acked()
		}
	}
	return nil
}

// existing returns the topic, or nil if a message to it has nowhere to go.
func (p *PubSub) existing(name string) (*topic, error) {
	p.mu.RLock()
	t, closed := p.topics[name], p.closed
	p.mu.RUnlock()
	if t != nil || closed || !p.config.Persistent {
		return t, closedError(closed)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.topic(name), closedError(p.closed)
}

func closedError(closed bool) error {
	if closed {
		return errClosed
	}
	return nil
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
// those that a Persistent topic has kept. It is closed after ctx is done and after Close; what has
// been sent to it can still be received. Subscribe fails only after Close.
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
	s := newSubscriber(ctx, p, queue)
	list := append(slices.Clone(*t.subscribers.Load()), s)
	t.subscribers.Store(&list)
	p.running.Go(func() {
		s.run()
		p.remove(topic, s)
	})
	return s.out, nil
}

// remove takes a subscriber that has ended out of its topic.
func (p *PubSub) remove(name string, s *subscriber) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[name]
	list := slices.DeleteFunc(slices.Clone(*t.subscribers.Load()), func(other *subscriber) bool { return other == s })
	t.subscribers.Store(&list)
	if len(list) == 0 && !p.config.Persistent {
		delete(p.topics, name)
	}
}

// Close ends all subscribers, and waits until their channels are closed. Messages that are queued
// are discarded. Close is idempotent and returns nil.
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
