// Package stress checks sluice with tools that the core module must not depend
// on: porcupine checks recorded histories of short concurrent runs for
// linearizability against a sequential model, and goleak detects leaked
// goroutines.
package stress

import (
	"context"
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"
	"github.com/sluice-go/sluice"
)

// An Op is a channel operation.
type Op uint8

// The operations of a history. Batch operations are excluded: they do not take
// effect at a single moment.
const (
	Send Op = iota
	TrySend
	Recv
	TryRecv
	Len
	Close
	// Expire is not a call: the channel drops its oldest value because it is too old.
	Expire
)

var opNames = [...]string{"Send", "TrySend", "Recv", "TryRecv", "Len", "Close", "Expire"}

// A Call is one operation with its argument. Values are small and distinct.
type Call struct {
	Op    Op
	Value byte // value to send
	// Begin and End delimit the moment at which the call took effect. The model
	// needs them only for a rendezvous.
	Begin, End int64
	// Beside is set if a send was under way during the call.
	Beside bool
}

// A Result is the result of a Call.
type Result struct {
	Value byte // value received
	Len   int
	Err   error
}

// A state is the model's state. It is comparable, so that the checker
// recognizes states it has visited.
type state struct {
	queue  string // queued values, oldest first
	closed bool
	// Without a buffer, a send is followed immediately by the receive of its
	// value: offered is set between the two.
	offered bool
	value   byte
	until   int64 // when the offering send returned

	shut    int64 // when the Close of a Stored returned
	drained bool  // a receive from a Stored has returned ErrClosed
}

// Model is a FIFO queue with a capacity, a closed flag and an overflow policy.
// Capacity 0 is a rendezvous, which must not drop.
func Model(capacity int, overflow sluice.Overflow) porcupine.Model {
	return model{capacity: capacity, overflow: overflow}.porcupine()
}

// Bag is a Model that returns its values in any order. The policy must not be
// DropOldest, because the oldest value is not determined.
func Bag(capacity int, overflow sluice.Overflow) porcupine.Model {
	return model{capacity: capacity, overflow: overflow, bag: true}.porcupine()
}

// Stored is a Model of a channel without a limit that stores each value, which takes time,
// before its send takes effect. A send can be canceled meanwhile. Close does not wait for the
// sends under way: their values arrive after it, and until then the channel is empty
// but not drained.
func Stored() porcupine.Model {
	return model{capacity: sluice.Unlimited, stored: true}.porcupine()
}

func (m model) porcupine() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(s, in, out any) (bool, any) {
			ok, next := m.step(s.(state), in.(Call), out.(Result))
			return ok, next
		},
		DescribeOperation: func(in, out any) string { return describe(in.(Call), out.(Result)) },
		DescribeState: func(s any) string {
			return fmt.Sprintf("%v closed=%v", []byte(s.(state).queue), s.(state).closed)
		},
	}
}

type model struct {
	capacity int
	overflow sluice.Overflow
	bag      bool
	stored   bool
}

// step reports whether the call can have that result in state s, and returns
// the next state.
func (m model) step(s state, c Call, r Result) (bool, state) {
	if s.offered {
		return m.meet(s, c, r)
	}
	switch c.Op {
	case Send, TrySend:
		return m.send(s, c, r)
	case Recv, TryRecv:
		return m.recv(s, c, r)
	case Len:
		return r.Len == len(s.queue), s
	case Expire:
		if s.queue == "" || s.queue[0] != c.Value {
			return false, s
		}
		s.queue = s.queue[1:]
		return true, s
	default:
		if m.stored && !s.closed {
			s.shut = c.End
		}
		s.closed = true
		return true, s
	}
}

// meet is the step after a send without a buffer: the receive of its value,
// which had begun before the send returned.
func (m model) meet(s state, c Call, r Result) (bool, state) {
	ok := (c.Op == Recv || c.Op == TryRecv) && r.Err == nil && r.Value == s.value && c.Begin < s.until
	return ok, state{closed: s.closed}
}

func (m model) send(s state, c Call, r Result) (bool, state) {
	full := len(s.queue) >= m.capacity
	switch r.Err {
	case nil:
		if s.closed && (!m.stored || s.drained || c.Begin > s.shut) {
			return false, s
		}
		return m.accept(s, c, full)
	case sluice.ErrClosed:
		return s.closed, s
	case sluice.ErrFull:
		// Without a buffer, the waiters at a given time are unknown.
		return full && !s.closed && (c.Op == TrySend || m.overflow == sluice.Reject), s
	case context.Canceled:
		return (full || m.stored) && c.Op == Send && m.overflow == sluice.Block, s
	}
	return false, s
}

// accept is a successful send. The state alone determines whether it drops a
// value, and which one.
func (m model) accept(s state, c Call, full bool) (bool, state) {
	value := string([]byte{c.Value})
	switch {
	case m.capacity == 0:
		s.offered, s.value, s.until = true, c.Value, c.End
	case !full:
		s.queue += value
	case m.overflow == sluice.DropOldest:
		s.queue = s.queue[1:] + value
	case m.overflow != sluice.DropNewest:
		return false, s
	}
	return true, s
}

func (m model) recv(s state, c Call, r Result) (bool, state) {
	switch r.Err {
	case nil:
		at := strings.IndexByte(s.queue, r.Value)
		if at < 0 || at > 0 && !m.bag {
			return false, s
		}
		s.queue = s.queue[:at] + s.queue[at+1:]
		return true, s
	case sluice.ErrClosed:
		s.drained = m.stored
		return s.closed && s.queue == "", s
	case sluice.ErrEmpty:
		return c.Op == TryRecv && (!s.closed || m.stored && c.Beside && !s.drained) && s.queue == "", s
	case context.Canceled:
		return c.Op == Recv && s.queue == "", s
	}
	return false, s
}

// describe formats one call for a report.
func describe(c Call, r Result) string {
	var b strings.Builder
	fmt.Fprint(&b, opNames[c.Op])
	if c.Op <= TrySend || c.Op == Expire {
		fmt.Fprintf(&b, "(%d)", c.Value)
	}
	switch {
	case r.Err != nil:
		fmt.Fprintf(&b, " -> %v", r.Err)
	case c.Op == Len:
		fmt.Fprintf(&b, " -> %d", r.Len)
	case c.Op == Recv || c.Op == TryRecv:
		fmt.Fprintf(&b, " -> %d", r.Value)
	}
	return b.String()
}
