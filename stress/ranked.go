package stress

import (
	"fmt"

	"github.com/anishathalye/porcupine"
	"github.com/sluice-go/sluice"
)

// rankedLevels is the number of levels of the checked Priority. The level of a value is the
// value mod that.
const rankedLevels = 3

// A rankedState is the state of a Priority. It is comparable.
type rankedState struct {
	queues [rankedLevels]string
	passed [rankedLevels]byte // how often the level was passed over in a row
	closed bool
}

func (s rankedState) len() (n int) {
	for _, q := range s.queues {
		n += len(q)
	}
	return n
}

// A rankedModel is a Priority with a limit, a policy, and a bound on how often a level is
// passed over before it is due.
type rankedModel struct {
	limit, maxPassed int
	overflow         sluice.Overflow
}

// Ranked is the model of a Priority with rankedLevels levels.
func Ranked(limit, maxPassed int, overflow sluice.Overflow) porcupine.Model {
	m := rankedModel{limit, maxPassed, overflow}
	return porcupine.Model{
		Init: func() any { return rankedState{} },
		Step: func(s, in, out any) (bool, any) {
			ok, next := m.step(s.(rankedState), in.(Call), out.(Result))
			return ok, next
		},
		DescribeOperation: func(in, out any) string { return describe(in.(Call), out.(Result)) },
		DescribeState: func(s any) string {
			r := s.(rankedState)
			return fmt.Sprintf("%v passed=%v closed=%v", r.queues, r.passed, r.closed)
		},
	}
}

// step reports whether the call can have that result in state s, and returns the next
// state. Errors are as in the model of a FIFO.
func (m rankedModel) step(s rankedState, c Call, r Result) (bool, rankedState) {
	fifo := model{capacity: m.limit, overflow: m.overflow}
	plain := state{queue: s.queues[0] + s.queues[1] + s.queues[2], closed: s.closed}
	switch {
	case c.Op == Len || r.Err != nil:
		ok, _ := fifo.step(plain, c, r)
		return ok, s
	case c.Op == Close:
		s.closed = true
		return true, s
	case c.Op == Send || c.Op == TrySend:
		if s.closed {
			return false, s
		}
		return m.accept(s, c.Value)
	}
	level := s.next(m.maxPassed)
	if level < 0 || s.queues[level][0] != r.Value {
		return false, s
	}
	s.queues[level] = s.queues[level][1:]
	for i, q := range s.queues {
		if s.passed[i]++; i == level || q == "" {
			s.passed[i] = 0
		}
	}
	return true, s
}

// accept is a successful send.
func (m rankedModel) accept(s rankedState, v byte) (bool, rankedState) {
	level := int(v) % rankedLevels
	if s.len() >= m.limit {
		switch m.overflow {
		case sluice.DropNewest:
			return true, s
		case sluice.DropLeastUrgent:
		default:
			return false, s
		}
		least := rankedLevels - 1
		for s.queues[least] == "" {
			least--
		}
		if least <= level {
			return true, s
		}
		if s.queues[least] = s.queues[least][:len(s.queues[least])-1]; s.queues[least] == "" {
			s.passed[least] = 0
		}
	}
	s.queues[level] += string([]byte{v})
	return true, s
}

// next returns the level that a receive takes from, or -1.
func (s rankedState) next(maxPassed int) int {
	first, due := -1, -1
	for i, q := range s.queues {
		if q == "" {
			continue
		}
		if first < 0 {
			first = i
		}
		if int(s.passed[i]) >= maxPassed && (due < 0 || s.passed[i] > s.passed[due]) {
			due = i
		}
	}
	if due >= 0 {
		return due
	}
	return first
}
