package sluicetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice"
)

// A model is what is known of a channel after a number of steps, at each of
// which everybody was parked or done. It does not predict: a step may start
// several operations at once, whose order nobody knows. It checks that what
// came back is possible, and that nobody waits who could proceed.
//
// Invariants between steps:
//
//   - queue holds the values that were accepted and have not come out, in
//     groups: those of an earlier step before those of a later one. Within a
//     group no order is checked: the flows do that.
//   - parked holds the operations under way. At most one of them is a SendBatch,
//     so how far it has come follows from how many values were accepted.
type model struct {
	k      Kind
	c      Channel[uint64]
	queue  [][]uint64
	parked []*operation
	closed bool
	sent   int // values accepted
	taken  int // values received
	// dropped is what OnDrop saw in this step.
	dropped  []uint64
	droppedN int
}

// An operation is one call and what is known of it.
type operation struct {
	*call
	kind   opKind
	values []uint64 // what it sends
	size   int      // the most it receives
	cancel context.CancelFunc
	// cancelled: its context was done before it was started, or was ended in
	// this step or an earlier one.
	cancelled bool
	accepted  int // of values, how many were accepted as of the last step
	step      int // when it was started: the order of parking
}

type opKind uint8

const (
	opSend opKind = iota
	opTrySend
	opSendBatch
	opRecv
	opTryRecv
	opRecvBatch
)

var opNames = [...]string{"Send", "TrySend", "SendBatch", "Recv", "TryRecv", "RecvBatch"}

func (o *operation) sends() bool { return o.kind <= opSendBatch }

func (o *operation) String() string {
	name := opNames[o.kind]
	switch o.kind {
	case opSend, opTrySend, opSendBatch:
		name += fmt.Sprint(o.values)
	case opRecvBatch:
		name += fmt.Sprintf("(%d)", o.size)
	}
	switch {
	case o.call == nil:
		return name
	case !o.done:
		return name + " parked"
	}
	return fmt.Sprintf("%s: n=%d received %v, %v", name, o.n, o.call.values, o.err)
}

// A step is what was done at once, and what may have come of it.
type step struct {
	started     []*operation
	alone       bool // nothing raced: what must happen is known exactly
	wasClosed   bool
	queued      int // Len before
	receivers   int // parked before
	senders     int
	outstanding []*operation // parked before, or started
}

// check compares what the channel did in s with what it may do. Everybody is
// parked or done.
func (m *model) check(s *step) error {
	var still []*operation
	var received []*operation
	for _, o := range s.outstanding {
		if !o.done {
			still = append(still, o)
			continue
		}
		if err := m.checkResult(s, o); err != nil {
			return fmt.Errorf("%v: %w", o, err)
		}
		if !o.sends() && o.n > 0 {
			received = append(received, o)
		}
	}
	if err := m.accept(s, received); err != nil {
		return err
	}
	if err := m.release(received); err != nil {
		return err
	}
	m.parked = still
	return m.checkQuiet()
}

// checkResult checks that o may have returned what it did.
func (m *model) checkResult(s *step, o *operation) error {
	waits := o.kind != opTrySend && o.kind != opTryRecv
	full := s.queued == m.k.Capacity && s.receivers == 0
	empty := s.queued == 0 && s.senders == 0
	switch o.err {
	case nil:
		switch {
		case o.sends() && o.n != len(o.values):
			return fmt.Errorf("not all was sent")
		case !o.sends() && o.n < 1:
			return fmt.Errorf("nothing was received")
		case o.sends() && s.wasClosed:
			return fmt.Errorf("the channel was closed")
		}
		return nil
	case sluice.ErrClosed:
		if !m.closed {
			return fmt.Errorf("the channel is open")
		}
		if !o.sends() && m.c.Len() > 0 {
			return fmt.Errorf("%d values are left", m.c.Len())
		}
	case sluice.ErrFull:
		if !o.sends() || (waits && m.k.Overflow != sluice.Reject) || m.k.drops() {
			return fmt.Errorf("no send of this policy says so")
		}
		if s.alone && !full && o.kind != opSendBatch {
			return fmt.Errorf("%d of %d were queued, %d receivers parked", s.queued, m.k.Capacity, s.receivers)
		}
	case sluice.ErrEmpty:
		if o.kind != opTryRecv {
			return fmt.Errorf("only TryRecv says so")
		}
		if s.alone && !empty {
			return fmt.Errorf("%d values were queued, %d senders parked", s.queued, s.senders)
		}
	case context.Canceled:
		if !o.cancelled || !waits {
			return fmt.Errorf("its context is not done")
		}
		if s.alone && m.fresh(s, o) && o.kind != opSendBatch && (o.sends() && !full || !o.sends() && !empty) {
			return fmt.Errorf("it could have proceeded: %d of %d queued", s.queued, m.k.Capacity)
		}
	default:
		return fmt.Errorf("an unknown error")
	}
	if o.n != 0 && o.kind != opSendBatch {
		return fmt.Errorf("an error, and something done")
	}
	return nil
}

// fresh tells whether o was started in s.
func (m *model) fresh(s *step, o *operation) bool { return slices.Contains(s.started, o) }

