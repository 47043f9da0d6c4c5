package hubchannel

import (
	"context"
	"sync"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/sluice-go/sluice/hub"
)

// A subscriber is the receiving end of a Subscribe. The package comment has its protocol.
type subscriber struct {
	pubSub *PubSub
	ctx    context.Context // ends with cancel
	cancel context.CancelFunc
	queue  *hub.Subscription[*message.Message]
	out    chan *message.Message

	mu     sync.Mutex
	window []*delivery // oldest first; if nothing is sent and not acked, the next one
	sent   int         // how many of window are sent: all, or none of one
	ended  bool        // out is closed
	idle   sync.Cond   // sent is 0, or ended
}

type delivery struct {
	message  *message.Message // the subscriber's copy
	original *message.Message
	context  messageContext
}

func newDelivery() *delivery { return &delivery{message: message.NewMessage("", nil)} }

// run makes progress after each ack and nack, until the context of s is done.
func (s *subscriber) run() {
	for {
		first := s.advance()
		select {
		case <-first.Acked():
		case <-first.Nacked():
		case <-s.ctx.Done():
			s.end()
			return
		}
	}
}

func (s *subscriber) end() {
	s.cancel()
	s.queue.Close() // publishers that wait for room continue
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	close(s.out)
	s.idle.Broadcast()
}

// advance makes the progress that is possible now, and returns the first message of the window.
func (s *subscriber) advance() *message.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.ended && s.sent > 0 && s.settle() {
	}
	for !s.ended && s.sent < cap(s.out) {
		m, err := s.queue.TryRecv()
		if err != nil { // empty or, during the end, closed
			break
		}
		if s.sent > 0 {
			s.window = append(s.window, newDelivery())
		}
		s.sent++
		s.send(s.window[s.sent-1], m)
	}
	if s.sent == 0 {
		s.idle.Broadcast()
	}
	return s.window[0].message
}

// settle takes the first message out of the window if it is acked, and reports that. If it is
// nacked, settle sends it again. The lock is held.
func (s *subscriber) settle() bool {
	d := s.window[0]
	select {
	case <-d.message.Acked():
		if s.sent--; s.sent == 0 {
			s.window[0] = newDelivery()
		} else {
			s.window[0] = nil
			s.window = s.window[1:]
		}
		d.context.end()
		return true
	case <-d.message.Nacked():
		s.pubSub.logger.Trace("Nack received, resending message", watermill.LogFields{"message_uuid": d.original.UUID})
		s.window[0] = newDelivery()
		s.send(s.window[0], d.original)
		d.context.end()
	default:
	}
	return false
}

// send gives d, which is in the window, a content, and sends it. The lock is held.
func (s *subscriber) send(d *delivery, original *message.Message) {
	d.original = original
	m := d.message
	m.UUID, m.Payload = original.UUID, original.Payload
	for key, value := range original.Metadata {
		m.Metadata[key] = value
	}
	if s.pubSub.config.PreserveContext {
		m.SetContext(original.Context())
	} else {
		d.context.Context = s.ctx
		m.SetContext(&d.context)
	}
	s.out <- m // there is room
}

// waitForAcks waits until all messages that were sent to s are acked, or s has ended.
func (s *subscriber) waitForAcks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.sent > 0 && !s.ended {
		s.idle.Wait()
	}
}

// A messageContext is context.WithCancel of the embedded Context, made at its first use: most
// handlers never use it, and it takes a sixth of the CPU of a delivery.
type messageContext struct {
	context.Context // of the subscriber
	mu              sync.Mutex
	made            context.Context
	cancel          context.CancelFunc
	over            bool
}

// derived returns that context, also for Value: so package context finds that it can cancel
// contexts derived from this one without a goroutine.
func (c *messageContext) derived() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made, c.cancel = context.WithCancel(c.Context)
		if c.over {
			c.cancel()
		}
	}
	return c.made
}

func (c *messageContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.cancel != nil {
		c.cancel()
	}
}

func (c *messageContext) Done() <-chan struct{} { return c.derived().Done() }
func (c *messageContext) Err() error            { return c.derived().Err() }
func (c *messageContext) Value(key any) any     { return c.derived().Value(key) }
