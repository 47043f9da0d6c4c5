package paced

import (
	"time"

	"github.com/sluice-go/sluice/bench/contender"
)

// A value is the two times that its delays are measured from: in the upper bits the call
// of Send, in ns since the start of the run, and in the lower bits how much later that
// was than intended, in units of 16 ns.
const (
	lagBits = 28
	lagUnit = 16 // ns
	maxLag  = lagUnit * (1<<lagBits - 1)
)

func stamp(sent, intended time.Duration) uint64 {
	lag := min(max(0, sent-intended), maxLag)
	return uint64(sent)<<lagBits | uint64(lag)/lagUnit
}

// times returns the times of a value.
func times(v uint64) (sent, intended time.Duration) {
	sent = time.Duration(v >> lagBits)
	return sent, sent - time.Duration(v&(1<<lagBits-1))*lagUnit
}

// A sender sends the groups of its schedule.
type sender struct {
	timer    timer
	schedule *schedule
	base     time.Time     // the start of the run
	until    time.Duration // since base: the end of the current sleep
	tally    contender.Tally
	err      error
}

// send delivers all groups. The timer is armed for the next group before this one is
// sent: the sender's way from its last send into its wait is short, and at GOMAXPROCS 1
// the receiver runs only after it.
func (s *sender) send(deliver func(uint64)) {
	defer s.timer.close()
	at, size := s.schedule.take()
	armed := false
	for size > 0 && s.err == nil {
		s.sleep(at, armed)
		next, nextSize := s.schedule.take()
		if armed = nextSize > 0; armed {
			s.arm(next)
		}
		for range size {
			v := stamp(time.Since(s.base), at)
			s.tally.Add(v)
			deliver(v)
		}
		at, size = next, nextSize
	}
}

// arm sets the timer to a time of the run; after a failure it is not waited for.
func (s *sender) arm(at time.Duration) { s.err = s.timer.arm(at - time.Since(s.base)) }

// sleep returns at the given time of the run, for which the timer may be armed already.
func (s *sender) sleep(at time.Duration, armed bool) {
	s.until = at
	for s.err == nil && !s.due() {
		if !armed {
			if s.arm(at); s.err != nil {
				return
			}
		}
		s.err = s.timer.wait()
		armed = false // after a spurious wake-up it is armed again
	}
}

func (s *sender) due() bool { return time.Since(s.base) >= s.until }

// A receiver records the delay of each value.
type receiver struct {
	base                   time.Time
	tally                  contender.Tally
	fromSend, fromIntended Delays
}

func (r *receiver) take(v uint64) {
	now := time.Since(r.base)
	sent, intended := times(v)
	r.fromSend = append(r.fromSend, now-sent)
	r.fromIntended = append(r.fromIntended, now-intended)
	r.tally.Add(v)
}