// accept works out which values were accepted in s, and queues them as a group.
func (m *model) accept(s *step, received []*operation) error {
	var group []uint64
	var open *operation // the SendBatch that is still parked
	for _, o := range s.outstanding {
		switch {
		case !o.sends():
		case !o.done && o.kind == opSendBatch:
			open = o
		case o.done:
			if o.n < o.accepted {
				return fmt.Errorf("%v: had sent %d before", o, o.accepted)
			}
			group = append(group, o.values[o.accepted:o.n]...)
			o.accepted = o.n
		}
	}
	if m.k.Overflow == sluice.DropNewest {
		// What was dropped was not accepted.
		for _, v := range m.dropped {
			i := slices.Index(group, v)
			if i < 0 {
				return fmt.Errorf("OnDrop saw %d, which no Send of this step sent", v)
			}
			group = slices.Delete(group, i, i+1)
		}
		m.droppedN += len(m.dropped)
		m.dropped = nil
	}
	taken := 0
	for _, o := range received {
		taken += o.n
	}
	// Len tells how far the SendBatch under way has come.
	out := m.taken + taken
	if m.k.Overflow == sluice.DropOldest {
		out += m.droppedN + len(m.dropped)
	}
	further := m.c.Len() + out - m.sent - len(group)
	switch {
	case open == nil && further != 0:
		return fmt.Errorf("Len is %d with %d sent and %d out", m.c.Len(), m.sent+len(group), out)
	case open != nil && (further < 0 || open.accepted+further > len(open.values)):
		return fmt.Errorf("%v: Len %d says that it sent %d", open, m.c.Len(), open.accepted+further)
	case open != nil:
		group = append(group, open.values[open.accepted:open.accepted+further]...)
		open.accepted += further
	}
	if len(group) > 0 {
		m.queue = append(m.queue, group)
	}
	m.sent += len(group)
	m.taken += taken
	if s.alone && m.k.PassedOver == 0 {
		return m.checkService(s, received)
	}
	return nil
}

// checkService checks that of those parked who did the same, the earlier ones
// were served first. Batches, which may be served in parts, are left out.
func (m *model) checkService(s *step, received []*operation) error {
	for _, kind := range []opKind{opSend, opRecv} {
		var waiting *operation
		for _, o := range s.outstanding {
			if o.kind != kind || o.cancelled || m.fresh(s, o) {
				continue
			}
			if !o.done && waiting == nil {
				waiting = o
			}
			if o.done && o.err == nil && waiting != nil && waiting.step < o.step {
				return fmt.Errorf("%v of step %d was served before %v of step %d", o, o.step, waiting, waiting.step)
			}
		}
	}
	last, lastOp := -1, (*operation)(nil)
	for _, o := range received {
		if o.kind != opRecv || m.k.Order != FIFO {
			continue
		}
		if g := m.group(o.call.values[0]); g < last {
			return fmt.Errorf("%v parked after %v but received earlier values", o, lastOp)
		} else if g > last {
			last, lastOp = g, o
		}
	}
	return nil
}

// group returns the index in queue of the group with v, or -1.
func (m *model) group(v uint64) int {
	return slices.IndexFunc(m.queue, func(g []uint64) bool { return slices.Contains(g, v) })
}

// release takes what came out in this step off the queue: it must be there, and
// older than all that stays.
func (m *model) release(received []*operation) error {
	youngest := -1
	remove := func(v uint64, how string) error {
		g := m.group(v)
		if g < 0 {
			return fmt.Errorf("%s %d, which was not queued: %v", how, v, m.queue)
		}
		i := slices.Index(m.queue[g], v)
		m.queue[g] = slices.Delete(slices.Clone(m.queue[g]), i, i+1)
		youngest = max(youngest, g)
		return nil
	}
	for _, v := range m.dropped {
		if err := remove(v, "dropped"); err != nil {
			return err
		}
	}
	m.droppedN += len(m.dropped)
	m.dropped = nil
	for _, o := range received {
		last := -1
		for _, v := range o.call.values {
			if g := m.group(v); g < last && m.k.Order == FIFO {
				return fmt.Errorf("%v: out of order", o)
			} else {
				last = g
			}
			if err := remove(v, "received"); err != nil {
				return err
			}
		}
	}
	for g := range m.queue {
		if g < youngest && len(m.queue[g]) > 0 && m.k.Order == FIFO {
			return fmt.Errorf("%v came out before %v", received, m.queue[g])
		}
	}
	m.queue = slices.DeleteFunc(m.queue, func(g []uint64) bool { return len(g) == 0 })
	return nil
}

// checkQuiet checks that nobody is parked who could proceed.
func (m *model) checkQuiet() error {
	queued := m.c.Len()
	senders, receivers := m.waiting()
	if queued < 0 || queued > m.k.Capacity {
		return fmt.Errorf("Len is %d, capacity %d", queued, m.k.Capacity)
	}
	for _, o := range m.parked {
		switch {
		case m.closed:
			return fmt.Errorf("%v on a closed channel", o)
		case o.cancelled:
			return fmt.Errorf("%v though its context is done", o)
		case o.sends() && queued < m.k.Capacity:
			return fmt.Errorf("%v with %d of %d queued", o, queued, m.k.Capacity)
		case o.sends() && receivers > 0:
			return fmt.Errorf("%v with %d receivers parked", o, receivers)
		case !o.sends() && queued > 0:
			return fmt.Errorf("%v with %d queued", o, queued)
		}
	}
	s := m.c.Stats()
	if s.SendersWaiting != senders || s.ReceiversWaiting != receivers || s.Len != queued || s.Closed != m.closed ||
		s.Sent != uint64(m.sent) || s.Received != uint64(m.taken) || s.Dropped != uint64(m.droppedN) {
		return fmt.Errorf("%d sent, %d received, %d dropped, %d senders and %d receivers parked, closed %v, but Stats is %+v",
			m.sent, m.taken, m.droppedN, senders, receivers, m.closed, s)
	}
	return nil
}

func (m *model) waiting() (senders, receivers int) {
	for _, o := range m.parked {
		if o.sends() {
			senders++
		} else {
			receivers++
		}
	}
	return senders, receivers
}
