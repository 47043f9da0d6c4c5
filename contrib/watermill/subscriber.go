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
	ctx             context.Context // ends with cancel
	cancel          context.CancelFunc
	queue           *hub.Subscription[*message.Message]
	out             chan *message.Message
	preserveContext bool
	logger          watermill.LoggerAdapter

	mu          sync.Mutex
	first, last *delivery // a list, oldest first; last is first if the window is empty
	sent        int       // the length of the window
	ended       bool      // out is closed
	idle        chan struct{}
}

// A delivery is a message in a window, or the one that is the next there.
type delivery struct {
	message  *message.Message // the subscriber's copy
	original *message.Message
	context  messageContext
	next     *delivery
}

func newDelivery() *delivery { return &delivery{message: message.NewMessage("", nil)} }

func newSubscriber(ctx context.Context, p *PubSub, queue *hub.Subscription[*message.Message]) *subscriber {
	s := &subscriber{
		queue:           queue,
		out:             make(chan *message.Message, p.config.OutputChannelBuffer+1),
		preserveContext: p.config.PreserveContext,
		logger:          p.logger,
		first:           newDelivery(),
	}
	s.last = s.first
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

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
	s.reportIdle()
}

// advance makes the progress that is possible now, and returns the message whose ack or nack makes more
// possible.
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
			s.last.next = newDelivery()
			s.last = s.last.next
		}
		s.sent++
		s.send(s.last, m)
	}
	if s.sent == 0 {
		s.reportIdle()
	}
	return s.first.message
}

// settle takes the first message out of the window if it is acked. If it is nacked, it sends it
// again. It reports whether the next one may be looked at. The lock is held.
func (s *subscriber) settle() bool {
	d := s.first
	select {
	case <-d.message.Acked():
		s.sent--
		s.replaceFirst(d.next)
		return true
	case <-d.message.Nacked():
		s.logger.Trace("Nack received, resending message", watermill.LogFields{"message_uuid": d.original.UUID})
		again := newDelivery()
		again.next = d.next
		s.replaceFirst(again)
		s.send(again, d.original)
	default:
	}
	return false
}

// replaceFirst puts d in place of the first delivery, which is over; nil is one without a content.
func (s *subscriber) replaceFirst(d *delivery) {
	over := s.first
	if d == nil {
		d = newDelivery()
	}
	if d.next == nil { // it is the only one
		s.last = d
	}
	s.first = d
	over.next = nil // a context that is kept does not keep later messages
	over.context.end()
}

// send gives d the content of a message, and sends it. The lock is held, and the window has d.
func (s *subscriber) send(d *delivery, original *message.Message) {
	d.original = original
	m := d.message
	m.UUID, m.Payload = original.UUID, original.Payload
	for key, value := range original.Metadata {
		m.Metadata[key] = value
	}
	if s.preserveContext {
		m.SetContext(original.Context())
	} else {
		d.context.Context = s.ctx
		m.SetContext(&d.context)
	}
	s.out <- m // there is room
}

// acked returns a channel that is closed when all messages that were sent to s before are acked, or
// s has ended.
func (s *subscriber) acked() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	if s.ended || s.sent == 0 {
		s.reportIdle()
	}
	return idle
}

// reportIdle is called when nothing is in the window, nor in the queue. The lock is held.
func (s *subscriber) reportIdle() {
	if s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}
