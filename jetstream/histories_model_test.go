package jetstream

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-go/sluice"
)

// The histories of this package are calls of a few goroutines on one channel, with their
// results and with the order of their begins and ends. porcupine looks for an order of the
// calls, each at one moment between its begin and its end, in which the model below returns
// the same results. It promises what the documents promise, and no more:
//
//   - Send returns nil: the value is stored at one moment of the call, and there was room.
//     A SendBatch that fits is one step: the servers store all of it consecutively, or none.
//     Otherwise the values of a batch are stored one by one, and RecvBatch takes them one by one.
//   - ErrClosed, ErrFull, the context's error: nothing is stored. UnknownError: the value may
//     be stored, then or later, and its place in the order is not known.
//   - ErrFull: as many values as the limit were stored before, less those whose removal the
//     servers have confirmed (AckSync). TrySend may miss room that was just made, so the values
//     that were received do not count as room.
//   - Close has two moments: from the first, this process sends nothing more, and from the
//     second, no process does. A send gets ErrClosed after either of them.
//   - A receive gets ErrClosed only once the channel is closed and every value that is known
//     to be stored is acknowledged. After that, no receive gets a value.
//   - ErrEmpty says nothing: TryRecv may miss a value that was just sent.
//   - The context's error comes only from a call that waits, whose context is done.
//   - A value is received if it is stored, and neither in flight nor acknowledged. The servers
//     deliver at least once; with a connection that does not break and an AckWait that does not
//     pass, as here, only Nack, or an AckSync without an answer, lets a value come again.
//   - The values of a sender reach each receiver in their order, except for redeliveries:
//     those are known by their Attempt, or by the consumer's count (redelivered). Between
//     receivers there is no order. With Ordered, each receiver gets the oldest value.
//   - Attempt rises with each delivery of a value. Nack makes the value a dead letter after
//     MaxDeliver deliveries, and then only.
//   - Len is at most the limit, and at most the number of values stored so far. It may be the
//     last known number, so nothing else is known of it.
//
// The calls on a channel by key are split by key: all this holds for each key, and nothing across.

// A histOp is an operation of a history.
type histOp uint8

const (
	histSend histOp = iota
	histTrySend
	histRecv
	histTryRecv
	histDeliver    // a receive of Deliveries
	histTryDeliver // the same, without waiting
	histAck
	histAckSync
	histNack
	histLen
	histClose // the moment from which the process of the call sends nothing more
	histSeal  // the moment from which no process does
	histDead  // a receive from the dead letters
)

var histNames = [...]string{
	"Send", "TrySend", "Recv", "TryRecv", "Deliveries.Recv", "Deliveries.TryRecv", "Ack", "AckSync", "Nack",
	"Len", "Close", "Close, sealed", "DeadLetters.Recv",
}

// A histCall is a call with its arguments.
type histCall struct {
	op       histOp
	handle   int    // which Open of the channel
	receiver int    // the goroutine
	seq      byte   // the calls of a goroutine, and the values of a batch, are in this order
	values   string // to send, or to settle: one byte each
	canceled bool   // its context was done before it returned
}

// A histResult is the result of a histCall.
type histResult struct {
	values   string // received
	attempts string // of the deliveries: one byte each
	n        int    // Len, or how many values of a batch are stored
	err      error
}

// The values of a history are small numbers: a sender's are consecutive.
const (
	histSenders   = 4
	histPerSender = 16
	histReceivers = histSenders + 2 // two drain the handles at the end
)

func histValue(sender, number int) int { return sender*histPerSender + number }

// histValues returns small numbers as a string, one byte each.
func histValues(vs ...int) string {
	b := make([]byte, len(vs))
	for i, v := range vs {
		b[i] = byte(v)
	}
	return string(b)
}

