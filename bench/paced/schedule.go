package paced

import (
	"math"
	"math/rand/v2"
	"time"
)

// A schedule is the intended times of one sender's groups. It depends on nothing but its
// load and seed: all contenders of a round get the same arrivals.
type schedule struct {
	gap   float64 // mean time between groups, in ns
	group int
	left  int // values
	next  float64
	rng   *rand.Rand
}

// schedule returns the schedule of a sender. The first arrivals are as random as the
// others: senders do not begin together.
func (l Load) schedule(sender int) *schedule {
	size, rest := l.Values/l.Senders, l.Values%l.Senders
	if sender < rest {
		size++
	}
	s := &schedule{
		gap:   float64(l.group()) * float64(l.Senders) / l.Rate * float64(time.Second),
		group: l.group(),
		left:  size,
		rng:   rand.New(rand.NewPCG(l.Seed, uint64(sender))),
	}
	s.advance()
	return s
}

// advance moves to the next group: the gaps of a Poisson process are exponential.
func (s *schedule) advance() { s.next += s.gap * -math.Log(1-s.rng.Float64()) }

// take returns the intended time of the next group, since the start of the run, and its
// size, which is 0 after the last group.
func (s *schedule) take() (at time.Duration, size int) {
	at, size = time.Duration(s.next), min(s.group, s.left)
	s.left -= size
	s.advance()
	return at, size
}
