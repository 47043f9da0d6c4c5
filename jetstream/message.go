package jetstream

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// A message is one delivery of a stored value by the servers. Ownership: the inbox owns
// it until a receiver takes it; a message received as a value is acknowledged at once,
// one received as a Delivery is in flight (deliveries) until the receiver settles it.
type message struct {
	key       key
	reply     string // subject for acknowledgments; in flight guarded by deliveries.mu
	data      []byte
	reason    string // why it is a dead letter
	delivered int    // deliveries so far, including this one, as the servers count
	attempt   int    // attempts so far, including this one; 1 if they cannot be too many
	recorded  bool   // this attempt is
	arrived   time.Time

	// In flight, guarded by deliveries.mu.
	extended  time.Time // when the last progress acknowledgment was sent
	confirmed time.Time // when the last one that the servers are known to have received was sent
	deadline  time.Time // after which it is no longer extended
}

// A key identifies a stored value. The time tells apart two values with the same
// sequence number, after a power failure in which the servers forgot the first.
type key struct {
	seq  uint64
	time int64 // ns
}

// String is part of subjects and of identities.
func (k key) String() string { return fmt.Sprintf("%d.%d", k.seq, k.time) }

func newMessage(m *nats.Msg) (*message, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	return &message{
		key:   key{meta.Sequence.Stream, meta.Timestamp.UnixNano()},
		reply: m.Reply, data: m.Data, reason: m.Header.Get(headerReason),
		delivered: int(min(meta.NumDelivered, 1<<30)), arrived: time.Now(),
	}, nil
}

// The acknowledgments of JetStream.
var (
	ackDone     = []byte("+ACK")
	ackNak      = []byte("-NAK")
	ackProgress = []byte("+WPI")
)

// nak has the servers deliver m again after delay, to any receiver. If the connection
// breaks they do so after AckWait.
func (s *session) nak(m *message, delay time.Duration) {
	ack := ackNak
	if delay > 0 {
		ack = fmt.Appendf(nil, `%s {"delay": %d}`, ackNak, delay)
	}
	_ = s.conn.nc.Publish(m.reply, ack)
}

// overdue reports whether the servers may have delivered m, which is not in flight, to
// another receiver. It must not be acknowledged then: the servers would take that for
// the other receiver's acknowledgment.
func (s *session) overdue(m *message) bool { return time.Since(m.arrived) >= s.config.ackWait }

// expired reports whether the servers may have delivered m, which is in flight, to
// another receiver. They count from when they received the last progress
// acknowledgment, which is later than confirmed.
func (s *session) expired(m *message, now time.Time) bool {
	return now.Sub(m.confirmed) >= s.config.ackWait || now.After(m.deadline)
}