// A histState is the state of the model. It is comparable, so that the checker recognizes
// states that it has visited. Sets of values are bits.
type histState struct {
	stream    string // values that are stored and not removed, in the order of the stream
	flying    uint64 // the values of stream that are in flight
	maybe     uint64 // values that may be stored
	dead      uint64 // dead letters
	ever      int    // how many values were stored
	confirmed int    // how many of them the servers have confirmed as removed
	closing   uint8  // the handles whose Close has begun
	sealed    bool
	drained   bool // a receive got ErrClosed

	seq      [histReceivers]byte               // of the last call of each goroutine
	attempts [histSenders * histPerSender]byte // the last Attempt of each value
	tries    [histSenders * histPerSender]byte // the deliveries of each value
	last     [histReceivers][histSenders]byte  // 1 + the last number that the receiver got of the sender
}

// A histModel is what is known of the channel.
type histModel struct {
	limit       int
	ordered     bool
	maxDeliver  int  // 0: no dead letters
	redelivered bool // without a Nack: the order of each sender is not checked
	keys        int  // of a channel by key: see histKey; 0 for another channel
}

func (m histModel) porcupine() porcupine.Model {
	model := porcupine.Model{
		Init: func() any { return histState{} },
		Step: func(s, in, out any) (bool, any) {
			ok, next := m.step(s.(histState), in.(histCall), out.(histResult))
			return ok, next
		},
	}
	if m.keys > 0 {
		model.Partition = m.byKey
	}
	return model
}

// explain returns an error if the model cannot have the history.
func (m histModel) explain(history []porcupine.Operation) error {
	if porcupine.CheckOperations(m.porcupine(), history) {
		return nil
	}
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	for _, o := range history {
		fmt.Fprintf(&text, "\n%d to %d: %s", o.Call, o.Return, histText(o.Input.(histCall), o.Output.(histResult)))
	}
	return fmt.Errorf("no order of the calls explains their results, %+v:%s", m, &text)
}

func histText(c histCall, r histResult) string {
	return fmt.Sprintf("goroutine %d, handle %d: %s %v canceled=%v -> %v attempts=%v n=%d %v",
		c.receiver, c.handle, histNames[c.op], []byte(c.values), c.canceled, []byte(r.values), []byte(r.attempts), r.n, r.err)
}

// step reports whether the call can have that result in state s, and returns the next state.
func (m histModel) step(s histState, c histCall, r histResult) (bool, histState) {
	if c.seq < s.seq[c.receiver] {
		return false, s
	}
	s.seq[c.receiver] = c.seq
	switch c.op {
	case histSend, histTrySend:
		return m.send(s, c, r)
	case histRecv, histTryRecv, histDeliver, histTryDeliver:
		return m.receive(s, c, r)
	case histAck, histAckSync, histNack:
		return m.settle(s, c, r)
	case histLen:
		return r.n >= 0 && r.n <= min(m.limit, s.ever+bits.OnesCount64(s.maybe)), s
	case histClose:
		s.closing |= 1 << c.handle
		return r.err == nil, s
	case histSeal:
		ok := s.closing&(1<<c.handle) != 0
		s.sealed = true
		return ok, s
	default:
		return m.receiveDead(s, r)
	}
}

func (m histModel) send(s histState, c histCall, r histResult) (bool, histState) {
	switch {
	case r.err == nil:
		if s.sealed || len(s.stream)+len(c.values) > m.limit {
			return false, s
		}
		s.stream += c.values
		s.ever += len(c.values)
		return true, s
	case r.n > 0: // a part of an atomic batch
		return false, s
	case errors.Is(r.err, ErrUnknown):
		s.maybe |= histSet(c.values)
		return true, s
	case errors.Is(r.err, sluice.ErrClosed):
		return s.sealed || s.closing&(1<<c.handle) != 0, s
	case errors.Is(r.err, sluice.ErrFull):
		most := s.ever - s.confirmed + bits.OnesCount64(s.maybe)
		return c.op == histTrySend && !s.sealed && most >= m.limit, s
	case errors.Is(r.err, context.Canceled):
		return c.op == histSend && c.canceled, s
	}
	return false, s
}

