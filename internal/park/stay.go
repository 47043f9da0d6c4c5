package park

import "time"

// A Stay is how one call waits in a Line, from the moment when nothing is left to
// it but to wait. The call looks for something to do after each step; a step is
// one call of a method here:
//
//	outside --Join-------------------> inLine
//	inLine  --Wait: woken------------> holding  it has the line's wake-up
//	holding --Wait: looked in vain---> inLine   at the front; at the end if it got a part
//	inLine  --Wait: done was closed--> ended    the next look is the last
//	outside --End--------------------> ended    the context was done at once
//	any     --Leave------------------> outside
//
// Who owns what:
//
//   - The Stay is its goroutine's. The waiter is the line's, lent from Join to
//     Leave; its links belong to the holder of the line's lock.
//   - The wake-up, of which a line has one, belongs to the goroutine from the Wake
//     that takes its waiter out of the line, also while it does not know yet: it
//     gets to know by Wait, or at the latest by Leave. It gives it back by the Wait
//     after a look in vain, or by Leave.
//   - The token belongs to the wake-up: that Wake puts it down, and the same Wait
//     or Leave takes it. So no waiter is lent again with a token of the last time.
//
// Why no wake-up is lost:
//
//   - Who comes into the line, by Join or by the Wait after a look in vain, raises
//     its signal by a read-modify-write, and looks again before it parks. Who
//     changes the channel does so first, and loads the signal then. So of the two
//     one sees the other.
//   - While the wake-up is on its way, others wake nobody. Whoever holds it has yet
//     to look, and if that is in vain, to come into the line and look once more.
//   - A wait can end at the moment in which it is woken. Leave finds that out
//     under the line's lock: then it has the wake-up, and waits for the token.
//   - Leave says whether others wait. Then the caller must look whether one of
//     them could proceed, and call Wake if so: thus no wake-up ends with a
//     goroutine whose context has, or that took one of several values.
//
// When the line is over, WakeAll wakes each waiter, with a token and no wake-up: a
// Stay need not tell the two apart.
//
// Its zero value is outside, and so it is again after Leave. Waiters are used again,
// so that a stay does not allocate, unless more than maxFree goroutines wait at once.
type Stay struct {
	line   *Line
	waiter *waiter         // not nil from Join to Leave
	done   <-chan struct{} // ends the stay
	state  stayState
	moved  bool
}

type stayState uint8

const (
	outside stayState = iota
	inLine
	holding
	ended
)

// Join puts the goroutine, which is outside, at the end of line. When done is
// closed its next wait ends; a nil done never is.
func (s *Stay) Join(line *Line, done <-chan struct{}) {
	s.line, s.done, s.moved = line, done, false
	s.waiter = line.join()
	s.state = inLine
}

// Joined reports whether Join was called since the last Leave.
func (s *Stay) Joined() bool { return s.waiter != nil }

// Wait does the next thing for a goroutine that has joined, looked, and found
// nothing to do. It parks, until it is woken or done is closed; or if it was woken,
// and has now looked in vain, it gets back in line.
func (s *Stay) Wait() {
	switch {
	case s.state == inLine:
		s.state = holding
		if !s.line.park(s.waiter, s.done) {
			s.state = ended
		}
	case s.moved:
		s.state, s.moved = inLine, false
		s.line.requeue(s.waiter)
	default:
		s.state = inLine
		s.line.rejoin(s.waiter)
	}
}

// Woken reports whether the goroutine knows that it holds the line's wake-up.
func (s *Stay) Woken() bool { return s.state == holding }

// Age is for how long the goroutine, which is woken, has kept its place in line. It
// reads the clock.
func (s *Stay) Age() time.Duration { return s.waiter.since.Age(Now()) }

// Move notes that the goroutine got a part of what it waits for: if it must wait
// for the rest, it does so behind those who wait.
func (s *Stay) Move() { s.moved = true }

// Moved reports whether it got a part since it came into the line last.
func (s *Stay) Moved() bool { return s.moved }

// End notes that the context was done before the goroutine joined.
func (s *Stay) End() { s.state = ended }

// Ended reports whether the next look is the last.
func (s *Stay) Ended() bool { return s.state == ended }

// Leave ends the stay, if there is one, and reports whether others wait for a
// wake-up that the caller must pass on if they could proceed.
func (s *Stay) Leave() (others bool) { return s.waiter != nil && s.leave() }

func (s *Stay) leave() bool {
	line := s.line
	line.leave(s.waiter, s.state == holding)
	*s = Stay{}
	return line.Waiting()
}
