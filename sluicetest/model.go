package sluicetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice"
)

// A model tracks what is known of a channel after a number of steps, at each of
// which every goroutine was parked or done. It does not predict: a step may
// start several operations at once, in unknown order. It checks that the
// results are possible, and that no operation waits that could proceed.
//
// Invariants between steps:
//
//   - queue holds the accepted values that did not come out yet, grouped by
//     step. Groups are in order; the order within a group is not checked here, the
//     flows check it.
//   - parked holds the operations in progress. At most one of them is a SendBatch,
//     so the number of accepted values determines its progress.
type model struct {
	k      Kind
	c      Channel[uint64]
	queue  [][]uint64
	parked []*operation
	closed bool
	sent   int // values accepted
	taken  int // values received
	// values that OnUndelivered saw in this step
	dropped  []uint64
	droppedN int
}

// An operation is one call and its known state.
type operation struct {
	*call
	kind   opKind
	values []uint64 // values that it sends
	size   int      // maximum number of values that it receives
	cancel context.CancelFunc
	// canceled: its context was done before the start, or was canceled in this
	// step or an earlier one.
	canceled bool
	accepted int // number of values accepted as of the last step
	step     int // step of its start: the order of parking
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

// A step describes the operations started at once and their possible results.
type step struct {
	started     []*operation
	alone       bool // no concurrent operation: the result is determined
	wasClosed   bool
	queued      int // Len before the step
	receivers   int // parked before the step
	senders     int
	outstanding []*operation // parked before the step, or started in it
}

// check compares what the channel did in s with what it may do. Every goroutine
// is parked or done.
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

// checkResult checks that o may have returned its result.
func (m *model) checkResult(s *step, o *operation) error {
	waits := o.kind != opTrySend && o.kind != opTryRecv
	full := s.queued == m.k.Capacity && s.receivers == 0
	empty := s.queued == 0 && s.senders == 0
	switch o.err {
	case nil:
		switch {
		case o.sends() && o.n != len(o.values):
			return fmt.Errorf("it did not send all values")
		case !o.sends() && o.n < 1:
			return fmt.Errorf("it received no value")
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
		if !o.sends() || (waits && m.k.Overflow != sluice.Reject) || m.k.drops() && (s.alone || !m.k.refusesBesideReceives()) {
			return fmt.Errorf("no send with this policy returns ErrFull")
		}
		if s.alone && !full && o.kind != opSendBatch {
			return fmt.Errorf("%d of %d were queued, %d receivers parked", s.queued, m.k.Capacity, s.receivers)
		}
	case sluice.ErrEmpty:
		if o.kind != opTryRecv {
			return fmt.Errorf("only TryRecv returns ErrEmpty")
		}
		if s.alone && !empty {
			return fmt.Errorf("%d values were queued, %d senders parked", s.queued, s.senders)
		}
	case context.Canceled:
		if !o.canceled || !waits {
			return fmt.Errorf("its context is not done")
		}
		if s.alone && m.fresh(s, o) && o.kind != opSendBatch && (o.sends() && !full || !o.sends() && !empty) {
			return fmt.Errorf("it could have proceeded: %d of %d queued", s.queued, m.k.Capacity)
		}
	default:
		return fmt.Errorf("unknown error")
	}
	if o.n != 0 && o.kind != opSendBatch {
		return fmt.Errorf("it returned an error and moved a value")
	}
	return nil
}

// fresh reports whether o was started in s.
func (m *model) fresh(s *step, o *operation) bool { return slices.Contains(s.started, o) }

// accept determines which values were accepted in s and queues them as a group.
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
		// Dropped values were not accepted.
		for _, v := range m.dropped {
			i := slices.Index(group, v)
			if i < 0 {
				return fmt.Errorf("OnUndelivered saw %d, which no Send of this step sent", v)
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
	// Len determines the progress of the SendBatch.
	out := m.taken + taken
	if m.k.Overflow == sluice.DropOldest {
		out += m.droppedN + len(m.dropped)
	}
	further := m.c.Len() + out - m.sent - len(group)
	switch {
	case open == nil && further != 0:
		return fmt.Errorf("Len is %d with %d sent and %d out", m.c.Len(), m.sent+len(group), out)
	case open != nil && (further < 0 || open.accepted+further > len(open.values)):
		return fmt.Errorf("%v: Len %d implies that it sent %d", open, m.c.Len(), open.accepted+further)
	case open != nil:
		group = append(group, open.values[open.accepted:open.accepted+further]...)
		open.accepted += further
	}
	if len(group) > 0 {
		m.queue = append(m.queue, group)
	}
	m.sent += len(group)
	m.taken += taken
	if s.alone && m.k.MaxBypass == 0 {
		return m.checkService(s, received)
	}
	return nil
}

// checkService checks that operations of the same kind were served in the order
// in which they parked. Batches, which may be served in parts, are excluded.
func (m *model) checkService(s *step, received []*operation) error {
	for _, kind := range []opKind{opSend, opRecv} {
		var waiting *operation
		for _, o := range s.outstanding {
			if o.kind != kind || o.canceled || m.fresh(s, o) {
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

// group returns the index in queue of the group that contains v, or -1.
func (m *model) group(v uint64) int {
	return slices.IndexFunc(m.queue, func(g []uint64) bool { return slices.Contains(g, v) })
}

// release removes the values received in this step from the queue: they must be
// in it, and older than all that remain.
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

// checkQuiet checks that no parked operation could proceed.
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
		case o.canceled:
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