func (m histModel) receive(s histState, c histCall, r histResult) (bool, histState) {
	waits := c.op == histRecv || c.op == histDeliver
	switch {
	case errors.Is(r.err, sluice.ErrClosed):
		s.drained = true
		return s.sealed && s.stream == "", s
	case errors.Is(r.err, sluice.ErrEmpty):
		return !waits, s
	case errors.Is(r.err, context.Canceled):
		return waits && c.canceled, s
	case r.err != nil || s.drained:
		return false, s
	}
	for i := range len(r.values) {
		attempt := byte(1)
		if r.attempts != "" {
			attempt = r.attempts[i]
		}
		if !m.deliver(&s, c, r.values[i], attempt) {
			return false, s
		}
	}
	return true, s
}

// deliver hands v out.
func (m histModel) deliver(s *histState, c histCall, v byte, attempt byte) bool {
	bit, at := uint64(1)<<v, strings.IndexByte(s.stream, v)
	switch {
	case s.flying&bit != 0, at < 0 && s.maybe&bit == 0, m.ordered && at > 0, attempt <= s.attempts[v]:
		return false
	case at < 0: // now it is known to be stored
		s.maybe &^= bit
		s.stream = string([]byte{v}) + s.stream
		s.ever++
	case !m.redelivered && attempt == 1:
		last, number := &s.last[c.receiver][v/histPerSender], v%histPerSender
		if number < *last {
			return false
		}
		*last = number + 1
	}
	if c.op == histRecv || c.op == histTryRecv {
		s.remove(v)
		return true
	}
	s.flying |= bit
	s.attempts[v] = attempt
	s.tries[v]++
	return m.maxDeliver == 0 || int(s.tries[v]) <= m.maxDeliver
}

// remove removes v from the stream.
func (s *histState) remove(v byte) { s.stream = strings.Replace(s.stream, string([]byte{v}), "", 1) }

func (m histModel) settle(s histState, c histCall, r histResult) (bool, histState) {
	v := c.values[0]
	bit := uint64(1) << v
	if s.flying&bit == 0 {
		return false, s
	}
	s.flying &^= bit
	switch {
	case r.err != nil:
		s.remove(v)
		s.maybe |= bit
		return c.op == histAckSync && c.canceled && errors.Is(r.err, context.Canceled), s
	case c.op == histAckSync:
		s.confirmed++
		s.remove(v)
	case c.op == histAck:
		s.remove(v)
	case m.maxDeliver > 0 && int(s.tries[v]) >= m.maxDeliver:
		s.remove(v)
		s.dead |= bit
	}
	return true, s
}

// receiveDead is a receive from the channel of the dead letters, which is closed once the
// channel itself is drained.
func (m histModel) receiveDead(s histState, r histResult) (bool, histState) {
	if errors.Is(r.err, sluice.ErrClosed) {
		return s.dead == 0, s
	}
	if r.err != nil {
		return false, s
	}
	bit := histSet(r.values)
	ok := s.dead&bit != 0
	s.dead &^= bit
	return ok, s
}

func histSet(values string) (set uint64) {
	for i := range len(values) {
		set |= 1 << values[i]
	}
	return set
}

// histKey is the key of a value: a sender uses all keys in turn.
func (m histModel) histKey(v int) int { return v % m.keys }

// byKey splits a history: each part has the calls that concern a key, with its values.
func (m histModel) byKey(history []porcupine.Operation) (parts [][]porcupine.Operation) {
	for key := range m.keys {
		of := func(values string) string {
			return strings.Map(func(v rune) rune {
				if m.histKey(int(v)) != key {
					return -1
				}
				return v
			}, values)
		}
		var part []porcupine.Operation
		for _, o := range history {
			c, r := o.Input.(histCall), o.Output.(histResult)
			sent, received := of(c.values), of(r.values)
			if c.values+r.values != "" && sent+received == "" {
				continue
			}
			c.values, r.values = sent, received
			o.Input, o.Output = c, r
			part = append(part, o)
		}
		parts = append(parts, part)
	}
	return parts
}
